package rcconsumer_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	saslplain "github.com/twmb/franz-go/pkg/sasl/plain"

	"example.com/readcommitted/internal/batchtest"
	"example.com/readcommitted/rcconsumer"
)

// causes are those of a health.
func causes(h rcconsumer.Health) (all []rcconsumer.Cause) {
	for _, d := range h.Details {
		all = append(all, d.Cause)
	}
	return all
}

func TestHealthWithNothingToRead(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.forge(0, batchtest.Data(0, 4))
		c := w.consumer()
		require.Equal(t, rcconsumer.Health{Ready: true, Live: true}, c.Health(), "there is nothing to wait for")
		time.Sleep(10 * time.Minute)
		require.Equal(t, rcconsumer.Health{Ready: true, Live: true}, c.Health())
		c.AddConsumeTopics("missing")
		eventually(t, "a reason", func() bool { return len(c.Health().Reasons) == 1 })
		c.PurgeTopicsFromConsuming("missing")
		eventually(t, "no reason", func() bool { return len(c.Health().Reasons) == 0 })
		c.AddConsumeTopics(topic)
		eventually(t, "a partition", func() bool { return len(reads(c)) == 1 })
		require.Equal(t, rcconsumer.Health{Ready: true, Live: true}, c.Health())
		c.PauseFetchTopics(topic)
		time.Sleep(10 * time.Minute)
		require.Equal(t, rcconsumer.Health{Ready: true, Live: true}, c.Health(), "a pause is no trouble")
	})
}

// It starts unready, is told what fails, and is ready as soon as somebody
// answers. A restart would change nothing.
func TestHealthOfAConsumerThatFindsNoCluster(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.forge(0)
		l := &cable{w: w, err: refusal()}
		c := w.consumer(kgo.ConsumeTopics(topic), kgo.Dialer(l.dial))
		h := c.Health()
		require.False(t, h.Ready)
		require.True(t, h.Live)
		require.Contains(t, h.Reasons, "starting: no broker has answered yet; since 2000-01-01T00:00:00Z")
		time.Sleep(time.Hour)
		h = c.Health()
		require.False(t, h.Ready)
		require.True(t, h.Live, "a restart would not help")
		require.Equal(t, []rcconsumer.Cause{
			rcconsumer.CauseUnreachable, rcconsumer.CauseStarting, rcconsumer.CauseBroker, rcconsumer.CauseMetadata,
		}, causes(h))
		require.InDelta(t, time.Hour, h.Details[0].Age, float64(time.Second))
		l.mend()
		eventually(t, "an answer", func() bool { h := c.Health(); return h.Ready && len(h.Reasons) == 0 })
	})
}

func TestHealthOfAConsumerThatIsClosed(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.forge(0)
		c := w.consumer(kgo.ConsumeTopics(topic))
		eventually(t, "the first answer", func() bool { return c.Health().Ready })
		c.Close()
		for range 2 {
			h := c.Health()
			require.False(t, h.Ready || h.Live)
			require.Equal(t, []rcconsumer.Cause{rcconsumer.CauseClosed}, causes(h))
			time.Sleep(time.Minute)
		}
		require.Equal(t, 2*time.Minute, c.Health().Details[0].Age)

		ctx, cancel := context.WithCancel(t.Context())
		c = w.consumer(kgo.ConsumeTopics(topic), kgo.WithContext(ctx))
		eventually(t, "the first answer", func() bool { return c.Health().Ready })
		cancel()
		time.Sleep(time.Minute)
		h := c.Health()
		require.False(t, h.Ready || h.Live)
		require.Equal(t, time.Minute, h.Details[0].Age)
		require.Contains(t, h.Reasons[0], "its context has ended")
	})
}

// A Close that takes its time must not get the process killed meanwhile.
func TestHealthWhileClosing(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.forge(0)
		held := make(chan struct{})
		p := w.patient(inGroup(rcconsumer.OnPartitionsRevoked(func(context.Context, *rcconsumer.Consumer, map[string][]int32) { <-held }))...)
		eventually(t, "an assignment", func() bool { return len(reads(p.Consumer)) == 1 })
		closed := make(chan struct{})
		go func() { defer close(closed); p.Close() }()
		time.Sleep(10 * time.Second)
		h := p.Health()
		require.False(t, h.Ready)
		require.True(t, h.Live)
		require.Equal(t, []rcconsumer.Cause{rcconsumer.CauseClosed}, causes(h))
		close(held)
		<-closed
		require.False(t, p.Health().Live)
	})
}

// An answer that is late is told before its request fails.
func TestHealthTellsOfAnAnswerThatIsLate(t *testing.T) {
	inWorld(t, 2, 2, func(t *testing.T, w *world) {
		w.forge(0)
		w.forge(1)
		p := w.patient(kgo.ConsumeTopics(topic))
		p.well(t)
		w.change(func() { w.mute[1] = true })
		_, r := p.ails(t, rcconsumer.CauseLate)
		require.Contains(t, r.Text, "answers are late: broker 1 (Fetch)")
		require.Less(t, r.Age, 7*time.Second)
		h, _ := p.ails(t, rcconsumer.CauseBroker)
		require.Equal(t, []rcconsumer.Cause{rcconsumer.CauseBroker}, causes(h), "it is told once")
		require.True(t, h.Ready)
		w.change(func() { w.mute[1] = false })
		p.well(t)
	})
}

// The transaction is younger than the offset it holds back.
func TestBlockedIsAsOldAsTheTransaction(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		f := w.forge(0, batchtest.Data(0, 4))
		p := w.patient(kgo.ConsumeTopics(topic))
		p.well(t)
		time.Sleep(time.Hour)
		opened := time.Now()
		w.change(func() { f.log, f.hw = append(f.log, batchtest.Data(5, 7)), 8 })
		h, r := p.ails(t, rcconsumer.CauseBlocked)
		require.True(t, h.Ready && h.Live)
		require.WithinDuration(t, opened, r.Since, time.Second)
		require.GreaterOrEqual(t, r.Age, rcconsumer.DefaultBlockedAfter)
		require.WithinDuration(t, opened.Add(rcconsumer.DefaultBlockedAfter), time.Now(), 2*time.Second)

		p.PauseFetchTopics(topic)
		require.Empty(t, p.Health().Reasons, "who is paused waits for nothing")
		p.ResumeFetchTopics(topic)
		p.ails(t, rcconsumer.CauseBlocked)
	})
}

func TestNobodyIsBlockedWhoReadsUncommitted(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		f := w.forge(0, batchtest.Data(0, 4))
		w.change(func() { f.lso = 2 })
		p := w.patient(kgo.ConsumeTopics(topic), rcconsumer.ReadUncommitted(), rcconsumer.BlockedAfter(0))
		p.well(t)
		time.Sleep(time.Hour)
		require.Empty(t, p.Health().Reasons)
	})
}

// A wrong password is told as what it is, with neither it nor the name.
func TestHealthTellsOfARefusedLogIn(t *testing.T) {
	for _, group := range [][]kgo.Opt{nil, {kgo.ConsumerGroup("g")}} {
		makeWorld(t, 1, 1, func(t *testing.T, w *world) {
			w.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.SASLAuthenticate}, Err: kerr.SaslAuthenticationFailed, TopLevel: true, Count: -1})
			login := saslplain.Auth{User: "alice", Pass: "hunter2"}.AsMechanism()
			c := w.consumer(append(group, kgo.ConsumeTopics(topic), kgo.SASL(login))...)
			time.Sleep(time.Minute)
			h := c.Health()
			checkHealth(t, h)
			require.False(t, h.Ready)
			require.True(t, h.Live)
			r, ok := reason(h, rcconsumer.CauseAuthentication)
			require.True(t, ok, "%q", h.Reasons)
			require.Contains(t, r.Text, "(SASL_AUTHENTICATION_FAILED)")
			require.NotContains(t, strings.Join(h.Reasons, " "), "hunter2")
			require.NotContains(t, strings.Join(h.Reasons, " "), "alice")
			require.InDelta(t, time.Minute, r.Age, float64(time.Second))
		}, kfake.EnableSASL(), kfake.Superuser("PLAIN", "alice", "another"))
	}
}

// The brokers that took over are fine, and the one that is gone is forgotten.
func TestHealthForgetsABrokerThatNobodyNeeds(t *testing.T) {
	inWorld(t, 2, 2, func(t *testing.T, w *world) {
		w.forge(0)
		w.forge(1)
		p := w.patient(kgo.ConsumeTopics(topic))
		p.well(t)
		w.change(func() { w.broken[1] = true })
		p.ails(t, rcconsumer.CauseBroker)
		require.NoError(t, w.MoveTopicPartition(topic, 1, 0))
		time.Sleep(5 * time.Second)
		p.well(t)
		require.Less(t, time.Since(w.began), time.Minute)
		time.Sleep(time.Hour)
		p.well(t)
	})
}

// A pause of what fails ends the attempts, so that nothing is known any more.
func TestHealthIsSilentOnFailuresOfWhatIsPaused(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.forge(0)
		p := w.patient(kgo.ConsumeTopics(topic))
		p.well(t)
		fails(kerr.KafkaStorageError)(w, p)
		_, first := p.ails(t, rcconsumer.CauseFetch)
		p.PauseFetchTopics(topic)
		p.well(t)
		time.Sleep(time.Minute)
		p.ResumeFetchTopics(topic)
		_, r := p.ails(t, rcconsumer.CauseFetch)
		require.Equal(t, first.Since, r.Since, "no success came in between")
		recovers(w, p)
		p.well(t)
		w.change(func() { w.broken[0] = true })
		p.ails(t, rcconsumer.CauseBroker)
		p.PauseFetchTopics(topic)
		p.well(t)
	})
}

func TestBlockedAfterIsChecked(t *testing.T) {
	_, err := rcconsumer.New(rcconsumer.BlockedAfter(-1))
	require.EqualError(t, err, "BlockedAfter(-1ns): must not be negative")
}

// Metadata names what a group subscribes to as well, although no partition of it
// is read.
func TestHealthOfAGroupTellsOfItsTopics(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		remove := w.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, Topic: topic, Err: kerr.TopicAuthorizationFailed, Count: -1}).Remove
		p := w.patient(kgo.ConsumerGroup("g"), kgo.ConsumeTopics(topic))
		_, r := p.ails(t, rcconsumer.CauseMissingRight)
		require.Contains(t, r.Text, "a right is missing: t (TOPIC_AUTHORIZATION_FAILED)")
		eventually(t, "a member with nothing to join for", func() bool { return p.Health().Ready })
		require.Equal(t, []rcconsumer.Cause{rcconsumer.CauseMissingRight}, causes(p.Health()))
		remove()
		p.well(t)
		require.Equal(t, []string{"t/0"}, reads(p.Consumer))
		for _, err := range p.told() {
			require.NotContains(t, err.Error(), "metadata: TOPIC_AUTHORIZATION_FAILED", "kgo hands it out already")
		}
		p.AddConsumeTopics("later")
		p.ails(t, rcconsumer.CauseTopic)
		p.PurgeTopicsFromConsuming("later")
		p.well(t)
	})
}

// Answers that are errors do not make the ends of a partition late: there is one
// cause, and one reason.
func TestAnswersThatAreErrorsAreNotLate(t *testing.T) {
	t.Parallel()
	for _, err := range []*kerr.Error{kerr.TopicAuthorizationFailed, kerr.UnknownTopicOrPartition, kerr.KafkaStorageError} {
		t.Run(err.Message, func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				w.forge(0, batchtest.Data(0, 4))
				p := w.patient(kgo.ConsumeTopics(topic))
				p.well(t)
				fails(err)(w, p)
				w.see(func() {
					w.editList = func(_ *kmsg.ListOffsetsRequest, resp *kmsg.ListOffsetsResponse) {
						resp.Topics[0].Partitions[0].ErrorCode = err.Code
					}
				})
				for range 12 {
					time.Sleep(10 * time.Second)
					h := p.Health()
					require.Len(t, h.Details, 1, "%q", h.Reasons)
					require.NotEqual(t, rcconsumer.CauseLate, h.Details[0].Cause, "%q", h.Reasons)
				}
				w.see(func() { w.editList = nil })
				recovers(w, p)
				p.well(t)
			})
		})
	}
}
