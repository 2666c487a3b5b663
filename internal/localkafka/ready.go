package localkafka

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// waitReady waits until the node answers requests and names all of want as
// live brokers. It ends early if the broker's process ends.
func (n *Node) waitReady(ctx context.Context, want []*Node) error {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(n.Addr()),
		kgo.RequestRetries(0),
		kgo.DialTimeout(5*time.Second),
	)
	if err != nil {
		return fmt.Errorf("localkafka: %w", err)
	}
	defer client.Close()
	gone := n.current().done()
	for {
		reason := n.ready(ctx, client, want)
		if reason == nil {
			return nil
		}
		select {
		case <-gone:
			return fmt.Errorf("localkafka: node %d ended while it started; its log ends with:\n%s", n.ID(), n.LogTail(20))
		case <-ctx.Done():
			return fmt.Errorf("localkafka: node %d is not ready: %w (%w); its log ends with:\n%s", n.ID(), ctx.Err(), reason, n.LogTail(20))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// ready asks the node itself, once. A fenced broker is not in the answer.
func (n *Node) ready(ctx context.Context, client *kgo.Client, want []*Node) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{} // brokers only
	resp, err := client.SeedBrokers()[0].Request(ctx, req)
	if err != nil {
		return err
	}
	live := map[int32]bool{}
	for _, b := range resp.(*kmsg.MetadataResponse).Brokers {
		live[b.NodeID] = true
	}
	for _, w := range want {
		if !live[w.ID()] {
			return fmt.Errorf("broker %d is not registered yet", w.ID())
		}
	}
	return nil
}
