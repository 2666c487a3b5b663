package kafkatest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/internal/localkafka"
)

// syncLimit is how long replicas may take to be in sync again.
const syncLimit = 3 * time.Minute

// Restart ends a broker in an orderly way and starts it again.
func (c *Cluster) Restart(t testing.TB, node *localkafka.Node) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.NoError(t, node.Stop(ctx))
	require.NoError(t, node.Start(t.Context()))
}

// WaitInSync waits until every broker says that all brokers are there and that
// all replicas of all topics, Kafka's own included, are in sync. Topics have to
// have a replica on every broker.
func (c *Cluster) WaitInSync(t testing.TB) {
	t.Helper()
	nodes := c.local.Nodes()
	for _, n := range nodes {
		Within(t, syncLimit, fmt.Sprintf("all replicas in sync, as broker %d says", n.ID()), func(ctx context.Context) (string, bool) {
			ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
			defer cancel()
			req := kmsg.NewPtrMetadataRequest() // no topics named: all
			resp, err := c.client.Broker(int(n.ID())).Request(ctx, req)
			if err != nil {
				return err.Error(), false
			}
			missing := notInSync(resp.(*kmsg.MetadataResponse), len(nodes))
			return strings.Join(missing, ", "), len(missing) == 0
		})
	}
}

func notInSync(m *kmsg.MetadataResponse, nodes int) (missing []string) {
	if len(m.Brokers) != nodes {
		missing = append(missing, fmt.Sprintf("%d brokers", len(m.Brokers)))
	}
	for _, topic := range m.Topics {
		for _, p := range topic.Partitions {
			if p.ErrorCode != 0 || p.Leader < 0 || len(p.Replicas) != nodes || len(p.ISR) != nodes {
				missing = append(missing, fmt.Sprintf("%s/%d: leader %d, replicas %v, in sync %v, %v",
					*topic.Topic, p.Partition, p.Leader, p.Replicas, p.ISR, kerr.ErrorForCode(p.ErrorCode)))
			}
		}
	}
	return missing
}
