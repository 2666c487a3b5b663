package rcconsumer

import (
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func found(p *partition) findings {
	f := make(findings)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.findingsLocked(time.Now(), false, f)
	return f
}

// Within a session a broker leaves out what has nothing new: no error either.
func TestBeingLeftOutOfASessionEndsAStreak(t *testing.T) {
	p := newPartition(&Consumer{cfg: config{ours: ours{stableInterval: time.Second}}}, "t", 0, offsetSpec{at: 0, epoch: -1})
	p.mu.Lock()
	p.retryLocked(errLeftOut, &notices{})
	p.mu.Unlock()
	require.True(t, found(p).has(CauseFetch))
	p.mu.Lock()
	p.unchangedLocked(1, &notices{})
	p.mu.Unlock()
	require.Empty(t, found(p))
}

// What is on its way to somebody else is not this member's trouble any more.
func TestPartitionThatIsTakenAwayHasNoFindings(t *testing.T) {
	p := newPartition(&Consumer{cfg: config{ours: ours{stableInterval: time.Second}}}, "t", 0, offsetSpec{at: 0, epoch: -1})
	p.mu.Lock()
	p.retryLocked(errLeftOut, &notices{})
	p.stopLocked(errLeftOut)
	p.mu.Unlock()
	require.True(t, found(p).has(CauseStopped))
	require.Len(t, found(p), 1, "what is stopped is not retried")
	p.c.budget = newBudget(1, func() {})
	p.leave(false)
	require.Empty(t, found(p))
}

// A seed is tried only while no broker is known, and nobody tries it again to
// see whether it is back.
func TestSeedThatFailsIsForgottenWithTheFirstAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatch(func() {})
		seed := kgo.BrokerMetadata{NodeID: -7, Host: "::1", Port: 9092}
		look := func() []Reason {
			f := make(findings)
			w.broken(time.Now(), f, map[int32]bool{1: true})
			return f.reasons(time.Now())
		}
		time.Sleep(time.Second)
		w.OnBrokerConnect(seed, 0, nil, io.EOF)
		w.OnBrokerConnect(kgo.BrokerMetadata{NodeID: 1}, 0, nil, io.EOF)
		w.OnBrokerConnect(kgo.BrokerMetadata{NodeID: 2}, 0, nil, io.EOF)
		require.Equal(t, []string{"a broker cannot be reached: broker 1, seed broker [::1]:9092 (connection closed); since 2000-01-01T00:00:01Z"}, textsOf(look()),
			"broker 2 has left the cluster")
		time.Sleep(time.Second)
		w.OnBrokerRead(seed, int16(kmsg.Metadata), 1, 0, 0, nil)
		require.Equal(t, []string{"a broker cannot be reached: broker 1 (connection closed); since 2000-01-01T00:00:01Z"}, textsOf(look()))
		time.Sleep(connectMemory)
		require.Empty(t, look(), "nobody has tried since")
	})
}

// Brokers that hang let a request fail after ten seconds and more.
func TestNoAnswerAtAllIsAnOutageBeforeAnythingHasFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatch(func() {})
		read := func() { w.OnBrokerRead(kgo.BrokerMetadata{}, int16(kmsg.Fetch), 1, 0, 0, nil) }
		time.Sleep(time.Hour)
		read()
		time.Sleep(time.Second)
		sent := time.Now()
		require.False(t, w.unreachable(time.Now(), time.Time{}).on(), "nothing is asked")
		time.Sleep(3 * time.Second)
		require.False(t, w.unreachable(time.Now(), sent).on(), "it may be a pause")
		time.Sleep(time.Second)
		s := w.unreachable(time.Now(), sent)
		require.Equal(t, sent, s.since)
		require.Equal(t, "no answer", brief(s.err))
		w.failed(io.EOF)
		s = w.unreachable(time.Now(), sent)
		require.Equal(t, sent, s.since, "it began before the failure")
		require.Equal(t, "connection closed", brief(s.err))
		time.Sleep(time.Second)
		read()
		time.Sleep(time.Minute)
		require.False(t, w.unreachable(time.Now(), sent).on(), "somebody answered since")
	})
}

func TestOutageIsOfAllBrokersThatAreKnown(t *testing.T) {
	w, now := newWatch(func() {}), time.Now()
	known := map[int32]bool{1: true, 2: true}
	require.True(t, w.allFail(nil, nil), "no broker is known")
	require.False(t, w.allFail(known, nil))
	w.OnBrokerConnect(kgo.BrokerMetadata{NodeID: 1}, 0, nil, io.EOF)
	require.False(t, w.allFail(known, nil))
	require.True(t, w.allFail(known, map[int32]time.Time{2: now}))
	w.OnBrokerConnect(kgo.BrokerMetadata{NodeID: 2}, 0, nil, io.EOF)
	require.True(t, w.allFail(known, nil))
}

// Where metadata cannot be had from any broker it does not matter who else was
// tried.
func TestOutageIsWhereMetadataCannotBeHad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &Consumer{watch: newWatch(func() {})}
		c.meta = newMetadata(c)
		known := map[int32]bool{1: true, 2: true}
		time.Sleep(time.Minute)
		c.watch.OnBrokerConnect(kgo.BrokerMetadata{NodeID: 1}, 0, nil, io.EOF)
		f := make(findings)
		c.outage(time.Now(), known, nil, f)
		require.Empty(t, f)
		c.meta.failedToAsk(io.EOF)
		c.outage(time.Now(), known, nil, f)
		require.True(t, f.has(CauseUnreachable))
	})
}

// A connection that fails makes the consumer ask for metadata: another broker may
// answer. Once that fails too it has its own pace.
func TestFailedConnectionAsksForMetadata(t *testing.T) {
	c := new(Consumer)
	c.meta = newMetadata(c)
	c.brokerLost()
	require.Len(t, c.meta.wake, 1)
	<-c.meta.wake
	c.meta.ails.failed(io.EOF, time.Now())
	c.brokerLost()
	require.Empty(t, c.meta.wake)
}

func textsOf(reasons []Reason) (texts []string) {
	for _, r := range reasons {
		texts = append(texts, r.Text)
	}
	return texts
}

// An attempt to fetch offsets that follows a failed one goes on with it; one that
// comes long after has nothing to do with it.
func TestOffsetsAreMissingSinceTheFirstAttemptInARow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &group{c: &Consumer{watch: newWatch(func() {})}}
		since := func() time.Duration {
			at, long := g.unanswered(time.Now())
			require.Equal(t, time.Since(at) > offsetsPatience, long)
			return time.Since(at)
		}
		time.Sleep(time.Second)
		g.asks()
		require.Zero(t, since())
		time.Sleep(30 * time.Second)
		g.asks()
		require.Equal(t, 30*time.Second, since())
		time.Sleep(time.Hour)
		g.asks()
		require.Zero(t, since())
		g.asking.unset()
		_, long := g.unanswered(time.Now())
		require.False(t, long)
	})
}

// A session that begins well and fails at its first step is no recovery.
func TestSessionThatFailsAtOnceDoesNotEndAStreak(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatch(func() {})
		failure, began := errors.New("failure"), time.Now()
		w.OnGroupManageError(failure)
		for range 5 {
			time.Sleep(20 * time.Second)
			w.session.set(w.began, time.Now())
			time.Sleep(20 * time.Second)
			w.OnGroupManageError(failure)
			require.Equal(t, began, w.group.look().since)
		}
		time.Sleep(time.Second)
		w.session.set(w.began, time.Now())
		time.Sleep(time.Hour)
		w.OnGroupManageError(failure)
		require.Equal(t, time.Now(), w.group.look().since)
	})
}
