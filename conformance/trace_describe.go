package conformance

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
	"example.com/readcommitted/conformance/internal/wire"
)

// describe is an exchange other than a Fetch in words, without its time.
func describe(e *wire.Exchange) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s v%d to broker %d", kmsg.NameForKey(e.Request.Key()), e.Request.GetVersion(), e.Broker)
	b.WriteString(describeRequest(e.Request))
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
		return b.String()
	}
	b.WriteString(describeAnswer(e.Request, e.Response))
	if e.Throttled() {
		fmt.Fprintf(&b, " (throttled %d ms)", e.ThrottleMillis())
	}
	return b.String()
}

// describeRequest is what a request asks for, with a space before it.
func describeRequest(req kmsg.Request) string {
	switch req := req.(type) {
	case *kmsg.EndTxnRequest:
		return fmt.Sprintf(" %s pid %d/%d commit %v", req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit)
	case *kmsg.AddPartitionsToTxnRequest:
		return fmt.Sprintf(" %s pid %d/%d%s", req.TransactionalID, req.ProducerID, req.ProducerEpoch, spaced(partitionsIn(req)))
	case *kmsg.InitProducerIDRequest:
		return describeInit(req)
	case *kmsg.ProduceRequest:
		return describeProduce(req)
	case *kmsg.WriteTxnMarkersRequest:
		return describeMarkers(req)
	}
	if words := describeAdminRequest(req); words != "" {
		return words
	}
	return describeOffsetRequest(req)
}

func describeInit(req *kmsg.InitProducerIDRequest) string {
	words := ""
	if req.TransactionalID != nil {
		words = " " + *req.TransactionalID
	}
	if req.ProducerID >= 0 || req.ProducerEpoch >= 0 {
		words += fmt.Sprintf(" pid %d/%d", req.ProducerID, req.ProducerEpoch)
	}
	if req.TransactionalID != nil {
		words += fmt.Sprintf(" timeout %d ms", req.TransactionTimeoutMillis)
	}
	return words
}

func describeProduce(req *kmsg.ProduceRequest) string {
	var words several
	for _, topic := range req.Topics {
		for _, p := range topic.Partitions {
			word := fmt.Sprintf("%s/%d", topic.Topic, p.Partition)
			batches, tail, problem := model.Parse(p.Records)
			for i := range batches {
				word += " " + batchSent(&batches[i])
			}
			if tail > 0 || problem != nil || len(batches) == 0 {
				word += fmt.Sprintf(" %d bytes", len(p.Records))
			}
			words.add("%s", word)
		}
	}
	if req.TransactionID != nil {
		return " " + *req.TransactionID + words.String()
	}
	return words.String()
}

// batchSent is a batch on its way to the cluster.
func batchSent(b *model.Batch) string {
	kind := "plain"
	switch {
	case b.Control():
		kind = b.Kind.String()
	case b.Transactional():
		kind = "transactional"
	case b.ProducerID >= 0:
		kind = "idempotent"
	}
	if b.ProducerID < 0 && b.BaseSequence < 0 {
		return fmt.Sprintf("%s %d records", kind, b.Count)
	}
	return fmt.Sprintf("%s pid %d/%d sequence %d %d records", kind, b.ProducerID, b.Epoch, b.BaseSequence, b.Count)
}

func describeMarkers(req *kmsg.WriteTxnMarkersRequest) string {
	var words several
	for _, m := range req.Markers {
		word := fmt.Sprintf("pid %d/%d commit %v coordinator epoch %d", m.ProducerID, m.ProducerEpoch, m.Committed, m.CoordinatorEpoch)
		for _, topic := range m.Topics {
			for _, p := range topic.Partitions {
				word += fmt.Sprintf(" %s/%d", topic.Topic, p)
			}
		}
		words.add("%s", word)
	}
	return words.String()
}

// describeAnswer is what an answer says, with a colon before it.
func describeAnswer(req kmsg.Request, resp kmsg.Response) string {
	var words several
	words.before = ": "
	switch resp := resp.(type) {
	case *kmsg.EndTxnResponse:
		words.add("%s pid %d/%d", codeName(resp.ErrorCode), resp.ProducerID, resp.ProducerEpoch)
	case *kmsg.InitProducerIDResponse:
		words.add("%s pid %d/%d", codeName(resp.ErrorCode), resp.ProducerID, resp.ProducerEpoch)
	case *kmsg.ProduceResponse:
		for _, topic := range resp.Topics {
			for _, p := range topic.Partitions {
				words.add("partition %d %s base offset %d", p.Partition, codeName(p.ErrorCode), p.BaseOffset)
			}
		}
	case *kmsg.AddPartitionsToTxnResponse:
		for _, topic := range resp.Topics {
			for _, p := range topic.Partitions {
				words.add("%s/%d %s", topic.Topic, p.Partition, codeName(p.ErrorCode))
			}
		}
	case *kmsg.WriteTxnMarkersResponse:
		for _, m := range resp.Markers {
			for _, topic := range m.Topics {
				for _, p := range topic.Partitions {
					words.add("pid %d %s/%d %s", m.ProducerID, topic.Topic, p.Partition, codeName(p.ErrorCode))
				}
			}
		}
	case *kmsg.ListOffsetsResponse:
		for _, topic := range resp.Topics {
			for _, p := range topic.Partitions {
				words.add("%s/%d isolation %d %s offset %d", topic.Topic, p.Partition,
					req.(*kmsg.ListOffsetsRequest).IsolationLevel, codeName(p.ErrorCode), p.Offset)
			}
		}
	default:
		if admin := describeAdminAnswer(resp); admin != "" {
			return admin
		}
		return describeOffsetAnswer(resp)
	}
	return words.String()
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
