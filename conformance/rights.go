package conformance

import (
	"cmp"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Right is leave to do something with one kind of resource, as Kafka's ACLs
// name it: an operation such as Read on a topic, group, transactional-id or
// cluster.
type Right struct {
	Resource  string `json:"resource"`
	Operation string `json:"operation"`
}

// The resources.
const (
	onTopic   = "topic"
	onGroup   = "group"
	onID      = "transactional-id"
	onCluster = "cluster"
)

// rightsFor are the rights that a request needs, without those that others of
// its resource contain: who may read, write, delete or alter something may
// describe it.
var rightsFor = map[string][]Right{
	"CreateTopics":               {{onTopic, "Create"}},
	"DeleteTopics":               {{onTopic, "Delete"}},
	"DeleteRecords":              {{onTopic, "Delete"}},
	"CreatePartitions":           {{onTopic, "Alter"}},
	"Produce":                    {{onTopic, "Write"}},
	"Fetch":                      {{onTopic, "Read"}},
	"OffsetForLeaderEpoch":       {{onTopic, "Read"}},
	"DescribeProducers":          {{onTopic, "Read"}},
	"DescribeConfigs":            {{onTopic, "DescribeConfigs"}},
	brokerConfigs:                {{onCluster, "DescribeConfigs"}},
	"AlterConfigs":               {{onTopic, "AlterConfigs"}},
	"IncrementalAlterConfigs":    {{onTopic, "AlterConfigs"}},
	"InitProducerID":             {{onID, "Write"}},
	"AddPartitionsToTxn":         {{onID, "Write"}, {onTopic, "Write"}},
	"EndTxn":                     {{onID, "Write"}},
	"AddOffsetsToTxn":            {{onID, "Write"}, {onGroup, "Read"}},
	"TxnOffsetCommit":            {{onID, "Write"}, {onGroup, "Read"}, {onTopic, "Read"}},
	"OffsetCommit":               {{onGroup, "Read"}, {onTopic, "Read"}},
	"OffsetFetch":                {{onGroup, "Read"}},
	"JoinGroup":                  {{onGroup, "Read"}},
	"SyncGroup":                  {{onGroup, "Read"}},
	"LeaveGroup":                 {{onGroup, "Read"}},
	"DeleteGroups":               {{onGroup, "Delete"}},
	"WriteTxnMarkers":            {{onCluster, "ClusterAction"}},
	"ElectLeaders":               {{onCluster, "Alter"}},
	"AlterPartitionAssignments":  {{onCluster, "Alter"}},
	"ListPartitionReassignments": {{onCluster, "Describe"}},
}

// alternatives are the operations that newer brokers take in place of others:
// Alter for WriteTxnMarkers, since Kafka 3.8 (KIP-1037).
var alternatives = map[Right]string{{onCluster, "ClusterAction"}: "Alter"}

// resourceOf are the resources that error codes speak of.
var resourceOf = map[int16]string{
	kerr.TopicAuthorizationFailed.Code: onTopic, kerr.GroupAuthorizationFailed.Code: onGroup,
	kerr.TransactionalIDAuthorizationFailed.Code: onID, kerr.ClusterAuthorizationFailed.Code: onCluster,
}

// rightMissed says which right a refused request lacks, as far as that is known:
// requests without an entry in rightsFor ask for a description.
func rightMissed(req kmsg.Request, code int16) string {
	resource := resourceOf[code]
	if resource == "" {
		return ""
	}
	operation := "a right"
	if req != nil {
		rights, known := rightsFor[requestName(req)]
		if !known {
			operation = "Describe"
		}
		for _, r := range rights {
			if r.Resource == resource {
				operation = r.Operation
			}
		}
	}
	return ", needs " + operation + " on the " + resource
}

// RightNeeded is a right and what is lost without it.
type RightNeeded struct {
	Right
	// Or is another operation on the resource that newer brokers take in its
	// place, "" for none: who may do that loses nothing there.
	Or string `json:"or,omitempty"`
	// Without are the scenarios that are skipped, or not decided, without the
	// right. Empty: the run only leaves more behind, or tells less.
	Without []string `json:"scenarios"`
}

// Rights are the rights that a run needs on names that begin with
// [NamePrefix], and on the cluster.
func (e *Examination) Rights() []RightNeeded {
	var out []RightNeeded
	add := func(r Right, id string) {
		i := slices.IndexFunc(out, func(n RightNeeded) bool { return n.Right == r })
		if i < 0 {
			i = len(out)
			out = append(out, RightNeeded{Right: r, Or: alternatives[r], Without: []string{}})
		}
		if id != "" && !slices.Contains(out[i].Without, id) {
			out[i].Without = append(out[i].Without, id)
		}
	}
	for _, s := range e.Running() {
		f, _ := s.Footprint()
		for _, request := range f.Requests {
			for _, r := range rightsFor[request] {
				if request == brokerConfigs {
					add(r, "") // the scenario goes on without
					continue
				}
				add(r, s.ID)
			}
		}
		if f.Groups > 0 {
			add(Right{onGroup, "Delete"}, "") // to clean up
		}
		add(Right{onTopic, "Delete"}, "")
	}
	order := []string{onTopic, onGroup, onID, onCluster}
	slices.SortStableFunc(out, func(a, b RightNeeded) int {
		return cmp.Or(
			cmp.Compare(slices.Index(order, a.Resource), slices.Index(order, b.Resource)),
			cmp.Compare(len(b.Without), len(a.Without)),
			cmp.Compare(a.Operation, b.Operation),
		)
	})
	return out
}
