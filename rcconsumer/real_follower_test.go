package rcconsumer_test

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/internal/kafkatest"
)

// origins counts where what was read came from: bytes of Fetch answers on the
// connections of each broker, and records by the broker the consumer names.
type origins struct {
	mu      sync.Mutex
	bytes   map[int32]int
	records map[int32]int
	first   map[int32]time.Time // the first answer of each broker
}

func (o *origins) OnBrokerRead(b kgo.BrokerMetadata, key int16, n int, _, _ time.Duration, _ error) {
	if key == int16(kmsg.Fetch) {
		o.add(func() {
			o.bytes[b.NodeID] += n
			if o.first[b.NodeID].IsZero() {
				o.first[b.NodeID] = time.Now()
			}
		})
	}
}

func (o *origins) OnFetchBatchRead(b kgo.BrokerMetadata, _ string, _ int32, m kgo.FetchBatchMetrics) {
	o.add(func() { o.records[b.NodeID] += m.NumRecords })
}

func (o *origins) add(fn func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.bytes == nil {
		o.bytes, o.records, o.first = map[int32]int{}, map[int32]int{}, map[int32]time.Time{}
	}
	fn()
}

// restart begins to count anew and returns the counts.
func (o *origins) restart() (bytes, records map[int32]int) {
	o.add(func() {
		bytes, records = maps.Clone(o.bytes), maps.Clone(o.records)
		clear(o.bytes)
		clear(o.records)
		clear(o.first)
	})
	return bytes, records
}

// of is how many records came from a broker, and from all others.
func (o *origins) of(node int32) (from, others int) {
	o.add(func() {
		for id, n := range o.records {
			if id == node {
				from += n
			} else {
				others += n
			}
		}
	})
	return from, others
}

// Source: KIP-392.
func TestRealFollowersOfTheReadersRackAreRead(t *testing.T) {
	noLeaks(t)
	cluster := kafkatest.Real(t, kafkatest.Config{Nodes: 3, Racks: []string{"a", "b", "c"}, Control: true, Private: true})
	near := cluster.Local().Node(1) // leads a third of the partitions
	var seen origins
	whileReading(t, cluster, func(t *testing.T, l *ledger, h *harvest) {
		seen.restart()
		h.until(t, "records of the near broker", func() bool { from, _ := seen.of(near.ID()); return from > 500 })
		bytes, records := seen.restart()
		t.Logf("all brokers run: bytes %v, records %v by broker", bytes, records)
		require.Greater(t, records[near.ID()], 9*(records[1]+records[3]), "nearly all")
		require.Greater(t, bytes[near.ID()], bytes[1]+bytes[3])

		far := slices.IndexFunc([]int32{0, 1, 2}, func(p int32) bool {
			return l.c.WaitLeader(t, l.topic, p, kafkatest.AnyLeader) != near.ID()
		})
		leader := l.c.WaitLeader(t, l.topic, int32(far), kafkatest.AnyLeader)
		require.NoError(t, near.Kill())
		killed := time.Now()
		seen.restart()
		before := h.total()
		h.until(t, "records of the leaders", func() bool { _, others := seen.of(near.ID()); return others > 100 })
		var answered time.Time
		seen.add(func() { answered = seen.first[leader] })
		t.Logf("broker %d answered %v after the follower died", leader, answered.Sub(killed))
		require.WithinRange(t, answered, killed, killed.Add(5*time.Second))
		t.Logf("100 records of the leaders %v after the follower died, %d read", time.Since(killed), h.total()-before)
		require.NoError(t, near.Start(t.Context()))
		for p := range int32(loaded + 1) {
			l.c.WaitISR(t, l.topic, p, 1, 2, 3)
		}
		seen.restart()
		started := time.Now()
		h.until(t, fmt.Sprintf("records of broker %d again", near.ID()), func() bool { from, _ := seen.of(near.ID()); return from > 300 })
		bytes, records = seen.restart()
		t.Logf("%v after it was back: bytes %v, records %v by broker", time.Since(started), bytes, records)
	}, kgo.Rack("b"), kgo.WithHooks(&seen))
}
