package conformance

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
	"example.com/readcommitted/conformance/internal/wire"
)

// traced bounds the exchanges that a trial remembers for its evidence.
const traced = 200

// trace remembers a trial's last exchanges.
type trace struct {
	steps []step
	next  int // where the oldest is overwritten, once there are enough
}

// step is an exchange, or one partition of an answer to a Fetch.
type step struct {
	exchange *wire.Exchange
	view     *model.View
}

func (s step) String() string {
	if s.view != nil {
		return describeView(s.view)
	}
	return describe(s.exchange)
}

func (t *trace) add(s step) {
	if len(t.steps) < traced {
		t.steps = append(t.steps, s)
		return
	}
	t.steps[t.next] = s
	t.next = (t.next + 1) % traced
}

// last are up to n of the newest steps that tell of a partition, or of no
// partition at all, as lines, the newest last.
func (t *trace) last(n int, p model.Partition) []string {
	var lines []string
	for i := range t.steps {
		s := t.steps[(t.next+i)%len(t.steps)]
		if s.view == nil || p == (model.Partition{}) || s.view.Partition == p {
			lines = append(lines, s.String())
		}
	}
	return lines[max(0, len(lines)-n):]
}

// describe is an exchange other than a Fetch in one line.
func describe(e *wire.Exchange) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s v%d to broker %d", e.Sent.Format("15:04:05.000"), kmsg.NameForKey(e.Request.Key()), e.Request.GetVersion(), e.Broker)
	switch req := e.Request.(type) {
	case *kmsg.EndTxnRequest:
		fmt.Fprintf(&b, " %s pid %d/%d commit %v", req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit)
	case *kmsg.AddPartitionsToTxnRequest:
		fmt.Fprintf(&b, " %s pid %d/%d", req.TransactionalID, req.ProducerID, req.ProducerEpoch)
	case *kmsg.InitProducerIDRequest:
		if req.TransactionalID != nil {
			fmt.Fprintf(&b, " %s", *req.TransactionalID)
		}
	default:
		b.WriteString(describeOffsetRequest(req))
	}
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
		return b.String()
	}
	switch resp := e.Response.(type) {
	case *kmsg.EndTxnResponse:
		fmt.Fprintf(&b, ": %s pid %d/%d", codeName(resp.ErrorCode), resp.ProducerID, resp.ProducerEpoch)
	case *kmsg.InitProducerIDResponse:
		fmt.Fprintf(&b, ": %s pid %d/%d", codeName(resp.ErrorCode), resp.ProducerID, resp.ProducerEpoch)
	case *kmsg.ProduceResponse:
		for _, topic := range resp.Topics {
			for _, p := range topic.Partitions {
				fmt.Fprintf(&b, ": partition %d %s base offset %d", p.Partition, codeName(p.ErrorCode), p.BaseOffset)
			}
		}
	case *kmsg.ListOffsetsResponse:
		for _, topic := range resp.Topics {
			for _, p := range topic.Partitions {
				fmt.Fprintf(&b, ": %s/%d isolation %d %s offset %d", topic.Topic, p.Partition,
					e.Request.(*kmsg.ListOffsetsRequest).IsolationLevel, codeName(p.ErrorCode), p.Offset)
			}
		}
	default:
		b.WriteString(describeOffsetAnswer(resp))
	}
	if e.Throttled() {
		fmt.Fprintf(&b, " (throttled %d ms)", e.ThrottleMillis())
	}
	return b.String()
}

// codeName is an error code as people know it.
func codeName(code int16) string {
	if code == 0 {
		return "NONE"
	}
	if err := kerr.TypedErrorForCode(code); err != nil {
		return err.Message
	}
	return fmt.Sprintf("error %d", code)
}

// batchesShown bounds the batches of one answer in its line.
const batchesShown = 16

// describeView is a partition of an answer to a Fetch in one line.
func describeView(v *model.View) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s Fetch v%d isolation %d %s@%d: ", v.Received.Format("15:04:05.000"), v.Version, v.Isolation, v.Partition, v.FetchOffset)
	if v.ErrorCode != 0 {
		b.WriteString(codeName(v.ErrorCode) + " ")
	}
	fmt.Fprintf(&b, "start %d LSO %d HW %d", v.LogStartOffset, v.LastStableOffset, v.HighW)
	if v.Shed {
		b.WriteString("; nothing else was kept")
		return b.String()
	}
	b.WriteString(" list ")
	if v.ListNull {
		b.WriteString("null")
	} else {
		b.WriteString(listShown(v.List))
	}
	l := model.NewLog(v.Partition, v.FetchOffset, v.End(), v.Batches[:min(len(v.Batches), batchesShown)])
	b.WriteString(" batches ")
	b.WriteString(strings.ReplaceAll(l.String(), "open ", "transactional "))
	if more := len(v.Batches) - batchesShown; more > 0 {
		fmt.Fprintf(&b, " and %d more", more)
	}
	if v.Tail > 0 {
		fmt.Fprintf(&b, " and %d bytes of a cut one", v.Tail)
	}
	if v.Throttled {
		b.WriteString(" (throttled)")
	}
	return b.String()
}

func listShown(list []model.Entry) string {
	if len(list) <= batchesShown {
		return model.ListString(list)
	}
	return fmt.Sprintf("%s and %d more", model.ListString(list[:batchesShown]), len(list)-batchesShown)
}
