package conformance

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/wire"
)

// Footprint is what a scenario makes on a cluster and asks of it.
type Footprint struct {
	Topics           int      `json:"topics"`
	Partitions       int      `json:"partitions"`
	TransactionalIDs int      `json:"transactional_ids"`
	Groups           int      `json:"groups"`
	Bytes            int64    `json:"bytes"` // of record batches sent
	Requests         []string `json:"requests,omitempty"`
}

// add counts another footprint in.
func (f *Footprint) add(o Footprint) {
	f.Topics += o.Topics
	f.Partitions += o.Partitions
	f.TransactionalIDs += o.TransactionalIDs
	f.Groups += o.Groups
	f.Bytes += o.Bytes
	f.Requests = slices.Compact(slices.Sorted(slices.Values(slices.Concat(f.Requests, o.Requests))))
}

// steps counts what the requests of a trial make.
type steps struct {
	mu       sync.Mutex
	topics   map[string]int32 // partitions by name
	ids      map[string]bool
	groups   map[string]bool
	bytes    int64
	requests map[string]bool
}

func newSteps() *steps {
	return &steps{topics: map[string]int32{}, ids: map[string]bool{}, groups: map[string]bool{}, requests: map[string]bool{}}
}

// watch is called with every exchange.
func (s *steps) watch(e *wire.Exchange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests[requestName(e.Request)] = true
	switch req := e.Request.(type) {
	case *kmsg.CreateTopicsRequest:
		for _, t := range req.Topics {
			s.topics[t.Topic] = t.NumPartitions
		}
	case *kmsg.InitProducerIDRequest:
		if req.TransactionalID != nil {
			s.ids[*req.TransactionalID] = true
		}
	case *kmsg.ProduceRequest:
		for _, t := range req.Topics {
			for _, p := range t.Partitions {
				s.bytes += int64(len(p.Records))
			}
		}
	case *kmsg.OffsetCommitRequest:
		s.groups[req.Group] = true
	case *kmsg.TxnOffsetCommitRequest:
		s.groups[req.Group] = true
	case *kmsg.AddOffsetsToTxnRequest:
		s.groups[req.Group] = true
	case *kmsg.JoinGroupRequest:
		s.groups[req.Group] = true
	}
}

// brokerConfigs is a DescribeConfigs for a broker, which takes another right
// than one for a topic.
const brokerConfigs = "DescribeConfigs:broker"

func requestName(req kmsg.Request) string {
	name := kmsg.NameForKey(req.Key())
	if configs, ok := req.(*kmsg.DescribeConfigsRequest); ok && slices.ContainsFunc(configs.Resources, func(r kmsg.DescribeConfigsRequestResource) bool {
		return r.ResourceType == kmsg.ConfigResourceTypeBroker
	}) {
		return brokerConfigs
	}
	return name
}

func (s *steps) footprint() Footprint {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := Footprint{
		Topics: len(s.topics), TransactionalIDs: len(s.ids), Groups: len(s.groups),
		Bytes: s.bytes, Requests: slices.Sorted(maps.Keys(s.requests)),
	}
	for _, partitions := range s.topics {
		f.Partitions += int(partitions)
	}
	return f
}

// footprintsFile holds what each scenario made when it was measured, on a
// cluster that has both levels. TestFootprintsAreKnown writes it.
//
//go:embed footprints.txt
var footprintsFile string

// noRequests stands for none in that file.
const noRequests = "-"

var footprints = sync.OnceValue(func() map[string]Footprint {
	out := map[string]Footprint{}
	for line := range strings.Lines(footprintsFile) {
		if strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "" {
			continue
		}
		var id, requests string
		var f Footprint
		if _, err := fmt.Sscan(line, &id, &f.Topics, &f.Partitions, &f.TransactionalIDs, &f.Groups, &f.Bytes, &requests); err != nil {
			panic(fmt.Sprintf("footprints.txt: %q: %v", line, err))
		}
		if requests != noRequests {
			f.Requests = strings.Split(requests, ",")
		}
		out[id] = f
	}
	return out
})

// Footprint is what the scenario makes, as it was measured. Without a measure,
// ok is false, and only requests are named that it cannot do without.
func (s *Scenario) Footprint() (f Footprint, ok bool) {
	if f, ok = footprints()[s.ID]; ok {
		return f, true
	}
	f.Requests = []string{"AddPartitionsToTxn", "CreateTopics", "EndTxn", "Fetch", "InitProducerID", "ListOffsets", "Produce"}
	for _, need := range s.Needs() {
		f.Requests = append(f.Requests, strings.Fields(need)[0]) // a request and its version, or words that are no request
	}
	return f, false
}
