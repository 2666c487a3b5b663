package kafkatest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// PartitionLog is a partition as the log itself tells it: every record, and
// what the markers made of it.
type PartitionLog struct {
	Records []Logged
	Markers int

	open map[int64][]int // indexes of records by producer ID
	end  int64           // one past the last record or marker
}

// ReadLog reads a topic that a [Load] wrote with plain kgo at read_uncommitted,
// markers included, up to the given ends, exclusive.
func (c *Cluster) ReadLog(t testing.TB, topic string, ends map[int32]int64) map[int32]*PartitionLog {
	t.Helper()
	logs, start := map[int32]*PartitionLog{}, map[int32]kgo.Offset{}
	for p := range ends {
		logs[p], start[p] = &PartitionLog{}, kgo.NewOffset().At(0)
	}
	client := c.Client(t, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: start}), kgo.KeepControlRecords(),
		kgo.FetchIsolationLevel(kgo.ReadUncommitted()))
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for behind(logs, ends) {
		fetches := client.PollFetches(ctx)
		require.NoError(t, fetches.Err(), "read the log")
		fetches.EachRecord(func(r *kgo.Record) {
			require.NoError(t, logs[r.Partition].add(r), "partition %d of the log", r.Partition)
		})
	}
	return logs
}

func behind(logs map[int32]*PartitionLog, ends map[int32]int64) bool {
	for p, end := range ends {
		if logs[p].end < end {
			return true
		}
	}
	return false
}

func (l *PartitionLog) add(r *kgo.Record) error {
	if r.Offset < l.end {
		return fmt.Errorf("offset %d after %d", r.Offset, l.end-1)
	}
	l.end = r.Offset + 1
	if r.Attrs.IsControl() {
		return l.marker(r)
	}
	s, err := StampOf(r.Value)
	if err != nil {
		return fmt.Errorf("offset %d: %w", r.Offset, err)
	}
	e := Logged{Entry: Entry{r.Offset, s}, ProducerID: r.ProducerID, Fate: Plain}
	if r.Attrs.IsTransactional() {
		e.Fate = Open
		if l.open == nil {
			l.open = map[int64][]int{}
		}
		l.open[r.ProducerID] = append(l.open[r.ProducerID], len(l.Records))
	}
	l.Records = append(l.Records, e)
	return nil
}

func (l *PartitionLog) marker(r *kgo.Record) error {
	var key kmsg.ControlRecordKey
	if err := key.ReadFrom(r.Key); err != nil {
		return fmt.Errorf("offset %d: control record: %w", r.Offset, err)
	}
	ends := Aborted
	switch key.Type {
	case kmsg.ControlRecordKeyTypeAbort:
	case kmsg.ControlRecordKeyTypeCommit:
		ends = Committed
	default:
		return fmt.Errorf("offset %d: control record of type %v", r.Offset, key.Type)
	}
	for _, i := range l.open[r.ProducerID] {
		l.Records[i].Fate = ends
	}
	delete(l.open, r.ProducerID)
	l.Markers++
	return nil
}
