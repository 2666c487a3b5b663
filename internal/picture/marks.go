package picture

import (
	"fmt"
	"slices"
	"strings"
)

// marks draws carets under the offsets that are pointed at. Marks in one
// column share a caret; a label goes to the right of its caret, to the left
// where the page ends, and to a line of its own where neither has room.
func (p page) marks(marks []Mark) []string {
	sorted := slices.Clone(marks)
	slices.SortStableFunc(sorted, func(a, b Mark) int { return p.column(a.Offset) - p.column(b.Offset) })
	var lines [][]rune
	for len(sorted) > 0 {
		col := p.column(sorted[0].Offset)
		var labels []string
		for len(sorted) > 0 && p.column(sorted[0].Offset) == col {
			labels = append(labels, fmt.Sprintf("%s %d", Printable(sorted[0].Name), sorted[0].Offset))
			sorted = sorted[1:]
		}
		lines = p.place(lines, col, strings.Join(labels, ", "))
	}
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = strings.TrimRight(string(line), " ")
	}
	return out
}

// place writes one caret with its label on the first line that has room.
func (p page) place(lines [][]rune, col int, label string) [][]rune {
	room := p.width - p.names - gap
	right := room - col // columns that a text to the right may take
	left := col + 1
	runes := []rune(label)
	if most := max(left, right) - 2; len(runes) > most {
		runes = runes[:most] // a label may be a group's name, of any length
	}
	size := len(runes) + 2
	at, text := col, "^ "+string(runes)
	if size > right {
		at, text = col+1-size, string(runes)+" ^"
	}
	for _, line := range lines {
		if free(line, at-2, at+size+2) {
			copy(line[at:], []rune(text))
			return lines
		}
	}
	line := []rune(strings.Repeat(" ", room))
	copy(line[at:], []rune(text))
	return append(lines, line)
}

func free(line []rune, from, to int) bool {
	if to > len(line) {
		to = len(line)
	}
	for i := max(0, from); i < to; i++ {
		if line[i] != ' ' {
			return false
		}
	}
	return true
}
