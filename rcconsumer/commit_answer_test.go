package rcconsumer_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/rcconsumer"
)

// beforeCommit calls fn with every commit in front of kgo's sending it.
func beforeCommit(ctx context.Context, fn func(*kmsg.OffsetCommitRequest)) context.Context {
	return kgo.PreCommitFnContext(ctx, func(req *kmsg.OffsetCommitRequest) error {
		fn(req)
		return nil
	})
}

// refuseCommits makes the cluster answer OffsetCommits of partitions of [topic] with an
// error, until the returned function is called.
func (w *world) refuseCommits(err *kerr.Error, partitions ...int32) (end func()) {
	return w.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Topic: topic, Partitions: partitions, Err: err, Count: -1}).Remove
}

// What the caller is told of commits is what kgo tells.
func TestAnswersToCommitsAreThoseOfKgo(t *testing.T) {
	tests := []struct {
		name    string
		filled  int32 // partitions with records
		opts    []kgo.Opt
		program func(*twin)
	}{
		{"a partition is refused", 2, []kgo.Opt{manually}, func(d *twin) {
			d.poll(100)
			end := d.w.refuseCommits(kerr.TopicAuthorizationFailed, 1)
			d.commitUncommitted()
			d.state("one of two")
			d.commitSync(d.t.Context(), eachAt(1, 2, 2), d.answered("sync"))
			d.commitRecords(d.seen...)
			end()
			d.commitUncommitted()
			d.state("both")
		}},
		{"auto-commit is refused", 2, []kgo.Opt{noteCommits()}, func(d *twin) {
			d.poll(100)
			d.poll(100)
			end := d.w.refuseCommits(kerr.GroupAuthorizationFailed, 0, 1)
			d.tick()
			d.state("refused")
			end()
			d.tick()
			d.state("tried again")
		}},
		{"the group rebalances", 2, []kgo.Opt{manually}, func(d *twin) {
			d.poll(100)
			end := d.w.refuseCommits(kerr.RebalanceInProgress, 0, 1)
			d.commitUncommitted()
			end()
			d.state("refused")
		}},
		{"commits that do not wait are sent in order", 2, []kgo.Opt{manually}, func(d *twin) {
			d.poll(100)
			d.commitAsync(d.t.Context(), eachAt(1, 2), d.answered("first"))
			d.commitAsync(d.t.Context(), eachAt(1, 5), d.answered("second"))
			d.commitAsync(d.t.Context(), eachAt(1, 4), d.answered("third"))
			d.commitSync(d.t.Context(), eachAt(-1, 4, 1), d.answered("last"))
			d.commitAsync(d.t.Context(), nil, d.answered("nothing"))
			d.note("the group holds %v", d.held())
		}},
		{"the caller's own look at the request", 2, []kgo.Opt{manually}, func(d *twin) {
			d.poll(100)
			d.note("%v", d.CommitUncommittedOffsets(beforeCommit(d.t.Context(), func(req *kmsg.OffsetCommitRequest) {
				d.note("asked %v", asked(req))
				ps := req.Topics[0].Partitions
				for i := range ps {
					if ps[i].Partition == 0 {
						ps[i].Offset = 3
						req.Topics[0].Partitions = ps[i : i+1]
						return
					}
				}
			})))
			d.state("one removed, one changed")
			d.commitSync(beforeCommit(d.t.Context(), func(req *kmsg.OffsetCommitRequest) {
				rp := kmsg.NewOffsetCommitRequestTopicPartition()
				rp.Partition, rp.Offset, rp.LeaderEpoch = 1, 4, 1
				req.Topics[0].Partitions = append(req.Topics[0].Partitions, rp)
			}), eachAt(1, 4), d.answered("one added"))
			d.state("one added")
			d.note("%v", d.CommitUncommittedOffsets(kgo.PreCommitFnContext(d.t.Context(), func(*kmsg.OffsetCommitRequest) error { return errors.New("no") })))
			d.commitSync(beforeCommit(d.t.Context(), func(req *kmsg.OffsetCommitRequest) { req.Topics = nil }), eachAt(1, 1), d.answered("emptied"))
			d.state("none sent")
		}},
		{"a commit in flight across a seek", 1, nil, func(d *twin) {
			d.poll(8)
			hold, done := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(done)
				d.note("%v", d.CommitUncommittedOffsets(beforeCommit(d.t.Context(), func(*kmsg.OffsetCommitRequest) { <-hold })))
			}()
			time.Sleep(beat)
			d.SetOffsets(eachAt(-1, 2))
			d.state("sought")
			close(hold)
			<-done
			d.state("answered")
			d.tick()
			d.state("the place of the seek is committed")
		}},
		{"auto-commit beside a commit in flight", 1, []kgo.Opt{noteCommits()}, func(d *twin) {
			d.poll(4)
			hold := make(chan struct{})
			d.commitAsync(beforeCommit(d.t.Context(), func(*kmsg.OffsetCommitRequest) { <-hold }), eachAt(1, 2), d.answered("held up"))
			d.poll(4)
			d.tick()
			d.state("nothing is sent")
			close(hold)
			time.Sleep(beat / 2)
			d.state("nothing but that commit")
			d.tick()
			d.state("auto-commit goes on")
		}},
		{"an ended context", 1, []kgo.Opt{manually}, func(d *twin) {
			d.poll(4)
			d.note("%v", d.CommitUncommittedOffsets(ended()))
			d.commitSync(ended(), eachAt(1, 2), d.answered("sync"))
			d.state("nothing is sent")
		}},
		{"in the callback of the last revoke", 1, []kgo.Opt{calls(onPartitions{
			revoked: func(d *twin, gone map[string][]int32) {
				d.note("revoked %v", gone)
				d.state("in it")
				d.commitSync(d.t.Context(), d.UncommittedOffsets(), d.answered("sync"))
				d.state("committed")
			},
		})}, func(d *twin) {
			d.poll(4)
			d.Close()
			d.note("the group holds %v", d.held())
		}},
		{"a seek in the callback of the last revoke", 1, []kgo.Opt{calls(onPartitions{
			revoked: func(d *twin, _ map[string][]int32) {
				d.SetOffsets(eachAt(-1, 2))
				d.state("sought")
				d.commitUncommitted()
			},
		})}, func(d *twin) {
			d.poll(4)
			d.Close()
			d.note("the group holds %v", d.held())
		}},
		{"after close", 1, []kgo.Opt{kgo.AutoCommitMarks()}, func(d *twin) {
			d.poll(100)
			d.MarkCommitRecords(d.seen[0])
			d.Close()
			d.state("closed")
			d.MarkCommitRecords(d.seen...)
			d.SetOffsets(eachAt(-1, 2))
			d.commitUncommitted()
			d.commitMarked()
			d.commitRecords(d.seen[0])
			d.commitSync(d.t.Context(), eachAt(1, 2), d.answered("sync"))
			d.state("still")
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inWorld(t, 1, 2, func(t *testing.T, w *world) {
				for id := range test.filled {
					w.produce(topic, id, values(9)...)
				}
				alike(t, w, test.program, test.opts...)
			})
		})
	}
}

func TestWithoutAGroupCommitsFailAsInKgo(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.produce(topic, 0, "a")
		opts := append(w.opts(), kgo.ConsumeTopics(topic))
		cl, err := kgo.NewClient(opts...)
		require.NoError(t, err)
		defer cl.Close()
		theirs := &twin{groupClient: cl, t: t, w: w, journal: new(journal)}
		ours := &twin{groupClient: w.consumer(kgo.ConsumeTopics(topic)), t: t, w: w, ours: true, journal: new(journal)}
		for _, d := range []*twin{theirs, ours} {
			d.poll(1)
			d.commitUncommitted()
			d.commitMarked()
			d.commitRecords(d.seen...)
			d.commitSync(t.Context(), eachAt(1, 1), d.answered("sync"))
			d.commitAsync(t.Context(), eachAt(1, 1), d.answered("async"))
			d.commitSync(t.Context(), nil, d.answered("nothing"))
			d.MarkCommitRecords(d.seen...)
			d.MarkCommitOffsets(eachAt(1, 1))
			d.state("nothing")
		}
		require.Empty(t, parted(theirs.notes, ours.notes))
	})
}

// Source: kgo's CommitOffsets waits for no answer.
func TestAutoCommitKeepsACommitThatDoesNotWaitFromWaiting(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.produce(topic, 0, values(9)...)
		hold := make(chan struct{})
		var held atomic.Bool
		ctx := beforeCommit(t.Context(), func(*kmsg.OffsetCommitRequest) { held.Store(true); <-hold })
		c := w.consumer(inGroup(kgo.WithContext(ctx), kgo.GreedyAutoCommit(), kgo.AutoCommitInterval(interval))...)
		readOffsets(t, c, 9)
		time.Sleep(2 * interval)
		require.True(t, held.Load())
		began := time.Now()
		done := make(chan error, 1)
		c.CommitOffsets(t.Context(), eachAt(1, 7), func(_ *rcconsumer.Consumer, _ *kmsg.OffsetCommitRequest, _ *kmsg.OffsetCommitResponse, err error) {
			done <- err
		})
		require.Zero(t, time.Since(began))
		close(hold)
		require.NoError(t, <-done)
		require.EqualValues(t, 7, w.committed(0), "the later one is sent later")
	})
}
