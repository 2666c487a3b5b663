package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/internal/picture"
	"example.com/readcommitted/rcconsumer"
)

// demoSchema names the JSON form of [demoReport].
const demoSchema = "readcommitted.demo/1"

// demoReport is all that a demo has to say.
type demoReport struct {
	Schema          string           `json:"schema"`
	Topic           string           `json:"topic"`
	Timeline        picture.Timeline `json:"timeline"` // before the open transaction ends
	Stages          []demoStage      `json:"stages"`
	ReadCommitted   demoCounts       `json:"read_committed"`
	ReadUncommitted demoCounts       `json:"read_uncommitted"`
	Groups          []demoLag        `json:"groups"`
	// Differences between what was written and what was read; there must be
	// none.
	Differences []string `json:"differences"`
}

// demoCounts are the totals of one isolation level.
type demoCounts struct {
	Delivered int64 `json:"delivered_records"`
	Dropped   int64 `json:"aborted_records"`
	Markers   int64 `json:"markers"`
}

// demoStage is what the read_committed reader got in one part of the demo, and
// where it stood at its end.
type demoStage struct {
	Title            string          `json:"title"`
	Delivered        int64           `json:"delivered_records"`
	ByProducer       []producerCount `json:"by_producer"`
	DroppedRecords   int64           `json:"aborted_records"`
	DroppedBatches   int64           `json:"aborted_batches"`
	Next             int64           `json:"next_offset"`
	LastStableOffset int64           `json:"last_stable_offset"`
	HighWatermark    int64           `json:"high_watermark"`
	ReadableLag      int64           `json:"readable_lag"`
	HeldBack         int64           `json:"held_back"`
	stats            rcconsumer.PartitionStats
}

type producerCount struct {
	Producer string `json:"producer"`
	Records  int64  `json:"records"`
}

// newDemoStage describes a part from what came in it; before and stats are the
// reader's counts at its beginning and end.
func newDemoStage(title string, records []*kgo.Record, pos rcconsumer.Position, before, stats rcconsumer.PartitionStats) demoStage {
	s := demoStage{
		Title: title, Delivered: int64(len(records)),
		DroppedRecords: stats.AbortedRecords - before.AbortedRecords,
		DroppedBatches: stats.AbortedBatches - before.AbortedBatches,
		Next:           pos.Next, LastStableOffset: pos.LastStableOffset, HighWatermark: pos.HighWatermark,
		ReadableLag: pos.ReadableLag(), HeldBack: pos.HeldBack(),
		stats: stats,
	}
	for _, r := range records {
		s.count(string(r.Key))
	}
	return s
}

func (s *demoStage) count(producer string) {
	i := slices.IndexFunc(s.ByProducer, func(c producerCount) bool { return c.Producer == producer })
	if i < 0 {
		i = len(s.ByProducer)
		s.ByProducer = append(s.ByProducer, producerCount{Producer: producer})
	}
	s.ByProducer[i].Records++
}

func (s *demoStage) producers() string {
	words := make([]string, len(s.ByProducer))
	for i, c := range s.ByProducer {
		words[i] = fmt.Sprintf("%s %d", c.Producer, c.Records)
	}
	return strings.Join(words, ", ")
}

// finish adds the totals and compares everything with the script.
func (r *demoReport) finish(d *demo) {
	last := r.Stages[len(r.Stages)-1]
	r.ReadCommitted = demoCounts{
		Delivered: int64(len(d.committed.records)),
		Dropped:   last.stats.AbortedRecords,
		Markers:   last.stats.ControlBatches,
	}
	for _, rec := range d.uncommitted.records {
		if rec.Attrs.IsControl() {
			r.ReadUncommitted.Markers++
		} else {
			r.ReadUncommitted.Delivered++
		}
	}
	r.Differences = compare(r, d)
}

// compare returns what differs between the script and the readers, in words.
func compare(r *demoReport, d *demo) []string {
	differences := []string{}
	check := func(what string, got, want int64) {
		if got != want {
			differences = append(differences, fmt.Sprintf("%s: %d, want %d", what, got, want))
		}
	}
	last := r.Stages[len(r.Stages)-1]
	all, visible, dropped, batches := d.script.expected()
	check("delivered at read_committed", r.ReadCommitted.Delivered, int64(len(visible)))
	check("delivered at read_uncommitted", r.ReadUncommitted.Delivered, int64(len(all)))
	check("dropped records", r.ReadCommitted.Dropped, dropped)
	check("dropped batches", last.stats.AbortedBatches, batches)
	check("markers at read_committed", r.ReadCommitted.Markers, d.script.markers)
	check("markers at read_uncommitted", r.ReadUncommitted.Markers, d.script.markers)
	check("anomalies", last.stats.Anomalies, 0)
	for _, s := range r.Stages {
		check("readable lag "+s.Title, s.ReadableLag, 0)
	}
	for _, g := range r.Groups {
		check("committed by the group "+g.Title, g.Committed, g.LastStableOffset)
	}
	check("position at the end", last.Next, last.HighWatermark)
	if !slices.Equal(offsets(d.committed.records), visible) {
		differences = append(differences, "offsets at read_committed are not those of committed and plain records, in order")
	}
	if !slices.Equal(offsets(d.uncommitted.records), all) {
		differences = append(differences, "offsets at read_uncommitted are not those of all records, in order")
	}
	return differences
}

// offsets of data records, in the order of their arrival.
func offsets(records []*kgo.Record) []int64 {
	var out []int64
	for _, r := range records {
		if !r.Attrs.IsControl() {
			out = append(out, r.Offset)
		}
	}
	return out
}

// expected derives from what was written, all transactions having ended, the
// offsets of all records, those that read_committed shows, and how many
// records in how many batches it drops.
func (s *script) expected() (all, visible []int64, dropped, batches int64) {
	for _, b := range s.batches {
		for o := b.first; o <= b.last; o++ {
			all = append(all, o)
			if b.outcome == "aborted" {
				dropped++
			} else {
				visible = append(visible, o)
			}
		}
		if b.outcome == "aborted" {
			batches++
		}
	}
	return all, visible, dropped, batches
}
