package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// boundKind says what a bound of a read is measured from.
type boundKind int

const (
	fromStart boundKind = iota // log start offset
	fromEnd                    // what ends at the isolation level: last stable offset or high watermark
	beforeEnd                  // n offsets before that
	atOffset                   // offset n
	atTime                     // first record not older than when
	atStable                   // last stable offset
	atHigh                     // high watermark
	never                      // no bound
)

// bound is one end of a read as the user gave it, before any broker was
// asked. It implements nothing; see [fromValue] and [untilValue].
type bound struct {
	kind boundKind
	n    int64
	when time.Time
	text string
}

// synonyms are other tools' words for ours.
var synonyms = map[string]string{
	"beginning": "start", "earliest": "start", "oldest": "start", "first": "start", "begin": "start",
	"latest": "end", "newest": "end", "last": "end",
}

var untilSynonyms = map[string]string{
	"lso": "stable", "last-stable": "stable", "committed": "stable",
	"end": "hw", "latest": "hw", "high-watermark": "hw", "eof": "hw",
	"forever": "never", "none": "never",
}

// parseFrom reads --from: start, end, OFFSET, -N or @TIME.
func parseFrom(s string, now time.Time) (bound, error) {
	switch s {
	case "start":
		return bound{kind: fromStart, text: s}, nil
	case "end":
		return bound{kind: fromEnd, text: s}, nil
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		if strings.HasPrefix(s, "-") {
			return bound{kind: beforeEnd, n: -max(n, -math.MaxInt64), text: s}, nil
		}
		return bound{kind: atOffset, n: n, text: s}, nil
	}
	if time, ok := strings.CutPrefix(s, "@"); ok {
		return parseTime(time, now)
	}
	return bound{}, boundError(s, []string{"start", "end"}, synonyms, "start, end, OFFSET, -N or @TIME")
}

// parseUntil reads --until: stable, hw, OFFSET, @TIME or never. An offset is
// exclusive: the read ends when its position reaches it.
func parseUntil(s string, now time.Time) (bound, error) {
	switch s {
	case "stable":
		return bound{kind: atStable, text: s}, nil
	case "hw":
		return bound{kind: atHigh, text: s}, nil
	case "never":
		return bound{kind: never, text: s}, nil
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil && n >= 0 {
		return bound{kind: atOffset, n: n, text: s}, nil
	}
	if time, ok := strings.CutPrefix(s, "@"); ok {
		return parseTime(time, now)
	}
	return bound{}, boundError(s, []string{"stable", "hw", "never"}, untilSynonyms, "stable, hw, OFFSET, @TIME or never")
}

func boundError(s string, words []string, synonyms map[string]string, want string) error {
	hint := synonyms[strings.ToLower(s)]
	if hint == "" {
		hint = nearest(s, words)
	}
	return &wordError{words: []string{want}, hint: hint}
}

// parseTime reads what stands behind the @: RFC 3339, Unix milliseconds, or a
// duration from now with its sign, such as -1h or -7d.
func parseTime(s string, now time.Time) (bound, error) {
	b := bound{kind: atTime, text: "@" + s}
	if ms, err := strconv.ParseUint(s, 10, 63); err == nil {
		b.when = time.UnixMilli(int64(ms)).UTC()
		return b, nil
	}
	if when, err := time.Parse(time.RFC3339, s); err == nil {
		b.when = when
		return b, nil
	}
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if n, err := strconv.ParseInt(days, 10, 32); err == nil {
			b.when = now.AddDate(0, 0, int(n))
			return b, nil
		}
	}
	if d, err := time.ParseDuration(s); err == nil && (s[0] == '-' || s[0] == '+') {
		b.when = now.Add(d)
		return b, nil
	}
	return bound{}, fmt.Errorf("want a time such as @2026-01-31T08:00:00Z, @1769846400000 or @-1h")
}

// boundValue is a flag that holds a bound. It implements [pflag.Value].
type boundValue struct {
	bound
	parse func(string, time.Time) (bound, error)
	words string
}

func fromValue() *boundValue {
	return &boundValue{bound: bound{kind: fromStart, text: "start"}, parse: parseFrom, words: "start|end|OFFSET|-N|@TIME"}
}

func untilValue() *boundValue {
	return &boundValue{bound: bound{kind: never, text: "never"}, parse: parseUntil, words: "stable|hw|OFFSET|@TIME|never"}
}

func (v *boundValue) String() string { return v.text }
func (v *boundValue) Type() string   { return v.words }

func (v *boundValue) Set(s string) error {
	b, err := v.parse(s, time.Now())
	if err != nil {
		return err
	}
	v.bound = b
	return nil
}

// partitionsValue is a flag that holds partition numbers: 0,2-4. It
// implements [pflag.Value]. Empty means all.
type partitionsValue struct{ list []int32 }

// maxPartitions bounds what one range may claim; Kafka's clusters stay below.
const maxPartitions = 1 << 20

func (v *partitionsValue) Type() string { return "N,N-M,..." }

func (v *partitionsValue) String() string {
	words := make([]string, len(v.list))
	for i, p := range v.list {
		words[i] = strconv.Itoa(int(p))
	}
	return strings.Join(words, ",")
}

func (v *partitionsValue) Set(s string) error {
	for part := range strings.SplitSeq(s, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, err1 := strconv.ParseInt(first, 10, 32)
		to, err2 := strconv.ParseInt(last, 10, 32)
		if err1 != nil || err2 != nil || from < 0 || to < from || to-from >= maxPartitions {
			return fmt.Errorf("want partition numbers such as 0,2-4")
		}
		for p := from; p <= to; p++ {
			v.list = append(v.list, int32(p))
		}
	}
	slices.Sort(v.list)
	v.list = slices.Compact(v.list)
	return nil
}
