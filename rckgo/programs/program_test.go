package programs

// program is one of the programs, with what the test has to know of it.
type program struct {
	name  string // its folder
	style string // a value of its flag -style
	group bool   // it commits offsets of a group
	keeps bool   // what it commits stays one past a record, as with kgo

	output     bool // it writes records to a topic of its own
	writesOnly bool // and reads none

	// edits are the changes that it needs beside its import lines.
	edits []edit
}

func (p program) String() string {
	if p.style == "" {
		return p.name
	}
	return p.name + "-" + p.style
}

// programs are all of them.
func programs() []program {
	return []program{
		{name: "polling"},
	}
}
