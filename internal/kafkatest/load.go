package kafkatest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// LoadConfig says who writes how to a topic.
type LoadConfig struct {
	Topic      string
	Partitions int32

	// Transactional and Plain are how many producers write in transactions and
	// how many without.
	Transactional, Plain int

	// Seed decides the sizes of records and transactions, the partitions, and
	// which transactions are to be committed.
	Seed uint64

	// Padding is the most bytes that are added to a value. The default is 200.
	Padding int

	// Pause is the most time between the transactions of a producer, beside
	// 30 ms. The default is 200 ms.
	Pause time.Duration
}

func (c LoadConfig) withDefaults() LoadConfig {
	if c.Padding == 0 {
		c.Padding = 200
	}
	if c.Pause == 0 {
		c.Pause = 200 * time.Millisecond
	}
	return c
}

// Load writes to a topic with kgo producers, which outlive restarts and the
// death of brokers, and keeps their ledger. Values are stamped, see [Stamp].
type Load struct {
	cluster *Cluster
	config  LoadConfig
	ledger  *Ledger
	say     func(format string, args ...any)

	ctx     context.Context
	cancel  context.CancelFunc
	wg      sync.WaitGroup
	writers []*loadWriter
}

// StartLoad starts to write. The test ends the load with [Load.Stop], or its
// own end does.
func (c *Cluster) StartLoad(t testing.TB, config LoadConfig) *Load {
	t.Helper()
	l := &Load{cluster: c, config: config.withDefaults(), ledger: newLedger(), say: t.Logf}
	l.ctx, l.cancel = context.WithCancel(t.Context())
	t.Cleanup(l.end)
	for i := range config.Transactional + config.Plain {
		w := &loadWriter{load: l, id: uint16(i), r: rand.New(rand.NewPCG(config.Seed, uint64(i)))}
		if i < config.Transactional {
			w.txnID = fmt.Sprintf("%s-%d", config.Topic, i)
			// Some end by their timeout when the cluster is away for long.
			w.timeout = []time.Duration{10 * time.Second, 40 * time.Second}[i%2]
		}
		require.NoError(t, w.connect())
		l.writers = append(l.writers, w)
	}
	for _, w := range l.writers {
		l.wg.Go(w.run)
	}
	return l
}

// Stop ends the writing; then every transactional ID is taken over, which ends
// what was left open.
func (l *Load) Stop(t testing.TB) {
	t.Helper()
	l.end()
	for _, w := range l.writers {
		if w.txnID == "" {
			continue
		}
		require.NoError(t, w.connect())
		Wait(t, "a new producer for "+w.txnID, func(ctx context.Context) (string, bool) {
			_, _, err := w.client.ProducerID(ctx)
			return fmt.Sprint(err), err == nil
		})
		w.client.Close()
	}
}

// end ends the writing, and leaves open what is open.
func (l *Load) end() {
	l.cancel()
	l.wg.Wait()
	for _, w := range l.writers {
		w.client.Close()
	}
}

// Ledger is the writers' account. It is complete after [Load.Stop].
func (l *Load) Ledger() *Ledger { return l.ledger }

// TransactionalID is that of the n-th transactional producer, from 0 on.
func (l *Load) TransactionalID(n int) string { return l.writers[n].txnID }

// Replaced is how often producers went on with a new client, after errors that
// end one. Ask after [Load.Stop].
func (l *Load) Replaced() (n int) {
	for _, w := range l.writers {
		n += w.replaced
	}
	return n
}
