package programs

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"example.com/readcommitted/internal/kafkatest"
)

// account tells what was written, and what the cluster went through.
func (x *swap) account(a *kafkatest.Account, ran time.Duration) string {
	version := "kfake"
	if local := x.cluster.Local(); local != nil {
		version = fmt.Sprintf("Apache Kafka %s, %d brokers", local.Version(), len(local.Nodes()))
	}
	return fmt.Sprintf(`%s, %d partitions, seed %d, %v under load, %d clean restarts of a broker
  written  %d records, %d of them outside of transactions, and %d markers; %d transactions committed, %d aborted; of %d the writer did not know: %d were committed; %d producers replaced`,
		version, servicePartitions, x.seed, ran.Truncate(time.Second), x.restarts,
		a.Records, a.Plain, a.Markers, a.Committed, a.Aborted, a.Unknown, a.UnknownCommitted, x.load.Replaced())
}

// report is what a form did.
func (g *serviceGroup) report(j *judgement, lag int64, ledger *kafkatest.Ledger) string {
	var events []string
	for _, message := range slices.Sorted(maps.Keys(g.events)) {
		events = append(events, fmt.Sprintf("%d %q", g.events[message], message))
	}
	return fmt.Sprintf(`  %-6s %d processes, %d sessions, %d lines, %d records of them once more from a commit on; lag at the end %d
    %d not committed, %d altered, %d lost, %d misplaced, %d doubled
    from the acknowledged commit to the line: %v
    %d pauses of partitions that were full; logged: %s`,
		g.form, len(g.started), len(g.log.begins), j.records, j.repeats, lag,
		j.strangers, j.altered, j.lost, j.misplaced, j.doubled, g.waits(ledger), g.pauses, strings.Join(events, ", "))
}

// waits are how long records took from the moment when their writer knew that
// they can be read until the service had written their line for the first time.
type waits struct {
	all     []time.Duration // sorted
	longest ingested
}

func (g *serviceGroup) waits(ledger *kafkatest.Ledger) waits {
	first := map[int32]map[int64]ingested{}
	for _, lines := range g.log.lines {
		for _, l := range lines {
			if first[l.Partition] == nil {
				first[l.Partition] = map[int64]ingested{}
			}
			if before, seen := first[l.Partition][l.Offset]; !seen || l.At.Before(before.At) {
				first[l.Partition][l.Offset] = l
			}
		}
	}
	var w waits
	longest := time.Duration(-1)
	for p, lines := range first {
		for offset, since := range ledger.Confirmed(p) {
			took := max(0, lines[offset].At.Sub(since)) // a confirmation may come late
			w.all = append(w.all, took)
			if took > longest {
				longest, w.longest = took, lines[offset]
			}
		}
	}
	slices.SortFunc(w.all, cmp.Compare[time.Duration])
	return w
}

func (w waits) String() string {
	n := len(w.all)
	if n == 0 {
		return "nothing to compare"
	}
	at := func(share int) time.Duration { return w.all[(n-1)*share/1000].Round(time.Millisecond) }
	return fmt.Sprintf("half within %v, 99 of 100 within %v, 999 of 1000 within %v, the longest %v (partition %d, offset %d, at %s)",
		at(500), at(990), at(999), w.all[n-1].Round(time.Millisecond), w.longest.Partition, w.longest.Offset, w.longest.At.Format(time.TimeOnly))
}
