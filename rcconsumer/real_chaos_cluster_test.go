package rcconsumer_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// moveReplicas takes the leader's replica of a partition away, which ends its
// leadership, and has it copied anew.
func (x *chaos) moveReplicas(f fault) {
	old := x.cluster.Partition(x.t, x.topic, f.partition)
	rest := slices.DeleteFunc(slices.Clone(old.Replicas), func(id int32) bool { return id == old.Leader })
	x.assign(f.partition, rest)
	x.assign(f.partition, append(rest, old.Leader))
}

// electLeaders makes another replica the preferred one of every partition, and
// elects it.
func (x *chaos) electLeaders(fault) {
	var all kadm.TopicsSet
	for p := range int32(chaosPartitions) {
		replicas := x.cluster.Partition(x.t, x.topic, p).Replicas
		x.assign(p, append(replicas[1:], replicas[0]))
		all.Add(x.topic, p)
	}
	x.until("an election", time.Minute, func(ctx context.Context) (string, bool) {
		_, err := x.admin.ElectLeaders(ctx, kadm.ElectPreferredReplica, all)
		return fmt.Sprint(err), err == nil
	})
}

// assign gives a partition other replicas and waits until it has them.
func (x *chaos) assign(partition int32, replicas []int32) {
	var to kadm.AlterPartitionAssignmentsReq
	to.Assign(x.topic, partition, replicas)
	what := fmt.Sprintf("replicas %v of partition %d", replicas, partition)
	x.until(what+" to be ordered", time.Minute, func(ctx context.Context) (string, bool) {
		moved, err := x.admin.AlterPartitionAssignments(ctx, to)
		if err == nil {
			err = moved.Error()
		}
		return fmt.Sprint(err), err == nil
	})
	x.until(what, 2*time.Minute, func(context.Context) (string, bool) {
		p := x.cluster.Partition(x.t, x.topic, partition)
		isr := slices.Sorted(slices.Values(p.ISR))
		return fmt.Sprintf("replicas %v, in sync %v", p.Replicas, isr),
			slices.Equal(p.Replicas, replicas) && slices.Equal(isr, slices.Sorted(slices.Values(replicas)))
	})
}

// adminClient is a client for waits and samples: it does not hang on to a
// broker that is silent.
func adminClient(t *testing.T, addrs []string) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(addrs...), kgo.RequestTimeoutOverhead(2*time.Second), kgo.RetryTimeout(5*time.Second),
		kgo.MetadataMinAge(100*time.Millisecond))
	require.NoError(t, err)
	t.Cleanup(cl.Close)
	return cl
}
