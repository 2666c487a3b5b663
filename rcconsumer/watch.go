package rcconsumer

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// unreachableAfter is how long nothing may answer before a consumer is not
	// ready: a broker that restarts is away for a moment.
	unreachableAfter = 5 * time.Second
	// connectMemory is how long a failed connection is told of if nobody tries
	// again: nothing is known of the broker after that.
	connectMemory = time.Minute
	// sessionProof is how long a session of a group must last to be one: kgo
	// tries for some 30 seconds to fetch offsets.
	sessionProof = time.Minute
)

// watch is a hook of the client underneath. It hears of what kgo does on its
// own, and would retry without a word: connections and the group's membership.
// An answer costs it one atomic store.
type watch struct {
	began    time.Time
	lost     func()      // called when a connection has failed
	answered moment      // the latest answer of any broker
	first    moment      // the first one
	beat     moment      // the latest answer to a request of the group's membership
	earlier  moment      // the one before
	waiting  moment      // since when a JoinGroup waits for the other members; unset if none does
	over     moment      // the client's context ended
	managed  atomic.Bool // the group was asked for something
	searched atomic.Bool // a coordinator was looked for: the group's, a transaction's or somebody else's
	group    sharedStreak
	session  moment      // the latest session of the group that began well
	naming   atomic.Bool // the group has not said yet where to begin

	mu     sync.Mutex
	outage streak // failures since the latest answer
	dials  map[int32]dialed
}

// dialed is a broker that could not be connected to.
type dialed struct {
	streak
	meta kgo.BrokerMetadata
}

// moment is a time that can be set without a lock, by a monotonic clock.
type moment struct{ n atomic.Int64 }

func (m *moment) set(began, now time.Time) { m.n.Store(max(1, int64(now.Sub(began)))) }

func (m *moment) isSet() bool { return m.n.Load() > 0 }

func (m *moment) unset() { m.n.Store(0) }

// get returns the time, zero if it is not set.
func (m *moment) get(began time.Time) time.Time {
	if n := m.n.Load(); n > 0 {
		return began.Add(time.Duration(n))
	}
	return time.Time{}
}

func newWatch(lost func()) *watch {
	return &watch{began: time.Now(), lost: lost, dials: make(map[int32]dialed)}
}

// OnBrokerConnect hears of every attempt to connect, log-in included.
func (w *watch) OnBrokerConnect(meta kgo.BrokerMetadata, _ time.Duration, _ net.Conn, err error) {
	switch {
	case err == nil:
		w.mu.Lock()
		delete(w.dials, meta.NodeID)
		w.mu.Unlock()
	case !isCancelled(err):
		w.dialFailed(meta, err)
		w.lost()
	}
}

func (w *watch) dialFailed(meta kgo.BrokerMetadata, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	d := w.dials[meta.NodeID]
	d.meta = meta
	d.failed(err, time.Now())
	w.dials[meta.NodeID] = d
	w.failedLocked(err)
}

// OnBrokerWrite hears of requests.
func (w *watch) OnBrokerWrite(_ kgo.BrokerMetadata, k int16, _ int, _, _ time.Duration, err error) {
	switch kmsg.Key(k) {
	case kmsg.JoinGroup:
		w.managed.Store(true)
		if err == nil {
			w.waiting.set(w.began, time.Now())
		}
	case kmsg.ConsumerGroupHeartbeat:
		w.managed.Store(true)
	case kmsg.FindCoordinator:
		w.searched.Store(true)
	default:
	}
}

// OnBrokerRead hears of answers. What belongs to the opening of a connection is
// none: a broker that refuses the log-in says that much.
func (w *watch) OnBrokerRead(_ kgo.BrokerMetadata, k int16, _ int, _, _ time.Duration, err error) {
	if kmsg.Key(k) == kmsg.JoinGroup {
		w.waiting.unset()
	}
	if err != nil {
		return
	}
	now := time.Now()
	switch kmsg.Key(k) {
	case kmsg.ApiVersions, kmsg.SASLHandshake, kmsg.SASLAuthenticate:
		return
	case kmsg.JoinGroup, kmsg.SyncGroup, kmsg.Heartbeat, kmsg.ConsumerGroupHeartbeat:
		w.earlier.n.Store(w.beat.n.Load())
		w.beat.set(w.began, now)
	default:
	}
	w.answered.set(w.began, now)
	if !w.first.isSet() {
		w.first.set(w.began, now)
	}
}

// OnGroupManageError hears of errors that end a session of the group.
func (w *watch) OnGroupManageError(err error) {
	w.managed.Store(true)
	if isCancelled(err) {
		return
	}
	now := time.Now()
	if began := w.session.get(w.began); began.After(w.group.look().last) && w.proven(began, now) {
		w.group.ended()
	}
	w.group.failed(err, now)
}

// proven reports whether a session that began well has worked: it may have failed
// at its first step, as others before it. Two heartbeats were answered in one that
// works; the first of them was no error, since that would have ended it. But one
// that has yet to learn where to begin must last.
func (w *watch) proven(began, now time.Time) bool {
	return !w.naming.Load() && w.earlier.get(w.began).After(began) || now.Sub(began) > sessionProof
}

// failed notes that a request got no answer.
func (w *watch) failed(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failedLocked(err)
}

func (w *watch) failedLocked(err error) {
	if w.outage.on() && w.answered.get(w.began).After(w.outage.since) {
		w.outage.ended()
	}
	w.outage.failed(err, time.Now())
}

// errSilent is what an outage tells while no failure says more.
var errSilent = errors.New("no answer")

// unreachable returns what has failed since the latest answer of any broker, if
// that was long ago. An answer that a broker owes since owed counts as well, if
// one does: its request fails much later.
func (w *watch) unreachable(now, owed time.Time) streak {
	w.mu.Lock()
	s := w.outage
	w.mu.Unlock()
	answered := w.answered.get(w.began)
	if s.on() && (answered.After(s.since) || now.Sub(s.last) > connectMemory) {
		s = streak{}
	}
	switch {
	case owed.IsZero() || answered.After(owed):
	case !s.on():
		s.failed(errSilent, owed)
	case owed.Before(s.since):
		s.since = owed
	}
	if now.Sub(later(answered, w.began)) < unreachableAfter {
		return streak{}
	}
	return s
}

// allFail reports whether every one of the brokers known is late or could not be
// connected to.
func (w *watch) allFail(known map[int32]bool, late map[int32]time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id := range known {
		_, failed := w.dials[id]
		if _, isLate := late[id]; !failed && !isLate {
			return false
		}
	}
	return true
}

// broken tells of brokers that cannot be connected to. A seed broker is tried
// only while no other is known.
func (w *watch) broken(now time.Time, f findings, known map[int32]bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	answered := w.answered.get(w.began)
	for id, d := range w.dials {
		switch {
		case now.Sub(d.last) > connectMemory, id >= 0 && len(known) > 0 && !known[id], id < 0 && answered.After(d.last):
			delete(w.dials, id)
		case id < 0:
			addr := net.JoinHostPort(d.meta.Host, strconv.Itoa(int(d.meta.Port)))
			f.streak(CauseBroker, spot{own: "seed broker " + addr}, d.streak)
		default:
			f.streak(CauseBroker, brokerSpot(id), d.streak)
		}
	}
}

func brokerSpot(id int32) spot { return spot{own: fmt.Sprintf("broker %d", id)} }
