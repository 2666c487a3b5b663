package rcconsumer_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/rcconsumer"
)

// refused is an ailment of requests that are answered with an error.
func refused(name string, cause rcconsumer.Cause, text string, f kfake.Fault) ailment {
	a := ailment{name: name, cause: cause, text: text}
	a.begin, a.end = faulty(f)
	return a
}

// produces has something to commit when an ailment begins.
func (a ailment) produces() ailment {
	begin := a.begin
	a.begin = func(w *world, p *patient) {
		begin(w, p)
		w.produce(topic, 0, "x")
	}
	return a
}

// joinsAgain puts the member out of its group when an ailment begins.
func (a ailment) joinsAgain() ailment {
	begin := a.begin
	a.begin = func(w *world, p *patient) {
		begin(w, p)
		w.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Heartbeat, kmsg.ConsumerGroupHeartbeat}, Err: kerr.UnknownMemberID, TopLevel: true, Count: 1})
	}
	return a
}

var membershipKeys = []kmsg.Key{kmsg.JoinGroup, kmsg.ConsumerGroupHeartbeat}

func groupAilments() []ailment {
	return []ailment{
		refused("joining fails", rcconsumer.CauseGroup, "the group does not work: group g (GROUP_MAX_SIZE_REACHED)",
			kfake.Fault{Keys: membershipKeys, Err: kerr.GroupMaxSizeReached, TopLevel: true}).joinsAgain(),
		refused("no right to the group", rcconsumer.CauseMissingRight, "a right is missing: group g (GROUP_AUTHORIZATION_FAILED)",
			kfake.Fault{Keys: membershipKeys, Err: kerr.GroupAuthorizationFailed, TopLevel: true}).joinsAgain(),
		refused("commits fail", rcconsumer.CauseCommit, "commits fail: group g (OFFSET_METADATA_TOO_LARGE)",
			kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Err: kerr.OffsetMetadataTooLarge}).produces(),
		refused("no right to commit", rcconsumer.CauseMissingRight, "a right is missing: group g (TOPIC_AUTHORIZATION_FAILED)",
			kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Err: kerr.TopicAuthorizationFailed}).produces(),
		refused("offsets cannot be fetched", rcconsumer.CauseGroupOffsets, "the group's offsets cannot be had: t/0",
			kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetFetch}, Err: kerr.UnstableOffsetCommit}).joinsAgain(),
	}
}

func TestHealthTellsWhatGoesWrongInAGroup(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]kgo.Opt{"classic": balancings["range"], "KIP-848": balancings["KIP-848"]} {
		for _, a := range groupAilments() {
			t.Run(fmt.Sprintf("%s, %s", name, a.name), func(t *testing.T) {
				inWorld(t, 1, 2, func(t *testing.T, w *world) {
					p := w.patient(inGroup(append(opts, kgo.AutoCommitInterval(time.Second))...)...)
					eventually(t, "partitions", func() bool { return len(reads(p.Consumer)) == 2 })
					comesAndGoes(t, w, a, p)
				})
			})
		}
	}
}

// kgo tells nobody of a coordinator that does not answer until it gives up.
func TestHealthTellsOfACoordinatorThatIsSilent(t *testing.T) {
	inGroups(t, 1, func(t *testing.T, w *world, opts []kgo.Opt) {
		p := w.patient(inGroup(opts...)...)
		eventually(t, "a partition", func() bool { return len(reads(p.Consumer)) == 1 })
		p.well(t)
		began := time.Now()
		mute := true
		w.ControlKey(int16(beatKey(opts)), func(kmsg.Request) (kmsg.Response, error, bool) {
			w.KeepControl()
			if !mute {
				return nil, nil, false
			}
			w.SleepControl(func() {
				select {
				case <-time.After(time.Minute):
				case <-w.over:
				}
			})
			return nil, errors.New("nothing"), true
		})
		h, r := p.ails(t, rcconsumer.CauseGroup)
		require.Contains(t, r.Text, "group g (no answer to a heartbeat)")
		require.WithinDuration(t, began, r.Since, 6*time.Second)
		require.True(t, h.Ready && h.Live)
		w.see(func() { mute = false })
		p.well(t)
	}, "range", "KIP-848")
}

func beatKey(opts []kgo.Opt) kmsg.Key {
	if len(opts) == 1 && fmt.Sprintf("%p", opts[0]) == fmt.Sprintf("%p", balancings["KIP-848"][0]) {
		return kmsg.ConsumerGroupHeartbeat
	}
	return kmsg.Heartbeat
}

func TestHealthOfAMemberWithoutAnAssignment(t *testing.T) {
	inGroups(t, 1, func(t *testing.T, w *world, opts []kgo.Opt) {
		first, second := w.patient(inGroup(opts...)...), w.patient(inGroup(opts...)...)
		require.False(t, second.Health().Ready)
		first.well(t)
		second.well(t)
		time.Sleep(time.Hour)
		first.well(t)
		second.well(t)
		require.Len(t, append(reads(first.Consumer), reads(second.Consumer)...), 1)
	}, "range", "KIP-848")
}

func TestMemberIsNotReadyBeforeItHasJoined(t *testing.T) {
	inGroups(t, 1, func(t *testing.T, w *world, opts []kgo.Opt) {
		refuse := w.Fault(kfake.Fault{Keys: membershipKeys, Err: kerr.GroupAuthorizationFailed, TopLevel: true, Count: -1})
		p := w.patient(inGroup(opts...)...)
		p.ails(t, rcconsumer.CauseMissingRight)
		for range 10 {
			h, _ := p.ails(t, rcconsumer.CauseStarting)
			require.False(t, h.Ready)
			require.True(t, h.Live)
			time.Sleep(time.Minute)
		}
		_, r := p.ails(t, rcconsumer.CauseStarting)
		require.Equal(t, "starting: the member has not joined group g yet; since 2000-01-01T00:00:00Z", r.Text)
		refuse.Remove()
		p.well(t)
	}, "range", "KIP-848")
}

// A coordinator may be looked for on somebody else's behalf.
func TestMemberWithNothingToJoinForIsReadyWhateverElseTheClientIsUsedFor(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		p := w.patient(kgo.ConsumerGroup("g"), kgo.ConsumeTopics("later"), kgo.TransactionalID("x"))
		require.NoError(t, p.BeginTransaction())
		require.NoError(t, p.ProduceSync(t.Context(), &kgo.Record{Topic: topic}).FirstErr())
		require.NoError(t, p.EndTransaction(t.Context(), kgo.TryCommit))
		eventually(t, "a member with nothing to join for", func() bool { return p.Health().Ready })
		require.Equal(t, []rcconsumer.Cause{rcconsumer.CauseTopic}, causes(p.Health()))
		p.AddConsumeTopics(topic)
		p.PurgeTopicsFromConsuming("later")
		p.well(t)
		require.Equal(t, []string{"t/0"}, reads(p.Consumer))

		p = w.patient(kgo.ConsumerGroup("h"), kgo.ConsumeRegex(), kgo.ConsumeTopics("^later"), kgo.TransactionalID("y"), kgo.MetadataMaxAge(10*time.Second))
		_, _, err := p.ProducerID(t.Context())
		require.NoError(t, err)
		p.well(t)
		time.Sleep(time.Minute)
		p.well(t)
		require.NoError(t, w.CreateTopic("later", 1, nil))
		eventually(t, "the topic", func() bool { return len(reads(p.Consumer)) == 1 })
		p.well(t)
	})
}

func TestMemberThatFindsNoCoordinatorIsNotReady(t *testing.T) {
	pattern := []kgo.Opt{kgo.ConsumerGroup("g"), kgo.ConsumeRegex(), kgo.ConsumeTopics("^t$")}
	for name, opts := range map[string][]kgo.Opt{
		"classic": inGroup(), "KIP-848": inGroup(balancings["KIP-848"]...), "pattern": pattern, "pattern, KIP-848": append(pattern, balancings["KIP-848"]...),
	} {
		t.Run(name, func(t *testing.T) { memberFindsNoCoordinator(t, opts) })
	}
}

func memberFindsNoCoordinator(t *testing.T, opts []kgo.Opt) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		refuse := true
		w.ControlKey(int16(kmsg.FindCoordinator), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
			w.KeepControl()
			resp := kreq.ResponseKind().(*kmsg.FindCoordinatorResponse)
			for _, k := range kreq.(*kmsg.FindCoordinatorRequest).CoordinatorKeys {
				resp.Coordinators = append(resp.Coordinators, kmsg.FindCoordinatorResponseCoordinator{Key: k, ErrorCode: kerr.CoordinatorNotAvailable.Code})
			}
			var answers bool
			w.see(func() { answers = refuse })
			return resp, nil, answers
		})
		p := w.patient(opts...)
		for range 20 {
			time.Sleep(time.Second)
			require.False(t, p.Health().Ready)
		}
		w.see(func() { refuse = false })
		p.well(t)
	})
}

func TestHealthOfAMemberThatHasLeft(t *testing.T) {
	inGroups(t, 1, func(t *testing.T, w *world, opts []kgo.Opt) {
		p := w.patient(inGroup(opts...)...)
		p.well(t)
		p.LeaveGroup()
		eventually(t, "the end of the membership", func() bool { return !p.Health().Live })
		h := p.Health()
		require.False(t, h.Ready)
		require.Equal(t, []rcconsumer.Cause{rcconsumer.CauseLeftGroup}, causes(h))
	}, "range", "KIP-848")
}

// A caller that hangs is told of. It may come back; with patterns it cannot.
func TestHealthOfAMemberThatDoesNotPoll(t *testing.T) {
	inGroups(t, 1, func(t *testing.T, w *world, opts []kgo.Opt) {
		p := w.patient(inGroup(append(opts, rcconsumer.MaxPollInterval(30*time.Second))...)...)
		eventually(t, "a partition", func() bool { return len(reads(p.Consumer)) == 1 })
		p.well(t)
		p.rests()
		stopped := time.Now()
		h, r := p.ails(t, rcconsumer.CausePollInterval)
		require.False(t, h.Ready)
		require.True(t, h.Live)
		require.WithinDuration(t, stopped, r.Since, time.Second)
		require.Contains(t, r.Text, "nobody polls: group g (no poll for 30s)")
		time.Sleep(time.Hour)
		require.Equal(t, time.Since(r.Since), p.Health().Details[0].Age)
		p.polls()
		p.well(t)

		gone := w.patient(append(opts, kgo.ConsumerGroup("r"), kgo.ConsumeRegex(), kgo.ConsumeTopics("^t$"), rcconsumer.MaxPollInterval(30*time.Second))...)
		eventually(t, "a partition", func() bool { return len(reads(gone.Consumer)) == 1 })
		gone.rests()
		h, r = gone.ails(t, rcconsumer.CauseLeftGroup)
		require.Contains(t, r.Text, "the member has left its group: group r (no poll for 30s)")
		require.False(t, h.Ready)
		eventually(t, "the end of the membership", func() bool { return !gone.Health().Live })
		gone.polls()
		time.Sleep(time.Hour)
		require.False(t, gone.Health().Ready || gone.Health().Live)
	}, "range", "KIP-848")
}

// What the caller's own functions take their time for is no trouble of the
// group's.
func TestHealthIsSilentOnCallbacksThatTakeLong(t *testing.T) {
	inGroups(t, 1, func(t *testing.T, w *world, opts []kgo.Opt) {
		calls := 0
		rest := func() { calls++; time.Sleep(30 * time.Second) }
		p := w.patient(inGroup(append(opts,
			rcconsumer.OnPartitionsAssigned(func(context.Context, *rcconsumer.Consumer, map[string][]int32) { rest() }),
			rcconsumer.OnOffsetsFetched(func(context.Context, *rcconsumer.Consumer, *kmsg.OffsetFetchResponse) error { rest(); return nil }),
			kgo.AdjustFetchOffsetsFn(func(_ context.Context, m map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
				rest()
				return m, nil
			}),
		)...)...)
		p.well(t)
		for until := time.Now().Add(100 * time.Second); time.Now().Before(until); time.Sleep(time.Second) {
			require.Empty(t, p.Health().Reasons)
		}
		require.Equal(t, 3, calls)
		require.Equal(t, []string{"t/0"}, reads(p.Consumer))
	}, "range", "KIP-848")
}

// A partition that the caller's own function leaves out is no trouble; one that
// the coordinator refused is.
func TestHealthOfAPartitionWithoutAnOffset(t *testing.T) {
	inWorld(t, 1, 2, func(t *testing.T, w *world) {
		leaveOut := func(_ context.Context, m map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
			delete(m[topic], 1)
			return m, nil
		}
		p := w.patient(inGroup(kgo.AdjustFetchOffsetsFn(leaveOut))...)
		eventually(t, "partitions", func() bool { return len(reads(p.Consumer)) == 2 })
		p.well(t)
		p.Close()

		w.refuseFetch(kerr.TopicAuthorizationFailed, -1, 0)
		p = w.patient(inGroup()...)
		h, r := p.ails(t, rcconsumer.CauseStopped)
		require.True(t, h.Ready)
		require.Contains(t, r.Text, "t/0 (the group gave no offset to begin at)")
		seek(p.Consumer, 0)
		p.well(t)
	})
}

// Until its topic is there a member has nothing to join for; when it appears at
// once, as at a start, the member is not called ready in between.
func TestMemberIsNotReadyBetweenTheFirstAnswerAndItsJoin(t *testing.T) {
	inGroups(t, 0, func(t *testing.T, w *world, opts []kgo.Opt) {
		p := w.patient(inGroup(append(opts, kgo.MetadataMinAge(100*time.Millisecond), kgo.MetadataMaxAge(time.Second))...)...)
		for range 20 {
			time.Sleep(100 * time.Millisecond)
			require.False(t, p.Health().Ready)
		}
		require.NoError(t, w.CreateTopic(topic, 1, nil))
		p.well(t)
		_, generation := p.GroupMetadata()
		require.Positive(t, generation)
	}, "range", "KIP-848")
}

// A member that waits for others in a rebalance is not waiting for a coordinator
// that is away.
func TestHealthWhileOthersHoldUpARebalance(t *testing.T) {
	inWorld(t, 1, 2, func(t *testing.T, w *world) {
		eager := kgo.Balancers(kgo.RangeBalancer())
		held := make(chan struct{})
		slow := w.patient(inGroup(eager, rcconsumer.OnPartitionsRevoked(func(context.Context, *rcconsumer.Consumer, map[string][]int32) { <-held }))...)
		defer func() { close(held) }()
		slow.well(t)
		second := w.patient(inGroup(eager)...)
		time.Sleep(50 * time.Second)
		held <- struct{}{}
		second.well(t)
		third := w.patient(inGroup(eager)...)
		for range 50 {
			time.Sleep(time.Second)
			require.Empty(t, second.Health().Reasons)
		}
		held <- struct{}{}
		third.well(t)
	})
}

// A member that has lost its partitions asks nobody but its coordinator, which
// is away. That is no outage of the cluster.
func TestCoordinatorThatIsAwayIsNoOutage(t *testing.T) {
	inGroups(t, 1, func(t *testing.T, w *world, opts []kgo.Opt) {
		_, _, err := w.AddNode(-1, 9093)
		require.NoError(t, err)
		p := w.patient(inGroup(opts...)...)
		p.well(t)
		p.l.mu.Lock()
		p.l.only = w.ListenAddrs()[w.CoordinatorFor("g")]
		p.l.mu.Unlock()
		p.l.cut(refusal())
		for range 300 {
			time.Sleep(time.Second)
			h := p.Health()
			require.True(t, h.Ready && h.Live, "%q", h.Reasons)
		}
		_, r := p.ails(t, rcconsumer.CauseGroup)
		require.Greater(t, r.Age, 4*time.Minute)
		p.l.mend()
		p.well(t)
	}, "range", "KIP-848")
}

// A session of the group that has worked is the end of what failed before, however
// short it was.
func TestGroupThatWorkedForAMomentHasANewAge(t *testing.T) {
	inGroups(t, 1, func(t *testing.T, w *world, opts []kgo.Opt) {
		p := w.patient(inGroup(opts...)...)
		eventually(t, "a partition", func() bool { return len(reads(p.Consumer)) == 1 })
		for range 3 {
			p.well(t)
			time.Sleep(20 * time.Second) // some heartbeats
			began := time.Now()
			p.l.cut(refusal())
			_, r := p.ails(t, rcconsumer.CauseGroup)
			require.WithinDuration(t, began, r.Since, 6*time.Second, "the latest heartbeat may have been the last")
			p.l.mend()
		}
	}, "range", "cooperative", "KIP-848")
}

// A member that was killed stays in its group until its session ends. The one
// that takes over has to wait so long, and says for what.
func TestMemberThatWaitsForOneThatIsGoneSaysSo(t *testing.T) {
	inGroups(t, 1, func(t *testing.T, w *world, opts []kgo.Opt) {
		killed := w.patient(inGroup(opts...)...)
		killed.well(t)
		killed.l.cut(refusal())
		p := w.patient(inGroup(opts...)...)
		h, r := p.ails(t, rcconsumer.CauseStarting, "the member has not joined group g yet: the coordinator waits for other members")
		require.False(t, h.Ready)
		require.GreaterOrEqual(t, r.Age, 3*time.Second)
		p.well(t)
	}, "range")
}
