package conformance

import (
	"cmp"
	"slices"
	"strings"
)

// families are the scenarios by family, in the order in which they are listed.
var families = [][]*Scenario{familyP, familyL, familyA, familyM, familyD, familyF, familyT, familyO, familyC}

// Scenarios are all scenarios, in the order of the catalogue: family by family,
// and by number. Do not change them.
func Scenarios() []*Scenario {
	all := slices.Concat(families...)
	order := map[string]int{}
	for i, s := range all {
		if _, ok := order[s.Family()]; !ok {
			order[s.Family()] = i
		}
	}
	slices.SortStableFunc(all, func(a, b *Scenario) int {
		return cmp.Or(cmp.Compare(order[a.Family()], order[b.Family()]), strings.Compare(a.ID, b.ID))
	})
	return all
}

// OfProfile are the scenarios that a profile runs.
func OfProfile(p Profile) []*Scenario {
	return slices.DeleteFunc(Scenarios(), func(s *Scenario) bool { return !p.includes(s.Profile) })
}

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
