package programs

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/internal/kafkatest"
)

// serviceGroup are the processes of one form, which share a consumer group.
type serviceGroup struct {
	x         *swap
	form      form
	binary    string
	name      string // of the group
	dir       string // of the processes' files
	instances []*instance
	started   []*instance // all that ever ran
	log       *groupLog
	events    map[string]int // lines in the processes' logs, by message
	pauses    int            // of partitions, in processes that ended in an orderly way
}

// start starts a process in the n-th place.
func (g *serviceGroup) start(n int) {
	g.x.t.Helper()
	i := startInstance(g.x.t, g.binary, fmt.Sprintf("%s-%d", g.form, len(g.started)), g.dir,
		"-brokers", strings.Join(g.x.cluster.Addrs(), ","), "-topics", g.x.topic, "-group", g.name,
		"-session-timeout", g.x.session.String(), "-rebalance-timeout", "10s", "-commit-interval", "200ms", "-queue", "50", "-poll", "50", "-delay", "250ms")
	g.started = append(g.started, i)
	if n == len(g.instances) {
		g.instances = append(g.instances, i)
	} else {
		g.instances[n] = i
	}
}

// event is a line of a process's log.
type event struct {
	Message   string `json:"msg"`
	Partition int32  `json:"partition"`
	Session   int64  `json:"session"`
	Offset    int64  `json:"offset"`
	Pauses    int    `json:"pauses"`
}

// look reads what the processes wrote since it was last done.
func (g *serviceGroup) look() {
	g.x.t.Helper()
	for _, i := range g.started {
		require.True(g.x.t, !i.ended() || i.killed, "%s has ended by itself: %s", i.name, i.lastWords())
		g.take(i)
	}
}

func (g *serviceGroup) take(i *instance) {
	g.x.t.Helper()
	for _, e := range decoded[event](g.x.t, &i.log) {
		if g.events == nil {
			g.events = map[string]int{}
		}
		g.events[e.Message]++
		g.pauses += e.Pauses
		if e.Message == "begin" {
			g.log.begins[sessionKey{i.name, e.Session}] = begun{e.Partition, e.Offset}
		}
	}
	for _, l := range decoded[ingested](g.x.t, &i.out) {
		key := sessionKey{i.name, l.Session}
		g.log.lines[key] = append(g.log.lines[key], l)
		g.log.count++
		if g.log.offsets[l.Partition] == nil {
			g.log.offsets[l.Partition] = map[int64]bool{}
		}
		g.log.offsets[l.Partition][l.Offset] = true
	}
}

func decoded[T any](t *testing.T, f *tail) (all []T) {
	t.Helper()
	lines, err := f.lines()
	require.NoError(t, err)
	for _, text := range lines {
		var v T
		require.NoError(t, json.Unmarshal([]byte(text), &v), "%s: %s", f.name, text)
		all = append(all, v)
	}
	return all
}

// untilAll waits until everything was ingested.
func (g *serviceGroup) untilAll(wanted map[int32][]committed) {
	g.x.t.Helper()
	kafkatest.Wait(g.x.t, fmt.Sprintf("%s to ingest everything", g.form), func(context.Context) (string, bool) {
		g.look()
		for p, records := range wanted {
			for _, r := range records {
				if !g.log.offsets[p][r.offset] {
					return fmt.Sprintf("partition %d offset %d is missing", p, r.offset), false
				}
			}
		}
		return "", true
	})
}

// untilNoLag waits until the group has committed to the ends.
func (g *serviceGroup) untilNoLag(ends map[int32]int64) {
	g.x.t.Helper()
	kafkatest.Wait(g.x.t, fmt.Sprintf("%s's group to have no lag", g.form), func(context.Context) (string, bool) {
		lag := g.lag(ends)
		return fmt.Sprint(lag), lag == 0
	})
}

// lag is how far the group's commits are from the ends, over all partitions.
func (g *serviceGroup) lag(ends map[int32]int64) (lag int64) {
	g.x.t.Helper()
	commits, err := g.x.cluster.Admin().FetchOffsets(g.x.t.Context(), g.name)
	require.NoError(g.x.t, err)
	for p, end := range ends {
		o, found := commits.Lookup(g.x.topic, p)
		require.True(g.x.t, found, "%s's group has no commit of partition %d", g.form, p)
		require.NoError(g.x.t, o.Err)
		lag += end - o.At
	}
	return lag
}

// terminate ends the processes in an orderly way.
func (g *serviceGroup) terminate() {
	g.x.t.Helper()
	g.look()
	for _, i := range g.instances {
		i.terminate(g.x.t)
	}
	for _, i := range g.instances {
		g.take(i)
	}
}

// readCommitted reads a topic with a plain kgo client at read_committed, and
// fails unless it gets what the log's markers say.
func readCommitted(t *testing.T, c *kafkatest.Cluster, topic string, logs map[int32]*kafkatest.PartitionLog) map[int32][]committed {
	t.Helper()
	visible, total := map[int32][]int64{}, 0
	for p, log := range logs {
		for _, r := range log.Records {
			if r.Visible() {
				visible[p] = append(visible[p], r.Offset)
				total++
			}
		}
	}
	client := c.Client(t, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	wanted, offsets := map[int32][]committed{}, map[int32][]int64{}
	for n := 0; n < total; {
		fetches := client.PollFetches(ctx)
		require.NoError(t, fetches.Err(), "read at read_committed")
		fetches.EachRecord(func(r *kgo.Record) {
			sum := sha256.Sum256(r.Value)
			wanted[r.Partition] = append(wanted[r.Partition], committed{r.Offset, string(r.Key), string(sum[:])})
			offsets[r.Partition] = append(offsets[r.Partition], r.Offset)
			n++
		})
	}
	require.Equal(t, visible, offsets, "what kgo reads at read_committed, against the log's markers")
	return wanted
}
