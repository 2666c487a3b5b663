package conformance

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
	"example.com/readcommitted/conformance/internal/wire"
)

// partition makes a topic with one partition.
func (t *trial) partition(configs ...string) model.Partition {
	return t.partitions(1, configs...)[0]
}

// partitions makes a topic with n partitions, each with a leader. configs are
// topic configurations, as key=value.
func (t *trial) partitions(n int32, configs ...string) []model.Partition {
	if t.run.config.ReuseTopics && len(configs) == 0 && !t.scenario.ownTopics {
		out := t.sharedPartitions(n)
		for _, p := range out {
			t.refresh(p)
		}
		return out
	}
	name := t.topicName()
	t.create(name, n, configs)
	out := make([]model.Partition, n)
	for i := range n {
		out[i] = model.Partition{Topic: name, Index: i}
		t.refresh(out[i])
	}
	return out
}

func (t *trial) topicName() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	name := fmt.Sprintf("%s%s-%d", t.run.config.Prefix(), strings.ToLower(t.label()), len(t.topics))
	t.topics = append(t.topics, name)
	return name
}

// label tells the names of what the trial makes from those of other trials, the
// first attempt at the same scenario included: what that left must not be met.
func (t *trial) label() string {
	label := t.scenario.ID + "-" + t.level.String()
	if t.attempt > 1 {
		label += fmt.Sprintf("-%d", t.attempt)
	}
	return label
}

func (t *trial) create(name string, partitions int32, configs []string) {
	t.createAs(name, partitions, configs, false)
}

// createAs makes a topic; anew says that one of that name was deleted just now.
func (t *trial) createAs(name string, partitions int32, configs []string, anew bool) {
	if !t.run.features.has(kmsg.CreateTopics, 0) {
		t.createByAsking(name, partitions, configs)
		return
	}
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = 10_000
	req.Version = t.version(kmsg.CreateTopics, 7)
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions = name, partitions
	topic.ReplicationFactor = int16(min(3, len(t.run.features.brokers)))
	settings := &topicSettings{fixed: map[string]string{}, refused: t.run.refused.known()}
	maps.Copy(settings.fixed, t.run.config.TopicConfig)
	if topic.ReplicationFactor == 3 {
		setDefault(settings.fixed, "min.insync.replicas", "2")
	}
	for _, c := range configs {
		key, value, _ := strings.Cut(c, "=")
		settings.fixed[key] = value
	}
	req.Topics = append(req.Topics, topic)
	t.untilCreated(req, settings, creation{own: len(configs) > 0, anew: anew})
	t.run.refused.learn(settings.refused)
}

// creation is what to make of the answers to CreateTopics.
type creation struct {
	own  bool // settings are the scenario's own, which a cluster may decline
	anew bool // the topic may still be there: brokers with ZooKeeper delete it from their metadata first
}

// untilCreated sends the request to whoever is asked first: brokers hand it on
// to the controller, and those that do not say so. Defaults that are refused are
// left out.
func (t *trial) untilCreated(req *kmsg.CreateTopicsRequest, settings *topicSettings, how creation) {
	broker, again, code := wire.Bootstrap, false, int16(0)
	if !t.until(t.bound(settled), "the creation of a topic", func() bool {
		req.Topics[0].Configs = settings.configs()
		e := t.do(broker, "admin", req)
		if e.Err != nil {
			t.broken("create topic", e)
		}
		resp := e.Response.(*kmsg.CreateTopicsResponse)
		if len(resp.Topics) != 1 {
			t.undecided("create topic: an answer with %d topics", len(resp.Topics))
		}
		made := &resp.Topics[0]
		switch code = made.ErrorCode; {
		case code == 0, code == kerr.TopicAlreadyExists.Code && again:
			return true
		case code == kerr.TopicAlreadyExists.Code && how.anew:
			return false
		case code == kerr.NotController.Code:
			broker = t.controller()
		case creationPasses(code):
		case t.yields(settings, made):
			return false
		default:
			t.refusedTopic(req, made, settings, how.own)
		}
		again = true // an attempt may have been carried out in spite of its error
		return false
	}) {
		t.notCreated(code)
	}
}

// yields gives up defaults that a cluster may have refused a topic for, and
// reports whether there were any.
func (t *trial) yields(settings *topicSettings, answer *kmsg.CreateTopicsResponseTopic) bool {
	if refusal(answer.ErrorCode) == ReasonNotAuthorized || answer.ErrorCode == kerr.TopicAlreadyExists.Code {
		return false
	}
	message := ""
	if answer.ErrorMessage != nil {
		message = *answer.ErrorMessage
	}
	names := settings.yield(message)
	if len(names) > 0 {
		t.fact("a topic with %s is refused: %s %s", strings.Join(names, ", "), codeName(answer.ErrorCode), message)
	}
	return len(names) > 0
}

// brokerText bounds what is told of a broker's own words.
const brokerText = 300

// refusedTopic ends the script for a topic that may not be made: with the
// settings that are not the checker's defaults, and the broker's words, which name
// the one that it does not take. own says that some are the scenario's.
func (t *trial) refusedTopic(req *kmsg.CreateTopicsRequest, answer *kmsg.CreateTopicsResponseTopic, settings *topicSettings, own bool) {
	what, reason := "create topic "+req.Topics[0].Topic, refusal(answer.ErrorCode)
	if reason == ReasonNotAuthorized {
		t.refused(what, req, answer.ErrorCode)
	}
	for i, key := range slices.Sorted(maps.Keys(settings.fixed)) {
		what += [2]string{" with ", ", "}[min(i, 1)] + key + "=" + settings.fixed[key]
	}
	what += ": " + codeName(answer.ErrorCode)
	if answer.ErrorMessage != nil && *answer.ErrorMessage != "" {
		what += fmt.Sprintf(": %.*s", brokerText, *answer.ErrorMessage)
	}
	if own && reason != "" {
		t.skip(reason, what)
	}
	t.undecided("%s", what)
}

// creationPasses reports whether the error of a creation passes with time. That
// of too few brokers does: nothing asks for more replicas than the probe found
// brokers, so one of these is away, which is no reason to skip anything.
func creationPasses(code int16) bool {
	return passes(code) || code == kerr.InvalidReplicationFactor.Code
}

// notCreated ends the script for the last answer before its time was over.
func (t *trial) notCreated(code int16) {
	t.undecided("the topic was not created in time: %v", kerr.ErrorForCode(code))
}

func (t *trial) controller() int32 {
	e := t.do(wire.Bootstrap, "metadata", t.run.features.askBrokers())
	if e.Err != nil {
		t.broken("metadata", e)
	}
	t.client.Learn(e.Response.(*kmsg.MetadataResponse))
	return e.Response.(*kmsg.MetadataResponse).ControllerID
}

func setDefault(m map[string]string, key, value string) {
	if _, ok := m[key]; !ok {
		m[key] = value
	}
}
