package rcconsumer

import (
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/internal/pass"
)

// phase is what a partition is doing.
type phase uint8

const (
	awaiting phase = iota // the offset to fetch from is not known yet
	fetching              // fetchOffset is valid
	resting               // an error was handed out that only SetOffsets ends
)

// noLeader is the leader of a partition whose leader is not known.
const noLeader = -1

// partition is the state of one partition being read.
type partition struct {
	topic string
	id    int32
	c     *Consumer

	mu sync.Mutex
	// The rest is guarded by mu.

	// gen changes with everything that makes an answer on its way worthless:
	// a seek, a reset, a new leader, a pause, an end of the assignment.
	gen uint64

	phase phase
	want  want // how to find the fetch offset, while awaiting

	leader      int32 // noLeader if unknown
	leaderEpoch int32
	rewinds     int // Metadata answers in a row that named an older epoch
	topicID     [16]byte
	retired     [][16]byte // earlier IDs of the topic's name, the newest last
	listing     bool       // ListOffsets is on its way

	fetchOffset int64 // end of the last scanned batch
	parked      time.Time
	trouble     trouble // errors of this partition in a row
	quiet       int     // answers in a row without bytes that did not wait
	probe       probing // is anything left below the last stable offset?

	queue   []*piece
	queued  int  // record bytes in queue
	polling bool // a poll is taking from queue

	pos       Position
	endsEpoch int32 // leader epoch of the ends in pos
	stats     PartitionStats
	audit     pass.Audit
	lastTime  time.Time // timestamp of the last record handed out since the last seek
}

// trouble paces a partition that fails.
type trouble struct {
	streak  int   // retried errors in a row
	unknown int   // UNKNOWN_TOPIC_ID in a row
	at      int64 // where reading does not go on, and
	repeats int   // how often it did not
	told    once  // what was logged
}

func newPartition(c *Consumer, topic string, id int32, start offsetSpec) *partition {
	p := &partition{topic: topic, id: id, c: c, leader: noLeader, leaderEpoch: -1, endsEpoch: -1}
	p.pos = Position{
		Next: -1, NextEpoch: -1, LogStartOffset: -1, LastStableOffset: -1, HighWatermark: -1, Committed: -1,
		readUncommitted: c.cfg.readUncommitted,
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.beginLocked(start)
	return p
}

// beginLocked starts to read at the place spec names.
func (p *partition) beginLocked(spec offsetSpec) {
	if at, ok := spec.exact(); ok {
		p.seekLocked(at, spec.epoch)
		return
	}
	p.awaitLocked(want{spec: spec})
}

// seekLocked makes at the next offset to fetch and to hand out.
func (p *partition) seekLocked(at int64, epoch int32) {
	p.dropLocked()
	p.phase = fetching
	p.fetchOffset = at
	p.pos.Next, p.pos.NextEpoch = at, max(epoch, -1)
	p.pos.readTo = 0
	p.lastTime = time.Time{}
	p.trouble, p.probe, p.quiet = trouble{}, probing{}, 0
	p.parked = time.Time{}
}

// awaitLocked stops fetching until the offset has been found.
func (p *partition) awaitLocked(w want) {
	p.dropLocked()
	p.phase = awaiting
	p.want = w
	p.parked = time.Time{}
}

// dropLocked forgets everything queued, errors and jumps included, and makes
// answers on their way worthless. What was handed out stays handed out: Next
// does not move.
func (p *partition) dropLocked() {
	p.gen++
	p.audit.Clear()
	for _, q := range p.queue {
		p.discardLocked(q)
	}
	p.queue, p.queued = nil, 0
}

// discardLocked gives back what a piece holds.
func (p *partition) discardLocked(q *piece) {
	dropped := q.discard(p.c.budget)
	if len(dropped) > 0 && p.c.report.listen {
		p.c.aside.Go(func() { p.c.report.unbuffered(dropped, false) }) // as in kgo, on a goroutine of its own
	}
}

// rewindLocked gives back the memory of what is queued; it is fetched again
// later. Errors come again with it and are dropped too, but for a jump: the log
// it was found in may look whole by then, and nobody would hear of the loss.
func (p *partition) rewindLocked() {
	jump := -1
	holds := false
	for i, q := range p.queue {
		holds = holds || q.holds()
		if q.jump {
			jump = i
		}
	}
	switch {
	case jump >= 0:
		p.keepJumpLocked(jump)
	case holds:
		p.dropLocked()
		p.phase, p.fetchOffset = fetching, p.pos.Next
	case p.phase == fetching:
		p.gen++ // an answer on its way would be buffered
		p.audit.Clear()
	default:
		return
	}
	p.probe = probing{}
}

// keepJumpLocked drops all data, and keeps the jump at index i with its error
// and those in front of it.
func (p *partition) keepJumpLocked(i int) {
	kept := make([]*piece, 0, i+1)
	for k, q := range p.queue {
		event := k <= i && (q.err != nil || q.jump)
		p.discardLocked(q)
		if event {
			q.end, q.bytes = -1, 0
			kept = append(kept, q)
		}
	}
	p.gen++
	p.audit.Clear()
	p.queue, p.queued = kept, 0
	p.phase, p.fetchOffset = fetching, p.queue[len(kept)-1].jumpTo
}

// restLocked waits for SetOffsets.
func (p *partition) restLocked() { p.phase = resting }

// parkLocked leaves the partition out of requests for a while.
func (p *partition) parkLocked(d time.Duration) { p.parked = time.Now().Add(d) }

// setLeaderLocked adopts what metadata or a broker's hint says, if it is not
// older than what is known, and reports whether anything changed.
func (p *partition) setLeaderLocked(leader, epoch int32) bool {
	if epoch >= 0 && epoch < p.leaderEpoch || leader == p.leader && epoch == p.leaderEpoch {
		return false
	}
	if leader < 0 {
		leader, epoch = noLeader, p.leaderEpoch // a leaderless partition keeps its epoch: twmb/franz-go#1331
		if p.leader == noLeader {
			return false
		}
	}
	p.leader, p.leaderEpoch = leader, epoch
	p.gen++ // answers of the old leader are late
	p.parked, p.probe = time.Time{}, probing{}
	p.audit.Clear()
	return true
}

// epochPatience is how many Metadata answers in a row may name an older leader
// epoch before it is believed: kgo's number. A lagging broker answers so for a
// moment, a cluster that lost its epochs for ever.
const epochPatience = 5

// leads adopts a Metadata answer. A broker that is behind is not believed, until
// it has said the same for so long that it must be right.
func (p *partition) leads(leader, epoch int32) (changed, behind bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	behind = epoch >= 0 && epoch < p.leaderEpoch
	if !behind {
		p.rewinds = 0
	} else if p.rewinds++; p.rewinds >= epochPatience {
		p.rewinds, p.leaderEpoch, p.endsEpoch, behind = 0, -1, -1, false
	}
	return p.setLeaderLocked(leader, epoch), behind
}

// roomLocked reports whether more may be fetched for the partition: one answer
// is handed out while the next one arrives.
func (p *partition) roomLocked() bool {
	return len(p.queue) < 2 || p.queued < int(p.c.cfg.maxPartBytes)
}

func (p *partition) position() Position {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pos
}

func (p *partition) statistics() PartitionStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stats
}

// appendLocked queues what an answer brought and moves Next as far as nothing
// is left to hand out in front of it. It reports whether Next moved.
func (p *partition) appendLocked(q *piece) (moved bool) {
	if len(q.kept) == 0 {
		q.letGo()
	}
	if n := len(p.queue); n > 0 && q.onlyError() && p.queue[n-1].onlyError() {
		before := p.queue[n-1]
		q.end = max(q.end, before.end)
		p.queue[n-1] = q // the same trouble again, and nobody asked: the newest is enough
		p.queued += q.bytes - before.bytes
		return false
	}
	p.queue = append(p.queue, q)
	p.queued += q.bytes
	return p.settleLocked()
}

// settleLocked extends Next over everything invisible in front of the next
// thing to hand out, and forgets pieces that are done.
func (p *partition) settleLocked() (moved bool) {
	before := p.pos.Next
	for len(p.queue) > 0 {
		q := p.queue[0]
		if q.decoded.open() {
			break
		}
		if len(q.kept) > 0 {
			k := q.kept[0]
			p.reachLocked(k.First(), k.EpochBefore)
			break
		}
		p.reachLocked(q.end, q.endEpoch)
		q.letGo()
		if q.err != nil {
			break
		}
		if q.jump {
			p.pos.Next, p.pos.NextEpoch, p.pos.readTo = q.jumpTo, -1, 0
		}
		p.queue = p.queue[1:]
		p.queued -= q.bytes
	}
	return p.pos.Next != before
}

// reachLocked moves Next forward.
func (p *partition) reachLocked(offset int64, epoch int32) {
	if offset <= p.pos.Next {
		return
	}
	p.pos.Next = offset
	if epoch >= 0 {
		p.pos.NextEpoch = epoch
	}
}

// deliverableLocked reports whether a poll has something to take.
func (p *partition) deliverableLocked() bool {
	return len(p.queue) > 0 && !p.queue[0].empty()
}

// endsLocked notes what a broker said about the ends of the log. The last
// stable offset and the high watermark go back only with a newer leader epoch:
// an end that was reported once does not un-happen (KIP-207).
func (p *partition) endsLocked(epoch int32, logStart, lso, hw int64) {
	now := time.Now()
	p.pos.UpdatedAt = now
	newer := epoch > p.endsEpoch
	if logStart >= 0 && (newer || logStart > p.pos.LogStartOffset) {
		p.pos.LogStartOffset = logStart
	}
	if hw >= 0 && (newer || hw > p.pos.HighWatermark) {
		p.pos.HighWatermark = hw
	}
	if lso >= 0 && (newer || lso > p.pos.LastStableOffset) {
		if lso != p.pos.LastStableOffset {
			p.pos.StableSince = now
		}
		p.pos.LastStableOffset = lso
	}
	p.endsEpoch = max(epoch, p.endsEpoch)
}

// handedOutLocked books records of one batch as handed out.
func (p *partition) handedOutLocked(d *decoded, records []*kgo.Record) {
	last := records[len(records)-1]
	p.stats.addDelivered(d.batch, len(records), d.fresh)
	d.fresh = false
	p.lastTime = last.Timestamp
	p.reachLocked(last.Offset+1, last.LeaderEpoch)
	if !d.open() {
		p.reachLocked(d.batch.Batch.LastOffset()+1, last.LeaderEpoch)
	}
}

// passOptionsLocked is how the next answer is scanned.
func (p *partition) passOptionsLocked() pass.Options {
	return pass.Options{
		Offset:          p.fetchOffset,
		ReadUncommitted: p.c.cfg.readUncommitted,
		KeepControl:     p.c.cfg.keepControl,
		SkipCRC:         p.c.cfg.skipCRC,
		Audit:           &p.audit,
		Aborted:         p.c.report.wantsAborted,
	}
}
