package main

import (
	"time"

	"github.com/schollz/progressbar/v3"
)

// bar draws how much of a bounded read is behind.
type bar struct{ *progressbar.ProgressBar }

// newBar returns a bar for the partitions, or nil if there is nothing honest to
// draw: a read without end, no terminal to draw on, or records that scroll
// through the same terminal.
func (a *app) newBar(partitions []*partitionRead) *bar {
	if a.quiet || !isTerminal(a.stderr) || isTerminal(a.stdout) {
		return nil
	}
	var total int64
	for _, w := range partitions {
		if w.until == noEnd {
			return nil
		}
		total += max(0, w.until-w.from)
	}
	if total == 0 {
		return nil
	}
	return &bar{progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(a.stderr),
		progressbar.OptionSetDescription("offsets"),
		progressbar.OptionShowCount(),
		progressbar.OptionShowIts(),
		progressbar.OptionSetItsString("offsets"),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionSetRenderBlankState(true),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionEnableColorCodes(false),
		progressbar.OptionFullWidth(),
	)}
}

func (b *bar) moved(offsets int64) { _ = b.Set64(offsets) } // a bar that cannot be drawn is no error

// close takes the bar off the terminal, before other words are written.
func (b *bar) close() { _ = b.Clear() }
