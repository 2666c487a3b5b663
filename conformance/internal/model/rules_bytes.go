package model

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// U7 judges the shape of the bytes.
func U7(v *View) []Breach {
	breach := func(offset int64, expected, observed string) []Breach {
		return []Breach{{
			Invariant: "U7", Severity: Failure, Offset: offset,
			Requirement: "batches are whole and valid, ascend without overlap, and begin with the one that holds the fetch offset or lies after it",
			Consequence: "clients stop at the batch, or read records twice or never",
			Expected:    expected, Observed: observed,
		}}
	}
	if v.Problem != nil {
		return breach(v.Problem.Offset, "batches of format v2", v.Problem.Error())
	}
	next := v.FetchOffset
	for i := range v.Batches {
		b := &v.Batches[i]
		switch {
		case !b.CRCValid:
			return breach(b.Base, "a valid CRC", fmt.Sprintf("the CRC of batch %d..%d is wrong", b.Base, b.Last))
		case b.Last < next:
			return breach(b.Base, fmt.Sprintf("a batch that ends at or after %d", next), fmt.Sprintf("a batch %d..%d", b.Base, b.Last))
		case i > 0 && b.Base < next:
			return breach(b.Base, fmt.Sprintf("a batch that begins at or after %d", next), fmt.Sprintf("a batch %d..%d", b.Base, b.Last))
		}
		if _, err := b.Records(); err != nil {
			return breach(b.Base, "records that decode", fmt.Sprintf("in batch %d..%d: %v", b.Base, b.Last, err))
		}
		next = b.Last + 1
	}
	return nil
}

// U8 judges the control batches.
func U8(v *View) []Breach {
	var out []Breach
	for i := range v.Batches {
		b := &v.Batches[i]
		if !b.Control() {
			continue
		}
		if what, severity := oddMarker(b); what != "" {
			out = append(out, Breach{
				Invariant: "U8", Severity: severity, Offset: b.Base,
				Requirement: "a control batch has the bits, the single record, the key and the value of KIP-98",
				Consequence: "clients that look at these fields stop, or take the marker for something else",
				Expected:    "transactional and control bits, one record, key version 0 with type 0 or 1, a value of 6 bytes, base sequence -1, a producer ID",
				Observed:    fmt.Sprintf("%s at %d: %s", b.Kind, b.Base, what),
			})
		}
	}
	return out
}

func oddMarker(b *Batch) (what string, severity Severity) {
	switch {
	case !b.Transactional():
		return "no transactional bit", Failure
	case b.Count > 1:
		return fmt.Sprintf("%d records", b.Count), Failure
	case b.ProducerID < 0:
		return fmt.Sprintf("producer ID %d", b.ProducerID), Failure
	case b.BaseSequence != -1:
		return fmt.Sprintf("base sequence %d", b.BaseSequence), Failure
	case b.Kind == EmptyControl:
		return "", Fact
	case b.Marker.KeyVersion != 0:
		return fmt.Sprintf("key version %d", b.Marker.KeyVersion), Warning
	case b.Kind == OtherControl:
		return fmt.Sprintf("control type %d", b.Marker.Type), Warning
	case b.Marker.ValueLength < 6:
		return fmt.Sprintf("a value of %d bytes", b.Marker.ValueLength), Warning
	}
	return "", Fact
}

// U11 judges that a batch reads the same each time.
func U11(v *View, l *Log) []Breach {
	for i := range v.Batches {
		b := &v.Batches[i]
		if b.Base < l.Start || b.Last >= l.End {
			continue
		}
		severity, observed := differs(b, l)
		if severity == Fact {
			continue
		}
		return []Breach{{
			Invariant: "U11", Severity: severity, Offset: b.Base,
			Requirement: "what lies below the high watermark never changes",
			Consequence: "two readers, or one reader twice, see different records",
			Expected:    fmt.Sprintf("the batch at %d as it reads at read_uncommitted", b.Base),
			Observed:    observed,
		}}
	}
	return nil
}

// differs compares a batch with the log's. Only what clients see counts as a
// failure: a broker may pack the same records anew.
func differs(b *Batch, l *Log) (Severity, string) {
	first, ok := l.holding(b.Base)
	if !ok {
		return Failure, fmt.Sprintf("batch %d..%d, which the log does not have", b.Base, b.Last)
	}
	if bytes.Equal(b.Raw, l.Batches[first].Raw) {
		return Fact, ""
	}
	mine, err := b.Records()
	if err != nil {
		return Failure, fmt.Sprintf("batch %d..%d: %v", b.Base, b.Last, err)
	}
	var theirs []Record
	for i := first; i < len(l.Batches) && l.Batches[i].Base <= b.Last; i++ {
		other := &l.Batches[i]
		if b.ProducerID != other.ProducerID || b.Epoch != other.Epoch || b.Transactional() != other.Transactional() || b.Kind != other.Kind {
			return Failure, fmt.Sprintf("batch %d..%d %s pid %d/%d, and %d..%d %s pid %d/%d in the log", b.Base, b.Last, b.Kind,
				b.ProducerID, b.Epoch, other.Base, other.Last, other.Kind, other.ProducerID, other.Epoch)
		}
		within, err := other.Records()
		if err != nil {
			return Failure, fmt.Sprintf("batch %d..%d of the log: %v", other.Base, other.Last, err)
		}
		theirs = append(theirs, within...)
	}
	outside := func(r Record) bool { return r.Offset < b.Base || r.Offset > b.Last }
	if !slices.EqualFunc(mine, slices.DeleteFunc(theirs, outside), sameRecord) {
		return Failure, fmt.Sprintf("other records in batch %d..%d", b.Base, b.Last)
	}
	return Warning, fmt.Sprintf("the same records in other bytes in batch %d..%d", b.Base, b.Last)
}

func sameRecord(a, b Record) bool {
	return a.Offset == b.Offset && a.Timestamp == b.Timestamp && sameBytes(a.Key, b.Key) && sameBytes(a.Value, b.Value) &&
		slices.EqualFunc(a.Headers, b.Headers, func(x, y kmsg.Header) bool {
			return x.Key == y.Key && sameBytes(x.Value, y.Value)
		})
}

// sameBytes tells null from empty: a null value is a tombstone.
func sameBytes(a, b []byte) bool { return bytes.Equal(a, b) && (a == nil) == (b == nil) }
