package mutant

import "slices"

// lists are damages of abortedTransactions.
var lists = []Mutant{
	{
		Number: 1, Name: "no list", Kills: []string{"A-01", "A-02"},
		Make: func() Damage { return onCommitted(func(f fetched) { f.AbortedTransactions = nil }) },
	},
	{
		Number: 4, Name: "an entry twice", Kills: []string{"A-01", "A-02"},
		Make: func() Damage {
			return onCommitted(func(f fetched) {
				if n := len(f.AbortedTransactions); n > 0 {
					f.AbortedTransactions = append(slices.Clone(f.AbortedTransactions), f.AbortedTransactions[n-1])
				}
			})
		},
	},
}
