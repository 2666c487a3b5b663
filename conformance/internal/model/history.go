package model

import "fmt"

// History judges what one answer may say after another: U10, and U1 under
// load. Answers must come in the order in which a connection gave them. The
// zero value is ready.
type History struct {
	last  map[line]*View
	first map[line]int64 // the high watermark of the line's first answer
}

// line is what bounds may not go back along: answers of one leader on one
// connection. When leadership moves they may go back, also when it returns.
type line struct {
	conn        uint64
	partition   Partition
	isolation   int8
	leaderEpoch int32
}

// Before is the answer that Next would compare this one with, nil for none.
func (h *History) Before(v *View) *View {
	return h.last[line{v.Conn, v.Partition, v.Isolation, v.LeaderEpoch}]
}

// Next judges one answer by those before it, and reports whether there was one
// to compare it with. Followers are not judged: what they truncate may take
// their last stable offset back for a moment.
func (h *History) Next(v *View) (out []Breach, compared bool) {
	if h.last == nil {
		h.last, h.first = map[line]*View{}, map[line]int64{}
	}
	if v.Follower {
		return nil, false
	}
	h.leave(v)
	at := line{v.Conn, v.Partition, v.Isolation, v.LeaderEpoch}
	before := h.last[at]
	if v.ErrorCode != 0 || v.HighW < 0 {
		delete(h.last, at) // the broker may not lead any more
		return nil, false
	}
	h.last[at] = v
	if before == nil {
		h.first[at] = v.HighW
		return nil, false
	}
	out = wentBack(before, v, v.Elected && before.HighW <= h.first[at])
	// The high watermark is sampled before the LSO, so that of one answer an
	// LSO above the watermark is legal; of the next one it is not.
	if v.Isolation == ReadCommitted && before.LastStableOffset > v.HighW {
		out = append(out, Breach{
			Invariant: "U1", Severity: Failure, Offset: v.HighW,
			Requirement: "the last stable offset is never above the next answer's high watermark",
			Consequence: "readers are told of stable data that does not exist",
			Expected:    fmt.Sprintf("HW >= %d", before.LastStableOffset),
			Observed:    fmt.Sprintf("HW %d after LSO %d", v.HighW, before.LastStableOffset),
		})
	}
	return out, true
}

// leave forgets what other brokers said of the partition: the leader may be
// another one by the time that they are asked again.
func (h *History) leave(v *View) {
	for at, other := range h.last {
		if at.partition == v.Partition && other.Broker != v.Broker {
			delete(h.last, at)
		}
	}
}

// wentBack compares two answers. fresh says that the leader's high watermark has
// not moved since it was elected. Apache Kafka (UnifiedLog.truncateTo) rebuilds
// what it knows of producers when it truncates as a follower, without regard to
// the high watermark: transactions that ended below it then wait for it to move
// again, and the first append as a leader takes the last stable offset back to
// them.
func wentBack(before, v *View, fresh bool) []Breach {
	var out []Breach
	check := func(name string, was, is int64) {
		if is >= was || is < 0 {
			return
		}
		out = append(out, Breach{
			Invariant: "U10", Severity: Failure, Offset: is,
			Requirement: "on one connection to one leader the bounds of a partition never go back",
			Consequence: "positions and lag go back, and readers may reset or read twice",
			Expected:    fmt.Sprintf("%s >= %d", name, was),
			Observed:    fmt.Sprintf("%s %d", name, is),
		})
	}
	check("HW", before.HighW, v.HighW)
	check("log start offset", before.LogStartOffset, v.LogStartOffset)
	if v.Isolation == ReadCommitted && !fresh {
		// Apache Kafka (UnifiedLog.lastStableOffset) asks for the high watermark
		// twice. One that moves in between leaves the LSO above a transaction
		// that it passed, and shows in an LSO above the answer's own watermark:
		// no more than up to there was stable then.
		check("LSO", min(before.LastStableOffset, before.HighW), v.LastStableOffset)
	}
	return out
}
