package conformance

import (
	"fmt"
	"time"
)

// Finding is one thing that is not as required, with the evidence for it.
type Finding struct {
	Subject     Subject  `json:"subject"`
	Outcome     Outcome  `json:"outcome"`             // FAIL or WARN
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

	late bool // a bound on time was missed, which a busy machine does too
}

// Result is what became of one scenario.
type Result struct {
	ID        string        `json:"id"`
	Name      string        `json:"name"`
	Class     Class         `json:"class"`
	Outcome   Outcome       `json:"outcome"`
	Reason    string        `json:"reason,omitempty"` // of SKIP, INCONCLUSIVE, and a WARN without a finding
	Duration  time.Duration `json:"duration_ns"`
	Levels    []string      `json:"levels,omitempty"`       // the protocol versions that it ran with
	Facts     []string      `json:"observations,omitempty"` // observed and legal
	Findings  []Finding     `json:"findings,omitempty"`
	Throttled time.Duration `json:"throttled_ns,omitempty"` // what the brokers asked the client to wait
	Seed      uint64        `json:"seed"`

	// Judged counts the answers that each invariant was held against.
	Judged map[string]int `json:"judged,omitempty"`
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

// settle works out the outcome from what was found.
func (r *Result) settle() {
	for i := range r.Findings {
		r.Outcome = worse(r.Outcome, r.Findings[i].Outcome)
	}
}

// onlyLate reports whether nothing but bounds on time made the result fail.
func (r *Result) onlyLate() bool {
	for i := range r.Findings {
		if r.Findings[i].Outcome == Fail && !r.Findings[i].late {
			return false
		}
	}
	return true
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
