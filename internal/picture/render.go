package picture

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Options tells [Render] about the page.
type Options struct {
	// Width is the number of columns to fit into; 0 means 80. Below 40 it
	// counts as 40.
	Width int
	// Color adds ANSI colours. Every state has a glyph of its own, so
	// nothing is lost without them.
	Color bool
	// NoLegend leaves the explanation of the glyphs out.
	NoLegend bool
}

const (
	minWidth = 40
	maxName  = 24 // columns for a row's name; longer ones are cut
	gap      = 2  // columns between names and drawing
)

// Render writes the timeline as text: a title, an axis of offsets, one line
// per row, the marks, and a legend of the glyphs in use. If there are more
// offsets than columns, a column stands for several and the title says so.
func Render(w io.Writer, t Timeline, opts Options) error {
	p := newPage(t, opts)
	var b strings.Builder
	b.WriteString(p.title(t))
	p.line(&b, "", p.axis())
	used := make(map[byte]bool)
	for _, row := range t.Rows {
		cells := p.cells(row)
		for _, glyph := range cells {
			used[glyph] = true
		}
		p.line(&b, row.Name, p.paint(cells))
	}
	for _, line := range p.marks(t.Marks) {
		p.line(&b, "", line)
	}
	if !opts.NoLegend {
		p.legend(&b, used)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// page holds the geometry of one drawing.
type page struct {
	start, end int64 // offsets; start is a multiple of scale
	scale      int64 // offsets per column
	names      int   // columns for names
	cols       int   // columns for offsets, one more for a mark at the end
	width      int
	color      bool
}

func newPage(t Timeline, opts Options) page {
	p := page{width: opts.Width, color: opts.Color, start: t.StartOffset, end: t.EndOffset}
	if p.width == 0 {
		p.width = 80
	}
	p.width = max(p.width, minWidth)
	for _, row := range t.Rows {
		p.names = max(p.names, min(maxName, p.width/3, utf8.RuneCountInString(Printable(row.Name))))
	}
	room := int64(p.width - p.names - gap - 1)
	p.scale = 1
	for i := 0; columns(p.start, p.end, p.scale) > room; i++ {
		p.scale = nextScale(p.scale, i)
	}
	p.cols = int(columns(p.start, p.end, p.scale))
	p.start -= p.start % p.scale
	return p
}

// columns counts the columns from start to end, with start moved down to a
// multiple of scale.
func columns(start, end, scale int64) int64 {
	if end <= start {
		return 0
	}
	return (end-1)/scale - start/scale + 1
}

// nextScale walks 1, 2, 5, 10, 20, 50 and so on: steps that keep the axis
// easy to read.
func nextScale(scale int64, step int) int64 {
	if step%3 == 1 {
		return scale / 2 * 5
	}
	return scale * 2
}

// column tells where an offset is drawn. Offsets outside the page go to its
// nearest border; the column after the last one stands for the end.
func (p page) column(offset int64) int {
	switch {
	case offset < p.start:
		return 0
	case offset >= p.end:
		return p.cols
	}
	return int((offset - p.start) / p.scale)
}

func (p page) title(t Timeline) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s/%d", Printable(t.Topic), t.Partition)
	if t.EndOffset <= t.StartOffset {
		fmt.Fprintf(&b, "   empty at offset %d\n", t.StartOffset)
		return b.String()
	}
	fmt.Fprintf(&b, "   offsets %d to %d", t.StartOffset, t.EndOffset-1)
	if p.scale > 1 {
		fmt.Fprintf(&b, "   one column is %d offsets", p.scale)
	}
	b.WriteByte('\n')
	return b.String()
}

// line writes one line: the name, cut or padded, and the drawing, without
// blanks at the end.
func (p page) line(b *strings.Builder, name, drawing string) {
	if drawing == "" && name == "" {
		return
	}
	name = Printable(name)
	if runes := []rune(name); len(runes) > p.names {
		name = string(runes[:p.names-1]) + "~"
	}
	pad := p.names + gap - utf8.RuneCountInString(name)
	b.WriteString(strings.TrimRight(name+strings.Repeat(" ", pad)+drawing, " "))
	b.WriteByte('\n')
}

// axis labels every tenth column, or fewer where the numbers are long. A
// label's first digit stands over the column of its offset.
func (p page) axis() string {
	if p.cols == 0 {
		return ""
	}
	step := int64(10)
	for step < int64(len(strconv.FormatInt(p.end, 10))+2) {
		step += 10
	}
	step *= p.scale
	line := []byte(strings.Repeat(" ", p.width-p.names-gap))
	for offset := (p.start + step - 1) / step * step; offset < p.end; offset += step {
		label := strconv.FormatInt(offset, 10)
		if col := p.column(offset); col+len(label) <= len(line) {
			copy(line[col:], label)
		}
	}
	return strings.TrimRight(string(line), " ")
}
