package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"example.com/readcommitted/internal/picture"
)

// printDemo writes the report in the wanted form.
func (a *app) printDemo(r demoReport) error {
	if a.wantJSON() {
		return a.write(func(w io.Writer) error { return json.NewEncoder(w).Encode(r) })
	}
	var b strings.Builder
	opts := picture.Options{Width: terminalWidth(a.stdout), Color: a.colored(a.stdout)}
	if err := picture.Render(&b, r.Timeline, opts); err != nil {
		return err
	}
	for _, stage := range r.Stages {
		stage.text(&b)
	}
	b.WriteString("\n                    delivered   dropped   markers\n")
	r.ReadCommitted.text(&b, "read_committed")
	r.ReadUncommitted.text(&b, "read_uncommitted")
	lagText(&b, r.Topic, r.Groups)
	b.WriteByte('\n')
	for _, difference := range r.Differences {
		fmt.Fprintf(&b, "DIFFERENT  %s\n", difference)
	}
	if len(r.Differences) == 0 {
		b.WriteString("every record that was written was delivered or dropped as it should be\n")
	}
	return a.write(func(w io.Writer) error {
		_, err := io.WriteString(w, b.String())
		return err
	})
}

// text writes one part of the demo. What was dropped and what is held back is
// said where there is any.
func (s *demoStage) text(b *strings.Builder) {
	fmt.Fprintf(b, "\nread_committed, %s\n", s.Title)
	fmt.Fprintf(b, "  delivered  %3d records   %s\n", s.Delivered, s.producers())
	if s.DroppedRecords > 0 {
		fmt.Fprintf(b, "  dropped    %3d records   aborted, in %d batches that were never decoded\n", s.DroppedRecords, s.DroppedBatches)
	}
	if s.HeldBack > 0 {
		fmt.Fprintf(b, "  held back  %3d offsets   %d to %d, from loader's first record on\n", s.HeldBack, s.LastStableOffset, s.HighWatermark-1)
	}
	fmt.Fprintf(b, "  position    next %d, last stable offset %d, high watermark %d, readable lag %d\n",
		s.Next, s.LastStableOffset, s.HighWatermark, s.ReadableLag)
}

// text writes one line of the table of totals.
func (c demoCounts) text(b *strings.Builder, level string) {
	fmt.Fprintf(b, "  %-16s  %9d %9d %9d\n", level, c.Delivered, c.Dropped, c.Markers)
}
