package localkafka

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"sync"
)

// format writes each node's empty storage with StorageTool, all at once.
func (c *Cluster) format(ctx context.Context) error {
	say(c.config.Log, "formatting storage")
	id := newClusterID()
	errs := make([]error, len(c.nodes))
	var wg sync.WaitGroup
	for i, n := range c.nodes {
		wg.Go(func() {
			args := append([]string{"format", "-t", id, "-c", n.settingsFile()}, c.config.FormatArgs...)
			errs[i] = c.RunTool(ctx, nil, io.Discard, "kafka.tools.StorageTool", args...)
		})
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			return fmt.Errorf("format storage of node %d: %w", i+1, err)
		}
	}
	return nil
}

// newClusterID makes a cluster ID in Kafka's form: 16 bytes in URL-safe base64.
// Tools take one that begins with a dash for an option, so none does.
func newClusterID() string {
	for {
		var b [16]byte
		_, _ = rand.Read(b[:]) // never fails, see crypto/rand
		id := base64.RawURLEncoding.EncodeToString(b[:])
		if id[0] != '-' {
			return id
		}
	}
}
