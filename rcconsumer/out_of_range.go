package rcconsumer

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

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
		p.ails.fetch.failed(kerr.OffsetOutOfRange, time.Now())
		n.err = kerr.OffsetOutOfRange
		return
	case p.c.cfg.reset.noReset:
		err := j.want.outOfRangeError(p, start, end)
		p.stopLocked(err)
		p.forgetEndsLocked(start, end)
		p.handOutLocked(err, n)
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
	p.forgetEndsLocked(start, end)
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

// listFailedLocked tries again later what a leader was asked about offsets. An
// error that will not go away by itself is handed out as well, as kgo does.
func (p *partition) listFailedLocked(err error, n *notices) {
	p.trouble.streak++
	p.ails.list.failed(err, time.Now())
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
