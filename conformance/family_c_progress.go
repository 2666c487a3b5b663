package conformance

import (
	"fmt"
	"slices"
	"time"

	"example.com/readcommitted/conformance/internal/model"
)

// needTelling is the need of a client that says where it stands. Whether it
// does shows only when it reads.
var needTelling = need{"a client that tells its position", needClient.missing}

// telling is how long a reader may take to hear of an end: some ask every 5 s.
const telling = 6 * time.Second

// lagAndEnd holds what readers say of themselves against the log: when they
// have read to an open transaction, when that has ended and they have not read
// on, and when they have.
func lagAndEnd(t *trial) {
	p := t.partition()
	keep, drop, open := t.producer(), t.producer(), t.producer()
	keep.write(p, 2)
	keep.commit()
	drop.write(p, 3)
	drop.abort()
	open.write(p, 1)
	t.plain(p, 1)
	w := t.truth(p, model.ReadCommitted)
	t.witness(w.end < w.log.End && len(w.log.Runs) == 3, "the log of %s is %s", p, w.log)

	rs := t.openAll(w.assignment())
	defer rs.close()
	rs.each(t, func(r *reading) {
		r.readAll(w)
		t.wantState(r, w.end, w.end)
	})
	t.judgeReadings(w, rs)
	if len(rs) > 0 && !slices.ContainsFunc(rs, (*reading).tells) {
		t.skip(ReasonNoClient, "")
	}
	open.commit()
	after := t.truth(p, model.ReadCommitted)
	rs.each(t, func(r *reading) {
		t.wantConsistent(r, w.end, after.end)
		r.readAll(after)
		t.wantState(r, after.end, after.end)
	})
	t.judgeReadings(after, rs)
}

// tells reports whether the client says where it stands.
func (r *reading) tells() bool { return r.state.Position >= 0 || r.state.End >= 0 || r.state.Lag >= 0 }

// wantState asserts what a reader that has read to the end says of itself, as
// far as it says anything. It may take a while to say so, during which it is
// read from.
func (t *trial) wantState(r *reading, position, end int64) {
	told := func() bool {
		return agrees(r.state.Position, position) && agrees(r.state.End, end) && agrees(r.state.Lag, end-position)
	}
	for deadline := time.Now().Add(t.bound(telling)); r.trouble == "" && !told() && time.Now().Before(deadline); {
		r.pull(lingering)
	}
	if !r.tells() {
		t.factOnce("client " + r.client.Name() + " does not tell its position, end offset or lag")
	}
	want := State{Position: position, End: end, Lag: end - position}
	t.expectClient(r.client, told(), r.at, r.state.Position, stateString(want), stateString(r.state))
}

// wantConsistent asserts what a reader says of itself that could read on and
// was not asked to. It may not have heard of the new end.
func (t *trial) wantConsistent(r *reading, position, end int64) {
	t.until(t.bound(lingering), "the end offset", func() bool {
		_ = safely(func() error { r.state = r.session.State(); return nil }) // the next call tells
		return r.state.End < 0 || r.state.End == end
	})
	s := r.state
	ok := agrees(s.Position, position) && (s.End < 0 || position <= s.End && s.End <= end) &&
		(s.Lag < 0 || s.End < 0 || s.Lag == s.End-position)
	t.expectClient(r.client, ok, r.at, s.Position,
		fmt.Sprintf("position %d, end from there up to %d, and the lag between them", position, end), stateString(s))
}

// agrees compares something that a reader may not tell.
func agrees(told, want int64) bool { return told < 0 || told == want }

func stateString(s State) string {
	return fmt.Sprintf("position %d, end %d, lag %d", s.Position, s.End, s.Lag)
}

// Sizes of what the watchdog watches.
const (
	markersInARow = 40
	livePieces    = 6
)

// progressWatchdog lets readers pass a long stretch that holds nothing for
// them, and then follow transactions as they end.
func progressWatchdog(t *trial) {
	p := t.partition()
	t.plain(p, 1)
	w := t.producer()
	for range markersInARow {
		w.write(p, 1)
		w.abort()
	}
	t.plain(p, 1)
	begin := t.truth(p, model.ReadCommitted)
	rs := t.openAll(begin.assignment())
	defer rs.close()
	t.keepUp(begin, rs)
	end := begin
	for i := range livePieces {
		w.write(p, 2)
		w.finish(i%2 == 0)
		end = t.truth(p, model.ReadCommitted)
		t.keepUp(end, rs)
	}
	t.judgeProgress(end, rs)
	markers := len(t.oracle(p).Markers(w.id))
	t.witness(markers > 0 && t.highWatermark(p) > 2*markersInARow, "the log of %s has %d markers", p, markers)
}

// judgeProgress judges what readers handed out on the way, all but those that
// did not get to the end, which was judged. What only a fetch that waits is
// answered wrongly shows nowhere else.
func (t *trial) judgeProgress(w truth, rs readings) {
	rs = slices.DeleteFunc(slices.Clone(rs), func(r *reading) bool { return r.trouble != "" })
	rs.each(t, func(r *reading) { r.readAll(w) })
	t.judgeReadings(w, rs)
}

// keepUp reads on with all readers until each is at the end: by the position
// that it tells, else by what it handed out.
func (t *trial) keepUp(w truth, rs readings) {
	well := map[*reading]bool{}
	for _, r := range rs {
		well[r] = r.trouble == ""
	}
	rs.each(t, func(r *reading) {
		r.until(stalled, func() bool {
			return r.passed() > w.last() && (r.state.Position < 0 || r.state.Position >= w.end)
		})
	})
	j := judgement{t: t, truth: w, all: rs}
	for _, r := range rs {
		if well[r] && r.trouble != "" {
			j.stopped(r)
			j.audit(r)
		}
	}
}
