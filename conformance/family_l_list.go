package conformance

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
)

// wantListed asserts an answer to ListOffsets. A broker may lag behind what it
// acknowledged, so that it is asked again before it is judged.
func (t *trial) wantListed(p model.Partition, class Class, isolation int8, timestamp, want int64) {
	got := int64(-1)
	t.until(t.bound(stableFollows), "an offset of "+p.String(), func() bool {
		got = t.list(p, isolation, timestamp)
		return got >= want
	})
	t.expectAs(class, got == want, p, got, fmt.Sprintf("list(isolation %d, time %d): %d", isolation, timestamp, want), fmt.Sprint(got))
}

// listedByTime searches for the batches of a partition by their own timestamps,
// which the broker may have set. The last one belongs to an open transaction.
func (t *trial) listedByTime(p model.Partition) {
	raw := t.walk(p, 0, t.bounds(p).HighW)
	if len(raw) < 2 {
		t.fact("the broker packed batches together: no search by time")
		return
	}
	before, open := raw[len(raw)-2], raw[len(raw)-1]
	at := before.MaxTimestamp + 1
	if found := t.list(p, model.ReadUncommitted, at); at > open.MaxTimestamp || found != open.Base {
		t.fact("a search by time at read_uncommitted finds offset %d, not the open transaction at %d: none at read_committed", found, open.Base)
		return
	}
	t.wantListed(p, Should, model.ReadCommitted, before.MaxTimestamp, t.list(p, model.ReadUncommitted, before.MaxTimestamp))
	t.wantDecided(p, at, open.Base, "a search by time")
	if t.run.features.has(kmsg.ListOffsets, 7) {
		t.wantDecided(p, maxTimestamp, open.Base, "the search for the largest timestamp")
	}
}

// wantDecided asserts that a search at read_committed does not find what is at
// or above the last stable offset. Apache Kafka answers -1.
func (t *trial) wantDecided(p model.Partition, timestamp, lso int64, what string) {
	got := t.list(p, model.ReadCommitted, timestamp)
	t.expectAs(Should, got < lso, p, got, fmt.Sprintf("%s at read_committed: -1, or an offset below %d", what, lso), fmt.Sprint(got))
}
