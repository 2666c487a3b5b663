package conformance

import (
	"slices"
	"strings"
)

// families are the scenarios by family, in the order in which they are listed.
var families = [][]*Scenario{familyP, familyL, familyA, familyM, familyD, familyF, familyT, familyR, familyC, familyX}

// Scenarios are all scenarios, in the order of the catalogue. Do not change
// them.
func Scenarios() []*Scenario { return slices.Concat(families...) }

// Find is the scenario with an ID, in any case; nil if there is none.
func Find(id string) *Scenario {
	for _, s := range Scenarios() {
		if strings.EqualFold(s.ID, id) {
			return s
		}
	}
	return nil
}

// matches reports whether a selector, an ID or a family, means the scenario.
func (s *Scenario) matches(selector string) bool {
	return strings.EqualFold(s.ID, selector) || strings.EqualFold(s.Family(), selector)
}

func knownSelector(selector string) bool {
	return slices.ContainsFunc(Scenarios(), func(s *Scenario) bool { return s.matches(selector) })
}
