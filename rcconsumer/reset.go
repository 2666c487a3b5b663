package rcconsumer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// want is how a partition finds the offset to fetch from.
type want struct {
	spec offsetSpec // where to start

	// outOfRange: a broker said that from is not in the log.
	outOfRange bool
	from       int64
	consumed   time.Time // timestamp of the last record read in front of from; zero if none
	tries      int       // how often from turned out to be in the log after all

	// diverged: the leader knows nothing of epoch, that of the record in front
	// of from. That from lies within the bounds of its log means nothing then.
	diverged bool
	epoch    int32

	anew bool // the topic was created again; from is where its predecessor was left
}

// outOfRangeLocked stops fetching until the bounds of the log are known. What
// is buffered was read before and stays.
func (p *partition) outOfRangeLocked() {
	tries := 0
	if p.want.outOfRange && p.want.from == p.fetchOffset {
		tries = p.want.tries + 1
	}
	p.gen++
	p.phase = awaiting
	p.want = want{outOfRange: true, from: p.fetchOffset, consumed: p.readUpToLocked(), tries: tries}
	p.parked = time.Time{}
}

// readUpToLocked is the timestamp of the last record in front of the fetch
// offset, handed out or waiting; zero if nothing was read.
func (p *partition) readUpToLocked() time.Time {
	for _, q := range slices.Backward(p.queue) {
		if n := len(q.kept); n > 0 {
			return time.UnixMilli(q.kept[n-1].Batch.MaxTimestamp())
		}
		if n := len(q.decoded.records); n > 0 {
			return q.decoded.records[n-1].Timestamp
		}
	}
	return p.lastTime
}

// resetter finds fetch offsets, on a goroutine that lives as long as the
// consumer and one more for each leader that is being asked: a silent broker
// must hold up nobody else.
type resetter struct {
	c    *Consumer
	wake chan struct{} // capacity 1
}

func newResetter(c *Consumer) *resetter {
	return &resetter{c: c, wake: make(chan struct{}, 1)}
}

func (r *resetter) poke() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

func (r *resetter) run(ctx context.Context) {
	for ctx.Err() == nil {
		now := time.Now()
		jobs, next := r.due(now)
		for _, led := range jobs {
			r.c.spawn(func(ctx context.Context) { r.resolve(ctx, led) })
		}
		doubted, sooner := r.unvalidated(now)
		for leader, led := range doubted {
			r.c.spawn(func(ctx context.Context) { r.validate(ctx, leader, led) })
		}
		sleep(ctx, min(next, sooner), r.wake)
	}
}

// job is one partition whose offset is being found.
type job struct {
	p       *partition
	gen     uint64
	want    want
	epoch   int32 // leader epoch of the last batch scanned
	answers [queries]listed
}

// due returns what can be asked now, by leader, and when there may be more.
func (r *resetter) due(now time.Time) (jobs map[int32][]*job, next time.Duration) {
	next = time.Hour
	jobs = make(map[int32][]*job)
	for _, p := range r.c.allPartitions() {
		p.mu.Lock()
		switch {
		case p.phase != awaiting || p.leader == noLeader || p.listing:
		case p.parked.After(now):
			next = min(next, p.parked.Sub(now))
		default:
			p.listing = true
			jobs[p.leader] = append(jobs[p.leader], &job{p: p, gen: p.gen, want: p.want, epoch: p.fetchEpoch})
		}
		p.mu.Unlock()
	}
	return jobs, next
}

// resolve lists what the jobs need, one kind of question after the other, and
// applies the answers.
func (r *resetter) resolve(ctx context.Context, jobs []*job) {
	for q := range queries {
		var asked []*job
		for _, j := range jobs {
			if j.asks(&r.c.cfg, q) {
				asked = append(asked, j)
			}
		}
		if len(asked) > 0 {
			r.c.list(ctx, q, asked)
		}
	}
	if ctx.Err() != nil {
		return
	}
	for _, j := range jobs {
		r.apply(j)
	}
	r.poke() // for those that something newer has sent to look again
}

// apply moves the partition, unless something newer has moved it meanwhile.
func (r *resetter) apply(j *job) {
	p := j.p
	var n notices
	p.mu.Lock()
	p.listing = false
	if p.gen == j.gen && p.phase == awaiting {
		p.resolvedLocked(j, &n)
	}
	n.ready = p.deliverableLocked()
	p.mu.Unlock()
	r.c.tell(p, &n)
	r.c.pokeLeader(p)
}

// errNoCommittedOffset ends the reading of a partition that was to start at
// kgo.Offset.AtCommitted where there is none, as in kgo, until SetOffsets.
var errNoCommittedOffset = errors.New("partition has no prior committed offset")

// resolvedLocked acts on the answers of a job.
func (p *partition) resolvedLocked(j *job, n *notices) {
	if err := j.err(); err != nil {
		p.listFailedLocked(err, n)
		return
	}
	if spec := j.want.spec; !j.want.outOfRange && spec.at == atCommitted && !spec.byTime {
		p.restLocked()
		p.handOutLocked(fmt.Errorf("topic %s partition %d: %w", p.topic, p.id, errNoCommittedOffset), n)
		return
	}
	if !j.want.outOfRange {
		to := j.place(j.want.spec)
		p.trouble.streak = 0
		p.seekLocked(to.offset, to.epoch)
		p.doubted = false // it comes from the leader itself
		n.moved = true
		if j.want.anew {
			n.reset = &reset{from: j.want.from, to: to.offset}
		}
		return
	}
	p.resolveRangeLocked(j, n)
}

// resolveRangeLocked decides what follows from an offset that a broker called
// out of range.
func (p *partition) resolveRangeLocked(j *job, n *notices) {
	start, end := j.answers[queryStart].offset, j.answers[queryHighWatermark].offset
	from := j.want.from
	switch {
	case from >= start && from <= end && !j.want.diverged:
		// In the log after all: the broker was wrong or late, and a reset
		// would skip or repeat data.
		p.phase = fetching
		p.parkLocked(backoff(j.want.tries+1, 50*time.Millisecond, 2*time.Second))
		n.err = kerr.OffsetOutOfRange
		return
	case p.c.cfg.reset.noReset:
		p.restLocked()
		p.boundsLocked(start, end)
		p.handOutLocked(j.want.outOfRangeError(p, start, end), n)
		return
	}
	to, lost := j.afterLoss(&p.c.cfg, start, end)
	var err error
	if lost {
		err = &kgo.ErrDataLoss{
			Topic: p.topic, Partition: p.id, ConsumedTo: from, ConsumedToEpoch: j.epoch,
			ResetTo: to.offset, ResetToEpoch: to.epoch,
		}
	}
	p.boundsLocked(start, end)
	p.jumpLocked(to, err, n)
	n.reset = &reset{from: from, to: to.offset}
}

// outOfRangeError is what a partition fails with that may not be reset.
func (w *want) outOfRangeError(p *partition, start, end int64) error {
	if w.diverged {
		return &LogTruncationError{Topic: p.topic, Partition: p.id, Offset: w.from, Epoch: w.epoch}
	}
	return &OffsetOutOfRangeError{Topic: p.topic, Partition: p.id, Offset: w.from, Start: start, End: end}
}

// boundsLocked takes over the bounds of a log that does not have the fetch offset
// any more: it was truncated, so what was known of its ends does not hold.
func (p *partition) boundsLocked(start, end int64) {
	p.forgetEndsLocked(start, end)
}

// jumpLocked goes on reading elsewhere, behind what is buffered.
func (p *partition) jumpLocked(to listed, err error, n *notices) {
	p.phase = fetching
	p.trouble, p.probe, p.quiet = trouble{}, probing{}, 0
	p.want = want{}
	p.audit.Clear()
	q := &piece{
		end: p.fetchOffset, endEpoch: p.fetchEpoch, err: err, jump: true, jumpTo: to.offset, jumpEpoch: to.epoch,
		highWatermark: p.pos.HighWatermark, lastStableOffset: p.pos.LastStableOffset, logStartOffset: p.pos.LogStartOffset,
	}
	p.fetchFromLocked(to.offset, to.epoch)
	p.doubted = false // it comes from the leader itself
	n.moved = p.appendLocked(q) || n.moved
}

// listFailedLocked tries again later what a leader was asked about offsets. An error that will not go away by itself
// is handed out as well, as kgo does.
func (p *partition) listFailedLocked(err error, n *notices) {
	p.trouble.streak++
	p.parkLocked(backoff(p.trouble.streak, 100*time.Millisecond, 5*time.Second))
	if p.trouble.told.fresh(err, time.Now()) {
		n.err = err
	}
	if !isTransient(err) {
		p.handOutLocked(err, n)
	}
	p.c.meta.refresh()
}

// afterLoss decides where to go from an offset that is not in the log, by the
// rules of kgo.ConsumeResetOffset, and whether data that was not read is gone
// at a place that cannot be determined.
func (j *job) afterLoss(cfg *config, start, end int64) (to listed, lost bool) {
	first := listed{offset: start, epoch: j.answers[queryStart].epoch}
	from := j.want.from
	if j.want.consumed.IsZero() {
		return j.firstReset(cfg, first, end), false
	}
	if from < start {
		return first, false // all that is left was never read
	}
	switch spec := cfg.reset; {
	case spec.at == atRewind, spec.byTime:
		to = listed{offset: from, epoch: -1}
		if byTime := j.answers[queryTime]; byTime.offset >= 0 && byTime.offset <= from {
			to = byTime
		}
	default:
		to = j.place(spec)
	}
	return to.within(first, listed{offset: end, epoch: -1}), true
}

// firstReset is where a partition goes that has read nothing yet. Without a
// policy for that (a rewind has nothing to rewind from) it is the nearest bound
// of what may be read, as kgo documents for exact offsets.
func (j *job) firstReset(cfg *config, first listed, end int64) listed {
	last := listed{offset: end, epoch: -1}
	switch {
	case cfg.reset.at != atRewind:
		return j.place(cfg.reset).within(first, last)
	case j.want.from < first.offset:
		return first
	default:
		return j.answers[queryEnd].within(first, last)
	}
}

// place is the offset that spec names, given the answers.
func (j *job) place(spec offsetSpec) listed {
	start, end := j.answers[queryStart], j.answers[queryEnd]
	var to listed
	switch {
	case spec.byTime, spec.at == atLookback:
		if to = j.answers[queryTime]; to.offset < 0 {
			to = end
		}
		return to
	case spec.at == atEnd:
		to = end.plus(spec.relative)
	case spec.at >= 0:
		to = listed{offset: max(0, added(spec.at, spec.relative)), epoch: -1}
	default: // the start, and a rewind from where nothing was read
		to = start.plus(spec.relative)
	}
	return to.within(start, end)
}
