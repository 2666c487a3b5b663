package main

import (
	"fmt"
	"maps"
	"slices"

	"example.com/readcommitted/conformance"
)

// slowestStated bounds how much the bounds on time of a report may be scaled that
// is to call something conformant: with more, a cluster passes that lets readers
// wait for minutes.
const slowestStated = 4

// conditions are those that the report was made under, as flags, where they are
// not the usual.
func (r *checkReport) conditions() []string {
	var words []string
	u := &r.Under
	if u.Slow != 1 && u.Slow != 0 {
		words = append(words, fmt.Sprintf("--slow %g", u.Slow))
	}
	for _, key := range slices.Sorted(maps.Keys(u.TopicConfig)) {
		words = append(words, fmt.Sprintf("--topic-config %s=%s", key, u.TopicConfig[key]))
	}
	if u.Parallel != conformance.DefaultParallel && u.Parallel != 0 {
		words = append(words, fmt.Sprintf("--parallel %d", u.Parallel))
	}
	if r.Rate > 0 {
		words = append(words, fmt.Sprintf("--rate %g", r.Rate))
	}
	if u.ReuseTopics {
		words = append(words, "--reuse-topics")
	}
	if u.MaxTime > 0 {
		words = append(words, "--max-time "+shortAge(u.MaxTime))
	}
	return words
}

// unfit are the conditions under which nothing can be called conformant.
func (r *checkReport) unfit() []string {
	var why []string
	switch slow := r.Under.Slow; {
	case slow == 0:
		why = append(why, "the report does not say how its bounds on time were scaled")
	case slow > slowestStated:
		why = append(why, fmt.Sprintf("bounds on time were scaled by %g, where %d is the most", slow, slowestStated))
	}
	if len(r.Under.TopicConfig) > 0 {
		why = append(why, "topics had settings of --topic-config: "+firstOf(slices.Sorted(maps.Keys(r.Under.TopicConfig))))
	}
	return why
}
