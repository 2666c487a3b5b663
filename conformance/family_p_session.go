package conformance

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
)

// sessionRounds is how many transactions end while the session of P-07 reads.
const sessionRounds = 20

// incrementalSession is P-07.
func incrementalSession(t *trial) {
	ps := t.sameLeader(2)
	busy, idle := ps[0], ps[1]
	w := t.producer()
	w.write(idle, 1)
	w.commit()
	s := t.openSession(model.ReadCommitted, busy, idle)
	s.next()
	if s.id == 0 {
		t.fact("the broker keeps no fetch session")
		t.skip(ReasonAbsent, "the broker keeps no fetch session")
	}
	t.witness(true, "") // the session; what it read is witnessed below
	for round := range sessionRounds {
		w.write(busy, 1+round%3)
		if round%2 == 0 {
			w.commit()
		} else {
			w.abort()
		}
		t.settle(busy)
		if !t.wantInSession(s, busy, t.highWatermark(busy)) {
			return
		}
	}
	t.wantInSession(s, idle, 2)
	t.wantSessionIsLog(s, busy)
	t.wantSessionIsLog(s, idle)
	l := t.oracle(busy)
	t.witness(len(l.Runs) == sessionRounds && s.rounds >= sessionRounds/2, "%d transactions, and %d incremental answers with batches", len(l.Runs), s.rounds)
	t.wantForgotten(s, busy, idle)
	t.wantOldEpochRefused(s)
}

// wantInSession asserts that the session gets to an offset.
func (t *trial) wantInSession(s *session, p model.Partition, offset int64) bool {
	return t.expect(s.readTo(p, offset), p, s.position[p],
		fmt.Sprintf("an incremental answer with the batches from %d on", s.position[p]),
		"none, where fetches without a session get them")
}

// wantSessionIsLog asserts that what the session got is what the log holds.
func (t *trial) wantSessionIsLog(s *session, p model.Partition) {
	l := t.oracle(p)
	t.wantBatches(l, l.LSO(), s.isolation, "read in a session", batchesOf(s.answers[p]))
	want, err := l.Visible(0, l.LSO())
	if err != nil {
		t.undecided("reading the log of %s: %v", p, err)
	}
	t.wantOffsets(p, "delivered in a session", t.deliveredIn(s.answers[p]), want)
}

// wantForgotten takes a partition out of the session and asserts that answers
// do not bring it any more.
func (t *trial) wantForgotten(s *session, busy, idle model.Partition) {
	s.forget(idle)
	s.next()
	t.plain(idle, 1)
	t.plain(busy, 1)
	t.settle(busy)
	t.wantInSession(s, busy, t.highWatermark(busy))
}

// wantOldEpochRefused asserts that the epoch of the session counts: a request
// that comes twice, or late, is not taken for the next one.
func (t *trial) wantOldEpochRefused(s *session) {
	if s.epoch < 3 {
		return
	}
	req := s.request()
	req.SessionEpoch = s.epoch - 2
	e := t.unthrottled(t.leader(s.partitions[0]), "session", req)
	code := e.Response.(*kmsg.FetchResponse).ErrorCode
	t.expectAs(Should, code != 0, s.partitions[0], -1, "an error for an epoch of the session that is over", codeName(code))
}
