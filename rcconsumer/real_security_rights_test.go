package rcconsumer_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/internal/kafkatest"
)

// lack is one right that a reader lacks. READ includes DESCRIBE.
type lack struct {
	name         string
	topic, group kadm.ACLOperation // what there is of rights; OpUnknown is none
	grouped      bool
	want         string // what polls say, as sayings makes it
}

const (
	topicDenied     = "TOPIC_AUTHORIZATION_FAILED"
	groupDenied     = "GROUP_AUTHORIZATION_FAILED"
	allPartitions   = " topic/-1"
	firstPartition  = " topic/0"
	noTopicSession  = " /0 session"
	refusedRequests = 15 // a second at most, of one consumer that is refused, logins included; kgo alone sends more than 800
)

var lacks = []lack{
	{name: "topic DESCRIBE", want: topicDenied + allPartitions},
	{name: "topic READ", topic: kadm.OpDescribe, want: topicDenied + firstPartition},
	{name: "topic DESCRIBE, in a group", group: kadm.OpRead, grouped: true, want: topicDenied + allPartitions},
	{name: "topic READ, in a group", topic: kadm.OpDescribe, group: kadm.OpRead, grouped: true, want: topicDenied + firstPartition},
	{name: "group DESCRIBE", topic: kadm.OpRead, grouped: true, want: groupDenied + noTopicSession},
	{name: "group READ", topic: kadm.OpRead, group: kadm.OpDescribe, grouped: true, want: groupDenied + noTopicSession},
}

// sayings are what the errors of a poll say, in a form that is the same for kgo and
// for us: class, topic and partition.
func sayings(fs kgo.Fetches, topic string) (all []string) {
	fs.EachError(func(at string, partition int32, err error) {
		if errors.Is(err, context.DeadlineExceeded) {
			return
		}
		var class *kerr.Error
		var session *kgo.ErrGroupSession
		text := err.Error()
		if errors.As(err, &class) {
			text = class.Message
		}
		text += fmt.Sprintf(" %s/%d", strings.ReplaceAll(at, topic, "topic"), partition)
		if errors.As(err, &session) {
			text += " session"
		}
		all = append(all, text)
	})
	return all
}

// listen polls for refusedFor and counts what polls say.
func listen(p poller, topic string) map[string]int {
	said := make(map[string]int)
	for until := time.Now().Add(refusedFor); time.Now().Before(until); {
		for _, text := range sayings(poll(p, time.Until(until)), topic) {
			said[text]++
		}
	}
	return said
}

func TestRealMissingRightIsToldAndReadingGoesOnOnceGiven(t *testing.T) {
	t.Parallel()
	c := kafkatest.Secured(t, kafkatest.Config{})
	tests := make(map[string]func(*testing.T))
	for _, lack := range lacks {
		addReader(tests, c, lack.name, lack.grouped, lack.check)
	}
	together(t, tests)
}

// check has kgo and us read side by side without a right, then with it.
func (k lack) check(t *testing.T, c *kafkatest.SecuredCluster, opts []kgo.Opt) {
	l, user, group := newLedger(t, c.Cluster, kafkatest.TopicConfig{}), c.User(t), kafkatest.Name(t)
	rounds(t, l.writer(t, "w", kafkatest.ProducerConfig{}), 3, 0)
	end := l.settle(t, 0)
	k.grant(t, c, user, l.topic, group, k.topic, k.group)
	theirs, ours := k.reading(group+"-kgo", l.topic), k.reading(group, l.topic)
	login := append(enter(c, kafkatest.SASL, kgo.SASL(user.SHA256())), opts...)
	consumer, seen := secured(t, c, append(login, ours...)...)
	kgoSeen := newWatch()
	client := c.Client(t, slices.Concat(kgoSeen.opts(), login, theirs)...)

	kgoSays := make(chan map[string]int)
	go func() { kgoSays <- listen(client, l.topic) }()
	says, plainly := listen(consumer, l.topic), <-kgoSays
	t.Logf("ours %v in %v: %s; hook %v", says, refusedFor, seen.kinds(), seen.failures())
	t.Logf("kgo %v in %v: %s", plainly, refusedFor, kgoSeen.kinds())
	require.Equal(t, []string{k.want}, slices.Collect(maps.Keys(says)))
	require.Contains(t, plainly, k.want, "kgo says the same") // of a partition that is named it says it twice
	require.LessOrEqual(t, seen.sent(), refusedRequests*int(refusedFor.Seconds()))
	require.LessOrEqual(t, seen.fetches(), 8, "after 0, 0.25, 0.75, 1.75 and 3.75 s")
	require.LessOrEqual(t, seen.connections(), 8)

	k.grant(t, c, user, l.topic, group, kadm.OpRead, kadm.OpRead)
	h := newHarvest(consumer)
	h.until(t, "the log, with the right", func() bool { pos, ok := consumer.Position(l.topic, 0); return ok && pos.Next >= end })
	require.Equal(t, l.visible(0, false, 0, end), h.lines[l.topic][0])
	seen.keeps(t, []string{user.Password}, fmt.Sprint(says))
}

// grant gives rights to the reader; of the group and of that of kgo's reader.
func (k lack) grant(t *testing.T, c *kafkatest.SecuredCluster, u kafkatest.User, topic, group string, onTopic, onGroup kadm.ACLOperation) {
	t.Helper()
	if onTopic != kadm.OpUnknown {
		c.Grant(t, u.Name, kafkatest.OnTopic(onTopic, topic))
	}
	if onGroup != kadm.OpUnknown {
		c.Grant(t, u.Name, kafkatest.OnGroup(onGroup, group), kafkatest.OnGroup(onGroup, group+"-kgo"))
	}
}

func (k lack) reading(group, topic string) []kgo.Opt {
	if !k.grouped {
		return []kgo.Opt{from(topic, 0, at(0))}
	}
	return []kgo.Opt{kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic)}
}
