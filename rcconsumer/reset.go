package rcconsumer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
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
		for leader, led := range jobs {
			r.c.spawn(func(ctx context.Context) { r.resolve(ctx, leader, led) })
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
			if left := r.c.listing.left(p.leader, now); left > 0 {
				next = min(next, left)
				break
			}
			p.listing = true
			jobs[p.leader] = append(jobs[p.leader], &job{p: p, gen: p.gen, want: p.want, epoch: p.fetchEpoch})
		}
		p.mu.Unlock()
	}
	return jobs, next
}

// resolve lists what the jobs need, one kind of question after the other, and
// applies the answers.
func (r *resetter) resolve(ctx context.Context, leader int32, jobs []*job) {
	for q := range queries {
		var asked []*job
		for _, j := range jobs {
			if j.asks(&r.c.cfg, q) {
				asked = append(asked, j)
			}
		}
		if len(asked) > 0 {
			leave := r.c.listing.enter(ctx, leader, true)
			r.c.list(ctx, q, asked)
			leave()
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
	p.ails.list.ended()
	if spec := j.want.spec; !j.want.outOfRange && spec.at == atCommitted && !spec.byTime {
		err := fmt.Errorf("topic %s partition %d: %w", p.topic, p.id, errNoCommittedOffset)
		p.stopLocked(err)
		p.handOutLocked(err, n)
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
