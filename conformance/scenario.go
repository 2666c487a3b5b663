package conformance

import (
	"slices"
	"time"
)

// Scenario is one situation and what is required in it.
type Scenario struct {
	ID      string // A-02; the letter is the family
	Name    string // start-offset-sweep
	Class   Class
	Profile Profile // the smallest profile that runs it

	Requirement string // one sentence: what the cluster must do
	Consequence string // one sentence: what users suffer otherwise
	Witness     string // what proves that the situation existed
	Log         string // the situation, drawn; "" if there is no single one
	Known       string // bugs of this kind that real brokers had, "" for none known

	Typical time.Duration // on a local broker
	Limit   time.Duration // after which it is inconclusive; 0: 60 s

	needs  []need
	levels levels
	// alone: it measures time, so that nothing runs beside it.
	alone bool
	// ownTopics: it does something to whole topics, such as deleting one, so that
	// it never shares one with others.
	ownTopics bool
	// faulty: its connections are those of a network that fails when told to.
	faulty bool
	run    func(*trial)
}

// defaultLimit bounds a scenario that names no limit of its own.
const defaultLimit = time.Minute

// Family is the letter of the scenario's family.
func (s *Scenario) Family() string { return s.ID[:1] }

// Needs are what the cluster or the run must have, in words.
func (s *Scenario) Needs() []string {
	var out []string
	if s.levels == onlyTV2 {
		out = append(out, needTV2.what)
	}
	for _, n := range s.needs {
		out = append(out, n.what)
	}
	return out
}

// TakesBrokersAway reports whether the scenario stops, kills or pauses brokers,
// for which it needs [Config.Hook].
func (s *Scenario) TakesBrokersAway() bool {
	return slices.ContainsFunc(s.needs, func(n need) bool { return n.what == needHook.what })
}

// NeedsAdmin reports whether the scenario needs [Config.AllowAdmin].
func (s *Scenario) NeedsAdmin() bool {
	return slices.ContainsFunc(s.needs, func(n need) bool { return n.what == needAdmin.what })
}

// Built reports whether the scenario can run anywhere, and is not only listed.
func (s *Scenario) Built() bool {
	return !slices.ContainsFunc(s.needs, func(n need) bool { return n.missing(&features{newest: TV2}, &Config{}) == ReasonNotBuilt })
}

// levels says for which versions of the protocol a scenario runs.
type levels int8

const (
	eachLevel levels = iota // once for each that the cluster has
	onlyTV1
	onlyTV2
	anyLevel // once, with the newest: it has no transactions, or the protocol does not matter
)

// of are the levels to run, given the newest that the cluster has.
func (l levels) of(newest Level) []Level {
	switch {
	case l == onlyTV1:
		return []Level{TV1}
	case l == onlyTV2:
		return []Level{TV2}
	case l == anyLevel:
		return []Level{newest}
	case newest >= TV2:
		return []Level{TV1, TV2}
	}
	return []Level{TV1}
}

// need is something that a scenario cannot do without.
type need struct {
	what    string
	missing func(*features, *Config) (reason string) // "" if it is there
}

// Reasons for which scenarios are skipped, as reports have them.
const (
	ReasonAbsent        = "api-absent"
	ReasonNotAuthorized = "not-authorised"
	ReasonRefused       = "config-refused"
	ReasonFewBrokers    = "too-few-brokers"
	ReasonNoFollower    = "no-preferred-replica"
	ReasonNoHook        = "no-hook"
	ReasonNoAdmin       = "no-allow-admin"
	ReasonNoLevel       = "tv-absent"
	ReasonProfile       = "profile"
	ReasonNoClient      = "no-client"
	ReasonMaxTime       = "max-time"
	ReasonNotBuilt      = "not-built" // the catalogue has it, this checker does not
)
