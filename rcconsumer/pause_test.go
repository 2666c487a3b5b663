package rcconsumer_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/rcconsumer"
)

// What calls return of what is paused is what kgo returns, step by step.
func TestPausedListsAreKgos(t *testing.T) {
	type pauser interface {
		PauseFetchTopics(topics ...string) []string
		PauseFetchPartitions(partitions map[string][]int32) map[string][]int32
		ResumeFetchTopics(topics ...string)
		ResumeFetchPartitions(partitions map[string][]int32)
	}
	theirs, err := kgo.NewClient()
	require.NoError(t, err)
	t.Cleanup(theirs.Close)
	ours, err := rcconsumer.New()
	require.NoError(t, err)
	t.Cleanup(ours.Close)
	for _, step := range []struct {
		name string
		do   func(pauser)
	}{
		{"nothing is paused", func(pauser) {}},
		{"a topic", func(p pauser) { p.PauseFetchTopics("whole") }},
		{"partitions of another", func(p pauser) { p.PauseFetchPartitions(map[string][]int32{"some": {2, 1}}) }},
		{"a partition of the topic", func(p pauser) { p.PauseFetchPartitions(map[string][]int32{"whole": {7}}) }},
		{"the topic again goes on", func(p pauser) { p.ResumeFetchTopics("whole") }},
		{"a partition goes on", func(p pauser) { p.ResumeFetchPartitions(map[string][]int32{"some": {1}, "never": {0}}) }},
		{"all partitions go on", func(p pauser) { p.ResumeFetchPartitions(map[string][]int32{"some": {2}, "whole": {7}}) }},
	} {
		lists := func(p pauser) ([]string, map[string][]int32) {
			step.do(p)
			topics, partitions := p.PauseFetchTopics(), p.PauseFetchPartitions(nil)
			slices.Sort(topics)
			for _, ids := range partitions {
				slices.Sort(ids)
			}
			return topics, partitions
		}
		wantTopics, wantPartitions := lists(theirs)
		topics, partitions := lists(ours)
		require.Equal(t, wantTopics, topics, step.name)
		require.Equal(t, wantPartitions, partitions, step.name)
	}
}
