package conformance

import (
	"bytes"
	"compress/gzip"
	"io"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
)

// Answer is an answer to a Fetch as it came, with what was known of the moment:
// enough to judge it again, see [Report.Replay].
type Answer struct {
	Version     int16     `json:"version"` // of the Fetch
	Isolation   int8      `json:"isolation"`
	FetchOffset int64     `json:"fetch_offset"`
	Broker      int32     `json:"broker"`
	Conn        uint64    `json:"connection"`
	LeaderEpoch int32     `json:"leader_epoch"` // of the partition, -1: not known
	Sent        time.Time `json:"sent"`
	Received    time.Time `json:"received"`

	// Quiet says that nothing was happening to the partition all the while, and
	// Open are the transactions that were open all the while.
	Quiet bool              `json:"quiet"`
	Open  []OpenTransaction `json:"open,omitempty"`

	// Body is the whole answer behind its header, compressed by gzip; nil if it
	// is too large to be kept, or one of very many.
	Body []byte `json:"body_gzip,omitempty"`
}

// OpenTransaction is one by the offset of its first batch in a partition.
type OpenTransaction struct {
	ProducerID  int64 `json:"producer_id"`
	FirstOffset int64 `json:"first_offset"`
}

// ListedEnds are the latest offsets that ListOffsets gave.
type ListedEnds struct {
	Uncommitted int64 `json:"read_uncommitted"`
	Committed   int64 `json:"read_committed"`
}

// PartitionLog is a partition as it was read at read_uncommitted, at the end of
// its scenario.
type PartitionLog struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Start     int64  `json:"log_start_offset"`
	End       int64  `json:"high_watermark"`
	Whole     bool   `json:"whole"`                  // it begins where the partition began
	Batches   []byte `json:"batches_gzip,omitempty"` // nil if they are too many to be kept
}

const (
	// keptBytes bounds one answer, or one log, in a report.
	keptBytes = 1 << 20
	// keptLogs bounds the logs of one scenario in a report.
	keptLogs = 4
)

// evidenceOf is a view as reports keep it.
func evidenceOf(v *model.View) Answer {
	a := Answer{
		Version: v.Version, Isolation: v.Isolation, FetchOffset: v.FetchOffset, Broker: v.Broker, Conn: v.Conn,
		LeaderEpoch: v.LeaderEpoch, Sent: v.Sent, Received: v.Received, Quiet: v.Quiet, Body: packed(v.Body),
	}
	for _, o := range v.Open {
		a.Open = append(a.Open, OpenTransaction{o.ProducerID, o.First})
	}
	return a
}

// keepEvidence adds to each finding the answers that it rests on, and to the
// result the logs of the findings' partitions.
func (r *Result) keepEvidence(logs map[model.Partition]*model.Log) {
	for i := range r.Findings {
		f := &r.Findings[i]
		for _, v := range f.views {
			f.Answers = append(f.Answers, evidenceOf(v))
		}
		f.views = nil
		p := model.Partition{Topic: f.Topic, Index: f.Partition}
		if l := logs[p]; l != nil && len(r.Logs) < keptLogs && r.log(p) == nil {
			r.Logs = append(r.Logs, evidenceLog(l))
		}
	}
}

func evidenceLog(l *model.Log) PartitionLog {
	var raw []byte
	for i := range l.Batches {
		raw = append(raw, l.Batches[i].Raw...)
	}
	return PartitionLog{
		Topic: l.Partition.Topic, Partition: l.Partition.Index, Start: l.Start, End: l.End, Whole: l.Whole, Batches: packed(raw),
	}
}

func (r *Result) log(p model.Partition) *PartitionLog {
	i := slices.IndexFunc(r.Logs, func(l PartitionLog) bool { return l.Topic == p.Topic && l.Partition == p.Index })
	if i < 0 {
		return nil
	}
	return &r.Logs[i]
}

// packed compresses bytes; nil if they are too many all the same.
func packed(raw []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(raw) // to memory
	_ = w.Close()
	if b.Len() > keptBytes {
		return nil
	}
	return b.Bytes()
}

// unpackedBytes bounds what the bytes of a report may grow to.
const unpackedBytes = 128 << 20

func unpacked(kept []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(kept))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(r, unpackedBytes))
}

// view is the answer as the rules take it.
func (a *Answer) view(p model.Partition) (*model.View, error) {
	body, err := unpacked(a.Body)
	if err != nil {
		return nil, err
	}
	resp := kmsg.NewPtrFetchResponse()
	resp.Version = a.Version
	if err := resp.ReadFrom(body); err != nil {
		return nil, err
	}
	rp := partitionIn(resp, p.Index)
	if rp == nil {
		return nil, errNotThere
	}
	v := newView(p, rp)
	v.Isolation, v.FetchOffset, v.Version, v.Conn, v.Broker, v.LeaderEpoch = a.Isolation, a.FetchOffset, a.Version, a.Conn, a.Broker, a.LeaderEpoch
	v.Sent, v.Received, v.Quiet, v.Body = a.Sent, a.Received, a.Quiet, body
	for _, o := range a.Open {
		v.Open = append(v.Open, model.Pinned{ProducerID: o.ProducerID, First: o.FirstOffset})
	}
	return v, nil
}

// model is the log as the rules take it.
func (l *PartitionLog) model() (*model.Log, error) {
	raw, err := unpacked(l.Batches)
	if err != nil {
		return nil, err
	}
	batches, _, problem := model.Parse(raw)
	if problem != nil {
		return nil, problem
	}
	out := model.NewLog(model.Partition{Topic: l.Topic, Index: l.Partition}, l.Start, l.End, batches)
	out.Whole = l.Whole
	return out, nil
}
