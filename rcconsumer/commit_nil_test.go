package rcconsumer_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/rcconsumer"
)

// kgo waits forever for a commit with a nil context, and meanwhile lets the
// member neither join nor leave.
func TestACommitWithANilContextIsACommit(t *testing.T) {
	for name, commit := range map[string]func(*rcconsumer.Consumer, []*kgo.Record) error{
		"CommitUncommittedOffsets": func(c *rcconsumer.Consumer, _ []*kgo.Record) error { return c.CommitUncommittedOffsets(noWait) },
		"CommitRecords":            func(c *rcconsumer.Consumer, rs []*kgo.Record) error { return c.CommitRecords(noWait, rs...) },
		"CommitMarkedOffsets": func(c *rcconsumer.Consumer, rs []*kgo.Record) error {
			c.MarkCommitRecords(rs...)
			return c.CommitMarkedOffsets(noWait)
		},
		"CommitOffsetsSync": func(c *rcconsumer.Consumer, _ []*kgo.Record) error {
			c.CommitOffsetsSync(noWait, eachAt(-1, 3), nil)
			return nil
		},
		"CommitOffsets": func(c *rcconsumer.Consumer, _ []*kgo.Record) error {
			answered := make(chan error, 1)
			c.CommitOffsets(noWait, eachAt(-1, 3), func(_ *rcconsumer.Consumer, _ *kmsg.OffsetCommitRequest, _ *kmsg.OffsetCommitResponse, err error) {
				answered <- err
			})
			return <-answered
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				w.produce(topic, 0, values(3)...)
				c := w.member(kgo.AutoCommitMarks(), kgo.AutoCommitInterval(time.Hour))
				rs := take(t, c, 3)
				done := make(chan error, 1)
				go func() { done <- commit(c, rs) }()
				select {
				case err := <-done:
					require.NoError(t, err)
				case <-time.After(10 * time.Second):
					require.FailNow(t, "the commit does not return")
				}
				require.EqualValues(t, 3, w.committed(0))
			})
		})
	}
}
