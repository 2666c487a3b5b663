package clientconf

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing that is wrong with the properties. It never holds a
// value, except the name of a file.
type Problem struct {
	File string // "" for an argument
	Line int    // of the key, from 1; 0 if the whole file is meant
	Key  string // "" if there is none, or none that may be shown
	Text string
	Hint string // what to do instead, "" if that is not known

	rank int // of the source: files in the order given, then arguments in theirs
}

func (p Problem) String() string {
	text := p.Text
	if p.Key != "" {
		text = p.Key + ": " + text
	}
	switch {
	case p.File == "" && p.Key == "":
		return "-X: " + text
	case p.File == "":
		return "-X " + text
	case p.Line == 0:
		return p.File + ": " + text
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, text)
}

// Error is everything that is wrong with the properties, by file and line, then
// by argument. It holds at least one problem.
type Error struct{ Problems []Problem }

func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// report collects problems.
type report struct{ problems []Problem }

// add notes a problem of a setting.
func (r *report) add(s setting, hint, format string, args ...any) {
	r.problems = append(r.problems, Problem{
		File: s.file, Line: s.line, Key: s.key, Text: fmt.Sprintf(format, args...), Hint: hint, rank: s.rank,
	})
}

func (r *report) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(r.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.Line, b.Line))
	})
	return &Error{Problems: r.problems}
}
