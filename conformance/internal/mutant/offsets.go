package mutant

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// offsets are damages of groups' offsets that are committed in transactions.
var offsets = []Mutant{
	{Number: 28, Name: "pending offset visible", Kills: []string{"O-01", "O-03"}, Make: func() Damage {
		return answeringOffsets(func(l *ledger, o answered) {
			if pending, ok := l.pendingAt(o.at); ok {
				o.say(pending)
			}
		})
	}},
	{Number: 29, Name: "RequireStable ignored", Kills: []string{"O-01", "O-03"}, Make: func() Damage {
		return Damage{Keys: []kmsg.Key{kmsg.OffsetFetch}, Request: func(c *Call) { c.Request.(*kmsg.OffsetFetchRequest).RequireStable = false }}
	}},
	{Number: 219, Name: "the first offset of committed transactions stays", Kills: []string{"O-09"}, Slow: 0.3, Make: func() Damage {
		return answeringOffsets(func(l *ledger, o answered) {
			if first, ok := l.first[o.at]; ok && !o.failed() {
				o.say(first)
			}
		})
	}},
	{Number: 220, Name: "offsets of committed transactions lost", Kills: []string{"O-02", "O-08", "O-09"}, Slow: 0.3, Make: func() Damage {
		return answeringOffsets(func(l *ledger, o answered) {
			if !o.failed() {
				o.say(l.plainAt(o.at))
			}
		})
	}},
	{Number: 221, Name: "offsets of aborted transactions kept", Kills: []string{"O-02", "O-08"}, Make: func() Damage {
		return keepingOffsets(func(e end) bool { return e == aborted })
	}},
	{Number: 222, Name: "a group whose first offset is pending has none, and is stable", Kills: []string{"O-03"}, Make: func() Damage {
		return answeringOffsets(func(l *ledger, o answered) {
			if l.plainAt(o.at) == none && *o.code == kerr.UnstableOffsetCommit.Code {
				o.say(none)
			}
		})
	}},
	{Number: 223, Name: "one pending offset makes the others unstable", Kills: []string{"O-04"}, Make: groupsUnstable},
	{Number: 224, Name: "an offset is pending for ever", Kills: []string{"O-05"}, Slow: 0.2, Make: func() Damage {
		return retimed(func(int32) int32 { return 600_000 })
	}},
	{Number: 225, Name: "every second answer has the offset of the transaction", Kills: []string{"O-06"}, Make: func() Damage {
		n := 0
		return answeringOffsets(func(l *ledger, o answered) {
			if offset, ok := l.committed[o.at]; ok && !o.failed() {
				if n++; n%2 == 0 {
					o.say(offset)
				}
			}
		})
	}},
	{Number: 226, Name: "offsets in transactions accepted from anybody", Kills: []string{"O-07"}, Make: anybodyCommits},
	{Number: 227, Name: "offsets kept of transactions that a takeover ended", Kills: []string{"O-08"}, Make: func() Damage {
		return keepingOffsets(func(e end) bool { return e == takenOver })
	}},
	{Number: 228, Name: "copies of aborted transactions read after them", Kills: []string{"O-08"}, Make: func() Damage {
		return onCommitted(func(f fetched) { f.AbortedTransactions = nil })
	}},
	{Number: 229, Name: "copies read while their transactions are open", Kills: []string{"O-08"}, Make: openReadable},
}

// none is the offset of a partition for which a group has none.
const none = -1

// groupPartition is where a group has an offset.
type groupPartition struct {
	group, topic string
	partition    int32
}

// end is how a transaction ended.
type end int8

const (
	committed end = iota
	aborted
	takenOver
)

// ledger follows what is committed for groups.
type ledger struct {
	plain     map[groupPartition]int64            // outside transactions
	committed map[groupPartition]int64            // in transactions that were committed
	first     map[groupPartition]int64            // of those, by the first one
	pending   map[string]map[groupPartition]int64 // in open ones, by transactional ID
	// kept are offsets of transactions that ended otherwise, as far as keeps
	// says so, and nothing was committed for the group since.
	kept  map[groupPartition]int64
	keeps func(end) bool
}

// offsetKeys are the requests that a ledger has to see.
var offsetKeys = []kmsg.Key{kmsg.OffsetCommit, kmsg.TxnOffsetCommit, kmsg.InitProducerID, kmsg.EndTxn, kmsg.OffsetFetch}

func newLedger() *ledger {
	return &ledger{
		plain: map[groupPartition]int64{}, committed: map[groupPartition]int64{}, first: map[groupPartition]int64{},
		pending: map[string]map[groupPartition]int64{}, kept: map[groupPartition]int64{},
		keeps: func(end) bool { return false },
	}
}

// answeringOffsets is a damage of the answers to OffsetFetch, by what was
// committed before.
func answeringOffsets(damage func(*ledger, answered)) Damage { return newLedger().damage(damage) }

// keepingOffsets keeps the offsets of transactions with some ends that are no
// commit.
func keepingOffsets(keeps func(end) bool) Damage {
	l := newLedger()
	l.keeps = keeps
	return l.damage(func(l *ledger, o answered) {
		if offset, ok := l.kept[o.at]; ok && !o.failed() {
			o.say(offset)
		}
	})
}

func (l *ledger) damage(damage func(*ledger, answered)) Damage {
	return Damage{Keys: offsetKeys, Response: func(c *Call) {
		l.learn(c)
		eachOffset(c, func(o answered) { damage(l, o) })
	}}
}

func (l *ledger) learn(c *Call) {
	switch req := c.Request.(type) {
	case *kmsg.OffsetCommitRequest:
		for _, t := range req.Topics {
			for _, p := range t.Partitions {
				at := groupPartition{req.Group, t.Topic, p.Partition}
				l.plain[at] = p.Offset
				delete(l.kept, at)
			}
		}
	case *kmsg.TxnOffsetCommitRequest:
		if l.pending[req.TransactionalID] == nil {
			l.pending[req.TransactionalID] = map[groupPartition]int64{}
		}
		for _, t := range req.Topics {
			for _, p := range t.Partitions {
				l.pending[req.TransactionalID][groupPartition{req.Group, t.Topic, p.Partition}] = p.Offset
			}
		}
	case *kmsg.InitProducerIDRequest:
		if req.TransactionalID != nil && c.Response.(*kmsg.InitProducerIDResponse).ErrorCode == 0 {
			l.ends(*req.TransactionalID, takenOver)
		}
	case *kmsg.EndTxnRequest:
		if c.Response.(*kmsg.EndTxnResponse).ErrorCode == 0 {
			how := aborted
			if req.Commit {
				how = committed
			}
			l.ends(req.TransactionalID, how)
		}
	}
}

func (l *ledger) ends(name string, how end) {
	for at, offset := range l.pending[name] {
		switch {
		case how == committed:
			if _, ok := l.first[at]; !ok {
				l.first[at] = offset
			}
			l.committed[at] = offset
			delete(l.kept, at)
		case l.keeps(how):
			l.kept[at] = offset
		}
	}
	delete(l.pending, name)
}

func (l *ledger) plainAt(at groupPartition) int64 {
	if offset, ok := l.plain[at]; ok {
		return offset
	}
	return none
}

func (l *ledger) pendingAt(at groupPartition) (int64, bool) {
	for _, offsets := range l.pending {
		if offset, ok := offsets[at]; ok {
			return offset, true
		}
	}
	return 0, false
}

// answered is one partition of an answer to OffsetFetch.
type answered struct {
	at     groupPartition
	offset *int64
	code   *int16
}

func (o answered) failed() bool { return *o.code != 0 }

// say makes it an offset.
func (o answered) say(offset int64) { *o.offset, *o.code = offset, 0 }

// eachOffset calls do for every partition of an answer to OffsetFetch.
func eachOffset(c *Call, do func(answered)) {
	resp, ok := c.Response.(*kmsg.OffsetFetchResponse)
	if !ok {
		return
	}
	for i := range resp.Topics {
		t := &resp.Topics[i]
		for k := range t.Partitions {
			p := &t.Partitions[k]
			do(answered{groupPartition{c.Request.(*kmsg.OffsetFetchRequest).Group, t.Topic, p.Partition}, &p.Offset, &p.ErrorCode})
		}
	}
	for g := range resp.Groups {
		for i := range resp.Groups[g].Topics {
			t := &resp.Groups[g].Topics[i]
			for k := range t.Partitions {
				p := &t.Partitions[k]
				do(answered{groupPartition{resp.Groups[g].Group, t.Topic, p.Partition}, &p.Offset, &p.ErrorCode})
			}
		}
	}
}

// groupsUnstable says of all partitions what is true of one.
func groupsUnstable() Damage {
	return Damage{Keys: []kmsg.Key{kmsg.OffsetFetch}, Response: func(c *Call) {
		unstable := false
		eachOffset(c, func(o answered) { unstable = unstable || *o.code == kerr.UnstableOffsetCommit.Code })
		eachOffset(c, func(o answered) {
			if unstable {
				*o.offset, *o.code = none, kerr.UnstableOffsetCommit.Code
			}
		})
	}}
}

// anybodyCommits accepts offsets from who is not in the group.
func anybodyCommits() Damage {
	return Damage{Keys: []kmsg.Key{kmsg.TxnOffsetCommit}, Response: func(c *Call) {
		topics := c.Response.(*kmsg.TxnOffsetCommitResponse).Topics
		for i := range topics {
			for k := range topics[i].Partitions {
				switch p := &topics[i].Partitions[k]; p.ErrorCode {
				case kerr.IllegalGeneration.Code, kerr.UnknownMemberID.Code, kerr.FencedInstanceID.Code:
					p.ErrorCode = 0
				}
			}
		}
	}}
}
