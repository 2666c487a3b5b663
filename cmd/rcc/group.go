package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/rcconsumer"
)

// membership is a read's part in a consumer group. The group's callbacks run
// beside the read: they leave events, which the read follows in its own time.
// A rebalance waits for that, since the read holds it off while it prints. A nil
// membership is that of a read without a group.
type membership struct {
	app   *app
	group string
	admin *kadm.Client // to measure partitions with when they are assigned
	req   request

	consumer   *rcconsumer.Consumer
	rebalances int64 // assignments after the first one
	joined     bool
	told       string // why the member is out of the group; "" while it is in

	mu     sync.Mutex
	events []groupEvent
	wake   context.CancelFunc // of the poll that waits for records, if one does
}

// groupEvent is what happened in the group. One field is set.
type groupEvent struct {
	assigned []window
	left     []departure
	joined   bool  // a rebalance is over
	commit   error // a commit at the interval failed
}

// departure is where a partition stood when it was taken away.
type departure struct {
	topic     string
	partition int32
	lost      bool // it was another's already: nothing could be committed any more
	position  rcconsumer.Position
	stats     rcconsumer.PartitionStats
}

// options make a consumer a member of the group. Commits follow marks, which are
// set on what is printed.
func (m *membership) options(markers bool) []kgo.Opt {
	return append(commonOptions(m.req, markers),
		kgo.ConsumerGroup(m.group),
		kgo.ConsumeTopics(m.req.topics...),
		kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()), // never used: see begin
		kgo.AdjustFetchOffsetsFn(m.begin),
		kgo.AutoCommitMarks(),
		kgo.BlockRebalanceOnPoll(),
		rcconsumer.OnPartitionsAssigned(func(context.Context, *rcconsumer.Consumer, map[string][]int32) {
			m.tell(groupEvent{joined: true})
		}),
		rcconsumer.OnPartitionsRevoked(m.revoked),
		rcconsumer.OnPartitionsLost(m.lost),
		rcconsumer.AutoCommitCallback(m.committed),
	)
}

// begin says where to begin to read partitions that are assigned: at the
// group's commit, else where --from says. The bounds are measured on the way.
func (m *membership) begin(ctx context.Context, offsets map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
	var chosen []window
	for topic, ps := range offsets {
		for id, o := range ps {
			at := o.EpochOffset().Offset // below zero: the start that stands for none
			chosen = append(chosen, window{topic: topic, partition: id, committed: at, hasCommit: at >= 0})
		}
	}
	slices.SortFunc(chosen, func(a, b window) int {
		return cmp.Or(strings.Compare(a.topic, b.topic), cmp.Compare(a.partition, b.partition))
	})
	windows, err := measure(ctx, m.admin, m.req, chosen)
	if err != nil {
		return nil, &measureError{err}
	}
	for _, w := range windows {
		if !w.hasCommit || w.from != w.committed {
			offsets[w.topic][w.partition] = kgo.NewOffset().At(w.from)
		}
	}
	m.tell(groupEvent{assigned: windows})
	return offsets, nil
}

// measureError ends a read: without its bounds nothing can be read.
type measureError struct{ err error }

func (e *measureError) Error() string { return e.err.Error() }
func (e *measureError) Unwrap() error { return e.err }

// revoked commits what was printed before other members take over.
func (m *membership) revoked(_ context.Context, c *rcconsumer.Consumer, gone map[string][]int32) {
	ctx, cancel := context.WithTimeout(c.Kgo().Context(), commitTimeout)
	defer cancel()
	if err := c.CommitMarkedOffsets(ctx); err != nil {
		m.tell(groupEvent{commit: err})
	}
	m.depart(c, gone, false)
}

func (m *membership) lost(_ context.Context, c *rcconsumer.Consumer, gone map[string][]int32) {
	m.depart(c, gone, true)
}

func (m *membership) depart(c *rcconsumer.Consumer, gone map[string][]int32, lost bool) {
	var left []departure
	stats := c.Stats()
	for topic, ids := range gone {
		for _, id := range ids {
			pos, _ := c.Position(topic, id)
			left = append(left, departure{topic: topic, partition: id, lost: lost, position: pos, stats: stats[topic][id]})
		}
	}
	if len(left) > 0 {
		m.tell(groupEvent{left: left})
	}
}

// committed looks at commits that were made at the interval.
func (m *membership) committed(_ *rcconsumer.Consumer, _ *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
	if err == nil {
		err = refusedCommit(resp)
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		m.tell(groupEvent{commit: err})
	}
}

// refusedCommit is the error of the first partition whose commit was refused.
func refusedCommit(resp *kmsg.OffsetCommitResponse) error {
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return fmt.Errorf("%s/%d: %w", t.Topic, p.Partition, err)
			}
		}
	}
	return nil
}

// tell leaves an event and ends the wait for records.
func (m *membership) tell(e groupEvent) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.events = append(m.events, e)
	if m.wake != nil {
		m.wake()
	}
}

// wakes makes events call wake, until the returned function is called. An event
// that came before calls it at once.
func (m *membership) wakes(wake context.CancelFunc) (asleep func()) {
	if m == nil {
		return func() {}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wake = wake
	if len(m.events) > 0 {
		wake()
	}
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.wake = nil
	}
}

func (m *membership) take() []groupEvent {
	m.mu.Lock()
	defer m.mu.Unlock()
	events := m.events
	m.events = nil
	return events
}

// survives reports whether the read goes on after an error of a poll, and tells
// the user that the member joins again. An error that will come again, such as a
// missing right, ends the read.
func (m *membership) survives(err error) bool {
	var session *kgo.ErrGroupSession
	if m == nil || !errors.As(err, &session) || !passing(session.Err) {
		return false
	}
	if text := session.Err.Error(); text != m.told { // an error that lasts is told once
		m.told = text
		m.app.warn("group %s: %v; joining again", m.group, session.Err)
	}
	return true
}

// passing reports whether an error of a group goes away by itself.
func passing(err error) bool {
	if errors.Is(err, context.Canceled) { // a rebalance came while partitions were measured
		return true
	}
	if _, measuring := errors.AsType[*measureError](err); measuring {
		return false
	}
	code, answered := errors.AsType[*kerr.Error](err)
	if !answered || code.Retriable {
		return true // a connection, or a broker in transition
	}
	return slices.Contains([]*kerr.Error{
		kerr.RebalanceInProgress, kerr.IllegalGeneration, kerr.UnknownMemberID, kerr.MemberIDRequired,
		kerr.FencedMemberEpoch, kerr.StaleMemberEpoch,
	}, code)
}

// named puts the group in front of what its coordinator refused.
func (m *membership) named(err error) error {
	if session, ok := errors.AsType[*kgo.ErrGroupSession](err); ok && m != nil {
		return fmt.Errorf("group %s: %w", m.group, session.Err)
	}
	return err
}
