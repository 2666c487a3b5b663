package kafkatest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLedgerSeesWhatTheLogContradicts(t *testing.T) {
	logs := map[int32]*PartitionLog{
		0: {Records: []Logged{{Entry{0, Stamp{1, 0, 1}}, 7, Committed}, {Entry{1, Stamp{2, 0, 1}}, 8, Aborted}}},
		1: {Records: []Logged{{Entry{0, Stamp{1, 1, 1}}, 7, Committed}}},
	}
	first, second := TransactionKey{1, 1}, TransactionKey{2, 1}
	sound := func() *Ledger {
		l := newLedger()
		l.note(0, Entry{0, Stamp{1, 0, 1}}, false)
		l.note(1, Entry{0, Stamp{1, 1, 1}}, false)
		l.change(first, func(n *TransactionNote) { n.Asked, n.Confirmed = true, time.Unix(100, 0) })
		l.change(second, func(*TransactionNote) {})
		return l
	}
	compare := func(l *Ledger) *Account {
		a := l.Compare(logs, func(int32, int64) string { return "" })
		a.when = nil
		return a
	}
	require.Equal(t, &Account{Records: 3, Committed: 1, Aborted: 1}, compare(sound()))

	l := sound()
	l.txns[first].Confirmed = time.Time{}
	require.Equal(t, &Account{Records: 3, Committed: 1, Aborted: 1, Unknown: 1, UnknownCommitted: 1}, compare(l))
	l.txns[first].Asked = false
	require.Equal(t, 1, compare(l).Contradictions, "committed, though nobody asked")
	l = sound()
	*l.txns[second] = TransactionNote{Asked: true, Confirmed: time.Unix(100, 0)}
	require.Equal(t, 1, compare(l).Contradictions, "aborted, though the commit was confirmed")
	l = sound()
	l.note(0, Entry{2, Stamp{1, 2, 1}}, false)
	require.Equal(t, 1, compare(l).LostAcknowledged)
	logs[1].Records[0].Fate = Aborted
	require.Equal(t, 1, compare(sound()).Torn)
}

func TestLedgerConfirmsWhatWritersAreCertainOf(t *testing.T) {
	l := newLedger()
	l.note(0, Entry{3, Stamp{Writer: 5}}, true)
	l.note(0, Entry{4, Stamp{Writer: 1, Txn: 1}}, false)
	l.note(0, Entry{6, Stamp{Writer: 1, Txn: 2}}, false)
	l.change(TransactionKey{1, 1}, func(n *TransactionNote) { n.Asked, n.Confirmed = true, time.Unix(100, 0) })
	l.change(TransactionKey{1, 2}, func(n *TransactionNote) { n.Asked = true })
	since := l.Confirmed(0)
	require.Len(t, since, 2)
	require.Equal(t, time.Unix(100, 0), since[4])
	require.Contains(t, since, int64(3))
	require.Empty(t, l.Confirmed(1))
}
