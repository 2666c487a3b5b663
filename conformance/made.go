package conformance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/wire"
)

// made is what a run has made on the cluster, or may have made: the answer never
// came. See [made.watch].
type made struct {
	prefix string // of the run's names

	mu     sync.Mutex
	topics []string
	ids    []string
	groups []string

	brokers []string // those that a hook stopped and that do not run again, and why
}

func newMade(prefix string) *made { return &made{prefix: prefix} }

func (m *made) topic(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.topics = append(m.topics, name)
}

func (m *made) transactionalID(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ids = append(m.ids, id)
}

func (m *made) group(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.groups = append(m.groups, name)
}

func (m *made) broker(what string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.brokers = append(m.brokers, what)
}

// all is everything that was made, each once.
func (m *made) all() (ids, groups, topics []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	once := func(names []string) []string { return slices.Compact(slices.Sorted(slices.Values(names))) }
	return once(m.ids), once(m.groups), once(m.topics)
}

// The removal of what a run made may take a minute, and this for each thing.
const (
	cleaning     = time.Minute
	cleaningEach = 500 * time.Millisecond
)

// cleaningLimit bounds the removal of so many things.
func (r *run) cleaningLimit(things int) time.Duration {
	limit := cleaning + time.Duration(things)*cleaningEach
	return max(limit, r.bound(limit))
}

// cleanUp ends the transactions that are still open, by taking over every
// transactional ID, and then deletes groups and topics. It returns what could
// not be removed.
func (r *run) cleanUp(ctx context.Context) (left []string) {
	ids, groups, topics := r.made.all()
	ctx, cancel := context.WithTimeout(ctx, r.cleaningLimit(len(ids)+len(groups)+len(topics)))
	defer cancel()
	if err := r.answers(ctx); err != nil { // nothing of it would work, each after a wait of its own
		for kind, names := range map[string][]string{"transactional ID": ids, "group": groups, "topic": topics} {
			for _, name := range names {
				left = append(left, fmt.Sprintf("%s %s: %v", kind, name, err))
			}
		}
		return slices.Sorted(slices.Values(left))
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	slots := make(chan struct{}, DefaultParallel)
	for _, id := range ids {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if err := r.takeOver(ctx, id); err != nil {
				mu.Lock()
				defer mu.Unlock()
				left = append(left, fmt.Sprintf("transactional ID %s: %v", id, err))
			}
		})
	}
	wg.Wait()
	for _, kind := range []struct {
		name  string
		names []string
		ask   deletion
	}{{"group", groups, r.deleteGroups}, {"topic", topics, r.deleteTopics()}} {
		still := r.deleteAll(ctx, kind.names, kind.ask)
		for _, name := range slices.Sorted(maps.Keys(still)) {
			left = append(left, fmt.Sprintf("%s %s: %v", kind.name, name, still[name]))
		}
	}
	return left
}

// answers waits until the cluster answers at all.
func (r *run) answers(ctx context.Context) error {
	return r.untilTaken(ctx, r.bound(settled), func() (int16, error) {
		_, err := r.controller(ctx)
		return 0, err
	})
}

// takeOver re-initializes a transactional ID, which aborts what is open.
func (r *run) takeOver(ctx context.Context, id string) error {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.Version = r.features.max(kmsg.InitProducerID, 5)
	req.TransactionalID, req.ProducerID, req.ProducerEpoch = &id, -1, -1
	for timeout := modestTimeout; ; timeout /= 2 {
		req.TransactionTimeoutMillis = int32(timeout.Milliseconds())
		err := r.askCoordinator(ctx, id, ofTransaction, req, func(resp kmsg.Response) int16 {
			return resp.(*kmsg.InitProducerIDResponse).ErrorCode
		})
		if !errors.Is(err, kerr.InvalidTransactionTimeout) || timeout < 2*leastTimeout {
			return err
		}
	}
}

// askCoordinator sends a request to whoever coordinates a transactional ID or a
// group, until it is taken. code is the error code of an answer.
func (r *run) askCoordinator(ctx context.Context, key string, kind int8, req kmsg.Request, code func(kmsg.Response) int16) error {
	find := r.features.findCoordinator(key, kind)
	return r.untilTaken(ctx, r.bound(settled), func() (int16, error) {
		e := r.client.Do(ctx, wire.Bootstrap, "cleanup", find)
		if e.Err != nil {
			return 0, e.Err
		}
		found := e.Response.(*kmsg.FindCoordinatorResponse)
		if found.ErrorCode != 0 {
			return found.ErrorCode, nil
		}
		if e = r.client.Do(ctx, found.NodeID, "cleanup", req); e.Err != nil {
			return 0, e.Err
		}
		return code(e.Response), nil
	})
}

// controller is the broker that deletes topics.
func (r *run) controller(ctx context.Context) (int32, error) {
	e := r.client.Do(ctx, wire.Bootstrap, "cleanup", r.features.askBrokers())
	if e.Err != nil {
		return wire.Bootstrap, e.Err
	}
	resp := e.Response.(*kmsg.MetadataResponse)
	r.client.Learn(resp)
	return resp.ControllerID, nil
}

// bound is a bound on time, scaled for slow clusters.
func (r *run) bound(d time.Duration) time.Duration {
	return time.Duration(float64(d) * r.config.Slow)
}

// untilTaken does something again, no longer than limit, while the error passes
// with time; broken connections do too. What a cluster does not have, it will
// not have later.
func (r *run) untilTaken(ctx context.Context, limit time.Duration, attempt func() (int16, error)) error {
	deadline := time.Now().Add(limit)
	for {
		code, err := attempt()
		switch {
		case err == nil && code == 0:
			return nil
		case err == nil && !passes(code) && code != kerr.NotController.Code:
			return kerr.ErrorForCode(code)
		case errors.Is(err, wire.ErrUnsupported), errors.Is(err, wire.ErrRefused):
			return err
		case time.Now().After(deadline) || ctx.Err() != nil:
			if err == nil {
				err = kerr.ErrorForCode(code)
			}
			return err
		}
		time.Sleep(retryPause)
	}
}
