package rcconsumer_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/internal/kafkatest"
	"example.com/readcommitted/rcconsumer"
)

// killedApp makes the test binary the application that
// TestRealGroupLosesNothingWhenItsApplicationIsKilled kills: it works on
// records, one after the other, and prints each when it is done.
const killedApp = "RCCONSUMER_TEST_KILLED_APP"

// runKilledApp is that application's main function. It reports false if the
// binary was started to run tests.
func runKilledApp() bool {
	config := strings.Fields(os.Getenv(killedApp))
	if len(config) == 0 {
		return false
	}
	way := committings[must(strconv.Atoi(config[3]))]
	c := must(rcconsumer.New(append([]kgo.Opt{
		kgo.SeedBrokers(config[0]), kgo.ConsumeTopics(config[1]), kgo.ConsumerGroup(config[2]),
		kgo.InstanceID("the application"), // its successor need not wait for the session to end
		kgo.AutoCommitInterval(100 * time.Millisecond),
	}, way.opts...)...))
	ctx := context.Background()
	for {
		fs := c.PollRecords(ctx, 20)
		must(0, fs.Err())
		fs.EachRecord(func(r *kgo.Record) {
			time.Sleep(time.Millisecond) // work
			fmt.Println("worked", r.Offset)
		})
		if way.ours != nil {
			must(0, way.ours(ctx, c, fs))
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// An application that is killed loses no record, and repeats none that its
// group has committed before it was started.
func TestRealGroupLosesNothingWhenItsApplicationIsKilled(t *testing.T) {
	noLeaks(t)
	cluster := kafkatest.Real(t, kafkatest.Config{})
	for i, way := range committings {
		if way.name == "greedy" {
			continue // commits what is not worked on yet: loses records by design
		}
		t.Run(way.name, func(t *testing.T) {
			l := newLedger(t, cluster, kafkatest.TopicConfig{Partitions: 1})
			w := l.writer(t, "w", kafkatest.ProducerConfig{TransactionalID: kafkatest.Name(t)})
			for range 40 {
				w.whole(t, 0, commit, 5, 5)
				w.whole(t, 0, abort, 7)
			}
			end := l.settle(t, 0)
			app := killable{l: l, group: kafkatest.Name(t), way: i, worked: map[int64]int{}}
			for _, lines := range []int{30, 77, 150} {
				app.run(t, func(total int) bool { return total >= lines }) // and then it is killed
			}
			app.run(t, func(int) bool { return app.committed(t) == end })
			for _, want := range l.visible(0, false, 0, end) {
				require.Positive(t, app.worked[want.Offset], "offset %d was never worked on", want.Offset)
				delete(app.worked, want.Offset)
			}
			require.Empty(t, app.worked, "aborted records were worked on")
			t.Logf("400 records, killed 3 times: %d worked on again", app.again)
		})
	}
}

// killable runs the application as a process.
type killable struct {
	l      *ledger
	group  string
	way    int
	worked map[int64]int
	again  int
}

func (a *killable) committed(t *testing.T) int64 {
	t.Helper()
	offset := int64(-1)
	kafkatest.Wait(t, "the group's commit", func(ctx context.Context) (string, bool) {
		resp, err := a.l.c.Admin().FetchOffsets(ctx, a.group)
		if at, ok := resp.Lookup(a.l.topic, 0); ok {
			offset = at.At
		}
		return fmt.Sprint(err), err == nil
	})
	return offset
}

// run starts the application and kills it once enough says so of how often
// records have been worked on.
func (a *killable) run(t *testing.T, enough func(total int) bool) {
	t.Helper()
	from := a.committed(t)
	ctx, cancel := context.WithTimeout(t.Context(), kafkatest.Limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0]) // killed with SIGKILL
	cmd.Env = append(os.Environ(), killedApp+"="+strings.Join([]string{a.l.c.Addrs()[0], a.l.topic, a.group, strconv.Itoa(a.way)}, " "))
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := make(chan int64)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			if f := strings.Fields(s.Text()); len(f) == 2 && f[0] == "worked" {
				lines <- must(strconv.ParseInt(f[1], 10, 64))
			}
		}
	}()
	look := time.NewTicker(200 * time.Millisecond)
	defer look.Stop()
	for done := false; !done; {
		select {
		case o, ok := <-lines:
			require.True(t, ok, "the application ended by itself")
			a.note(t, o, from)
			done = enough(a.total())
		case <-look.C:
			done = enough(a.total())
		}
	}
	cancel()
	for o := range lines { // what it did before it died
		a.note(t, o, from)
	}
	_ = cmd.Wait()
}

func (a *killable) note(t *testing.T, offset, from int64) {
	t.Helper()
	require.GreaterOrEqual(t, offset, from, "a record that had been committed before the start")
	if a.worked[offset]++; a.worked[offset] > 1 {
		a.again++
	}
}

func (a *killable) total() int { return len(a.worked) + a.again }
