package conformance

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Config says what to judge and how.
type Config struct {
	// Options say how to reach the cluster: seeds, TLS, SASL.
	Options []kgo.Opt

	// RunID is part of every name that the run makes. It has to be 8 to 32
	// lower-case letters and digits; [NewRunID] makes one. [FindLeftovers] finds
	// what runs with others left behind no more.
	RunID string

	Profile Profile  // default Standard; with Select, how much some scenarios do
	Select  []string // IDs or families; empty: all of the profile
	Require []string // IDs that have to be decided beside those of the profile

	Clients []Client // readers to judge beside the cluster

	Seed     uint64  // of everything random; 0 is a seed too
	Slow     float64 // scales every bound on time; default 1
	Parallel int     // scenarios at once; default 8

	// MaxTime ends the run; what has not begun by then is skipped. 0: no limit.
	MaxTime time.Duration

	Keep        bool              // leave topics behind
	TopicConfig map[string]string // for every topic that has no other value for the key
	AllowAdmin  bool              // run what needs rights on the whole cluster

	// ReuseTopics makes scenarios take partitions of few topics with many, instead
	// of topics of their own; not those that want a topic with settings of its own,
	// or do something to a whole topic.
	ReuseTopics bool

	// Hook does something to a broker: kill, stop, start, pause, resume. It
	// returns when that is done; its context gives it two minutes, and does not
	// end with the run. One call at a time. Every broker that a scenario took
	// away is brought back at the scenario's end, however that comes. nil:
	// scenarios that need it are skipped.
	Hook func(ctx context.Context, action string, broker int32) error

	// Observe is called when a scenario begins and when it ends, from several
	// goroutines, one call at a time. nil is fine.
	Observe func(Event)

	// assertionsOnly leaves the invariants out, to measure what the scenarios
	// themselves find.
	assertionsOnly bool
	// noShrinking leaves out the search for a smaller plan that fails too.
	noShrinking bool
}

// Event is a step of a run.
type Event struct {
	Scenario *Scenario
	Result   *Result // nil: the scenario begins
}

var runIDs = regexp.MustCompile(`^[a-z0-9]{8,32}$`)

func (c Config) withDefaults() Config {
	if c.Profile == "" {
		c.Profile = Standard
	}
	if c.Slow <= 0 {
		c.Slow = 1
	}
	if c.Parallel <= 0 {
		c.Parallel = DefaultParallel
	}
	if c.Observe == nil {
		c.Observe = func(Event) {}
	}
	return c
}

func (c Config) validate() error {
	if !runIDs.MatchString(c.RunID) {
		return fmt.Errorf("run ID %q: want 8 to 32 lower-case letters and digits", c.RunID)
	}
	if len(c.Options) == 0 {
		return errors.New("no options that say how to reach the cluster")
	}
	return c.validateChoice()
}

// validateChoice looks at what is chosen.
func (c Config) validateChoice() error {
	for _, selectors := range [][]string{c.Select, c.Require} {
		for _, s := range selectors {
			if !knownSelector(s) {
				return fmt.Errorf("%q is neither a scenario nor a family", s)
			}
		}
	}
	return nil
}

// selected are the scenarios of the run, in the order of the catalogue.
func (c Config) selected() []*Scenario {
	var out []*Scenario
	for _, s := range Scenarios() {
		named := slices.ContainsFunc(c.Select, s.matches) || slices.ContainsFunc(c.Require, s.matches)
		if named || len(c.Select) == 0 && c.Profile.includes(s.Profile) {
			out = append(out, s)
		}
	}
	return out
}

// NamePrefix begins the names of everything that any run makes.
const NamePrefix = "rcconf-"

// Prefix begins the names of everything that this run makes.
func (c Config) Prefix() string { return NamePrefix + c.RunID + "-" }
