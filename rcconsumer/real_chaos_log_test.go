package rcconsumer_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/internal/kafkatest"
)

// partitionLog is a partition as the log itself tells it: every record, and
// what the markers made of it.
type partitionLog struct {
	records []logged
	open    map[int64][]int // indexes of records by producer ID
	markers int
	end     int64 // one past the last record or marker
}

func (l *partitionLog) add(r *kgo.Record) error {
	if r.Offset < l.end {
		return fmt.Errorf("offset %d after %d", r.Offset, l.end-1)
	}
	l.end = r.Offset + 1
	if r.Attrs.IsControl() {
		return l.marker(r)
	}
	s, err := stampOf(r.Value)
	if err != nil {
		return fmt.Errorf("offset %d: %w", r.Offset, err)
	}
	e := logged{entry: entry{r.Offset, s}, producerID: r.ProducerID, fate: plain}
	if r.Attrs.IsTransactional() {
		e.fate = ""
		if l.open == nil {
			l.open = map[int64][]int{}
		}
		l.open[r.ProducerID] = append(l.open[r.ProducerID], len(l.records))
	}
	l.records = append(l.records, e)
	return nil
}

func (l *partitionLog) marker(r *kgo.Record) error {
	var key kmsg.ControlRecordKey
	if err := key.ReadFrom(r.Key); err != nil {
		return fmt.Errorf("offset %d: control record: %w", r.Offset, err)
	}
	ends := abort
	switch key.Type {
	case kmsg.ControlRecordKeyTypeAbort:
	case kmsg.ControlRecordKeyTypeCommit:
		ends = commit
	default:
		return fmt.Errorf("offset %d: control record of type %v", r.Offset, key.Type)
	}
	for _, i := range l.open[r.ProducerID] {
		l.records[i].fate = ends
	}
	delete(l.open, r.ProducerID)
	l.markers++
	return nil
}

// readLog reads a topic with plain kgo at isolation 0, markers included, up to
// the given ends.
func readLog(t *testing.T, c *kafkatest.Cluster, topic string, ends map[int32]int64) map[int32]*partitionLog {
	t.Helper()
	logs, start := map[int32]*partitionLog{}, map[int32]kgo.Offset{}
	for p := range ends {
		logs[p], start[p] = &partitionLog{}, at(0)
	}
	cl := c.Client(t, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: start}), kgo.KeepControlRecords(),
		kgo.FetchIsolationLevel(kgo.ReadUncommitted()))
	defer cl.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for behind(logs, ends) {
		fetches := cl.PollFetches(ctx)
		require.NoError(t, fetches.Err(), "read the log")
		fetches.EachRecord(func(r *kgo.Record) {
			require.NoError(t, logs[r.Partition].add(r), "partition %d of the log", r.Partition)
		})
	}
	return logs
}

func behind(logs map[int32]*partitionLog, ends map[int32]int64) bool {
	for p, end := range ends {
		if logs[p].end < end {
			return true
		}
	}
	return false
}

// transactionNote is what a writer knows of one of its transactions.
type transactionNote struct {
	asked     bool // a commit was asked for; without that nothing can have committed it
	confirmed bool // the commit was confirmed
}

// transactionKey names a transaction of a run.
type transactionKey struct {
	writer uint16
	txn    uint32
}

// chaosLedger is the writers' own account: what was acknowledged where, and
// what they know of their transactions.
type chaosLedger struct {
	mu    sync.Mutex
	acked map[int32][]entry
	txns  map[transactionKey]*transactionNote
}

func newChaosLedger() *chaosLedger {
	return &chaosLedger{acked: map[int32][]entry{}, txns: map[transactionKey]*transactionNote{}}
}

func (l *chaosLedger) note(partition int32, e entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acked[partition] = append(l.acked[partition], e)
}

// change changes what is known of a transaction.
func (l *chaosLedger) change(k transactionKey, change func(*transactionNote)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.txns[k] == nil {
		l.txns[k] = &transactionNote{}
	}
	change(l.txns[k])
}

// account is the ledger beside the log.
type account struct {
	records, plain, markers                int
	committed, aborted                     int // transactions with records in the log
	unknown, unknownCommitted              int // of these: asked to commit, not confirmed
	lines                                  []string
	contradictions, lostAcknowledged, torn int
	when                                   when
}

func (a *account) wrong(count *int, format string, args ...any) {
	*count++
	if len(a.lines) < maxFindings {
		a.lines = append(a.lines, fmt.Sprintf(format, args...))
	}
}

// compare holds the ledger against the log. Where the writers are certain both
// have to tell the same; of the rest the log decides, alike in all partitions.
func (l *chaosLedger) compare(logs map[int32]*partitionLog, w when) *account {
	a, fates := &account{when: w}, map[transactionKey]fate{}
	for p, log := range logs {
		a.markers += log.markers
		for _, e := range log.records {
			a.records++
			if e.fate == plain {
				a.plain++
				continue
			}
			k := transactionKey{e.writer, e.txn}
			if before, ok := fates[k]; ok && before != e.fate {
				a.wrong(&a.torn, "torn: partition %d offset %d (%v) is %q, elsewhere the transaction is %q; written %s",
					p, e.offset, e.stamp, e.fate, before, a.when.at(p, e.offset))
			}
			fates[k] = e.fate
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.compareAcknowledged(a, logs)
	for k, ends := range fates {
		a.count(k, l.txns[k], ends)
	}
	return a
}

func (l *chaosLedger) compareAcknowledged(a *account, logs map[int32]*partitionLog) {
	for p, entries := range l.acked {
		for _, e := range entries {
			if i, found := find(logs[p].records, e.offset); !found || logs[p].records[i].stamp != e.stamp {
				a.wrong(&a.lostAcknowledged, "partition %d offset %d (%v) was acknowledged and is not in the log; written %s",
					p, e.offset, e.stamp, a.when.at(p, e.offset))
			}
		}
	}
}

func (a *account) count(k transactionKey, note *transactionNote, ends fate) {
	switch {
	case note == nil || ends == "":
		a.wrong(&a.contradictions, "writer %d, transaction %d is %q in the log, the writer's note: %+v", k.writer, k.txn, ends, note)
	case note.confirmed && ends != commit, !note.asked && ends != abort:
		a.wrong(&a.contradictions, "writer %d, transaction %d is %q in the log, the writer knows otherwise: %+v", k.writer, k.txn, ends, *note)
	case note.asked && !note.confirmed:
		a.unknown++
		if ends == commit {
			a.unknownCommitted++
		}
	}
	if ends == commit {
		a.committed++
	} else {
		a.aborted++
	}
}

func TestChaosLedgerSeesWhatTheLogContradicts(t *testing.T) {
	logs := map[int32]*partitionLog{
		0: {records: []logged{{entry{0, stamp{1, 0, 1}}, 7, commit}, {entry{1, stamp{2, 0, 1}}, 8, abort}}},
		1: {records: []logged{{entry{0, stamp{1, 1, 1}}, 7, commit}}},
	}
	sound := func() *chaosLedger {
		l := newChaosLedger()
		l.note(0, entry{0, stamp{1, 0, 1}})
		l.note(1, entry{0, stamp{1, 1, 1}})
		l.change(transactionKey{1, 1}, func(n *transactionNote) { n.asked, n.confirmed = true, true })
		l.change(transactionKey{2, 1}, func(*transactionNote) {})
		return l
	}
	require.Equal(t, &account{records: 3, committed: 1, aborted: 1}, sound().compare(logs, nil))

	l := sound()
	l.txns[transactionKey{1, 1}].confirmed = false
	require.Equal(t, &account{records: 3, committed: 1, aborted: 1, unknown: 1, unknownCommitted: 1}, l.compare(logs, nil))
	l.txns[transactionKey{1, 1}].asked = false
	require.Equal(t, 1, l.compare(logs, nil).contradictions, "committed, though nobody asked")
	l = sound()
	*l.txns[transactionKey{2, 1}] = transactionNote{asked: true, confirmed: true}
	require.Equal(t, 1, l.compare(logs, nil).contradictions, "aborted, though the commit was confirmed")
	l = sound()
	l.note(0, entry{2, stamp{1, 2, 1}})
	require.Equal(t, 1, l.compare(logs, nil).lostAcknowledged)
	logs[1].records[0].fate = abort
	require.Equal(t, 1, sound().compare(logs, nil).torn)
}
