package rcconsumer

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestStreakLastsFromTheFirstFailureToTheFirstSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := errors.New("first"), errors.New("second")
		var s sharedStreak
		s.ended()
		require.False(t, s.look().on())
		began := time.Now()
		s.failed(first, time.Now())
		time.Sleep(time.Minute)
		s.failed(second, time.Now())
		require.Equal(t, streak{since: began, last: began.Add(time.Minute), err: second}, s.look())
		s.ended()
		require.False(t, s.look().on())
		s.failed(first, time.Now())
		require.Equal(t, began.Add(time.Minute), s.look().since, "the age begins anew")
	})
}

func TestRoundTellsWhatFailedInIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r rounds
		a, b, failure := key{topic: "a"}, key{topic: "b"}, errors.New("failure")
		look := func() map[string]time.Time {
			seen := make(map[string]time.Time)
			r.each(func(k key, s streak) { seen[k.topic] = s.since })
			return seen
		}
		began := time.Now()
		r.failed(a, failure, time.Now())
		r.failed(b, failure, time.Now())
		require.Empty(t, look(), "the round is not over")
		r.turn()
		require.Equal(t, map[string]time.Time{"a": began, "b": began}, look())
		time.Sleep(time.Second)
		r.failed(a, failure, time.Now())
		r.turn()
		require.Equal(t, map[string]time.Time{"a": began}, look(), "of a it is the same streak")
		time.Sleep(time.Second)
		r.failed(b, failure, time.Now())
		r.turn()
		require.Equal(t, map[string]time.Time{"b": began.Add(2 * time.Second)}, look(), "of b it is a new one")
		r.turn()
		require.Empty(t, look())
	})
}

func at(topic string, partition int32) spot { return spot{topic: topic, partition: partition} }

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func TestReasonsAreByCauseTheGravestFirst(t *testing.T) {
	f := make(findings)
	f.add(CauseBlocked, at("orders", 1), noon, "last stable offset 5, high watermark 9")
	f.add(CauseClosed, spot{}, noon.Add(-time.Hour), "")
	f.add(CauseBroker, brokerSpot(2), noon.Add(-time.Minute), "timeout")
	got := f.reasons(noon.Add(time.Second))
	require.Equal(t, []Reason{
		{CauseClosed, noon.Add(-time.Hour), time.Hour + time.Second, 1, "the consumer is closed; since 2026-01-02T11:00:00Z"},
		{CauseBroker, noon.Add(-time.Minute), time.Minute + time.Second, 1, "a broker cannot be reached: broker 2 (timeout); since 2026-01-02T11:59:00Z"},
		{CauseBlocked, noon, time.Second, 1, "blocked by an open transaction: orders/1 (last stable offset 5, high watermark 9); since 2026-01-02T12:00:00Z"},
	}, got)
}

// Ten thousand partitions must not make ten thousand lines.
func TestReasonNamesThreePlacesAndCountsTheRest(t *testing.T) {
	f := make(findings)
	for p := int32(9999); p >= 0; p-- {
		f.add(CauseMissingRight, at("orders", p), noon.Add(time.Duration(-p)*time.Second), "TOPIC_AUTHORIZATION_FAILED")
	}
	got := f.reasons(noon)
	require.Len(t, got, 1)
	require.Equal(t, 10000, got[0].Count)
	require.Equal(t, 9999*time.Second, got[0].Age, "that of the oldest")
	require.Equal(t, "a right is missing: orders/0, orders/1, orders/2 and 9997 more (TOPIC_AUTHORIZATION_FAILED); since 2026-01-02T09:13:21Z", got[0].Text)

	f.add(CauseMissingRight, at("audit", -1), noon, "GROUP_AUTHORIZATION_FAILED")
	require.Equal(t,
		"a right is missing: audit (GROUP_AUTHORIZATION_FAILED), orders/0 (TOPIC_AUTHORIZATION_FAILED), orders/1 (TOPIC_AUTHORIZATION_FAILED) and 9998 more; since 2026-01-02T09:13:21Z",
		f.reasons(noon)[0].Text)
}

// A leader that moves shows in metadata and in answers to Fetch.
func TestTheSamePlaceIsNamedOnceWithTheOlderAge(t *testing.T) {
	f := make(findings)
	f.add(CauseLeader, at("orders", 0), noon, "NOT_LEADER_FOR_PARTITION")
	f.add(CauseLeader, at("orders", 0), noon.Add(-time.Second), "LEADER_NOT_AVAILABLE")
	got := f.reasons(noon)
	require.Len(t, got, 1)
	require.Equal(t, 1, got[0].Count)
	require.Equal(t, "a leader is not known: orders/0 (LEADER_NOT_AVAILABLE); since 2026-01-02T11:59:59Z", got[0].Text)
}

func TestTextStaysWhileNothingChanges(t *testing.T) {
	var texts []string
	for _, order := range [][]int32{{0, 1, 2, 3, 4}, {4, 2, 0, 1, 3}} {
		f := make(findings)
		for _, p := range order {
			f.add(CauseFetch, at("orders", p), noon, fmt.Sprintf("error %d", p))
		}
		for _, age := range []time.Duration{0, time.Hour} {
			texts = append(texts, f.reasons(noon.Add(age))[0].Text)
		}
	}
	for _, text := range texts {
		require.Equal(t, texts[0], text)
	}
}

func TestEveryCauseHasWordsOfItsOwn(t *testing.T) {
	seen := make(map[string]bool)
	for _, c := range causeWords {
		require.False(t, seen[c.words] || seen[string(c.cause)], "%s", c.cause)
		seen[c.words], seen[string(c.cause)] = true, true
	}
	require.Len(t, causeWords, 21)
}
