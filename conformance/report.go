package conformance

import (
	"maps"
	"slices"
	"time"
)

// ReportSchema names the JSON form of Report. Within a major version fields are
// only added.
const ReportSchema = "readcommitted.check/1"

// SuiteVersion names this set of scenarios. It changes when a scenario is added
// or a requirement changes.
const SuiteVersion = "0.1"

// Report is what a run found.
type Report struct {
	Schema   string        `json:"schema"`
	Suite    string        `json:"suite_version"`
	RunID    string        `json:"run_id"`
	Profile  Profile       `json:"profile"`
	Seed     uint64        `json:"seed"`
	Started  time.Time     `json:"started"`
	Duration time.Duration `json:"duration_ns"`
	Under    Conditions    `json:"conditions"`
	Cluster  Cluster       `json:"cluster"`
	Results  []Result      `json:"results"`

	// Judged counts the answers that each invariant was held against.
	Judged map[string]int `json:"judged"`
	// Left is what the run made and could not remove.
	Left []string `json:"left_behind,omitempty"`
}

// Cluster is what a probe found the cluster to be.
type Cluster struct {
	ID       string           `json:"id"`
	Brokers  []int32          `json:"brokers"`
	Level    string           `json:"transaction_level"` // the newest, TV1 or TV2
	Versions map[string]Span  `json:"api_versions"`      // by request, what all brokers share
	Features map[string]int16 `json:"finalized_features,omitempty"`
	// ApiVersions is the version of that request which the brokers answered; a
	// low one says that they do not take newer ones as they should.
	ApiVersions int16 `json:"api_versions_version"`
}

// Span is a range of versions, both inclusive.
type Span struct {
	Min int16 `json:"min"`
	Max int16 `json:"max"`
}

func (r *run) newReport() *Report {
	report := &Report{
		Schema: ReportSchema, Suite: SuiteVersion, RunID: r.config.RunID, Profile: r.config.Profile,
		Seed: r.config.Seed, Started: time.Now().UTC(), Under: r.config.conditions(),
		Cluster: r.features.describe(),
	}
	return report
}

func (r *Report) finish() {
	r.Duration = time.Since(r.Started)
	r.Judged = map[string]int{}
	for i := range r.Results {
		for name, n := range r.Results[i].Judged {
			r.Judged[name] += n
		}
	}
}

// Count is how many scenarios came to an outcome.
func (r *Report) Count(outcome Outcome) int {
	n := 0
	for i := range r.Results {
		if r.Results[i].Outcome == outcome {
			n++
		}
	}
	return n
}

// Invariants are the names of the invariants that were applied, in order.
func (r *Report) Invariants() []string { return slices.Sorted(maps.Keys(r.Judged)) }
