// Package pass turns the fetched bytes of one partition and the broker's list
// of aborted transactions into verdicts, Kafka records and counts.
//
// The pass has two steps. [Scanner.Scan] reads every batch header in order and
// decides which batches are kept; nothing is decompressed and no record is
// decoded, so aborted data costs one CRC. [Decoder.Append] then decodes one
// kept batch. Between the two the next fetch offset is already known, so a
// caller can ask for more before it decodes.
//
// Nothing here has a network, a clock or a goroutine.
package pass

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/abortset"
	"example.com/readcommitted/batchdecode"
)

// What callers see of the filtering rule, so that they need not import it.
type (
	// Audit checks markers against what earlier answers delivered.
	Audit = abortset.Audit
	// Anomaly is a contradiction between the broker's list and the log.
	Anomaly = abortset.Anomaly
	// Batch is a batch as it lies in the fetched bytes.
	Batch = batchdecode.Batch
)

// Options says how the bytes of one partition are judged.
type Options struct {
	Offset          int64 // fetch offset: records below it are dropped, inclusive lower bound
	ReadUncommitted bool  // keep aborted data, ignore the broker's list
	KeepControl     bool  // keep control batches as well
	SkipCRC         bool  // do not verify CRC-32C

	Audit   *abortset.Audit // checks markers against what earlier responses delivered; nil for none
	Aborted bool            // list every dropped batch in Result.Aborted
}

// Kept is a batch whose records are to be delivered. It aliases the bytes that
// were scanned.
type Kept struct {
	Batch   batchdecode.Batch
	From    int64 // records below this offset are dropped: the fetch offset or the end of the batch before; inclusive
	Control bool  // a control batch, kept because Options.KeepControl was set

	// EpochBefore is the partition leader epoch of the batch scanned just
	// before; -1 if unknown or none.
	EpochBefore int32
}

// First is a lower bound, inclusive, of the offsets of the records to deliver:
// nothing between the batch before and First is lost by whoever goes on there.
func (k Kept) First() int64 {
	if k.Batch.Magic() < 2 {
		// A message set has the offset of its last message, and whether it is
		// one is not sure either: its CRC has not been checked.
		return k.From
	}
	return max(k.From, k.Batch.BaseOffset())
}

// Counts are what one scan met, in batches, claimed records and wire bytes.
// Batches that end below the fetch offset are not counted.
type Counts struct {
	AbortedBatches, AbortedRecords, AbortedBytes int64
	ControlBatches                               int64
	ScannedBytes                                 int64
}

// Result is the outcome of one scan.
type Result struct {
	Kept      []Kept
	Aborted   []batchdecode.Batch // dropped batches, if Options.Aborted
	Anomalies []abortset.Anomaly  // where the broker's list and the log contradict each other; valid until the next Scan

	Complete  int   // complete batches seen
	Next      int64 // fetch offset after the scan: never below Options.Offset
	NextEpoch int32 // partition leader epoch of the last complete batch; -1 if unknown or none
	Counts    Counts

	// Err is why the scan ended before the bytes did: a *batchdecode.Error of
	// class ErrCorrupt or ErrUnsupported. A batch cut off at the end of the
	// bytes is normal and leaves Err nil. Nothing after the place of the error
	// was believed; Next stays in front of it.
	Err error
}

// Scanner holds the scratch memory of scans, and none of the bytes that were
// scanned. The zero value is ready. It must not be used concurrently.
type Scanner struct {
	batches  []batchdecode.Batch
	judged   []abortset.Batch
	list     []abortset.AbortedTransaction
	response abortset.Response
}

// Scan judges every batch of records, the bytes of one partition as fetched at
// o.Offset, with the list that came with them.
//
// This is the rule of the Java client (CompletedFetch.java), applied to the
// whole response so that markers in view are believed over the list.
func (s *Scanner) Scan(o Options, records []byte, list []kmsg.FetchResponseTopicPartitionAbortedTransaction) Result {
	res := Result{Next: o.Offset, NextEpoch: -1}
	s.batches, s.judged = s.batches[:0], s.judged[:0]
	if cap(s.judged) > maxScratch {
		s.judged = nil
	}
	res.Err = s.readHeaders(o, records)
	res.Complete = len(s.batches)

	verdicts, anomalies := s.judge(o, list)
	res.Anomalies = anomalies
	res.Kept = make([]Kept, 0, s.countKept(o, verdicts))
	for i, b := range s.batches {
		if b.LastOffset() < o.Offset {
			continue
		}
		res.add(o, b, s.judged[i].Kind, verdict(verdicts, s.judged, i))
		res.Next = b.LastOffset() + 1
		res.NextEpoch = b.PartitionLeaderEpoch()
	}
	res.Anomalies = s.audit(o, verdicts, res.Anomalies)
	s.shrink()
	return res
}

// readHeaders fills s.batches and s.judged with all complete batches in front
// of the first cut or damaged one.
func (s *Scanner) readHeaders(o Options, records []byte) error {
	next := batchdecode.Next
	if o.SkipCRC {
		next = batchdecode.NextUnchecked
	}
	last := int64(-1)
	for len(records) > 0 {
		b, rest, err := next(records)
		if errors.Is(err, batchdecode.ErrTruncated) {
			return nil
		}
		if err != nil {
			return err
		}
		if b.BaseOffset() <= last {
			return notAbove(b, last)
		}
		kind, err := kindOf(b, o.ReadUncommitted)
		if err != nil {
			return err
		}
		s.batches = append(s.batches, b)
		s.judged = append(s.judged, abortset.Batch{
			BaseOffset: b.BaseOffset(),
			LastOffset: b.LastOffset(),
			ProducerID: b.ProducerID(),
			Kind:       kind,
		})
		last, records = b.LastOffset(), rest
	}
	return nil
}

func notAbove(b batchdecode.Batch, last int64) error {
	return &batchdecode.Error{
		BaseOffset: b.BaseOffset(),
		LastOffset: b.LastOffset(),
		Field:      "base offset",
		Err:        fmt.Errorf("%w: not above %d, the last offset of the batch before", batchdecode.ErrCorrupt, last),
	}
}

// kindOf translates a batch into what the filtering rule needs to know. At
// read_uncommitted that is no more than the header, as in the Java client:
// nobody asks what a control batch says.
func kindOf(b batchdecode.Batch, readUncommitted bool) (abortset.Kind, error) {
	switch {
	case b.Magic() < 2:
		return abortset.Plain, nil
	case b.IsControl() && readUncommitted:
		return abortset.OtherControl, nil
	case b.IsControl():
		return controlKind(b)
	case b.IsTransactional():
		return abortset.Transactional, nil
	default:
		return abortset.Plain, nil
	}
}

// maxControlBytes bounds the decompressed size of a control batch. A marker is
// 78 bytes; nothing that writes control batches compresses them.
const maxControlBytes = 1 << 20

func controlKind(b batchdecode.Batch) (abortset.Kind, error) {
	c, ok, err := b.Control(sharedCodec, maxControlBytes)
	switch {
	case err != nil:
		return 0, err
	case !ok:
		return abortset.EmptyControl, nil
	case c.Type == batchdecode.ControlAbort:
		return abortset.Abort, nil
	case c.Type == batchdecode.ControlCommit:
		return abortset.Commit, nil
	default:
		return abortset.OtherControl, nil
	}
}

// judge returns a verdict per batch, or nil if every data batch is delivered.
func (s *Scanner) judge(o Options, list []kmsg.FetchResponseTopicPartitionAbortedTransaction) ([]abortset.Verdict, []abortset.Anomaly) {
	if o.ReadUncommitted {
		return nil, nil // the list is not ours to apply: twmb/franz-go#758
	}
	s.shorten(list)
	return s.response.Judge(s.judged, s.list)
}

// maxScratch is how many list entries, and batches, stay allocated between
// scans.
const maxScratch = 1 << 16

// shrink lets go of the bytes that were scanned and of what only a large answer
// needed. What [Scanner.OffsetOf] looks at stays.
func (s *Scanner) shrink() {
	clear(s.batches)
	if cap(s.list) > maxScratch {
		s.list = nil
	}
	if cap(s.batches) > maxScratch {
		s.batches = nil
	}
}

// verdict is what happens to batch i; without verdicts nothing is dropped.
func verdict(verdicts []abortset.Verdict, judged []abortset.Batch, i int) abortset.Verdict {
	if verdicts != nil {
		return verdicts[i]
	}
	switch judged[i].Kind {
	case abortset.Plain, abortset.Transactional:
		return abortset.Deliver
	default:
		return abortset.Control
	}
}

func (s *Scanner) countKept(o Options, verdicts []abortset.Verdict) int {
	n := 0
	for i := range s.batches {
		if keeps(o, s.batches[i], verdict(verdicts, s.judged, i)) {
			n++
		}
	}
	return n
}

// keeps reports whether the batch may hold records to deliver.
func keeps(o Options, b batchdecode.Batch, v abortset.Verdict) bool {
	if b.LastOffset() < o.Offset || b.Magic() == 2 && b.RecordCount() == 0 {
		return false
	}
	return v == abortset.Deliver || v == abortset.Control && o.KeepControl
}

// add books a batch that reaches to or above the fetch offset.
func (r *Result) add(o Options, b batchdecode.Batch, kind abortset.Kind, v abortset.Verdict) {
	size := int64(len(b.Bytes()))
	r.Counts.ScannedBytes += size
	switch v {
	case abortset.Drop:
		r.Counts.AbortedBatches++
		r.Counts.AbortedRecords += int64(b.RecordCount())
		r.Counts.AbortedBytes += size
		if o.Aborted {
			r.Aborted = append(r.Aborted, b)
		}
	case abortset.Control:
		r.Counts.ControlBatches++
	case abortset.Deliver:
	}
	if keeps(o, b, v) {
		control := kind != abortset.Plain && kind != abortset.Transactional
		r.Kept = append(r.Kept, Kept{Batch: b, From: r.Next, Control: control, EpochBefore: r.NextEpoch})
	}
}

// audit compares abort markers with what earlier responses delivered.
func (s *Scanner) audit(o Options, verdicts []abortset.Verdict, anomalies []abortset.Anomaly) []abortset.Anomaly {
	if o.Audit == nil || o.ReadUncommitted {
		return anomalies
	}
	for i, b := range s.judged {
		if b.LastOffset < o.Offset {
			continue // seen by an earlier response, or below where this reader began
		}
		if a, leaked := o.Audit.Observe(b, verdict(verdicts, s.judged, i)); leaked {
			a.Batch = i
			anomalies = append(anomalies, a)
		}
	}
	return anomalies
}

// OffsetOf returns the base offset of the batch at which an anomaly of the last
// scan shows, or the first scanned offset if it is about the list alone.
func (s *Scanner) OffsetOf(a abortset.Anomaly) int64 {
	switch {
	case a.Batch >= 0 && a.Batch < len(s.judged):
		return s.judged[a.Batch].BaseOffset
	case len(s.judged) > 0:
		return s.judged[0].BaseOffset
	default:
		return a.Offset
	}
}

// Harmless reports whether an anomaly could not have changed what is delivered.
func Harmless(a Anomaly) bool { return a.Kind == abortset.Duplicate }
