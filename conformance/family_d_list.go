package conformance

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
)

// listedTransactions has three transactional IDs in three states and asks for
// some of them at a time.
func listedTransactions(t *trial) {
	p := t.partition()
	ended, idle, open := t.producer(), t.producer(), t.producer()
	endedID := ended.id
	ended.write(p, 1)
	ended.commit()
	open.write(p, 1)
	t.witness(true, "")
	list := func(what string, f transactionFilter, want ...*producer) {
		t.wantInTransactionList(p, what, t.listTransactions(f), want...)
	}
	list("three producer IDs", transactionFilter{ids: []int64{endedID, idle.id, open.id}}, ended, idle, open)
	list("one producer ID", transactionFilter{ids: []int64{open.id}}, open)
	list("state Ongoing", transactionFilter{states: []string{stateOngoing}}, open)
	t.until(t.bound(settled), "the end of a transaction", func() bool { return !t.describedUnfinished(ended) })
	list("states Empty and CompleteCommit", transactionFilter{states: []string{stateEmpty, stateCompleteCommit}}, ended, idle)
	list("state and producer ID of different ones", transactionFilter{states: []string{stateOngoing}, ids: []int64{idle.id}})
	if t.run.features.has(kmsg.ListTransactions, 1) {
		t.pause(2*shortest, "a transaction of some duration")
		list("Ongoing for longer than 20 ms", transactionFilter{states: []string{stateOngoing}, longer: shortest}, open)
		list("Ongoing for longer than an hour", transactionFilter{states: []string{stateOngoing}, longer: time.Hour})
	}
	if t.run.features.has(kmsg.ListTransactions, 2) {
		list("the pattern of one name", transactionFilter{pattern: regexp.QuoteMeta(idle.name)}, idle)
		list("a pattern that begins all names", transactionFilter{pattern: regexp.QuoteMeta(t.idPrefix()) + ".*"}, ended, idle, open)
	}
	open.abort()
}

// shortest is a duration that a transaction soon has.
const shortest = 20 * time.Millisecond

func (t *trial) describedUnfinished(w *producer) bool {
	return t.run.features.has(kmsg.DescribeTransactions, 0) && t.describeTransaction(w.name).unfinished()
}

// wantInTransactionList asserts which of the trial's transactional IDs are listed.
func (t *trial) wantInTransactionList(p model.Partition, what string, got map[string]string, want ...*producer) {
	var names []string
	for _, w := range want {
		names = append(names, w.name)
	}
	slices.Sort(names)
	t.expect(slices.Equal(slices.Sorted(maps.Keys(got)), names), p, -1,
		fmt.Sprintf("ListTransactions by %s: %v", what, names), fmt.Sprint(got))
}
