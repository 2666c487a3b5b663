package conformance

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
	"example.com/readcommitted/conformance/internal/wire"
)

const (
	// traced bounds the steps that a trial remembers for its evidence.
	traced = 200
	// polledTogether bounds the different steps of one wait.
	polledTogether = 8
)

// step is an exchange, or one partition of an answer to a Fetch.
type step struct {
	exchange *wire.Exchange
	view     *model.View
}

// seen is a step in words, with those after it that were the same: scripts that
// wait ask the same again and again.
type seen struct {
	number      int // rises
	first, last time.Time
	times       int
	words       string
	about       []model.Partition // none: no partition in particular
	decides     kmsg.Key          // the request, if it changes what readers get; -1 if not
}

// polls is the key of what changes nothing.
const polls kmsg.Key = -1

// deciding are the requests that decide what readers get.
var deciding = []kmsg.Key{
	kmsg.InitProducerID, kmsg.AddPartitionsToTxn, kmsg.AddOffsetsToTxn, kmsg.Produce, kmsg.TxnOffsetCommit, kmsg.OffsetCommit,
	kmsg.EndTxn, kmsg.WriteTxnMarkers, kmsg.DeleteRecords, kmsg.CreateTopics, kmsg.DeleteTopics, kmsg.JoinGroup,
}

// lastOfEach are those of which the last one stands in every evidence.
var lastOfEach = []kmsg.Key{kmsg.InitProducerID, kmsg.AddPartitionsToTxn, kmsg.Produce, kmsg.EndTxn, kmsg.WriteTxnMarkers, kmsg.DeleteRecords}

func (s step) seen() seen {
	if s.view != nil {
		return seen{first: s.view.Received, last: s.view.Received, times: 1, words: viewWords(s.view), about: []model.Partition{s.view.Partition}, decides: polls}
	}
	e, when := s.exchange, s.exchange.Sent
	if when.IsZero() { // there was no connection
		when = time.Now()
	}
	out := seen{first: when, last: when, times: 1, words: describe(e), about: partitionsIn(e.Request), decides: polls}
	if key := kmsg.Key(e.Request.Key()); slices.Contains(deciding, key) {
		out.decides = key
	}
	return out
}

func (s *seen) String() string {
	if s.times == 1 {
		return at(s.last) + " " + s.words
	}
	return fmt.Sprintf("%s %s (%d times since %s)", at(s.last), s.words, s.times, at(s.first))
}

func at(t time.Time) string { return t.Format("15:04:05.000") }

// tells reports whether a step says something of a partition, or may do so.
func (s *seen) tells(p model.Partition) bool {
	return len(s.about) == 0 || p == (model.Partition{}) || slices.Contains(s.about, p)
}

// trace remembers a trial's last steps, and the last ones that decided anything.
type trace struct {
	steps  []seen
	number int
	older  map[lasting]seen // what is not in steps any more
}

// lasting is a kind of deciding step, of a partition if it names any.
type lasting struct {
	key       kmsg.Key
	partition model.Partition
}

func (t *trace) add(s seen) {
	t.number++
	s.number = t.number
	if i := t.same(&s); i >= 0 {
		before := t.steps[i]
		s.first, s.times = before.first, before.times+1
		t.steps = slices.Delete(t.steps, i, i+1)
	}
	t.steps = append(t.steps, s)
	if len(t.steps) >= 2*traced {
		t.forget(len(t.steps) - traced)
	}
}

// same is the step that a new one repeats: one of the last few, with nothing
// between that decides anything; -1 for none.
func (t *trace) same(s *seen) int {
	for i := len(t.steps) - 1; i >= max(0, len(t.steps)-polledTogether); i-- {
		if before := &t.steps[i]; before.words == s.words {
			return i
		} else if before.decides != polls {
			break
		}
	}
	return -1
}

// forget drops the oldest steps.
func (t *trace) forget(n int) {
	if t.older == nil {
		t.older = map[lasting]seen{}
	}
	for _, s := range t.steps[:n] {
		if !slices.Contains(lastOfEach, s.decides) {
			continue
		}
		t.older[lasting{key: s.decides}] = s
		for _, p := range s.about {
			t.older[lasting{s.decides, p}] = s
		}
	}
	t.steps = slices.Clone(t.steps[n:])
}

// decided is the last step of each kind in lastOfEach that tells of a partition, of
// those up to a moment.
func (t *trace) decided(p model.Partition, until time.Time) []seen {
	var out []seen
	for _, key := range lastOfEach {
		found, ok := t.older[lasting{key, p}]
		if !ok {
			found, ok = t.older[lasting{key: key}]
			ok = ok && found.tells(p)
		}
		ok = ok && !found.first.After(until)
		for i := range t.steps {
			if s := &t.steps[i]; s.decides == key && s.tells(p) && !s.first.After(until) {
				found, ok = *s, true
			}
		}
		if ok {
			out = append(out, found)
		}
	}
	return inTurn(out)
}

// inTurn are steps in the order in which they were last seen.
func inTurn(steps []seen) []seen {
	return slices.SortedFunc(slices.Values(steps), func(a, b seen) int { return cmp.Compare(a.number, b.number) })
}

// last are up to n of the newest steps that tell of a partition, as lines, the
// newest last. Those that decided are among them, however long ago that was: most
// of what was seen since is one who waits.
func (t *trace) last(n int, p model.Partition) []string {
	out := t.decided(p, time.Now())
	has := func(s *seen) bool { return slices.ContainsFunc(out, func(o seen) bool { return o.number == s.number }) }
	waits := n
	if len(out) > 0 {
		waits = n / 3
	}
	for i := len(t.steps) - 1; i >= 0 && len(out) < n; i-- {
		s := &t.steps[i]
		if !s.tells(p) || has(s) || s.decides == polls && waits == 0 {
			continue
		}
		if s.decides == polls {
			waits--
		}
		out = append(out, *s)
	}
	return lines(inTurn(out))
}

func lines(steps []seen) []string {
	out := make([]string, len(steps))
	for i := range steps {
		out[i] = steps[i].String()
	}
	return out
}
