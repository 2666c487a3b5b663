package main

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestBoundsOfARead(t *testing.T) {
	now := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name, in    string
		from, until *bound // nil: not allowed there
	}{
		{"start", "start", &bound{kind: fromStart}, nil},
		{"end", "end", &bound{kind: fromEnd}, nil},
		{"stable", "stable", nil, &bound{kind: atStable}},
		{"high watermark", "hw", nil, &bound{kind: atHigh}},
		{"never", "never", nil, &bound{kind: never}},
		{"offset", "17", &bound{kind: atOffset, n: 17}, &bound{kind: atOffset, n: 17}},
		{"before the end", "-5", &bound{kind: beforeEnd, n: 5}, nil},
		{"most before the end", "-9223372036854775808", &bound{kind: beforeEnd, n: math.MaxInt64}, nil},
		{"too large", "9223372036854775808", nil, nil},
		{"RFC 3339", "@2026-01-02T03:04:05+01:00", at(1, 2, 2, 4, 5), at(1, 2, 2, 4, 5)},
		{"milliseconds", "@1767319445000", at(1, 2, 2, 4, 5), at(1, 2, 2, 4, 5)},
		{"an hour ago", "@-1h", at(3, 10, 11, 0, 0), at(3, 10, 11, 0, 0)},
		{"a week ago", "@-7d", at(3, 3, 12, 0, 0), at(3, 3, 12, 0, 0)},
		{"no time", "@", nil, nil},
		{"no duration", "@-1x", nil, nil},
		{"empty", "", nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for parse, want := range map[string]*bound{"from": tt.from, "until": tt.until} {
				f := parseFrom
				if parse == "until" {
					f = parseUntil
				}
				got, err := f(tt.in, now)
				if want == nil {
					require.Error(t, err, parse)
					continue
				}
				require.NoError(t, err, parse)
				require.Equal(t, want.kind, got.kind, parse)
				require.Equal(t, want.n, got.n, parse)
				require.True(t, want.when.Equal(got.when), "%s: %s, want %s", parse, got.when, want.when)
				require.Equal(t, tt.in, got.text, parse)
			}
		})
	}
}

func at(month, day, hour, minute, second int) *bound {
	return &bound{kind: atTime, when: time.Date(2026, time.Month(month), day, hour, minute, second, 0, time.UTC)}
}

func TestBoundsSuggestTheNearestWord(t *testing.T) {
	for in, want := range map[string]string{"strat": "start", "earliest": "start", "Latest": "end", "xyzzy": ""} {
		_, err := parseFrom(in, time.Time{})
		var word *wordError
		require.ErrorAs(t, err, &word, in)
		require.Equal(t, want, word.hint, in)
	}
	for in, want := range map[string]string{"stabel": "stable", "end": "hw", "LSO": "stable", "nver": "never"} {
		_, err := parseUntil(in, time.Time{})
		var word *wordError
		require.ErrorAs(t, err, &word, in)
		require.Equal(t, want, word.hint, in)
	}
}

func TestPartitionList(t *testing.T) {
	for in, want := range map[string][]int32{
		"0": {0}, "3,1": {1, 3}, "2-4,3,0": {0, 2, 3, 4},
		"": nil, "-1": nil, "2-1": nil, "a": nil, "1,": nil, "0-2147483647": nil, "2147483648": nil,
	} {
		var v partitionsValue
		err := v.Set(in)
		if want == nil {
			require.Error(t, err, in)
			continue
		}
		require.NoError(t, err, in)
		require.Equal(t, want, v.list, in)
	}
}

func TestWindowResolvesBounds(t *testing.T) {
	log := window{topic: "orders", logStart: 10, stable: 50, high: 80}
	const fromTime, untilTime = 33, 44
	for _, tt := range []struct {
		name        string
		from        bound
		until       bound
		uncommitted bool
		want        [2]int64
		note        bool
	}{
		{name: "all", from: bound{kind: fromStart}, until: bound{kind: never}, want: [2]int64{10, noEnd}},
		{name: "stable", from: bound{kind: fromStart}, until: bound{kind: atStable}, want: [2]int64{10, 50}},
		{name: "high watermark", from: bound{kind: fromStart}, until: bound{kind: atHigh}, want: [2]int64{10, 80}},
		{name: "end is the last stable offset", from: bound{kind: fromEnd}, until: bound{kind: never}, want: [2]int64{50, noEnd}},
		{name: "end is the high watermark", from: bound{kind: fromEnd}, until: bound{kind: never}, uncommitted: true, want: [2]int64{80, noEnd}},
		{name: "before the stable end", from: bound{kind: beforeEnd, n: 5}, until: bound{kind: atStable}, want: [2]int64{45, 50}},
		{name: "more than there is before the end", from: bound{kind: beforeEnd, n: math.MaxInt64}, until: bound{kind: atStable}, want: [2]int64{10, 50}},
		{name: "times", from: bound{kind: atTime}, until: bound{kind: atTime}, want: [2]int64{fromTime, untilTime}},
		{name: "offsets", from: bound{kind: atOffset, n: 20}, until: bound{kind: atOffset, n: 30}, want: [2]int64{20, 30}},
		{name: "below the log start", from: bound{kind: atOffset, n: 3}, until: bound{kind: never}, want: [2]int64{10, noEnd}, note: true},
		{name: "beyond the end", from: bound{kind: atOffset, n: 81}, until: bound{kind: never}, want: [2]int64{80, noEnd}, note: true},
		{name: "between stable and high", from: bound{kind: atOffset, n: 60}, until: bound{kind: never}, want: [2]int64{60, noEnd}},
		{name: "an end still to be written", from: bound{kind: fromStart}, until: bound{kind: atOffset, n: 99}, want: [2]int64{10, 99}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := log
			w.resolve(request{from: tt.from, until: tt.until, uncommitted: tt.uncommitted}, fromTime, untilTime)
			require.Equal(t, tt.want, [2]int64{w.from, w.until})
			require.Equal(t, tt.note, w.note != "")
		})
	}
}
