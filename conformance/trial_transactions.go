package conformance

import (
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// States of transactions, as coordinators name them (KIP-664).
const (
	stateOngoing        = "Ongoing"
	stateEmpty          = "Empty"
	stateCompleteCommit = "CompleteCommit"
	statesUnfinished    = "Prepare" // what the names of the others begin with
)

// transactionState is a transaction as its coordinator describes it.
type transactionState struct {
	kmsg.DescribeTransactionsResponseTransactionState
}

// unfinished reports whether the transaction may hold partitions back.
func (s transactionState) unfinished() bool {
	return s.State == stateOngoing || strings.HasPrefix(s.State, statesUnfinished)
}

// describeTransaction asks the coordinator what a transactional ID does.
func (t *trial) describeTransaction(name string) transactionState {
	req := kmsg.NewPtrDescribeTransactionsRequest()
	req.Version = t.version(kmsg.DescribeTransactions, 0)
	req.TransactionalIDs = []string{name}
	var out transactionState
	r := t.retried("DescribeTransactions", func() reply {
		e := t.do(t.coordinator(name, ofTransaction), "admin", req)
		if e.Err != nil {
			return reply{exchange: e, err: e.Err}
		}
		resp := e.Response.(*kmsg.DescribeTransactionsResponse)
		if len(resp.TransactionStates) != 1 {
			t.undecided("describe transaction %s: an answer with %d", name, len(resp.TransactionStates))
		}
		out = transactionState{resp.TransactionStates[0]}
		return reply{exchange: e, code: out.ErrorCode}
	})
	if !r.ok() {
		r.declined(t, "DescribeTransactions of "+name)
	}
	return out
}

// transactionFilter is what ListTransactions is asked for; zero values ask for
// everything.
type transactionFilter struct {
	states  []string
	ids     []int64
	longer  time.Duration // v1
	pattern string        // v2
}

func (f transactionFilter) request(version int16) *kmsg.ListTransactionsRequest {
	req := kmsg.NewPtrListTransactionsRequest()
	req.Version = version
	req.StateFilters, req.ProducerIDFilters, req.DurationFilterMillis = f.states, f.ids, -1
	if f.longer > 0 {
		req.DurationFilterMillis = f.longer.Milliseconds()
	}
	if f.pattern != "" {
		req.TransactionalIDPattern = &f.pattern
	}
	return req
}

// listTransactions asks every broker for the transactional IDs that it
// coordinates, and returns the states of the trial's own.
func (t *trial) listTransactions(f transactionFilter) map[string]string {
	req := f.request(t.version(kmsg.ListTransactions, anyVersion))
	states := map[string]string{}
	for _, broker := range t.run.features.brokers {
		for _, s := range t.listTransactionsAt(broker, req) {
			if strings.HasPrefix(s.TransactionalID, t.idPrefix()) {
				states[s.TransactionalID] = s.TransactionState
			}
		}
	}
	return states
}

func (t *trial) listTransactionsAt(broker int32, req *kmsg.ListTransactionsRequest) []kmsg.ListTransactionsResponseTransactionState {
	var found []kmsg.ListTransactionsResponseTransactionState
	r := t.retried("ListTransactions", func() reply {
		e := t.do(broker, "admin", req)
		if e.Err != nil {
			return reply{exchange: e, err: e.Err}
		}
		resp := e.Response.(*kmsg.ListTransactionsResponse)
		found = resp.TransactionStates
		return reply{exchange: e, code: resp.ErrorCode}
	})
	if !r.ok() {
		r.declined(t, "ListTransactions")
	}
	return found
}

// idPrefix begins the names of the trial's transactional IDs.
func (t *trial) idPrefix() string {
	return t.run.config.Prefix() + t.label() + "-x"
}
