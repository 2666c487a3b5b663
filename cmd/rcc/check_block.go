package main

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"example.com/readcommitted/internal/picture"
)

// block is a paragraph of fields whose names stand in a column of their own.
type block struct {
	width int
	lines []string
}

// nameWidth is the room of a field's name, with the space around it.
const nameWidth = 15

func (b *block) line(text string) { b.lines = append(b.lines, picture.Printable(text)) }

// field adds a name and its text, wrapped, cut after some lines if most is above
// zero. A field without text is left out.
func (b *block) field(name, text string, most int) {
	b.rows(name, wrap(strings.Fields(picture.Printable(text)), " ", b.room()), most)
}

// log adds the drawing of a log, broken between batches.
func (b *block) log(text string, most int) {
	if text == "" {
		return
	}
	b.rows("log", wrap(strings.Split(picture.Printable(text), " | "), " | ", b.room()), most)
}

func (b *block) room() int { return max(20, b.width-nameWidth) }

func (b *block) rows(name string, rows []string, most int) {
	if most > 0 && len(rows) > most {
		rows = rows[:most]
		rows[most-1] += " ..."
	}
	for _, row := range rows {
		b.lines = append(b.lines, fmt.Sprintf("  %-*s%s", nameWidth-2, name, row))
		name = ""
	}
}

func (b *block) String() string { return strings.Join(b.lines, "\n") + "\n" }

// wrap joins words to lines; a word that is longer than a line has one alone, and
// is not broken: it may be something to copy.
func wrap(words []string, between string, width int) []string {
	var rows []string
	for _, word := range words {
		if last := len(rows) - 1; last >= 0 && utf8.RuneCountInString(rows[last]+between+word) <= width {
			rows[last] += between + word
			continue
		}
		rows = append(rows, word)
	}
	return rows
}
