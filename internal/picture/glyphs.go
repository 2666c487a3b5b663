package picture

import (
	"strings"
	"unicode/utf8"
)

// The glyphs. Each state has its own, so that colour never carries a meaning
// alone.
const (
	glyphNone      = ' '
	glyphPlain     = '#'
	glyphCommitted = '='
	glyphAborted   = 'x'
	glyphOpen      = '.'
	glyphBetween   = '-'
	glyphCommit    = 'C'
	glyphAbort     = 'A'
	glyphOther     = '?'
	glyphSeveral   = '*'
)

// glyph describes one glyph: its words in the legend and its ANSI colour.
type glyph struct {
	char  byte
	words string
	color string
}

var glyphs = []glyph{
	{glyphPlain, "plain", "36"},
	{glyphCommitted, "committed", "32"},
	{glyphAborted, "aborted", "31"},
	{glyphOpen, "open", "33"},
	{glyphCommit, "commit marker", "1;32"},
	{glyphAbort, "abort marker", "1;31"},
	{glyphOther, "other control record", "35"},
	{glyphBetween, "records of others", "2"},
	{glyphSeveral, "several outcomes", "1"},
}

// dataGlyph and markerGlyph are what a bar shows at its records and at its
// control record.
func dataGlyph(s State) byte {
	switch s {
	case Committed:
		return glyphCommitted
	case Aborted:
		return glyphAborted
	case Open:
		return glyphOpen
	case Other:
		return glyphOther
	case Plain:
		return glyphPlain
	}
	return glyphOther
}

func markerGlyph(s State) byte {
	switch s {
	case Committed:
		return glyphCommit
	case Aborted:
		return glyphAbort
	case Open, Other, Plain:
	}
	return glyphOther
}

// cells draws one row, a glyph per column. Where two bars of different states
// share a column it shows that, rather than the one that came last.
func (p page) cells(row Row) []byte {
	cells := []byte(strings.Repeat(" ", p.cols))
	owner := make([]State, p.cols)
	for _, bar := range row.Bars {
		put := func(col int, glyph byte) {
			if col >= p.cols {
				return
			}
			if owner[col] != "" && owner[col] != bar.State {
				glyph = glyphSeveral
			}
			owner[col] = bar.State
			cells[col] = glyph
		}
		if bar.State != Plain {
			p.between(cells, bar)
		}
		for _, span := range bar.Data {
			for col := p.column(span.First); col <= p.column(span.Last) && col < p.cols; col++ {
				put(col, dataGlyph(bar.State))
			}
		}
		if bar.MarkerOffset >= 0 {
			put(p.column(bar.MarkerOffset), markerGlyph(bar.State))
		}
	}
	return cells
}

// between joins the parts of one transaction over the records of others.
func (p page) between(cells []byte, bar Bar) {
	if len(bar.Data) == 0 {
		return
	}
	last := bar.Data[len(bar.Data)-1].Last
	if bar.MarkerOffset >= 0 {
		last = bar.MarkerOffset
	}
	for col := p.column(bar.Data[0].First); col < p.column(last); col++ {
		if cells[col] == glyphNone {
			cells[col] = glyphBetween
		}
	}
}

// paint adds colour to runs of equal glyphs.
func (p page) paint(cells []byte) string {
	if !p.color {
		return strings.TrimRight(string(cells), " ")
	}
	var b strings.Builder
	for len(cells) > 0 {
		n := 1
		for n < len(cells) && cells[n] == cells[0] {
			n++
		}
		b.WriteString(colored(string(cells[:n]), cells[0]))
		cells = cells[n:]
	}
	return b.String()
}

func colored(s string, char byte) string {
	for _, g := range glyphs {
		if g.char == char {
			return "\x1b[" + g.color + "m" + s + "\x1b[0m"
		}
	}
	return s
}

// legend explains the glyphs that the drawing uses, in as many lines as the
// width asks for.
func (p page) legend(b *strings.Builder, used map[byte]bool) {
	var line string
	width := 0
	flush := func() {
		if width > 0 {
			p.line(b, "", line)
		}
		line, width = "", 0
	}
	for _, g := range glyphs {
		if !used[g.char] {
			continue
		}
		plain := string(g.char) + " " + g.words
		if width > 0 && p.names+gap+width+3+utf8.RuneCountInString(plain) > p.width {
			flush()
		}
		if width > 0 {
			line += "   "
			width += 3
		}
		if p.color {
			line += colored(string(g.char), g.char) + " " + g.words
		} else {
			line += plain
		}
		width += utf8.RuneCountInString(plain)
	}
	flush()
}
