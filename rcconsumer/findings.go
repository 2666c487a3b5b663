package rcconsumer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Reason is one thing that is not as it should be, in one or more places.
type Reason struct {
	Cause Cause
	Since time.Time     // of the place where it has lasted for longest
	Age   time.Duration // of Since, when Health was called
	Count int           // of the places: partitions, topics or brokers
	// Text says it in words, with the first places by name. It stays the same
	// while nothing changes, and holds no record data and no secret.
	Text string
}

// namedPlaces is how many places a reason names; the rest is counted.
const namedPlaces = 3

// spot is where something is amiss: a partition, a topic (partition -1), or
// whatever has a name of its own, which sorts in front of them.
type spot struct {
	own       string
	topic     string
	partition int32
}

func spotOf(k key) spot { return spot{topic: k.topic, partition: k.partition} }

func (s spot) String() string {
	switch {
	case s.own != "" || s.topic == "":
		return s.own
	case s.partition < 0:
		return s.topic
	default:
		return fmt.Sprintf("%s/%d", s.topic, s.partition)
	}
}

func (s spot) compare(t spot) int {
	return cmp.Or(strings.Compare(s.own, t.own), strings.Compare(s.topic, t.topic), cmp.Compare(s.partition, t.partition))
}

// finding is one thing amiss in one place.
type finding struct {
	at     spot
	since  time.Time
	detail string
}

// findings are what one look at a consumer has found.
type findings map[Cause][]finding

// add notes a finding. Of the same in the same place the older one counts.
func (f findings) add(c Cause, at spot, since time.Time, detail string) {
	f[c] = append(f[c], finding{at, since, detail})
}

// streak notes what fails in a place, if it does.
func (f findings) streak(otherwise Cause, at spot, s streak) {
	if s.on() {
		f.add(causeOf(s.err, otherwise), at, s.since, brief(s.err))
	}
}

func (f findings) has(causes ...Cause) bool {
	return slices.ContainsFunc(causes, func(c Cause) bool { return len(f[c]) > 0 })
}

// reasons are the findings by cause, the gravest first.
func (f findings) reasons(now time.Time) (all []Reason) {
	for _, c := range causeWords {
		if found := distinct(f[c.cause]); len(found) > 0 {
			since := slices.MinFunc(found, func(a, b finding) int { return a.since.Compare(b.since) }).since
			all = append(all, Reason{
				Cause: c.cause, Since: since, Age: max(0, now.Sub(since)), Count: len(found), Text: sentence(c.words, found, since),
			})
		}
	}
	return all
}

func sentence(words string, found []finding, since time.Time) string {
	if list := enumerate(found); list != "" {
		words += ": " + list
	}
	return words + "; since " + since.UTC().Format(time.RFC3339)
}

// distinct sorts by place and leaves one finding of each: the oldest.
func distinct(found []finding) []finding {
	slices.SortFunc(found, func(a, b finding) int {
		return cmp.Or(a.at.compare(b.at), a.since.Compare(b.since), strings.Compare(a.detail, b.detail))
	})
	return slices.CompactFunc(found, func(a, b finding) bool { return a.at == b.at })
}

// enumerate names the first places. What is the same everywhere is said once.
func enumerate(found []finding) string {
	named := found[:min(len(found), namedPlaces)]
	same := !slices.ContainsFunc(found, func(g finding) bool { return g.detail != found[0].detail })
	parts := make([]string, 0, len(named))
	for _, g := range named {
		if same {
			parts = append(parts, g.at.String())
		} else {
			parts = append(parts, detailed(g.at.String(), g.detail))
		}
	}
	text := strings.Join(parts, ", ")
	if more := len(found) - len(named); more > 0 {
		text = fmt.Sprintf("%s and %d more", text, more)
	}
	if same {
		text = detailed(text, found[0].detail)
	}
	return text
}

// detailed is a place, or several, and what there is to say about it.
func detailed(place, detail string) string {
	switch {
	case detail == "":
		return place
	case place == "":
		return detail
	default:
		return place + " (" + detail + ")"
	}
}
