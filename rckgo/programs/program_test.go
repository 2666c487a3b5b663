package programs

// program is one of the programs, with what the test has to know of it.
type program struct {
	name  string // its folder
	style string // a value of its flag -style
	group bool   // it commits offsets of a group
	some  bool   // it reads not all of the records
	sees  bool   // it is given markers, so that kgo's commits pass them too
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
		{name: "runtimecontrol"},
		{name: "clienthooks"},
		{name: "offsets", some: true},
		{name: "patterns", group: true, sees: true},
		{name: "service", group: true},
		{name: "shared", group: true},
		{name: "dlq", group: true, output: true},
		{name: "workers", style: "auto", group: true},
		{name: "workers", style: "marks", group: true},
		{name: "workers", style: "manual", group: true},
		{name: "handover", style: "cooperative", group: true},
		{name: "handover", style: "eager", group: true},
		{name: "handover", style: "server", group: true},
		{name: "callbacks", group: true},
		{name: "kotelhooks", group: true},
		commits("auto"),
		commits("greedy"),
		commits("marks"),
		commits("records"),
		commits("uncommitted"),
		keeping(commits("kadm")),
		{name: "producer", output: true, writesOnly: true},
		keeping(program{name: "copier", group: true, output: true}),
	}
}

// commits is the program that asks an admin client for the lag, which takes
// kgo's client.
func commits(style string) program {
	return program{
		name: "commitstyles", style: style, group: true,
		edits: []edit{{"main.go", "kadm.NewClient(client)", "kadm.NewClient(client.Kgo())"}},
	}
}

// keeping is a program that names the offsets that it commits, or has kgo do it.
func keeping(p program) program {
	p.keeps = true
	return p
}
