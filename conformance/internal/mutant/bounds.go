package mutant

// bounds are damages of the last stable offset and the high watermark.
var bounds = []Mutant{
	{
		Number: 9, Name: "LSO one too high", Kills: []string{"L-01"},
		Make: func() Damage {
			return onCommitted(func(f fetched) {
				if f.LastStableOffset < f.HighWatermark {
					f.LastStableOffset++
				}
			})
		},
	},
	{
		Number: 10, Name: "LSO is the high watermark", Kills: []string{"L-01", "L-02"},
		Make: func() Damage { return onCommitted(func(f fetched) { f.LastStableOffset = f.HighWatermark }) },
	},
}
