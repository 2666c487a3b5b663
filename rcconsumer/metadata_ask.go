package rcconsumer

import (
	"context"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// metadataPatience is how long the broker that was asked may think before
// another one is asked too: it may be the one that hangs, and a slow one must
// still be heard. metadataAsks is how many are asked at most.
const (
	metadataPatience = time.Second
	metadataAsks     = 4
)

type metadataAnswer struct {
	resp *kmsg.MetadataResponse
	err  error
}

// request returns the first answer that comes. The end of its time, which is
// short at first, also ends connections on which nothing comes any more.
func (m *metadata) request(ctx context.Context, named []string, all bool) (*kmsg.MetadataResponse, error) {
	limit := m.c.cfg.requestTimeout
	ctx, cancel := context.WithTimeout(ctx, min(limit, backoff(m.failures+1, metadataAsks*metadataPatience, limit)))
	var asks sync.WaitGroup
	defer asks.Wait()
	defer cancel()
	answers := make(chan metadataAnswer, metadataAsks)
	return firstAnswer(answers, func() {
		asks.Go(func() {
			resp, err := m.ask(ctx, named, all)
			answers <- metadataAnswer{resp, err}
		})
	})
}

// firstAnswer has one broker asked after the other until one answers, or all
// that were asked have failed.
func firstAnswer(answers <-chan metadataAnswer, ask func()) (*kmsg.MetadataResponse, error) {
	next := time.NewTicker(metadataPatience)
	defer next.Stop()
	ask()
	for asked, failed := 1, 0; ; {
		select {
		case <-next.C:
			if asked < metadataAsks {
				asked++
				ask()
			}
		case a := <-answers:
			if a.err != nil {
				failed++
			}
			if a.err == nil || failed == asked {
				return a.resp, a.err
			}
		}
	}
}

// ask asks one broker; kgo chooses another one each time.
func (m *metadata) ask(ctx context.Context, named []string, all bool) (*kmsg.MetadataResponse, error) {
	req := kmsg.NewPtrMetadataRequest()
	req.AllowAutoTopicCreation = m.c.cfg.autoCreate
	if !all {
		req.Topics = make([]kmsg.MetadataRequestTopic, 0, len(named))
		for _, name := range named {
			t := kmsg.NewMetadataRequestTopic()
			t.Topic = kmsg.StringPtr(name)
			req.Topics = append(req.Topics, t)
		}
		// Through kgo's cache, so that kgo's own ListOffsets follows; never
		// from the cache, since we ask when we doubt it.
		return m.c.cl.RequestCachedMetadata(ctx, req, time.Nanosecond)
	}
	return req.RequestWith(ctx, m.c.cl)
}
