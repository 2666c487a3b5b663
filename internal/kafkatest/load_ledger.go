package kafkatest

import (
	"fmt"
	"sync"
	"time"
)

// TransactionKey names a transaction of a [Load].
type TransactionKey struct {
	Writer uint16
	Txn    uint32
}

// TransactionNote is what a writer knows of one of its transactions.
type TransactionNote struct {
	Asked     bool      // a commit was asked for; without that nothing can have committed it
	Confirmed time.Time // when the commit was confirmed; zero if it was not
}

// Ledger is the writers' own account: what was acknowledged where, and what
// they know of their transactions.
type Ledger struct {
	mu    sync.Mutex
	acked map[int32][]acknowledged
	txns  map[TransactionKey]*TransactionNote
}

type acknowledged struct {
	Entry
	plain bool
	at    time.Time
}

func newLedger() *Ledger {
	return &Ledger{acked: map[int32][]acknowledged{}, txns: map[TransactionKey]*TransactionNote{}}
}

func (l *Ledger) note(partition int32, e Entry, plain bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acked[partition] = append(l.acked[partition], acknowledged{e, plain, time.Now()})
}

// change changes what is known of a transaction.
func (l *Ledger) change(k TransactionKey, change func(*TransactionNote)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.txns[k] == nil {
		l.txns[k] = &TransactionNote{}
	}
	change(l.txns[k])
}

// Confirmed tells since when writers know that a partition's records can be
// read, by offset. What they are not certain of is missing.
func (l *Ledger) Confirmed(partition int32) map[int64]time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	since := map[int64]time.Time{}
	for _, e := range l.acked[partition] {
		if e.plain {
			since[e.Offset] = e.at
		} else if note := l.txns[TransactionKey{e.Writer, e.Txn}]; !note.Confirmed.IsZero() {
			since[e.Offset] = note.Confirmed
		}
	}
	return since
}

// Account is a ledger beside the log.
type Account struct {
	Records, Plain, Markers                int
	Committed, Aborted                     int      // transactions with records in the log
	Unknown, UnknownCommitted              int      // of these: asked to commit, not confirmed
	Lines                                  []string // what is wrong, the first of each kind
	Contradictions, LostAcknowledged, Torn int

	when func(partition int32, offset int64) string
}

// MaxFindings bounds the lines about what is wrong; the counts go on.
const MaxFindings = 20

func (a *Account) wrong(count *int, format string, args ...any) {
	*count++
	if len(a.Lines) < MaxFindings {
		a.Lines = append(a.Lines, fmt.Sprintf(format, args...))
	}
}

// Compare holds the ledger against the log. Where the writers are certain both
// have to tell the same; of the rest the log decides, alike in all partitions.
// when tells what happened as a record was written, for the lines.
func (l *Ledger) Compare(logs map[int32]*PartitionLog, when func(partition int32, offset int64) string) *Account {
	a, fates := &Account{when: when}, map[TransactionKey]Fate{}
	for p, log := range logs {
		a.Markers += log.Markers
		for _, e := range log.Records {
			a.Records++
			if e.Fate == Plain {
				a.Plain++
				continue
			}
			k := TransactionKey{e.Writer, e.Txn}
			if before, ok := fates[k]; ok && before != e.Fate {
				a.wrong(&a.Torn, "torn: partition %d offset %d (%v) is %q, elsewhere the transaction is %q; written %s",
					p, e.Offset, e.Stamp, e.Fate, before, a.when(p, e.Offset))
			}
			fates[k] = e.Fate
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

func (l *Ledger) compareAcknowledged(a *Account, logs map[int32]*PartitionLog) {
	for p, entries := range l.acked {
		for _, e := range entries {
			if i, found := Find(logs[p].Records, e.Offset); !found || logs[p].Records[i].Stamp != e.Stamp {
				a.wrong(&a.LostAcknowledged, "partition %d offset %d (%v) was acknowledged and is not in the log; written %s",
					p, e.Offset, e.Stamp, a.when(p, e.Offset))
			}
		}
	}
}

func (a *Account) count(k TransactionKey, note *TransactionNote, ends Fate) {
	switch {
	case note == nil || ends == Open:
		a.wrong(&a.Contradictions, "writer %d, transaction %d is %q in the log, the writer's note: %+v", k.Writer, k.Txn, ends, note)
	case !note.Confirmed.IsZero() && ends != Committed, !note.Asked && ends != Aborted:
		a.wrong(&a.Contradictions, "writer %d, transaction %d is %q in the log, the writer knows otherwise: %+v", k.Writer, k.Txn, ends, *note)
	case note.Asked && note.Confirmed.IsZero():
		a.Unknown++
		if ends == Committed {
			a.UnknownCommitted++
		}
	}
	if ends == Committed {
		a.Committed++
	} else {
		a.Aborted++
	}
}
