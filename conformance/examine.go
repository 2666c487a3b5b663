package conformance

import (
	"context"
	"slices"
	"time"
)

// Examination says what a run would do.
type Examination struct {
	Cluster   *Cluster // nil: it was not asked
	Scenarios []Examined

	config Config
}

// Examined is a scenario that a run has chosen.
type Examined struct {
	*Scenario
	Skipped string // the reason for which it would be skipped here, "" if it would run
}

// Outline is an examination that asks no cluster: it knows only the reasons to
// skip that lie in the configuration.
func Outline(config Config) (*Examination, error) {
	config = config.withDefaults()
	if err := config.validateChoice(); err != nil {
		return nil, err
	}
	e := &Examination{config: config}
	able := &features{newest: TV2}
	for _, s := range config.selected() {
		x := Examined{Scenario: s}
		for _, n := range s.needs {
			if reason := n.missing(able, &config); isOfConfig(reason) {
				x.Skipped = reason
				break
			}
		}
		e.Scenarios = append(e.Scenarios, x)
	}
	return e, nil
}

// isOfConfig reports whether a reason to skip lies in the configuration.
func isOfConfig(reason string) bool {
	return slices.Contains([]string{ReasonNoHook, ReasonNoAdmin, ReasonNoClient, ReasonProfile, ReasonNotBuilt}, reason)
}

// Examine asks a cluster what it can do, changes nothing, and says what a run
// would do there. Its errors are those of [Run].
func Examine(ctx context.Context, config Config) (*Examination, error) {
	r, err := newRun(ctx, config)
	if err != nil {
		return nil, err
	}
	defer r.client.Close()
	cluster := r.features.describe()
	e := &Examination{Cluster: &cluster, config: r.config}
	for _, s := range r.config.selected() {
		e.Scenarios = append(e.Scenarios, Examined{Scenario: s, Skipped: r.missing(s)})
	}
	return e, nil
}

// Running are the scenarios that would run.
func (e *Examination) Running() []*Scenario {
	var out []*Scenario
	for _, x := range e.Scenarios {
		if x.Skipped == "" {
			out = append(out, x.Scenario)
		}
	}
	return out
}

// Time is about how long the run takes on a cluster nearby, were there no
// [Config.MaxTime].
func (e *Examination) Time() time.Duration {
	var together, longest, alone time.Duration
	for _, s := range e.Running() {
		if s.alone {
			alone += s.Typical
			continue
		}
		together += s.Typical
		longest = max(longest, s.Typical)
	}
	return alone + max(longest, together/time.Duration(e.config.Parallel))
}

// Makes is what the run would make, as far as that was measured; unmeasured
// are the scenarios of which it is not known.
func (e *Examination) Makes() (total Footprint, unmeasured []string) {
	for _, s := range e.Running() {
		f, ok := s.Footprint()
		if !ok {
			unmeasured = append(unmeasured, s.ID)
		}
		total.add(f)
	}
	return total, unmeasured
}
