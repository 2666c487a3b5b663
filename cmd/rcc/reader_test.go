package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/rcconsumer"
)

// fakeSource hands out prepared polls. A poll beyond the last one waits for
// the context, as the real one would.
type fakeSource struct {
	polls  []fakePoll
	pos    rcconsumer.Position
	paused []string
}

// fakePoll is what one poll returns and where the position is after it.
type fakePoll struct {
	offsets []int64
	next    int64
	stable  int64
	err     error
}

func (f *fakeSource) PollRecords(ctx context.Context, most int) kgo.Fetches {
	if len(f.polls) == 0 {
		<-ctx.Done()
		return kgo.NewErrFetch(ctx.Err())
	}
	poll := f.polls[0]
	f.polls = f.polls[1:]
	p := kgo.FetchPartition{Partition: 0, Err: poll.err}
	for _, o := range poll.offsets[:min(most, len(poll.offsets))] {
		p.Records = append(p.Records, &kgo.Record{Topic: "orders", Offset: o})
	}
	f.pos = rcconsumer.Position{Next: poll.next, LastStableOffset: poll.stable, HighWatermark: 100}
	return kgo.Fetches{{Topics: []kgo.FetchTopic{{Topic: "orders", Partitions: []kgo.FetchPartition{p}}}}}
}

func (f *fakeSource) PauseFetchPartitions(m map[string][]int32) map[string][]int32 {
	for topic, partitions := range m {
		f.paused = append(f.paused, fmt.Sprint(topic, partitions))
	}
	return nil
}

func (f *fakeSource) Position(string, int32) (rcconsumer.Position, bool)    { return f.pos, true }
func (f *fakeSource) Stats() map[string]map[int32]rcconsumer.PartitionStats { return nil }
func byOffset(dst []byte, _ *kgo.FetchPartition, r *kgo.Record) []byte {
	return fmt.Appendf(dst, "%d ", r.Offset)
}

func TestReadEndsByPosition(t *testing.T) {
	for _, tt := range []struct {
		name  string
		until int64
		count int64
		polls []fakePoll
		want  string
	}{
		{"last offset is a record", 3, 0, []fakePoll{{offsets: []int64{0, 1, 2}, next: 3, stable: 9}}, "0 1 2 "},
		{"last offsets are aborted or markers", 5, 0, []fakePoll{{offsets: []int64{0, 1}, next: 2, stable: 5}, {next: 5, stable: 5}}, "0 1 "},
		{"everything is aborted", 5, 0, []fakePoll{{next: 5, stable: 5}}, ""},
		{"records beyond the end are not printed", 2, 0, []fakePoll{{offsets: []int64{0, 1, 2, 3}, next: 4, stable: 9}}, "0 1 "},
		{"the end lies in a hole", 3, 0, []fakePoll{{offsets: []int64{0, 7}, next: 8, stable: 9}}, "0 "},
		{"the count is reached first", 9, 2, []fakePoll{{offsets: []int64{0, 1, 2}, next: 3, stable: 9}}, "0 1 "},
		{"the count spans polls", noEnd, 3, []fakePoll{{offsets: []int64{0, 1}, next: 2, stable: 9}, {offsets: []int64{2, 3}, next: 4, stable: 9}}, "0 1 2 "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			src := &fakeSource{polls: tt.polls}
			var out bytes.Buffer
			r := newRead(src, []window{{topic: "orders", until: tt.until}}, byOffset, &out, tt.count)
			require.NoError(t, r.run(t.Context()))
			require.Equal(t, tt.want, out.String())
			require.Empty(t, src.polls)
		})
	}
}

func TestReadPrintsRecordsBeforeTheError(t *testing.T) {
	damaged := errors.New("batch is damaged")
	src := &fakeSource{polls: []fakePoll{{offsets: []int64{4, 5}, next: 6, stable: 9, err: damaged}}}
	var out bytes.Buffer
	r := newRead(src, []window{{topic: "orders", from: 4, until: noEnd}}, byOffset, &out, 0)
	err := r.run(t.Context())
	require.ErrorIs(t, err, damaged)
	require.Equal(t, "orders/0 at offset 6: batch is damaged", err.Error())
	require.Equal(t, "4 5 ", out.String())
}

func TestReadEndsWhenCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	src := &fakeSource{polls: []fakePoll{{offsets: []int64{0}, next: 1}}}
	var out bytes.Buffer
	err := newRead(src, []window{{topic: "orders", until: noEnd}}, byOffset, &out, 0).run(ctx)
	require.ErrorIs(t, err, errInterrupted)
	require.Equal(t, "0 ", out.String())
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, fmt.Errorf("write: %w", syscall.EPIPE) }

func TestClosedPipeEndsQuietly(t *testing.T) {
	src := &fakeSource{polls: []fakePoll{{offsets: []int64{0}, next: 1}}}
	err := newRead(src, []window{{topic: "orders", until: noEnd}}, byOffset, brokenPipe{}, 0).run(t.Context())
	require.ErrorIs(t, err, syscall.EPIPE)
	var stderr bytes.Buffer
	require.Equal(t, exitOK, newApp(nil, io.Discard, &stderr).exit(t.Context(), err))
	require.Empty(t, stderr.String())
}

func TestBrokenConnectionIsAnError(t *testing.T) {
	broken := &net.OpError{Op: "write", Net: "tcp", Err: syscall.EPIPE}
	var stderr bytes.Buffer
	require.Equal(t, exitError, newApp(nil, io.Discard, &stderr).exit(t.Context(), broken))
	require.Equal(t, "rcc: error: write tcp: broken pipe\n", stderr.String())
}

func TestNearestWord(t *testing.T) {
	words := []string{"consume", "demo", "timeline"}
	for in, want := range map[string]string{
		"consum": "consume", "cosnume": "consume", "dmeo": "demo", "DEMO": "demo", "time": "timeline",
		"con": "consume", "zzzzzz": "", "": "", "q": "",
	} {
		require.Equal(t, want, nearest(in, words), in)
	}
}

func TestSizesHaveThreeDigits(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1 kB", 1234: "1.23 kB", 999_499: "999 kB", 999_500: "1 MB", 12_345_678: "12.3 MB", 5e15: "5 PB"} {
		require.Equal(t, want, size(n))
	}
}

func TestReadTellsOnceWhatItWaitsFor(t *testing.T) {
	const held = "rcc: waiting: orders/0 stands at its last stable offset 1, 99 offsets held back by an open transaction\n"
	for _, tt := range []struct {
		name  string
		until int64
		poll  fakePoll
		want  string
	}{
		{"an end that is held back", 100, fakePoll{offsets: []int64{0}, next: 1, stable: 1}, held},
		{"no end, but records are held back", noEnd, fakePoll{offsets: []int64{0}, next: 1, stable: 1}, held},
		{"an end beyond the log", 200, fakePoll{next: 100, stable: 100}, "rcc: waiting: orders/0 stands at 100, the read ends at 200\n"},
		{"no end and nothing held back", noEnd, fakePoll{next: 100, stable: 100}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			src := &fakeSource{polls: []fakePoll{tt.poll}}
			var stderr bytes.Buffer
			a := newApp(nil, io.Discard, &stderr)
			r := newRead(src, []window{{topic: "orders", until: tt.until}}, byOffset, io.Discard, 0)
			r.stallAfter = time.Millisecond
			stalls := 0
			r.stalled = func(p *partitionRead, pos rcconsumer.Position) {
				a.tellStall(p, pos)
				stalls++
				// Several more waits pass before this ends the read.
				time.AfterFunc(20*time.Millisecond, cancel)
			}
			require.ErrorIs(t, r.run(ctx), errInterrupted)
			require.Equal(t, 1, stalls)
			require.Equal(t, tt.want, stderr.String())
		})
	}
}
