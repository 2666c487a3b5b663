package programs

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/internal/kafkatest"
)

const (
	topicCount     = 3
	partitionCount = 3
	rounds         = 4
)

// filled are topics that hold plain records and records of transactions,
// committed and aborted, one inside another.
type filled struct {
	cluster *kafkatest.Cluster
	topics  []string
	ends    map[string]map[int32]int64    // end offsets
	visible map[string]map[int32][]string // lines that a read_committed program prints
}

// fill makes the topics. Partition 0 ends in an aborted transaction, partition
// 1 in a commit marker, partition 2 in a plain record.
func fill(t testing.TB, cluster *kafkatest.Cluster) *filled {
	t.Helper()
	f := &filled{cluster: cluster, ends: map[string]map[int32]int64{}, visible: map[string]map[int32][]string{}}
	for range topicCount {
		topic := cluster.Topic(t, kafkatest.TopicConfig{Partitions: partitionCount})
		f.topics = append(f.topics, topic)
		f.ends[topic], f.visible[topic] = map[int32]int64{}, map[int32][]string{}
	}
	commits := cluster.Producer(t, kafkatest.ProducerConfig{TransactionalID: kafkatest.Name(t)})
	aborts := cluster.Producer(t, kafkatest.ProducerConfig{TransactionalID: kafkatest.Name(t)})
	for round := range rounds {
		f.round(t, round, commits, aborts)
	}
	f.tails(t, commits, aborts)
	for topic, ends := range f.ends {
		for partition, end := range ends {
			cluster.WaitLSO(t, topic, partition, end)
		}
	}
	return f
}

// round writes two transactions into each other, with plain records around. The
// one that is aborted ends first, then last.
func (f *filled) round(t testing.TB, round int, commits, aborts *kafkatest.Producer) {
	codecs := []kgo.CompressionCodec{kgo.NoCompression(), kgo.ZstdCompression(), kgo.Lz4Compression(), kgo.GzipCompression(), kgo.SnappyCompression()}
	codec := codecs[round%len(codecs)]
	f.each(func(topic string, partition int32) {
		f.plain(t, topic, partition, 2, codec)
		f.committed(t, commits, topic, partition, 3, codec)
		f.aborted(t, aborts, topic, partition, 2, codec)
		f.committed(t, commits, topic, partition, 2, codec)
		f.plain(t, topic, partition, 1, codec)
	})
	if round%2 == 0 {
		f.abort(t, aborts)
	}
	commits.Commit(t)
	f.each(func(topic string, partition int32) {
		f.ends[topic][partition]++ // the marker
		if round%2 == 1 {
			f.aborted(t, aborts, topic, partition, 3, codec)
		}
	})
	if round%2 == 1 {
		f.abort(t, aborts)
	}
}

func (f *filled) tails(t testing.TB, commits, aborts *kafkatest.Producer) {
	for _, topic := range f.topics {
		f.aborted(t, aborts, topic, 0, 3, kgo.NoCompression())
		f.committed(t, commits, topic, 1, 3, kgo.NoCompression())
		f.plain(t, topic, 2, 1, kgo.NoCompression())
		f.ends[topic][0]++
		f.ends[topic][1]++
	}
	aborts.Abort(t)
	commits.Commit(t)
}

func (f *filled) each(fn func(topic string, partition int32)) {
	for _, topic := range f.topics {
		for partition := range int32(partitionCount) {
			fn(topic, partition)
		}
	}
}

func (f *filled) plain(t testing.TB, topic string, partition int32, n int, codec kgo.CompressionCodec) {
	b := f.batch("plain", topic, partition, n, codec)
	f.show(topic, partition, f.cluster.Produce(t, topic, partition, b), b)
}

func (f *filled) committed(t testing.TB, p *kafkatest.Producer, topic string, partition int32, n int, codec kgo.CompressionCodec) {
	b := f.batch("committed", topic, partition, n, codec)
	f.show(topic, partition, p.Produce(t, topic, partition, b), b)
}

func (f *filled) aborted(t testing.TB, p *kafkatest.Producer, topic string, partition int32, n int, codec kgo.CompressionCodec) {
	p.Produce(t, topic, partition, f.batch("aborted", topic, partition, n, codec))
}

func (f *filled) abort(t testing.TB, p *kafkatest.Producer) {
	p.Abort(t)
	f.each(func(topic string, partition int32) { f.ends[topic][partition]++ })
}

func (f *filled) batch(kind, topic string, partition int32, n int, codec kgo.CompressionCodec) kafkatest.Batch {
	var b kafkatest.Batch
	for i := range n {
		number := f.ends[topic][partition] + int64(i)
		b.Records = append(b.Records, kafkatest.Record{
			Key:   fmt.Appendf(nil, "key%d", number%7),
			Value: fmt.Appendf(nil, "%s-%d", kind, number),
		})
	}
	f.ends[topic][partition] += int64(n)
	return b.With(codec)
}

func (f *filled) show(topic string, partition int32, base int64, b kafkatest.Batch) {
	for i, r := range b.Records {
		f.visible[topic][partition] = append(f.visible[topic][partition],
			fmt.Sprintf("%s %d %d %s %s", topic, partition, base+int64(i), r.Key, r.Value))
	}
}

// lines are the lines that a program prints which reads all of it, as
// [output.once] returns them.
func (f *filled) lines() map[string][]string {
	lines := map[string][]string{}
	f.each(func(topic string, partition int32) {
		lines[fmt.Sprintf("%s/%d", topic, partition)] = f.visible[topic][partition]
	})
	return lines
}

// count is how many records can be seen.
func (f *filled) count() (n int) {
	for _, lines := range f.lines() {
		n += len(lines)
	}
	return n
}

// lag is how far a group's commits are from the ends, over all partitions.
func (f *filled) lag(t testing.TB, group string) (lag int64) {
	t.Helper()
	committed, err := f.cluster.Admin().FetchOffsets(t.Context(), group)
	if err != nil {
		t.Fatalf("offsets of %s: %v", group, err)
	}
	for topic, ends := range f.ends {
		for partition, end := range ends {
			o, _ := committed.Lookup(topic, partition)
			lag += end - max(o.At, 0)
		}
	}
	return lag
}
