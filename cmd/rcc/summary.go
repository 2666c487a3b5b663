package main

import (
	"fmt"
	"strconv"
	"strings"

	"example.com/readcommitted/rcconsumer"
)

// maxSummaryLines keeps the summary of a wide topic short.
const maxSummaryLines = 16

// summarize tells what was read: a line per partition that gave anything, and
// the sum of all. Aborted records and markers are what was passed over. A read
// that ended in front of fetched data has scanned more than it printed: then
// the counts are given for what was fetched, and called so.
func (a *app) summarize(r *read) {
	if a.quiet {
		return
	}
	stats := r.source.Stats()
	var sum partitionSummary
	var lines []string
	for _, p := range r.partitions {
		s := p.stats
		if !p.away {
			s = sumStats(s, stats[p.topic][p.partition])
		}
		pos, ok := r.where(p)
		unprinted := s.DeliveredRecords > p.printed // the output was closed, or full
		one := partitionSummary{printed: p.printed, ahead: unprinted || r.ahead(p, pos), PartitionStats: s}
		sum.add(one)
		gave := p.printed + p.markers
		if !one.ahead {
			gave += s.AbortedRecords + s.ControlBatches
		}
		if gave == 0 && len(r.partitions) > 1 {
			continue
		}
		line := p.name() + ": " + one.String()
		if ok {
			line += "; " + r.offsets(p, pos)
		}
		lines = append(lines, line)
	}
	if len(lines) <= maxSummaryLines {
		for _, line := range lines {
			a.say("%s", line)
		}
	}
	if len(r.partitions) > 1 {
		a.say("%d partitions: %s", len(r.partitions), sum)
	}
	if r.member != nil {
		r.member.summarize(r)
	}
}

// offsets tells where the read stands.
func (r *read) offsets(p *partitionRead, pos rcconsumer.Position) string {
	words := fmt.Sprintf("next %s, last stable offset %s, high watermark %s",
		known(p.next(pos)), known(pos.LastStableOffset), known(pos.HighWatermark))
	if r.member != nil {
		words += ", committed " + known(pos.Committed)
	}
	return words
}

// next is the offset at which another read would go on.
func (p *partitionRead) next(pos rcconsumer.Position) int64 {
	if p.until == noEnd || pos.Next < p.until {
		return pos.Next
	}
	return p.until
}

// ahead reports whether more was scanned than the read covers.
func (r *read) ahead(p *partitionRead, pos rcconsumer.Position) bool {
	return r.left == 0 || p.until != noEnd && (pos.Next > p.until || p.until < r.end(pos))
}

// known writes an offset, which is -1 as long as no broker has told it.
func known(offset int64) string {
	if offset < 0 {
		return "unknown"
	}
	return strconv.FormatInt(offset, 10)
}

type partitionSummary struct {
	printed int64
	ahead   bool // the counts below hold more than was printed
	rcconsumer.PartitionStats
}

func (s *partitionSummary) add(o partitionSummary) {
	s.printed += o.printed
	s.ahead = s.ahead || o.ahead
	s.FetchedBytes += o.FetchedBytes
	s.AbortedRecords += o.AbortedRecords
	s.ControlBatches += o.ControlBatches
	s.DeliveredBytes += o.DeliveredBytes
	s.AbortedBytes += o.AbortedBytes
	s.Anomalies += o.Anomalies
}

func (s partitionSummary) String() string {
	words := []string{plural(s.printed, "record") + " delivered"}
	if s.ahead {
		words = append(words, fmt.Sprintf("out of %s fetched, with %s and %s",
			size(s.FetchedBytes), plural(s.AbortedRecords, "aborted record"), plural(s.ControlBatches, "marker")))
	} else {
		words = append(words, plural(s.AbortedRecords, "aborted record")+" dropped", plural(s.ControlBatches, "marker"),
			size(s.DeliveredBytes)+" delivered, "+size(s.AbortedBytes)+" dropped")
	}
	if s.Anomalies > 0 {
		words = append(words, fmt.Sprintf("%d ANOMALIES", s.Anomalies))
	}
	return strings.Join(words, ", ")
}

func plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// size writes a number of bytes with three digits, in powers of 1000.
func size(n int64) string {
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	value, unit := float64(n)/1000, 0
	for value >= 999.5 && unit < 4 {
		value, unit = value/1000, unit+1
	}
	return fmt.Sprintf("%.3g %cB", value, "kMGTP"[unit])
}
