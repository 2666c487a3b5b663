package rcconsumer_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/internal/batchtest"
	"example.com/readcommitted/rcconsumer"
)

// told is what a commit was answered.
type told struct {
	asked, answers []string
	err            error
}

// heldUp begins to commit offsets and holds the commit up before it is sent.
func heldUp(c *rcconsumer.Consumer, offsets map[string]map[int32]kgo.EpochOffset) (release func() told) {
	hold, done := make(chan struct{}), make(chan told, 1)
	ctx := beforeCommit(context.Background(), func(*kmsg.OffsetCommitRequest) { <-hold })
	go c.CommitOffsetsSync(ctx, offsets, func(_ *rcconsumer.Consumer, req *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
		done <- told{asked(req), answers(resp), err}
	})
	time.Sleep(beat)
	return func() told {
		close(hold)
		return <-done
	}
}

// owned waits until a member reads one of the two partitions alone, and returns
// it.
func owned(t *testing.T, c *rcconsumer.Consumer) (id int32) {
	t.Helper()
	eventually(t, "one partition", func() bool {
		ps := c.Positions()[topic]
		for id = range ps {
		}
		return len(ps) == 1
	})
	return id
}

// With the classic protocol a rebalance waits for commits in flight, with
// KIP-848 it does not.
func TestACommitHeldUpIsNotSentForAPartitionThatIsAnothersByThen(t *testing.T) {
	inWorld(t, 1, 2, func(t *testing.T, w *world) {
		w.produce(topic, 0, values(9)...)
		w.produce(topic, 1, values(9)...)
		one := w.member(kgo.ServerSideBalancer(), manually)
		rs := take(t, one, 0)
		require.Len(t, rs, 18)
		release := heldUp(one, eachAt(1, 3, 4))
		two := w.member(kgo.ServerSideBalancer(), manually)
		gone := owned(t, two)
		require.Len(t, take(t, two, 0), 9)
		require.NoError(t, two.CommitUncommittedOffsets(t.Context()))
		require.Equal(t, 1-gone, owned(t, one))

		got := release()
		require.NoError(t, got.err)
		require.Equal(t, []string{"t/0@3 e1", "t/1@4 e1"}, got.asked)
		want := []string{"t/0 <nil>", "t/1 <nil>"}
		want[gone] = want[gone][:len("t/0 ")] + kerr.RebalanceInProgress.Error()
		require.Equal(t, want, got.answers)
		require.EqualValues(t, 9, w.committed(gone), "what the other one committed")
		require.EqualValues(t, 3+1-gone, w.committed(1-gone), "what was still owned")

		for _, r := range rs {
			if r.Partition == gone {
				require.ErrorIs(t, one.CommitRecords(t.Context(), r), kerr.RebalanceInProgress, "nor is what is committed after that")
				break
			}
		}
		require.EqualValues(t, 9, w.committed(gone))
	})
}

func TestACommitHeldUpIsNotSentForAPartitionThatCameBack(t *testing.T) {
	inWorld(t, 1, 2, func(t *testing.T, w *world) {
		w.produce(topic, 0, values(9)...)
		w.produce(topic, 1, values(9)...)
		one := w.member(kgo.ServerSideBalancer(), manually)
		take(t, one, 0)
		release := heldUp(one, eachAt(1, 3, 3))
		two := w.member(kgo.ServerSideBalancer(), manually)
		gone := owned(t, two)
		require.Len(t, take(t, two, 0), 9)
		require.NoError(t, two.CommitUncommittedOffsets(t.Context()))
		two.Close()
		eventually(t, "both partitions", func() bool { return len(one.Positions()[topic]) == 2 })
		release()
		require.EqualValues(t, 9, w.committed(gone), "another one has read on since")
		require.EqualValues(t, 3, w.committed(1-gone))
	})
}

func TestCommitsOfLostPartitionsAreRefused(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.produce(topic, 0, values(9)...)
		lost := make(chan error, 1)
		c := w.member(manually, rcconsumer.OnPartitionsLost(func(ctx context.Context, c *rcconsumer.Consumer, _ map[string][]int32) {
			if len(c.UncommittedOffsets()) > 0 {
				lost <- c.CommitUncommittedOffsets(context.WithoutCancel(ctx))
			}
		}))
		take(t, c, 0)
		w.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Heartbeat}, Err: kerr.UnknownMemberID, TopLevel: true})
		require.ErrorIs(t, <-lost, kerr.RebalanceInProgress)
		require.EqualValues(t, -1, w.committed(0))
		require.Equal(t, span(0, 8), readPast(t, c, 9), "read again, past the error of the session")
		require.NoError(t, c.CommitUncommittedOffsets(t.Context()))
		require.EqualValues(t, 9, w.committed(0))
	})
}

func TestOffsetsOfTopicsThatAreNotConsumedAreTheCallersAffair(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		require.NoError(t, w.CreateTopic("other", 1, nil))
		c := w.member(manually)
		var err error
		c.CommitOffsetsSync(t.Context(), map[string]map[int32]kgo.EpochOffset{"other": {0: {Epoch: -1, Offset: 7}}},
			func(_ *rcconsumer.Consumer, _ *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, failed error) {
				if err = failed; err == nil {
					err = kerr.ErrorForCode(resp.Topics[0].Partitions[0].ErrorCode)
				}
			})
		require.NoError(t, err)
		require.EqualValues(t, 7, w.GroupInfo("g").Commits["other"][0].Offset)
	})
}

func TestACommitGoesBackWhereDataWasLost(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		f := w.forge(0, batchtest.Data(0, 49), batchtest.Data(50, 99))
		c := w.member(kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()), kgo.ConsumeResetOffset(kgo.NewOffset().AtEnd()))
		require.Len(t, take(t, c, 0), 100)
		c.PollFetches(ended())
		time.Sleep(interval + beat)
		require.EqualValues(t, 100, w.committed(0))
		w.change(func() { f.log, f.lso, f.hw = f.log[:1], 50, 50 })
		var loss *kgo.ErrDataLoss
		require.ErrorAs(t, failed(t, c).Err, &loss)
		require.EqualValues(t, 50, loss.ResetTo)
		require.EqualValues(t, 50, position(c).Next)
		time.Sleep(interval + beat)
		require.EqualValues(t, 50, w.committed(0))
	})
}
