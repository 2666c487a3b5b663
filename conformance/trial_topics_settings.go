package conformance

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// topicDefaults are what scenarios count on, and what a cluster may have set
// otherwise for topics that do not say: records stay and need no keys, batches
// keep their size, and their time may be past.
var topicDefaults = map[string]string{
	"cleanup.policy":                  "delete",
	"retention.ms":                    "-1",
	"retention.bytes":                 "-1",
	"compression.type":                "producer",
	"message.timestamp.before.max.ms": "31536000000", // a year; the default would leave its predecessor in force
}

// compactionDefaults are the same for topics that are compacted.
var compactionDefaults = map[string]string{
	"min.compaction.lag.ms": "0",
	"max.compaction.lag.ms": "9223372036854775807",
}

// topicSettings are what a new topic is asked to have.
type topicSettings struct {
	fixed   map[string]string // by the user and the scenario
	refused map[string]bool   // names of defaults to leave out
}

// defaults are those that are neither overruled nor refused.
func (s *topicSettings) defaults() map[string]string {
	all := maps.Clone(topicDefaults)
	if strings.Contains(s.fixed["cleanup.policy"], "compact") {
		maps.Copy(all, compactionDefaults)
	}
	maps.DeleteFunc(all, func(name, _ string) bool {
		_, overruled := s.fixed[name]
		return overruled || s.refused[name]
	})
	return all
}

// configs are the settings as they go into a request.
func (s *topicSettings) configs() (out []kmsg.CreateTopicsRequestTopicConfig) {
	values := s.defaults()
	maps.Copy(values, s.fixed)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = name, kmsg.StringPtr(values[name])
		out = append(out, c)
	}
	return out
}

// yield leaves out the defaults that a cluster's refusal names, or all of them
// if it names none, and returns which; nil if there were none.
func (s *topicSettings) yield(refusal string) (names []string) {
	all := slices.Sorted(maps.Keys(s.defaults()))
	for _, name := range all {
		if strings.Contains(refusal, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		names = all
	}
	for _, name := range names {
		s.refused[name] = true
	}
	return names
}

// refusedDefaults remembers for a run which defaults the cluster does not take.
type refusedDefaults struct {
	mu    sync.Mutex
	names map[string]bool
}

// known is a copy.
func (r *refusedDefaults) known() map[string]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := map[string]bool{}
	maps.Copy(out, r.names)
	return out
}

// learn adds those without which a topic was created.
func (r *refusedDefaults) learn(names map[string]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.names == nil {
		r.names = map[string]bool{}
	}
	maps.Copy(r.names, names)
}
