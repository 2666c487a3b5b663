package conformance

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/readcommitted/conformance/internal/model"
)

// compacted is the book of a partition that the cluster compacts while it is
// being written and read.
type compacted struct {
	*book
	size   int     // of a segment
	filler *author // whose records make segments full
}

// untilCleaned bounds how long the script waits for a cleaner, which sleeps 15 s
// between its rounds in Apache Kafka.
const untilCleaned = 2 * time.Minute

// compacted makes a partition that is compacted soon. A cluster that does not
// compact is skipped.
func (t *trial) compacted(configs ...string) *compacted {
	p, size := t.smallSegments(append(configs, "cleanup.policy=compact", "min.cleanable.dirty.ratio=0.01")...)
	if policy := t.topicSetting(p.Topic, "cleanup.policy"); !strings.Contains(policy, "compact") {
		t.otherSetting("cleanup.policy", policy, "compact")
	}
	t.mu.Lock()
	t.cleaned = true
	t.mu.Unlock()
	c := &compacted{book: &book{t: t, p: p}, size: size}
	c.filler = c.author()
	for i := range farBatch {
		c.filler.keys = append(c.filler.keys, fmt.Appendf(nil, "fill-%d", i))
	}
	return c
}

// keyPrefix begins the keys of which compaction must leave the right values.
const keyPrefix = "k"

// change writes a new value for each of the keys first to last, in batches of
// ten. It reads each of them back, before a cleaner can take it.
func (a *author) change(first, last int) {
	for ; first <= last; first += 10 {
		a.keys = nil
		for k := first; k <= min(last, first+9); k++ {
			a.keys = append(a.keys, fmt.Appendf(nil, "%s%02d", keyPrefix, k))
		}
		a.write(len(a.keys))
		a.book.t.scan(a.book.p)
	}
}

// roll begins a new segment, and leaves what was written before to the cleaner.
func (c *compacted) roll() {
	c.filler.fill(c.size, func() { c.t.scan(c.p) })
	c.filler.commit()
}

// asWritten is the log as it was before any of it was cleaned. All of it was
// read when it was new.
func (c *compacted) asWritten() *model.Log {
	batches := c.t.scan(c.p)
	l := model.NewLog(c.p, 0, c.t.highWatermark(c.p), batches)
	what := c.differs(l)
	c.t.witness(what == "", "the log of %s had %s", c.p, what)
	if what != "" {
		c.t.undecided("the log of %s was not as it was written: %s", c.p, what)
	}
	if !c.t.inTime(settled, c.p, func() bool { return c.t.lso(c.p) >= l.LSO() }) {
		c.t.undecided("the last stable offset of %s does not get to %d", c.p, l.LSO())
	}
	return l
}

// latestValues are the records of a log that readers at read_committed get, and
// which of them are the last of their key.
type latestValues struct {
	truth
	at     map[int64]Delivered
	latest map[string]int64 // by key
}

func (c *compacted) latestValues(l *model.Log) latestValues {
	v := latestValues{truth: truth{log: l, end: l.LSO()}, at: map[int64]Delivered{}, latest: map[string]int64{}}
	offsets, err := l.Visible(0, v.end)
	if err == nil {
		v.records, err = recordsAt(l.Batches, offsets)
	}
	if err != nil {
		c.t.undecided("reading the log of %s: %v", c.p, err)
	}
	for _, d := range v.records {
		v.at[d.Offset], v.latest[string(d.Key)] = d, d.Offset
	}
	return v
}

// faults are the differences between what a reader got and what it may get of a
// log that is compacted: only committed records, as they were written, and the
// last one of each key among them.
func (v latestValues) faults(got map[int64]Delivered) (faults []difference) {
	for offset, d := range got {
		was, visible := v.at[offset]
		switch {
		case !visible:
			faults = append(faults, difference{offset, fmt.Sprintf("offset %d of key %s, %s, is handed out", offset, d.Key, v.is(offset)), tooMuch, false})
		case !same(d.Key, was.Key) || !same(d.Value, was.Value):
			faults = append(faults, difference{offset, fmt.Sprintf("offset %d has another key or value", offset), otherwise, false})
		}
	}
	for key, offset := range v.latest {
		if _, ok := got[offset]; !ok {
			faults = append(faults, difference{offset, fmt.Sprintf("offset %d, the last committed value of key %s, is missing", offset, key), tooLittle, false})
		}
	}
	return faults
}

// superseded counts the records of keys that were followed by newer ones: those
// that a reader did not get any more, and those that it still got.
func (v latestValues) superseded(got map[int64]Delivered) (gone, left int) {
	for _, d := range v.records {
		if v.latest[string(d.Key)] == d.Offset || !strings.HasPrefix(string(d.Key), keyPrefix) {
			continue
		}
		if _, ok := got[d.Offset]; ok {
			left++
		} else {
			gone++
		}
	}
	return gone, left
}

// lacks reports whether a reader did not get everything that it may get.
func (v latestValues) lacks(got map[int64]Delivered) bool {
	return slices.ContainsFunc(v.records, func(d Delivered) bool { _, ok := got[d.Offset]; return !ok })
}

// handedOut is what a reader gets at read_committed that believes the answers.
func (c *compacted) handedOut() map[int64]Delivered {
	out := map[int64]Delivered{}
	start := c.t.list(c.p, model.ReadUncommitted, earliest) // compaction may move it
	c.t.eachStable(c.p, start, fetchSpec{isolation: model.ReadCommitted}, func(a answer) {
		records, err := believed(a.View)
		if err != nil {
			c.t.undecided("reading %s at %d: %v", c.p, a.FetchOffset, err)
		}
		for _, d := range records {
			out[d.Offset] = d
		}
	})
	return out
}

// wantCleaned asserts, again and again until the cleaner has taken all that is
// superseded, that a reader gets what it has to. cleaned says that the cleaner
// was there, which is the witness, and right that nothing was wrong.
func (c *compacted) wantCleaned(class Class, l *model.Log) (cleaned, right bool) {
	v, got, begun := c.latestValues(l), map[int64]Delivered{}, time.Now()
	for wait := 10 * pollPause; ; wait = min(2*wait, 5*time.Second) {
		right = c.wantNone(class, "at read_committed only committed records, and the last one of each key", func() []difference {
			got = c.handedOut()
			return v.faults(got)
		})
		gone, left := v.superseded(got)
		cleaned = gone > 0 || !right && v.lacks(got)
		if !right || left == 0 {
			break
		}
		if time.Since(begun) > c.t.bound(untilCleaned) {
			c.t.fact("%d superseded records were taken and %d left within %v", gone, left, c.t.bound(untilCleaned))
			break
		}
		c.t.pause(wait, "the cleaner")
	}
	c.t.witness(cleaned, "nothing of %s was compacted within %v", c.p, time.Since(begun).Round(time.Second))
	return cleaned, right
}

// wantNone asserts that a look shows no fault. One that is there in a second
// look too weighs as a class says. One that is gone then weighs less: a reader
// may have begun in a segment that the cleaner was replacing.
func (c *compacted) wantNone(class Class, expected string, look func() []difference) bool {
	faults := look()
	if len(faults) == 0 {
		return true
	}
	first := map[int64]bool{}
	for _, f := range faults {
		first[f.offset] = true
	}
	again := slices.DeleteFunc(look(), func(f difference) bool { return !first[f.offset] })
	slices.SortFunc(again, func(a, b difference) int { return cmp.Compare(a.offset, b.offset) })
	for _, f := range again {
		c.t.reportAs(class, c.p, f.offset, expected, f.what)
	}
	if len(again) == 0 {
		c.t.reportAs(Should, c.p, faults[0].offset, expected+", also while it is being compacted", faults[0].what+", once")
	}
	return len(again) == 0
}
