package kafkatest_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/internal/kafkatest"
	"example.com/readcommitted/internal/kafkatest/capture"
)

var captureDir = flag.String("capture", "", "write what real brokers send to this directory (see testdata/captures)")

// TestCapture writes testdata/captures anew.
func TestCapture(t *testing.T) {
	if *captureDir == "" {
		t.Skip("writes files: run with -capture ../../testdata/captures and KAFKA_TEST=local")
	}
	for _, version := range []string{"3.9.2", "4.4.0"} {
		t.Run(version, func(t *testing.T) {
			c := kafkatest.Real(t, kafkatest.Config{Version: version, Private: true})
			for _, s := range shapes() {
				if s.only == "" || s.only == version {
					t.Run(s.name, func(t *testing.T) { s.capture(t, c, version) })
				}
			}
		})
	}
}

// shape is a log, written, and a fetch of it.
type shape struct {
	name    string
	doc     string
	only    string // the one version it is for
	topic   map[string]string
	write   func(t *testing.T, c *kafkatest.Cluster, topic string)
	fetch   kafkatest.FetchSpec
	visible []int64
}

func (s shape) capture(t *testing.T, c *kafkatest.Cluster, version string) {
	topic := c.Topic(t, kafkatest.TopicConfig{Config: s.topic})
	s.write(t, c, topic)
	spec := s.fetch
	spec.Topic = topic
	answer := c.Fetch(t, spec)
	got := answer.Topics[0].Partitions[0]
	require.Zero(t, got.ErrorCode)

	batches, tail, err := capture.Decode(got.RecordBatches)
	require.NoError(t, err)
	made := capture.Capture{
		Doc:              s.provenance(version, answer.Version),
		Bytes:            got.RecordBatches,
		FetchOffset:      spec.Offset,
		IsolationLevel:   spec.Isolation,
		LogStartOffset:   got.LogStartOffset,
		LastStableOffset: got.LastStableOffset,
		HighWatermark:    got.HighWatermark,
		Aborted:          abortedList(got),
		Batches:          batches,
		Tail:             tail,
		Visible:          s.visible,
	}
	require.Equal(t, s.visible, delivered(t, spec, got), "what kgo delivers")
	file := filepath.Join(*captureDir, s.name+"-"+version+".hex")
	require.NoError(t, os.WriteFile(file, made.Format(), 0o644))
}

func (s shape) provenance(version string, fetchVersion int16) string {
	var settings []string
	for k, v := range s.topic {
		settings = append(settings, k+"="+v)
	}
	if len(settings) == 0 {
		settings = []string{"defaults"}
	}
	limit := "1048576"
	if s.fetch.PartitionMaxBytes != 0 {
		limit = fmt.Sprint(s.fetch.PartitionMaxBytes)
	}
	return strings.Join([]string{
		s.doc,
		"broker: Apache Kafka " + version,
		"topic: " + strings.Join(sorted(settings), " "),
		fmt.Sprintf("request: Fetch version %d, PartitionMaxBytes %s", fetchVersion, limit),
		"made by: KAFKA_TEST=local go test ./internal/kafkatest -run TestCapture/" + version + "/" + s.name + "$ -capture ../../testdata/captures",
	}, "\n")
}

func abortedList(got kmsg.FetchResponseTopicPartition) []capture.AbortedTransaction {
	if got.AbortedTransactions == nil {
		return nil
	}
	list := []capture.AbortedTransaction{}
	for _, a := range got.AbortedTransactions {
		list = append(list, capture.AbortedTransaction{ProducerID: a.ProducerID, FirstOffset: a.FirstOffset})
	}
	return list
}

// delivered are the offsets that kgo's own filter lets through.
func delivered(t *testing.T, spec kafkatest.FetchSpec, got kmsg.FetchResponseTopicPartition) []int64 {
	level := kgo.ReadUncommitted()
	if spec.Isolation == kafkatest.ReadCommitted {
		level = kgo.ReadCommitted()
	}
	p, _ := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{
		Topic: spec.Topic, Offset: spec.Offset, IsolationLevel: level,
	}, &got, kgo.DefaultDecompressor(), nil)
	require.NoError(t, p.Err)
	var offsets []int64
	for _, r := range p.Records {
		offsets = append(offsets, r.Offset)
	}
	return offsets
}
