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
	assigned phase = iota // by a group, whose committed offset is not known yet
	awaiting              // the offset to fetch from is not known yet
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
	// a seek, a reset, another broker to ask, a pause, an end of the assignment.
	gen uint64

	gone bool // no longer read; nothing changes any more

	phase phase
	want  want // how to find the fetch offset, while awaiting

	leader      int32 // noLeader if unknown
	leaderEpoch int32
	follow      following
	rewinds     int // Metadata answers in a row that named an older epoch
	topicID     [16]byte
	retired     [][16]byte // earlier IDs of the topic's name, the newest last
	listing     bool       // ListOffsets is on its way
	asked       int32      // leader that is being asked where fetchEpoch ends, noLeader if none is

	fetchOffset int64 // end of the last scanned batch
	fetchEpoch  int32 // leader epoch of that batch, or of what lies in front of a start; -1 unknown
	doubted     bool  // the leader may not have what lies in front of fetchOffset
	parked      time.Time
	trouble     trouble // errors of this partition in a row
	ails        ails    // what Health tells of it
	quiet       int     // answers in a row without bytes that did not wait
	probe       probing // is anything left below the last stable offset?

	queue   []*piece
	queued  int       // record bytes in queue
	waits   time.Time // since when something is in queue
	polling bool      // a poll is taking from queue

	pos       Position
	heldSince time.Time // since when an open transaction has held back this last stable offset
	endsEpoch int32     // leader epoch of the ends in pos
	lineage   uint64    // changes when what a leader said before says nothing of the ends any more
	began     time.Time // when the consumer learnt of the partition, or its group said where to begin
	stats     PartitionStats
	audit     pass.Audit
	lastTime  time.Time // timestamp of the last record handed out since the last seek

	// Of a group's partition:
	progress progress
	sought   *kgo.EpochOffset // where SetOffsets moved it while assigned
	leaving  bool             // nothing more is handed out
	lost     bool             // nothing more is committed
}

func newPartition(c *Consumer, topic string, id int32, start offsetSpec) *partition {
	p := &partition{
		topic: topic, id: id, c: c, leader: noLeader, leaderEpoch: -1, endsEpoch: -1,
		follow: following{replica: noLeader}, asked: noLeader, fetchEpoch: -1, began: time.Now(),
	}
	p.pos = Position{
		Next: -1, NextEpoch: -1, LogStartOffset: -1, LastStableOffset: -1, HighWatermark: -1, Committed: -1,
		readUncommitted: c.cfg.readUncommitted,
	}
	p.progress = newProgress(noOffset)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.beginLocked(start)
	return p
}

// beginLocked starts to read at the place spec names.
func (p *partition) beginLocked(spec offsetSpec) {
	if spec.at == atAssigned {
		p.phase = assigned
		return
	}
	if at, ok := spec.exact(); ok {
		p.seekLocked(at, spec.epoch)
		return
	}
	p.awaitLocked(want{spec: spec})
}

// seekLocked makes at the next offset to fetch and to hand out.
func (p *partition) seekLocked(at int64, epoch int32) {
	if p.gone {
		return
	}
	p.dropLocked()
	p.phase = fetching
	p.fetchFromLocked(at, epoch)
	p.doubtLocked() // whoever remembers an epoch may remember a log that is gone
	p.pos.Next, p.pos.NextEpoch = at, p.fetchEpoch
	p.pos.readTo = 0
	p.lastTime = time.Time{}
	p.trouble, p.probe, p.quiet = trouble{}, probing{}, 0
	p.ails.list.ended()
	p.ails.decode.ended()
	p.ails.stopped.ended()
	p.parked = time.Time{}
	p.progress.begin(kgo.EpochOffset{Epoch: p.pos.NextEpoch, Offset: at})
	if p.leaving {
		p.restLocked()
	}
}

// fetchFromLocked makes at the next offset to fetch. A doubt stays, if there is
// an epoch to ask about.
func (p *partition) fetchFromLocked(at int64, epoch int32) {
	p.fetchOffset, p.fetchEpoch = at, max(epoch, -1)
	p.doubted = p.doubted && p.fetchEpoch >= 0
}

// awaitLocked stops fetching until the offset has been found.
func (p *partition) awaitLocked(w want) {
	if p.gone {
		return
	}
	p.dropLocked()
	p.phase = awaiting
	p.ails.stopped.ended()
	p.want = w
	p.parked = time.Time{}
}

// restLocked waits for SetOffsets.
func (p *partition) restLocked() { p.phase = resting }

// parkLocked leaves the partition out of requests for a while.
func (p *partition) parkLocked(d time.Duration) { p.parked = time.Now().Add(d) }

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

// endsLocked notes what a broker said about the ends of the log. The last
// stable offset and the high watermark go back only with a newer leader epoch:
// an end that was reported once does not un-happen (KIP-207). It reports whether
// the last stable offset changed.
func (p *partition) endsLocked(epoch int32, logStart, lso, hw int64) (stable bool) {
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
			stable = true
		}
		p.pos.LastStableOffset = lso
	}
	p.heldLocked(stable, now)
	p.endsEpoch = max(epoch, p.endsEpoch)
	return stable
}

// forgetEndsLocked gives up what is known of the ends of a log that is not what
// it was, save what its bounds were said to be.
func (p *partition) forgetEndsLocked(start, hw int64) {
	p.lineage++
	p.pos.LogStartOffset, p.pos.LastStableOffset, p.pos.HighWatermark = start, -1, hw
	p.pos.StableSince, p.heldSince = time.Time{}, time.Time{}
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
