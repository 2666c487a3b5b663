package conformance

import (
	"errors"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/wire"
)

// reply is how the cluster took a request.
type reply struct {
	exchange *wire.Exchange
	code     int16
	base     int64 // of a Produce: the base offset
	err      error // there was no answer
}

func (r reply) ok() bool { return r.err == nil && r.code == 0 }

// in reports whether the answer is one of some errors.
func (r reply) in(set []*kerr.Error) bool {
	return r.err == nil && slices.ContainsFunc(set, func(e *kerr.Error) bool { return e.Code == r.code })
}

func (r reply) String() string {
	switch {
	case errors.Is(r.err, wire.ErrCut):
		return "connection cut"
	case errors.Is(r.err, wire.ErrTimeout):
		return "no answer in time"
	case r.err != nil:
		return r.err.Error()
	}
	return codeName(r.code)
}

// unusable ends the script, which needs another answer than this one.
func (r reply) unusable(t *trial, what string) {
	if r.err != nil {
		t.broken(what, r.exchange)
	}
	t.refused(what, r.request(), r.code)
}

// request is what was answered, nil if that is not known.
func (r reply) request() kmsg.Request {
	if r.exchange == nil {
		return nil
	}
	return r.exchange.Request
}

// declined is unusable for requests that a cluster may decline, see
// [trial.declined].
func (r reply) declined(t *trial, what string) {
	if r.err != nil {
		t.broken(what, r.exchange)
	}
	t.declined(what, r.request(), r.code)
}

// Errors with which a cluster may refuse what a producer must not do. Any of a
// set is accepted.
var (
	fencedProduce = []*kerr.Error{
		kerr.InvalidProducerEpoch, kerr.ProducerFenced, kerr.InvalidTxnState, kerr.TransactionAbortable, kerr.OutOfOrderSequenceNumber,
	}
	fencedEnd = []*kerr.Error{
		kerr.ProducerFenced, kerr.InvalidProducerEpoch, kerr.InvalidProducerIDMapping, kerr.InvalidTxnState,
	}
	unaddedWrite = []*kerr.Error{kerr.InvalidTxnState, kerr.TransactionAbortable, kerr.InvalidProducerEpoch}
)

// perhapsWritten are the errors of a Produce whose batch may be in the log: a
// leader that lost its office, or replicas that did not follow in time.
var perhapsWritten = []*kerr.Error{
	kerr.NotLeaderForPartition, kerr.RequestTimedOut, kerr.NotEnoughReplicasAfterAppend, kerr.KafkaStorageError,
}

// again sends a request once more whose connection was cut before the answer: a
// network may do that, now and then. A cluster that cuts where it should refuse
// does so again.
func (t *trial) again(what string, r reply) reply {
	if !errors.Is(r.err, wire.ErrCut) {
		return r
	}
	return t.retried(what, func() reply {
		return replyIn(t.do(r.exchange.Broker, "again", r.exchange.Request))
	})
}

// replyIn is what became of a producer's request about one partition, or about
// none.
func replyIn(e *wire.Exchange) reply {
	if e.Err != nil {
		return reply{exchange: e, err: e.Err}
	}
	r := reply{exchange: e, code: kerr.UnknownServerError.Code} // of an answer without the partition
	switch resp := e.Response.(type) {
	case *kmsg.InitProducerIDResponse:
		r.code = resp.ErrorCode
	case *kmsg.EndTxnResponse:
		r.code = resp.ErrorCode
	case *kmsg.ProduceResponse:
		for _, topic := range resp.Topics {
			for _, p := range topic.Partitions {
				r.code, r.base = p.ErrorCode, p.BaseOffset
			}
		}
	case *kmsg.AddPartitionsToTxnResponse:
		for _, topic := range resp.Topics {
			for _, p := range topic.Partitions {
				r.code = p.ErrorCode
			}
		}
	case *kmsg.TxnOffsetCommitResponse:
		for _, topic := range resp.Topics {
			for _, p := range topic.Partitions {
				r.code = p.ErrorCode
			}
		}
	}
	return r
}

// retried sends something again while the cluster says that it will pass, or
// does not answer because brokers come and go. That it does not pass in time
// decides nothing.
func (t *trial) retried(what string, attempt func() reply) reply {
	var r reply
	if !t.until(t.bound(settled), what, func() bool {
		r = attempt()
		if r.err != nil {
			return !t.outage(r.err)
		}
		return !passes(r.code)
	}) {
		t.undecided("%s: still %s", what, r)
	}
	return r
}
