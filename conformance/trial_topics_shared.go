package conformance

import (
	"fmt"
	"strings"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
	"example.com/readcommitted/conformance/internal/wire"
)

// SharedPartitions is how many a topic has that scenarios share, see
// [Config.ReuseTopics].
const SharedPartitions = 100

// shared hands out partitions of topics that scenarios share, each once: for
// clusters that allow few topics.
type shared struct {
	mu     sync.Mutex
	topic  string
	next   int32 // the first partition of topic that nobody has
	size   int32
	topics int // made so far
}

// sharedPartitions are n partitions of one topic of the run that no trial had
// before. The topic is made if there is none with so many left.
func (t *trial) sharedPartitions(n int32) []model.Partition {
	s := &t.run.shared
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next+n > s.size {
		name := fmt.Sprintf("%sx-00-shared-%d", t.run.config.Prefix(), s.topics)
		s.topics++
		s.size = 0 // if it cannot be made, the next one who asks tries again
		t.create(name, max(n, SharedPartitions), nil)
		s.topic, s.next, s.size = name, 0, max(n, SharedPartitions)
	}
	out := make([]model.Partition, n)
	for i := range out {
		out[i] = model.Partition{Topic: s.topic, Index: s.next}
		s.next++
	}
	return out
}

// createByAsking makes a topic where no request does: brokers without
// CreateTopics make one that somebody asks for, as they like it.
func (t *trial) createByAsking(name string, partitions int32, configs []string) {
	if len(configs) > 0 {
		t.skip(ReasonAbsent, "the cluster has no CreateTopics, for a topic with "+strings.Join(configs, " "))
	}
	var topic kmsg.MetadataResponseTopic
	t.until(t.bound(settled), "a topic that is made when it is asked for", func() bool {
		topic = t.metadataOf(wire.Bootstrap, name, true)
		if topic.ErrorCode != 0 && !creationPasses(topic.ErrorCode) {
			t.refused("metadata of "+name, kmsg.NewPtrMetadataRequest(), topic.ErrorCode)
		}
		return topic.ErrorCode == 0
	})
	switch {
	case topic.ErrorCode == kerr.InvalidReplicationFactor.Code:
		t.notCreated(topic.ErrorCode)
	case topic.ErrorCode != 0 || len(topic.Partitions) < int(partitions):
		t.skip(ReasonAbsent, "the cluster has no CreateTopics, and makes no topic that is asked for as it has to be")
	}
}
