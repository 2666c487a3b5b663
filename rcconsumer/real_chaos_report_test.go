package rcconsumer_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"example.com/readcommitted/internal/kafkatest"
)

// account is the first part of a run's report: what was written.
func (x *chaos) account(a *kafkatest.Account) string {
	return fmt.Sprintf(`Apache Kafka %s, %d brokers, %d partitions, seed %d, %v
  written     %d records, %d of them outside of transactions, and %d markers
  ended       %d transactions committed, %d aborted; of %d the writer did not know: %d were committed; %d producers replaced
  the ledger  %d contradictions with the log, %d acknowledged records lost, %d torn transactions`,
		x.local().Version(), chaosNodes, chaosPartitions, x.seed, time.Since(x.began).Truncate(time.Second),
		a.Records, a.Plain, a.Markers, a.Committed, a.Aborted, a.Unknown, a.UnknownCommitted, x.load.Replaced(),
		a.Contradictions, a.LostAcknowledged, a.Torn)
}

func (x *chaos) faultCounts() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	counts := map[string]int{}
	for _, f := range x.faults {
		counts[f.kind]++
	}
	var kinds []string
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		kinds = append(kinds, fmt.Sprintf("%d %s", counts[kind], kind))
	}
	return fmt.Sprintf("  faults      %d: %s", len(x.faults), strings.Join(kinds, ", "))
}

// report is what a reader did.
func (x *chaos) report(r chaosReader, v *verdict) string {
	x.watch.mu.Lock()
	defer x.watch.mu.Unlock()
	again := ""
	if v.repeats > 0 {
		again = fmt.Sprintf(", %d delivered again from a commit on", v.repeats)
	}
	return fmt.Sprintf(`  %s: %d records delivered, %d dropped%s
    %d leaks, %d losses, %d gaps, %d order breaks, %d duplicates
    longest stall %v; with the cluster whole %v`,
		r.name(), v.delivered, r.dropped(), again, v.leaks, v.losses, v.gaps, v.breaks, v.duplicates,
		x.watch.longest[r], x.watch.calm[r])
}

// explain shows what the last readers logged if it took long until they had
// caught up.
func (x *chaos) explain(took time.Duration, last map[chaosReader]string) {
	if took < 2*time.Second {
		return
	}
	for r, where := range last {
		x.t.Logf("%v, %.1f s after all replicas were in sync, among the last: %sit has logged:\n%s", time.Now().Format(time.TimeOnly), took.Seconds(), where, r.words())
	}
}

// maxProblems bounds the lines about what readers told while they read.
const maxProblems = 50

// problem notes what must not happen. The run goes on.
func (x *chaos) problem(format string, args ...any) {
	during := x.during()
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.problems++; x.problems <= maxProblems {
		x.fail("%s (%s, seed %d)", fmt.Sprintf(format, args...), during, x.seed)
	}
}

// during names the fault that is being done, or the one before.
func (x *chaos) during() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	n := len(x.faults)
	if n == 0 {
		return "before the first fault"
	}
	when := "after"
	if x.faults[n-1].ongoing {
		when = "during"
	}
	return fmt.Sprintf("%s #%d %s", when, n, x.faults[n-1].kind)
}

func (x *chaos) disturbed() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	n := len(x.faults)
	return n > 0 && x.faults[n-1].ongoing
}

// faultAt names the last fault that began before the log was stable up to an
// offset.
func (x *chaos) faultAt(partition int32, offset int64) string {
	x.mu.Lock()
	defer x.mu.Unlock()
	for i := len(x.faults) - 1; i >= 0; i-- {
		if x.faults[i].at[partition] <= offset {
			return fmt.Sprintf("after the start of #%d %s", i+1, x.faults[i].kind)
		}
	}
	return "before the first fault"
}

// stableOffsets asks for the last stable offsets; those of silent brokers are
// missing.
func (x *chaos) stableOffsets(ctx context.Context) map[int32]int64 {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	listed, _ := x.admin.ListCommittedOffsets(ctx, x.topic) // what came is there in spite of an error
	ends := map[int32]int64{}
	for p := range int32(chaosPartitions) {
		if o, ok := listed.Lookup(x.topic, p); ok && o.Err == nil {
			ends[p] = o.Offset
		}
	}
	return ends
}

// sample keeps the last stable offsets known. Every broker that is silent costs
// a look two seconds at most.
func (x *chaos) sample(ctx context.Context) {
	for ctx.Err() == nil {
		ends := x.stableOffsets(ctx)
		x.mu.Lock()
		maps.Copy(x.stable, ends)
		x.mu.Unlock()
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

func (x *chaos) ends() map[int32]int64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	return maps.Clone(x.stable)
}

// reached reports whether every partition is stable up to offset.
func (x *chaos) reached(offset int64) bool {
	ends := x.ends()
	for p := range int32(chaosPartitions) {
		if ends[p] < offset {
			return false
		}
	}
	return true
}

// until is kafkatest.Wait with a limit of its own.
func (x *chaos) until(what string, limit time.Duration, condition func(context.Context) (state string, ok bool)) {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(x.t.Context(), limit)
	defer cancel()
	for {
		state, ok := condition(ctx)
		if ok {
			return
		}
		select {
		case <-ctx.Done():
			x.t.Fatalf("waited %v for %s: %s (%s, seed %d)", limit, what, state, x.during(), x.seed)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
