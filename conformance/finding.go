package conformance

import (
	"fmt"
	"time"

	"example.com/readcommitted/conformance/internal/model"
)

// Finding is one thing that is not as required, with the evidence for it.
type Finding struct {
	Subject     Subject  `json:"subject"`
	Outcome     Outcome  `json:"outcome"`             // FAIL or WARN; INCONCLUSIVE if its situation was not seen
	Invariant   string   `json:"invariant,omitempty"` // U1 to U13, "" for the scenario's own assertion
	Level       string   `json:"level,omitempty"`     // TV1 or TV2
	Requirement string   `json:"requirement"`         // one sentence
	Consequence string   `json:"consequence"`         // one sentence
	Expected    string   `json:"expected"`
	Observed    string   `json:"observed"`
	Topic       string   `json:"topic,omitempty"`
	Partition   int32    `json:"partition"`           // of Topic
	Offset      int64    `json:"offset"`              // the offending one, -1 for none
	Log         string   `json:"log,omitempty"`       // the partition, drawn
	Exchanges   []string `json:"exchanges,omitempty"` // the answers before it, decoded, the newest last
	Bytes       []byte   `json:"bytes,omitempty"`     // of an answer that nobody can read
	Repeated    int      `json:"repeated,omitempty"`  // how many more like it there were

	// Answers are those that an invariant was held against: one, or the one before
	// it and the one that contradicts it. Ends are there where ListOffsets was held
	// against an answer.
	Answers []Answer    `json:"answers,omitempty"`
	Ends    *ListedEnds `json:"listed_ends,omitempty"`

	views []*model.View // what Answers are made of

	own      bool // an assertion of the scenario
	late     bool // it may be for a bound on time alone
	doubtful bool // a bound on time was over before, which may explain it
	unsafe   bool // nothing that comes late explains it
	short    bool // it is just what comes of something late
}

// Result is what became of one scenario.
type Result struct {
	ID        string        `json:"id"`
	Name      string        `json:"name"`
	Class     Class         `json:"class"`
	Outcome   Outcome       `json:"outcome"`
	Reason    string        `json:"reason,omitempty"` // of SKIP, INCONCLUSIVE, and a WARN without a finding
	Detail    string        `json:"detail,omitempty"` // of a SKIP: what was refused or is not there, in words
	Duration  time.Duration `json:"duration_ns"`
	Levels    []string      `json:"levels,omitempty"`       // the protocol versions that it ran with
	Facts     []string      `json:"observations,omitempty"` // observed and legal
	Flaky     bool          `json:"flaky,omitempty"`        // the cluster missed bounds on time, and not when they were doubled
	Findings  []Finding     `json:"findings,omitempty"`
	Throttled time.Duration `json:"throttled_ns,omitempty"` // what the brokers asked the client to wait
	Seed      uint64        `json:"seed"`

	// Made is what it made on the cluster.
	Made *Footprint `json:"made,omitempty"`

	// Logs are those of the partitions of findings, as far as they are kept.
	Logs []PartitionLog `json:"logs,omitempty"`

	// Judged counts the answers that each invariant was held against.
	Judged map[string]int `json:"judged,omitempty"`
}

// Why is the reason with its detail.
func (r *Result) Why() string {
	if r.Detail == "" {
		return r.Reason
	}
	return r.Reason + ": " + r.Detail
}

// findingsShown bounds the findings of one kind in one scenario; the others
// are counted.
const findingsShown = 3

// add keeps a finding, or counts it with those like it.
func (r *Result) add(f Finding) {
	same := 0
	for i := range r.Findings {
		g := &r.Findings[i]
		if g.Invariant == f.Invariant && g.Requirement == f.Requirement && g.Subject == f.Subject && g.Outcome == f.Outcome {
			if same++; same == findingsShown {
				g.Repeated++
				return
			}
		}
	}
	r.Findings = append(r.Findings, f)
}

// missedInTime is what was observed if the result is a failure for bounds on
// time alone, and "" otherwise.
func (r *Result) missedInTime() (observed string) {
	for i := range r.Findings {
		switch f := &r.Findings[i]; {
		case f.Outcome == Fail && !f.late && !f.doubtful:
			return ""
		case f.Outcome == Fail && observed == "":
			observed = f.Observed
		}
	}
	return observed
}

// doubtful are the failures that a bound that was over may explain, lowered:
// they are no proof. Where nothing explains them in the end, they are no trifle
// either.
func (r *Result) doubtful() (out []Finding) {
	for _, f := range r.Findings {
		if f.doubtful && f.Outcome == Fail {
			f.Outcome = Inconclusive
			out = append(out, f)
		}
	}
	return out
}

// unwitnessed lowers what the scenario's own assertions missed: in a situation
// that did not exist they say nothing. Invariants hold in every situation.
func (r *Result) unwitnessed() {
	for i := range r.Findings {
		if f := &r.Findings[i]; f.own {
			f.Outcome = Inconclusive
		}
	}
}

// settle works out the outcome from what was found.
func (r *Result) settle() {
	for i := range r.Findings {
		r.Outcome = worse(r.Outcome, r.Findings[i].Outcome)
	}
}

// Of reports whether a finding with this outcome is about a subject.
func (r *Result) Of(subject Subject, outcome Outcome) bool {
	for i := range r.Findings {
		if r.Findings[i].Subject == subject && r.Findings[i].Outcome == outcome {
			return true
		}
	}
	return false
}

func (f *Finding) place() string {
	if f.Topic == "" {
		return ""
	}
	return fmt.Sprintf("%s/%d@%d", f.Topic, f.Partition, f.Offset)
}
