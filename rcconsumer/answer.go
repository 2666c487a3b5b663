package rcconsumer

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/internal/pass"
)

// minFetchVersion is the first Fetch version that knows isolation levels.
const minFetchVersion = 4

// answer is what a broker sent for one partition, with what was asked.
type answer struct {
	wanted  *wanted
	part    *kmsg.FetchResponseTopicPartition
	broker  int32 // that sent it
	version int16
	lease   *lease
	scanner *pass.Scanner
	alone   bool // the request was for this partition alone, and did not wait
	first   bool // the partition had the first turn
	total   int  // record bytes of the whole answer
}

// outcome is what an answer means to the broker's loop.
type outcome struct {
	got     bool // bytes that took the partition further
	served  bool // the partition had its turn
	refresh bool // metadata may be out of date
}

// notices are what hooks, log and pollers must hear of. They are collected
// under the partition's lock and told without it.
type notices struct {
	anomalies []Anomaly
	aborted   []BatchInfo
	err       error // retried
	ready     bool  // something to hand out
	moved     bool  // Next moved
	stable    bool  // the last stable offset changed
	newLeader bool  // another broker is to be asked
	awaits    bool  // the fetch offset must be found anew
	reset     *reset
}

// reset is a move to an offset that nobody asked for.
type reset struct{ from, to int64 }

// accept takes a partition's part of an answer: in the order of the checks of
// the Java client, a stale one is dropped, an error handled, and bytes scanned.
func (c *Consumer) accept(a *answer) outcome {
	p := a.wanted.p
	var n notices
	p.mu.Lock()
	o := p.acceptLocked(a, &n)
	n.ready = p.deliverableLocked()
	p.mu.Unlock()
	c.tell(p, &n)
	return o
}

func (c *Consumer) tell(p *partition, n *notices) {
	for _, b := range n.aborted {
		each(c.cfg.hooks, func(h HookAbortedBatch) { h.OnAbortedBatch(p.topic, p.id, b) })
	}
	for _, a := range n.anomalies {
		c.report.anomaly(a)
	}
	if n.reset != nil {
		c.report.offsetReset(p.topic, p.id, n.reset.from, n.reset.to)
	}
	if n.err != nil {
		c.report.fetchError(p.topic, p.id, n.err)
	}
	if n.stable {
		c.stable.ring()
	}
	if n.newLeader {
		c.place(p)
	}
	if n.awaits {
		c.resets.poke()
	}
	c.offer(p, n.ready, n.moved)
}

func (p *partition) acceptLocked(a *answer, n *notices) outcome {
	if p.gen != a.wanted.gen {
		return outcome{}
	}
	if a.version < minFetchVersion {
		err := &VersionError{Request: "Fetch", Got: a.version, Need: minFetchVersion}
		p.failLocked(err, n)
		return outcome{}
	}
	if err := kerr.ErrorForCode(a.part.ErrorCode); err != nil {
		return p.errorLocked(a, err, n)
	}
	if p.divergingLocked(a, n) {
		return outcome{served: true}
	}
	before := p.pos.CaughtUp()
	seen := p.pos.UpdatedAt
	n.stable = p.endsLocked(a.wanted.epoch, a.part.LogStartOffset, a.part.LastStableOffset, a.part.HighWatermark)
	if a.wanted.followed {
		p.pos.UpdatedAt = seen // a follower may be cut off and behind; the sampler asks the leader
	}
	// Who reads up to an end must hear that it is reached already.
	n.moved = n.moved || !before && p.pos.CaughtUp()
	p.trouble.unknown = 0
	follows := p.preferLocked(a, n)
	if len(a.part.RecordBatches) == 0 {
		p.trouble.streak = 0
		p.ails.fetch.ended()
		if follows {
			return outcome{got: true, served: true}
		}
		return outcome{served: p.emptyLocked(a, n)}
	}
	return p.scanLocked(a, n)
}

// scanLocked judges the bytes of an answer and queues what is kept.
func (p *partition) scanLocked(a *answer, n *notices) outcome {
	res := a.scanner.Scan(p.passOptionsLocked(), a.part.RecordBatches, a.part.AbortedTransactions)
	p.stats.addScan(res.Counts, len(a.part.RecordBatches))
	n.aborted = batchInfos(res.Aborted)
	n.anomalies = p.anomaliesOf(res.Anomalies)
	p.stats.Anomalies += int64(len(n.anomalies))
	if res.Err == nil && res.Next == p.fetchOffset && a.broker == p.follow.replica {
		p.leaveLocked(p.noProgress(len(a.part.RecordBatches)), n)
		return outcome{served: true}
	}
	if res.Err == nil && res.Next == p.fetchOffset {
		p.noProgressLocked(len(a.part.RecordBatches), n)
		return outcome{served: true}
	}
	q := &piece{
		kept: res.Kept, end: res.Next, endEpoch: res.NextEpoch, lease: a.lease, bytes: len(a.part.RecordBatches),
		broker:        a.broker,
		highWatermark: a.part.HighWatermark, lastStableOffset: a.part.LastStableOffset, logStartOffset: a.part.LogStartOffset,
	}
	a.lease.retain()
	progressed := res.Next > p.fetchOffset
	worst := firstHarmful(res.Anomalies, a.scanner)
	if progressed {
		p.fetchOffset, p.fetchEpoch = res.Next, res.NextEpoch
	}
	p.quiet, p.probe, p.pos.readTo = 0, probing{}, 0
	p.follow.fed = time.Now()
	switch {
	case p.c.cfg.anomalyPolicy == AnomalyFail && worst >= 0:
		p.failAtAnomalyLocked(q, a.scanner.OffsetOf(res.Anomalies[worst]), n.anomalies[worst])
	case res.Err != nil && a.broker == p.follow.replica:
		p.leaveLocked(p.batchError(res.Err), n) // the leader may have the batch whole
	case res.Err != nil:
		q.err = p.batchError(res.Err)
		p.ails.fetch.failed(q.err, time.Now())
		p.parkHereLocked()
	default:
		p.trouble.streak = 0
		p.ails.fetch.ended()
	}
	n.moved = p.appendLocked(q) || n.moved
	return outcome{got: progressed, served: true}
}

// firstHarmful returns the index of the anomaly that shows first in the log, -1
// if there is none. A duplicate entry harms nobody.
func firstHarmful(anomalies []pass.Anomaly, s *pass.Scanner) int {
	first := -1
	for i, a := range anomalies {
		if !pass.Harmless(a) && (first < 0 || s.OffsetOf(a) < s.OffsetOf(anomalies[first])) {
			first = i
		}
	}
	return first
}

// failAtAnomalyLocked keeps what lies in front of the anomaly and stops there.
func (p *partition) failAtAnomalyLocked(q *piece, at int64, an Anomaly) {
	for i, k := range q.kept {
		if k.Batch.BaseOffset() >= at {
			q.kept = q.kept[:i]
			break
		}
	}
	q.end = min(q.end, at)
	q.err = &AnomalyError{Anomaly: an}
	p.stopLocked(q.err)
}

func (p *partition) anomaliesOf(found []pass.Anomaly) []Anomaly {
	if len(found) == 0 {
		return nil
	}
	out := make([]Anomaly, 0, len(found))
	for _, a := range found {
		detail := "no entry"
		if a.FirstOffset >= 0 {
			detail = fmt.Sprintf("entry with first offset %d", a.FirstOffset)
		}
		out = append(out, Anomaly{
			Kind: a.Kind.String(), Topic: p.topic, Partition: p.id, Offset: a.Offset, ProducerID: a.ProducerID, Detail: detail,
		})
	}
	return out
}

func batchInfos(batches []pass.Batch) []BatchInfo {
	if len(batches) == 0 {
		return nil
	}
	infos := make([]BatchInfo, 0, len(batches))
	for _, b := range batches {
		infos = append(infos, BatchInfo{
			BaseOffset: b.BaseOffset(), LastOffset: b.LastOffset(), Records: int(b.RecordCount()), Bytes: len(b.Bytes()),
			ProducerID: b.ProducerID(), ProducerEpoch: b.ProducerEpoch(),
		})
	}
	return infos
}
