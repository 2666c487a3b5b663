package rcconsumer

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// metadata keeps leaders, topic IDs and the partitions of whole topics up to
// date, on a goroutine that lives as long as the consumer.
type metadata struct {
	c    *Consumer
	wake chan struct{} // capacity 1

	// Of the goroutine alone:
	failures int
	told     map[key]toldError    // last error told; by topic and partition, by neither for the request itself
	missing  map[string]time.Time // since when topics that are read are missing

	ails   sharedStreak // requests without an answer
	topics rounds       // errors of topics and partitions, by answer
}

// refreshEvery is the shortest time between two Metadata requests.
const refreshEvery = 100 * time.Millisecond

func newMetadata(c *Consumer) *metadata {
	return &metadata{c: c, wake: make(chan struct{}, 1), told: make(map[key]toldError), missing: make(map[string]time.Time)}
}

// refresh asks for metadata soon.
func (m *metadata) refresh() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// watch asks for metadata when d has passed, and every second after that,
// until the returned function is called: a Fetch that is not answered may mean
// that its broker is gone, and its partitions lead elsewhere.
func (m *metadata) watch(d time.Duration) (done func()) {
	stop := make(chan struct{})
	t := time.AfterFunc(d, func() {
		for {
			m.refresh()
			select {
			case <-stop:
				return
			case <-time.After(time.Second):
			}
		}
	})
	return func() {
		if !t.Stop() {
			close(stop)
		}
	}
}

func (m *metadata) run(ctx context.Context) {
	wake := m.wake
	wait := time.Duration(0)
	for ctx.Err() == nil {
		sleep(ctx, wait, wake)
		if ctx.Err() != nil {
			return
		}
		started := time.Now()
		wait = m.update(ctx)
		sleep(ctx, refreshEvery-time.Since(started), nil)
	}
}

// update asks once and applies the answer. It returns when to ask again unless
// woken before.
func (m *metadata) update(ctx context.Context) time.Duration {
	named, all := m.c.subscribed()
	if len(named) == 0 && !all {
		m.ails.ended()
		m.topics.turn()
		return m.c.cfg.metadataMaxAge
	}
	m.forgetTold(named, all)
	resp, err := m.request(ctx, named, all)
	if err != nil {
		m.failures++
		m.failedToAsk(err)
		m.tell(key{partition: -1}, fmt.Errorf("metadata: %w", err), false)
		return backoff(m.failures, 250*time.Millisecond, 2500*time.Millisecond)
	}
	delete(m.told, key{partition: -1})
	complete := m.apply(resp, all)
	m.ails.ended()
	m.topics.turn()
	if !complete {
		m.failures++
		return backoff(m.failures, 250*time.Millisecond, 2500*time.Millisecond)
	}
	m.failures = 0
	return m.c.cfg.metadataMaxAge
}

// brokerLost asks for metadata when a broker cannot be connected to: kgo may go
// on to try that one, and another one may answer. While no other does either,
// the requests have their own pace.
func (c *Consumer) brokerLost() {
	if !c.meta.ails.look().on() {
		c.meta.refresh()
	}
}

// failedToAsk notes for Health that there was no answer.
func (m *metadata) failedToAsk(err error) {
	if isCancelled(err) {
		return
	}
	m.ails.failed(err, time.Now())
	if isTransport(err) {
		m.c.watch.failed(err)
	}
}

// toldError is an error that was told, and the change that had named its topic
// by then: who subscribes anew must hear of it again.
type toldError struct {
	text    string
	namedAt uint64
	at      time.Time
}

// tellAgainAfter is how long nothing is said of an error of a topic that will
// not go away by itself, and stays: kgo's pace. Who only looks at polls would
// take silence for an empty topic.
const tellAgainAfter = 5 * time.Second

// tell reports an error once per change. One that may go away by itself is not
// told again while it stays, since it is asked for every few seconds.
func (m *metadata) tell(k key, err error, stays bool) (told bool) {
	now := toldError{err.Error(), m.c.namedAt(k.topic), time.Now()}
	last := m.told[k]
	again := stays && now.at.Sub(last.at) >= tellAgainAfter
	if last.text == now.text && last.namedAt == now.namedAt && !again {
		return false
	}
	m.told[k] = now
	m.c.report.fetchError(k.topic, k.partition, err)
	return true
}

// forgetTold forgets errors of topics that are not asked for by name any more.
func (m *metadata) forgetTold(named []string, all bool) {
	maps.DeleteFunc(m.told, func(k key, _ toldError) bool {
		return !all && k.topic != "" && !slices.Contains(named, k.topic)
	})
}

// apply adopts what an answer says, and reports whether everything that is to
// be read has a leader.
func (m *metadata) apply(resp *kmsg.MetadataResponse, all bool) (complete bool) {
	complete = true
	m.c.learnBrokers(resp.Brokers) // first: a leader may name one of them in its first answer
	seen := make(map[string]bool, len(resp.Topics))
	for i := range resp.Topics {
		t := &resp.Topics[i]
		if t.Topic == nil || all && (t.IsInternal || !m.c.cfg.matches(*t.Topic)) {
			continue
		}
		name := *t.Topic
		seen[name] = true
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil {
			m.failed(key{topic: name, partition: -1}, err)
			complete = false
			continue
		}
		delete(m.told, key{topic: name, partition: -1})
		if !m.adopt(name, t) {
			complete = false
		}
	}
	if all {
		m.forgetMissing(seen)
	}
	m.c.endIdleLoops()
	return complete
}

// failed reports that a topic, or one partition, cannot be read. As in kgo an
// error that may go away is retried and only logged, any other is handed out as
// well.
func (m *metadata) failed(k key, err error) {
	m.topics.failed(k, err, time.Now())
	wrapped := fmt.Errorf("topic %s: metadata: %w", k.topic, err)
	if k.partition >= 0 {
		wrapped = fmt.Errorf("topic %s partition %d: metadata: %w", k.topic, k.partition, err)
	}
	stays := !kerr.IsRetriable(err)
	if m.tell(k, wrapped, stays) && (stays || m.c.cfg.keepRetryable) {
		m.c.injectAsked(k, wrapped)
	}
}

// forgetMissing ends the reading of topics of a pattern that are gone. One
// answer without a topic proves nothing: a broker that has just started knows
// few. Begun anew after that the topic would be read twice, or not at all.
func (m *metadata) forgetMissing(seen map[string]bool) {
	now := time.Now()
	for _, topic := range m.c.readTopics() {
		if seen[topic] {
			delete(m.missing, topic)
			continue
		}
		since, known := m.missing[topic]
		if !known {
			m.missing[topic] = now
		} else if now.Sub(since) >= m.c.cfg.missingAfter {
			delete(m.missing, topic)
			m.c.report.log(kgo.LogLevelWarn, "a topic is gone and no longer read", "topic", topic, "missing_for", now.Sub(since))
			m.c.releaseTopic(topic)
		}
	}
}
