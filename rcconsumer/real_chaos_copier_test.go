package rcconsumer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/internal/kafkatest"
)

// copier is the program of Kafka's own exactly-once system test
// (TransactionalMessageCopier): it copies a partition in transactions, of which
// it aborts about a third and does again.
type copier struct {
	c       *kafkatest.Cluster
	in, out string
	id      string // transactional ID and group
	size    int    // records of a transaction
}

// run copies until all is copied, or until the program has reported kill times
// and is then killed. It tells which of the two ended it.
func (c *copier) run(ctx context.Context, kill int) (killed bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	reports := &lineCounter{}
	if kill > 0 {
		reports.limit, reports.reached = kill, cancel
	}
	err = c.c.Local().RunTool(ctx, nil, reports, "org.apache.kafka.tools.TransactionalMessageCopier",
		"--input-topic", c.in, "--input-partition", "0", "--output-topic", c.out, "--broker-list", c.c.Addrs()[0],
		"--transactional-id", c.id, "--consumer-group", c.id, "--transaction-size", strconv.Itoa(c.size),
		"--transaction-timeout", "5000", // a successor waits for offsets of the transaction that was left open
		"--enable-random-aborts", "--use-group-metadata")
	if errors.Is(err, context.Canceled) {
		return true, nil
	}
	return false, err
}

// lineCounter calls reached once limit lines have been written to it.
type lineCounter struct {
	lines, limit int
	reached      func()
}

func (l *lineCounter) Write(b []byte) (int, error) {
	l.lines += bytes.Count(b, []byte("\n"))
	if l.reached != nil && l.lines >= l.limit {
		l.reached()
	}
	return len(b), nil
}

// copyAll runs the copier until it has copied everything, and kills it kills
// times before.
func (c *copier) copyAll(ctx context.Context, r *rand.Rand, kills int) error {
	for done := 0; ; {
		kill := 0
		if done < kills {
			kill = 2 + r.IntN(8)
		}
		killed, err := c.run(ctx, kill)
		switch {
		case err != nil:
			return fmt.Errorf("run %d of the copier: %w", done+1, err)
		case !killed && done < kills:
			return fmt.Errorf("the copier was through after %d kills, want %d", done, kills)
		case !killed:
			return nil
		}
		done++
	}
}

func TestRealChaosCopierOutputIsReadExactlyOnce(t *testing.T) {
	noLeaks(t)
	records, size, kills := 2_000, 50, 2
	if *chaosFor > 0 {
		records, size, kills = 20_000, 200, 8
	}
	seed := *chaosSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-chaos-seed %d", seed)
	cluster := kafkatest.Real(t, kafkatest.Config{Control: true}) // runs a program beside the brokers
	c := &copier{
		c: cluster, size: size, id: kafkatest.Name(t),
		in: cluster.Topic(t, kafkatest.TopicConfig{}), out: cluster.Topic(t, kafkatest.TopicConfig{}),
	}
	want := fillInput(t, cluster, c.in, records)
	done := make(chan error, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	go func() { done <- c.copyAll(ctx, rand.New(rand.NewPCG(seed, 0)), kills) }()

	live := newHarvest(newConsumer(t, cluster, kgo.ConsumeTopics(c.out)))
	require.NoError(t, readBeside(t, live, done))
	l := ledgerOf(cluster, c.out)
	end := l.settleDisturbed(t, 0)
	require.Equal(t, want, valuesOf(live.untilNext(t, c.out, 0, end)), "beside the copier")
	require.Equal(t, want, valuesOf(l.read(t, 0, 0, end)), "afterwards")
	s := live.c.Stats()[c.out][0]
	require.Zero(t, s.Anomalies)
	require.NotZero(t, s.AbortedRecords, "the copier aborts about a third of its transactions")
	t.Logf("%d records copied in transactions of %d by a copier killed %d times: %d delivered once each, in order; %d aborted dropped, %d markers; seed %d",
		records, size, kills, s.DeliveredRecords, s.AbortedRecords, s.ControlBatches, seed)
}

// fillInput writes numbers from 0 on.
func fillInput(t *testing.T, cluster *kafkatest.Cluster, topic string, n int) (values []string) {
	t.Helper()
	for from := 0; from < n; from += 500 {
		var batch []string
		for i := from; i < min(n, from+500); i++ {
			batch = append(batch, strconv.Itoa(i))
		}
		cluster.Produce(t, topic, 0, kafkatest.Values(batch...))
		values = append(values, batch...)
	}
	return values
}

// readBeside polls until the program beside it is done.
func readBeside(t *testing.T, h *harvest, done <-chan error) error {
	t.Helper()
	for {
		select {
		case err := <-done:
			return err
		default:
		}
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		_ = h.poll(ctx, t, 0)
		cancel()
		require.Empty(t, h.errs)
	}
}

func valuesOf(lines []line) []string {
	values := make([]string, 0, len(lines))
	for _, l := range lines {
		values = append(values, l.Value)
	}
	return values
}
