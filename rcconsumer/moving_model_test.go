package rcconsumer_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/rcconsumer"
)

// place is a partition of the model.
type place struct {
	topic string
	id    int32
}

// cursor is how far a partition has been read since it was begun last.
type cursor struct {
	next  int64
	begun bool // seen in Positions
}

// movingModel says what a consumer may and must hand out.
type movingModel struct {
	t   *testing.T
	w   *world
	c   *rcconsumer.Consumer
	rnd *rand.Rand
	txn int

	counts  map[string]int32           // partitions that exist
	visible map[place][]line           // committed records
	pinned  map[string]map[int32]int64 // as subscribed: where partitions begin, none for a whole topic
	reading map[place]*cursor

	pausedTopics map[string]bool
	paused       map[place]bool
}

var modelTopics = []string{"a", "b", "c"}

func newMovingModel(t *testing.T, w *world, seed uint64) *movingModel {
	m := &movingModel{
		t: t, w: w, rnd: rand.New(rand.NewPCG(seed, 7)),
		counts: map[string]int32{}, visible: map[place][]line{},
		pinned: map[string]map[int32]int64{}, reading: map[place]*cursor{},
		pausedTopics: map[string]bool{}, paused: map[place]bool{},
	}
	for i, name := range modelTopics {
		m.counts[name] = int32(i + 1)
		require.NoError(t, w.CreateTopic(name, int32(i+1), nil))
		for id := range int32(i + 1) {
			m.write(place{name, id})
		}
	}
	m.c = w.consumer(
		kgo.MetadataMaxAge(300*time.Millisecond), kgo.FetchMaxWait(100*time.Millisecond), kgo.FetchMaxPartitionBytes(300),
	)
	return m
}

func (m *movingModel) anyTopic() string { return modelTopics[m.rnd.IntN(len(modelTopics))] }

// anyPlace may be a partition that does not exist yet.
func (m *movingModel) anyPlace() place {
	topic := m.anyTopic()
	return place{topic, m.rnd.Int32N(m.counts[topic] + 1)}
}

func (m *movingModel) exists(p place) bool { return p.id < m.counts[p.topic] }

// end is just behind the last visible record.
func (m *movingModel) end(p place) int64 {
	lines := m.visible[p]
	if len(lines) == 0 {
		return 0
	}
	return lines[len(lines)-1].Offset + 1
}

// write appends a few records, plain or in a transaction.
func (m *movingModel) write(p place) {
	if !m.exists(p) {
		return
	}
	values := make([]string, 1+m.rnd.IntN(8))
	for i := range values {
		values[i] = fmt.Sprintf("%s/%d %d.%d", p.topic, p.id, m.txn, i)
	}
	m.txn++
	rs := records(p.topic, p.id, values)
	commit := true
	if m.rnd.IntN(2) == 0 {
		m.w.write(rs)
	} else {
		commit = m.rnd.IntN(2) == 0
		m.w.transact(fmt.Sprintf("txn-%d", m.rnd.IntN(3)), commit, rs)
	}
	for _, r := range rs {
		if commit {
			m.visible[p] = append(m.visible[p], line{r.Offset, string(r.Value)})
		}
	}
}

// write writes plain records and notes their offsets in them.
func (w *world) write(rs []*kgo.Record) {
	w.t.Helper()
	cl := w.client(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DisableIdempotentWrite())
	defer cl.Close()
	require.NoError(w.t, cl.ProduceSync(w.t.Context(), rs...).FirstErr())
}

// transact writes records in a transaction of their own.
func (w *world) transact(id string, commit bool, rs []*kgo.Record) {
	w.t.Helper()
	cl := w.client(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.TransactionalID(id))
	defer cl.Close()
	require.NoError(w.t, cl.BeginTransaction())
	require.NoError(w.t, cl.ProduceSync(w.t.Context(), rs...).FirstErr())
	require.NoError(w.t, cl.EndTransaction(w.t.Context(), kgo.TransactionEndTry(commit)))
}

// begin lets everything begin that is subscribed, exists and is not read.
func (m *movingModel) begin(topic string) {
	starts := m.pinned[topic]
	if starts == nil {
		return
	}
	for id := range m.counts[topic] {
		start, pinned := starts[id]
		switch {
		case m.reading[place{topic, id}] != nil:
		case pinned:
			m.reading[place{topic, id}] = &cursor{next: start}
		case len(starts) == 0:
			m.reading[place{topic, id}] = &cursor{}
		}
	}
}

// settle waits until all that is to be read of a topic has begun.
func (m *movingModel) settle(topic string) {
	for p, cur := range m.reading {
		if p.topic == topic && !cur.begun {
			eventually(m.t, fmt.Sprint(p), func() bool { _, ok := m.c.Position(p.topic, p.id); return ok })
			cur.begun = true
		}
	}
}

func (m *movingModel) addTopic(topic string) {
	m.c.AddConsumeTopics(topic)
	if m.pinned[topic] == nil {
		m.pinned[topic] = map[int32]int64{}
	}
	m.begin(topic)
}

func (m *movingModel) addPartition(p place) {
	m.settle(p.topic) // who comes first decides
	start := m.rnd.Int64N(m.end(p) + 1)
	m.c.AddConsumePartitions(map[string]map[int32]kgo.Offset{p.topic: {p.id: exactly(start)}})
	if m.pinned[p.topic] == nil {
		m.pinned[p.topic] = map[int32]int64{}
	}
	m.pinned[p.topic][p.id] = start
	m.begin(p.topic)
}

func (m *movingModel) removePartition(p place) {
	if starts := m.pinned[p.topic]; starts != nil && len(starts) == 0 {
		m.settle(p.topic) // of a whole topic only those that have begun are read on
	}
	m.c.RemoveConsumePartitions(map[string][]int32{p.topic: {p.id}})
	delete(m.pinned[p.topic], p.id)
	if len(m.pinned[p.topic]) == 0 {
		delete(m.pinned, p.topic)
	}
	delete(m.reading, p)
}

func (m *movingModel) purgeTopic(topic string) {
	if m.rnd.IntN(2) == 0 {
		m.c.PurgeTopicsFromClient(topic)
	} else {
		m.c.PurgeTopicsFromConsuming(topic)
	}
	delete(m.pinned, topic)
	for p := range m.reading {
		if p.topic == topic {
			delete(m.reading, p)
		}
	}
}

func (m *movingModel) seek(p place) {
	m.settle(p.topic)
	to := m.rnd.Int64N(m.end(p) + 1)
	m.c.SetOffsets(map[string]map[int32]kgo.EpochOffset{p.topic: {p.id: {Offset: to, Epoch: -1}}})
	if cur := m.reading[p]; cur != nil {
		cur.next = to
	}
}

func (m *movingModel) pause(p place, paused bool) {
	list := map[string][]int32{p.topic: {p.id}}
	whole := m.rnd.IntN(3) == 0
	switch {
	case whole && paused:
		m.c.PauseFetchTopics(p.topic)
	case whole:
		m.c.ResumeFetchTopics(p.topic)
	case paused:
		m.c.PauseFetchPartitions(list)
	default:
		m.c.ResumeFetchPartitions(list)
	}
	if whole {
		m.pausedTopics[p.topic] = paused
	} else {
		m.paused[p] = paused
	}
}

func (m *movingModel) grow(topic string) {
	if m.counts[topic] >= 5 {
		return
	}
	m.counts[topic]++
	m.w.addPartitions(topic, int(m.counts[topic]))
	m.begin(topic)
}

// poll polls once and checks every record: it must be the next visible one of a
// partition that is read and not paused.
func (m *movingModel) poll(d time.Duration) (n int) {
	fs := poll(m.c, d)
	fs.EachError(func(topic string, partition int32, err error) {
		require.True(m.t, topic == "" && timedOut(fs), "%s %d: %v", topic, partition, err)
	})
	fs.EachRecord(func(r *kgo.Record) {
		p := place{r.Topic, r.Partition}
		cur := m.reading[p]
		require.NotNil(m.t, cur, "%v is not subscribed, offset %d", p, r.Offset)
		require.False(m.t, m.paused[p] || m.pausedTopics[p.topic], "%v is paused", p)
		want, ok := m.following(p, cur.next)
		require.True(m.t, ok, "%v: nothing follows %d, got %d %s", p, cur.next, r.Offset, r.Value)
		require.Equal(m.t, want, line{r.Offset, string(r.Value)}, "%v", p)
		cur.next, cur.begun = r.Offset+1, true
		n++
	})
	return n
}

// following is the first visible record at or behind an offset.
func (m *movingModel) following(p place, offset int64) (line, bool) {
	i := slices.IndexFunc(m.visible[p], func(l line) bool { return l.Offset >= offset })
	if i < 0 {
		return line{}, false
	}
	return m.visible[p][i], true
}

// step does one thing at random.
func (m *movingModel) step() {
	switch n := m.rnd.IntN(20); n {
	case 0:
		m.addTopic(m.anyTopic())
	case 1, 2:
		m.addPartition(m.anyPlace())
	case 3, 4:
		m.removePartition(m.anyPlace())
	case 5:
		m.purgeTopic(m.anyTopic())
	case 6, 7:
		m.seek(m.anyPlace())
	case 8, 9, 10:
		m.pause(m.anyPlace(), n == 8)
	case 11:
		m.grow(m.anyTopic())
	case 12:
		p := m.anyPlace()
		if m.exists(p) {
			require.NoError(m.t, m.w.MoveTopicPartition(p.topic, p.id, m.rnd.Int32N(2)))
		}
	case 13, 14:
		m.write(m.anyPlace())
	case 15:
		// kfake forgets its list of aborted transactions where an answer as
		// a whole is full, so that only partitions may be cut short.
		m.c.UpdateFetchMaxBytes(1<<20, m.rnd.Int32N(600))
	case 16:
		time.Sleep(time.Duration(m.rnd.IntN(200)) * time.Millisecond)
	default:
		m.poll(time.Duration(m.rnd.IntN(100)) * time.Millisecond)
	}
}

// finish ends all pauses and reads everything to its end.
func (m *movingModel) finish() {
	m.c.ResumeFetchTopics(modelTopics...)
	clear(m.pausedTopics)
	for p := range m.paused {
		m.c.ResumeFetchPartitions(map[string][]int32{p.topic: {p.id}})
	}
	clear(m.paused)
	for until := time.Now().Add(patience); ; {
		left := ""
		for p, cur := range m.reading {
			if want, more := m.following(p, cur.next); more {
				left = fmt.Sprintf("%v waits for %v", p, want)
			}
		}
		if left == "" {
			break
		}
		require.True(m.t, time.Now().Before(until), "%s: %+v", left, m.c.Positions())
		m.poll(time.Second)
	}
	require.Zero(m.t, m.poll(10*time.Second), "that was all")
	for p := range m.reading {
		_, ok := m.c.Position(p.topic, p.id)
		require.True(m.t, ok, "%v", p)
	}
	read := 0
	for _, ps := range m.c.Positions() {
		read += len(ps)
	}
	require.Equal(m.t, len(m.reading), read)
	require.Zero(m.t, m.c.BufferedFetchRecords())
}

// Whatever is added, removed, purged, moved, paused and resumed: nothing comes
// of what is not subscribed or paused, the rest comes in order, each record
// once, and to its end.
func TestChangesAtRandomAgreeWithAModel(t *testing.T) {
	seeds := uint64(30)
	if raceDetector {
		seeds = 6
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			inWorld(t, 2, 1, func(t *testing.T, w *world) {
				m := newMovingModel(t, w, seed)
				for range 150 {
					m.step()
				}
				m.finish()
			})
		})
	}
}
