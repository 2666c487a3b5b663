package model

// Rule is one invariant over single answers.
type Rule struct {
	Name string
	// Applies reports whether an answer says anything about the invariant.
	Applies func(*View) bool
	// Judge returns the breaches. The log may be nil unless NeedsLog.
	Judge    func(*View, *Log) []Breach
	NeedsLog bool
}

// Rules are the invariants over single answers, in order. U1 (under load) and
// U10 compare answers, see [History]; U9 judges a log; U12 holds ListOffsets
// against Fetch, see [U12].
var Rules = []Rule{
	{"U1", quiet, alone(U1), false},
	{"U2", quiet, alone(U2), false},
	{"U2b", func(v *View) bool { return committed(v) && len(v.Open) > 0 }, alone(U2b), false},
	{"U3", func(v *View) bool { return committed(v) && len(v.Batches) > 0 }, U3, true},
	{"U4", func(v *View) bool { return committed(v) && len(v.List) > 0 }, U4, true},
	{"U5", func(v *View) bool { return len(v.List) > 0 }, alone(U5), false},
	{"U6", func(v *View) bool { return v.Isolation == ReadUncommitted }, alone(U6), false},
	{"U7", func(v *View) bool { return len(v.Batches) > 0 || v.Problem != nil }, alone(U7), false},
	{"U8", hasMarkers, alone(U8), false},
	{"U11", func(v *View) bool { return len(v.Batches) > 0 }, U11, true},
	{"U13", func(v *View) bool { return committed(v) && len(v.Batches) > 0 }, U13, true},
}

func alone(judge func(*View) []Breach) func(*View, *Log) []Breach {
	return func(v *View, _ *Log) []Breach { return judge(v) }
}

func quiet(v *View) bool { return v.Quiet }

func committed(v *View) bool { return v.Isolation == ReadCommitted }

func hasMarkers(v *View) bool {
	for i := range v.Batches {
		if v.Batches[i].Control() {
			return true
		}
	}
	return false
}
