package conformance

import (
	"fmt"
	"slices"
	"strings"
)

// Class is how much a scenario's requirement weighs.
type Class string

// The classes. An upper bound on time is Live, never Must.
const (
	Must   Class = "MUST"   // safety: a miss is a failure
	Live   Class = "LIVE"   // progress within a bound: tried again once with the bound doubled
	Should Class = "SHOULD" // parity with Apache Kafka: a miss is a warning
	Info   Class = "INFO"   // records a fact
)

// Required reports whether a run has to decide scenarios of this class.
func (c Class) Required() bool { return c == Must || c == Live }

// Outcome is what a scenario came to.
type Outcome string

// The outcomes.
const (
	Pass         Outcome = "PASS"
	Fail         Outcome = "FAIL"
	Warn         Outcome = "WARN"
	Skip         Outcome = "SKIP"
	Inconclusive Outcome = "INCONCLUSIVE" // nothing was decided; never a pass
)

// rank orders outcomes when one scenario has several: the last one counts.
var rank = map[Outcome]int{Skip: 0, Pass: 1, Warn: 2, Inconclusive: 3, Fail: 4}

func worse(a, b Outcome) Outcome {
	if rank[b] > rank[a] {
		return b
	}
	return a
}

// Profile is a set of scenarios. Smoke, Standard and Extended each contain the
// ones before. Destructive are those that need a hook to the brokers, and Soak
// those that need hours, and nothing else.
type Profile string

// The profiles.
const (
	Smoke       Profile = "smoke"
	Standard    Profile = "standard"
	Extended    Profile = "extended"
	Destructive Profile = "destructive"
	Soak        Profile = "soak"
)

// Profiles are all profiles, the smallest first.
var Profiles = []Profile{Smoke, Standard, Extended, Destructive, Soak}

// ParseProfile finds a profile by its name.
func ParseProfile(name string) (Profile, error) {
	for _, p := range Profiles {
		if strings.EqualFold(string(p), name) {
			return p, nil
		}
	}
	return "", fmt.Errorf("profile %q: want smoke, standard, extended, destructive or soak", name)
}

// includes reports whether a profile runs a scenario whose smallest one is of.
func (p Profile) includes(of Profile) bool {
	if p == Destructive || p == Soak {
		return of == p
	}
	return slices.Index(Profiles, of) <= slices.Index(Profiles, p)
}

// Level is the version of the transaction protocol that a scenario's producers
// speak: 1 with AddPartitionsToTxn and EndTxn up to v4, 2 with Produce v12 and
// EndTxn v5 (KIP-890).
type Level int16

// The levels.
const (
	TV1 Level = 1
	TV2 Level = 2
)

func (l Level) String() string { return fmt.Sprintf("TV%d", int16(l)) }

// Subject is what a finding is about.
type Subject string

// Subjects. That of a client is Client and its name.
const (
	OfCluster Subject = "cluster"
	OfChecker Subject = "checker"
)

// OfClient is the subject of a finding about a reader under judgement.
func OfClient(name string) Subject { return Subject("client " + name) }
