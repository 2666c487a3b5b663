package conformance

import (
	"context"
	"fmt"
	"math"
	"net"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/wire"
)

// features are what a probe of the cluster found. They decide what is skipped.
type features struct {
	versions  wire.Versions // the requests that every broker has, in the versions that every broker has
	brokers   []int32
	clusterID string
	newest    Level
}

// max is the newest version of a request that all brokers share, up to limit;
// -1 without one.
func (f *features) max(key kmsg.Key, limit int16) int16 { return f.versions.Max(int16(key), limit) }

// has reports whether all brokers have a request in some version >= least.
func (f *features) has(key kmsg.Key, least int16) bool { return f.max(key, math.MaxInt16) >= least }

// errNoTransactions says that there is nothing to judge.
type missingAPIError struct{ what string }

func (e *missingAPIError) Error() string { return "the cluster cannot be judged: it has no " + e.what }

// BrokerError says that one broker of a cluster cannot be asked, while another
// one names it in its metadata.
type BrokerError struct {
	ID      int32
	Address string // host:port, as the cluster names it
	Err     error
}

func (e *BrokerError) Error() string {
	return fmt.Sprintf("the cluster names broker %d at %s: %v", e.ID, e.Address, e.Err)
}

// Unwrap is for [errors.Is].
func (e *BrokerError) Unwrap() error { return e.Err }

// probe asks every broker what it can do.
func probe(ctx context.Context, client *wire.Client) (*features, error) {
	conn, err := client.Conn(ctx, wire.Bootstrap, "probe")
	if err != nil {
		return nil, err
	}
	f := &features{versions: conn.Versions()}
	req := f.askBrokers()
	if req.Version < 1 {
		return nil, &missingAPIError{"Metadata v1"}
	}
	e := client.On(ctx, conn, req)
	if e.Err != nil {
		return nil, e.Err
	}
	resp := e.Response.(*kmsg.MetadataResponse)
	client.Learn(resp)
	if resp.ClusterID != nil {
		f.clusterID = *resp.ClusterID
	}
	for _, b := range resp.Brokers {
		f.brokers = append(f.brokers, b.NodeID)
		conn, err := client.Conn(ctx, b.NodeID, "probe")
		if err != nil {
			return nil, &BrokerError{ID: b.NodeID, Address: net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port))), Err: err}
		}
		f.versions = intersect(f.versions, conn.Versions())
	}
	f.newest = Level(min(f.versions.TransactionVersion(), int16(TV2)))
	if f.newest == TV2 && (!f.has(kmsg.EndTxn, 5) || !f.has(kmsg.Produce, 12)) {
		f.newest = TV1
	}
	return f, f.check()
}

// check refuses clusters about which nothing can be said.
func (f *features) check() error {
	for _, n := range []struct {
		key   kmsg.Key
		least int16
	}{{kmsg.Fetch, 4}, {kmsg.Produce, 3}, {kmsg.ListOffsets, 2}, {kmsg.InitProducerID, 0}, {kmsg.AddPartitionsToTxn, 0}, {kmsg.EndTxn, 0}, {kmsg.FindCoordinator, 1}} {
		if !f.has(n.key, n.least) {
			return &missingAPIError{fmt.Sprintf("%s v%d", n.key.Name(), n.least)}
		}
	}
	return nil
}

func intersect(a, b wire.Versions) wire.Versions {
	out := wire.Versions{Asked: min(a.Asked, b.Asked), Keys: map[int16]wire.Range{}, Feature: map[string]int16{}}
	for key, r := range a.Keys {
		if s, ok := b.Keys[key]; ok && max(r.Min, s.Min) <= min(r.Max, s.Max) {
			out.Keys[key] = wire.Range{Min: max(r.Min, s.Min), Max: min(r.Max, s.Max)}
		}
	}
	for name, level := range a.Feature {
		if other, ok := b.Feature[name]; ok {
			out.Feature[name] = min(level, other)
		}
	}
	return out
}

// needAPI is the need of a request in a version.
func needAPI(key kmsg.Key, least int16) need {
	return need{
		what: fmt.Sprintf("%s v%d", key.Name(), least),
		missing: func(f *features, _ *Config) string {
			if f.has(key, least) {
				return ""
			}
			return ReasonAbsent
		},
	}
}

// needBrokers is the need of several brokers.
func needBrokers(n int) need {
	return need{
		what: fmt.Sprintf("%d brokers", n),
		missing: func(f *features, _ *Config) string {
			if len(f.brokers) >= n {
				return ""
			}
			return ReasonFewBrokers
		},
	}
}

// notBuilt is the need of something that this checker cannot bring about: the
// scenario is listed, and never run.
func notBuilt(what string) need {
	return need{what: what, missing: func(*features, *Config) string { return ReasonNotBuilt }}
}

var (
	needTV2 = need{"transaction.version 2", func(f *features, _ *Config) string {
		if f.newest >= TV2 {
			return ""
		}
		return ReasonNoLevel
	}}
	needHook = need{"a hook to the brokers", func(_ *features, c *Config) string {
		if c.Hook != nil {
			return ""
		}
		return ReasonNoHook
	}}
	needAdmin = need{"leave to use admin requests", func(_ *features, c *Config) string {
		if c.AllowAdmin {
			return ""
		}
		return ReasonNoAdmin
	}}
	needClient = need{"a client to judge", func(_ *features, c *Config) string {
		if len(c.Clients) > 0 {
			return ""
		}
		return ReasonNoClient
	}}
)

// refusal is the reason for a SKIP that an error code may stand for, "" for codes
// that are none. Whether it does depends on what was asked, see [trial.refused].
func refusal(code int16) string {
	switch code {
	case kerr.ClusterAuthorizationFailed.Code, kerr.TopicAuthorizationFailed.Code, kerr.GroupAuthorizationFailed.Code,
		kerr.TransactionalIDAuthorizationFailed.Code:
		return ReasonNotAuthorized
	case kerr.InvalidConfig.Code, kerr.PolicyViolation.Code, kerr.InvalidPartitions.Code:
		return ReasonRefused
	case kerr.UnsupportedVersion.Code, kerr.UnsupportedForMessageFormat.Code, kerr.UnsupportedCompressionType.Code:
		return ReasonAbsent
	}
	return ""
}

// describe is what reports say of the cluster.
func (f *features) describe() Cluster {
	c := Cluster{
		ID: f.clusterID, Brokers: f.brokers, Level: f.newest.String(),
		Versions: map[string]Span{}, Features: f.versions.Feature, ApiVersions: f.versions.Asked,
	}
	for key, r := range f.versions.Keys {
		c.Versions[kmsg.NameForKey(key)] = Span{r.Min, r.Max}
	}
	return c
}

// findCoordinator asks who coordinates a transactional ID or a group.
func (f *features) findCoordinator(key string, kind int8) *kmsg.FindCoordinatorRequest {
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.Version = f.max(kmsg.FindCoordinator, 3) // one key in a request
	req.CoordinatorKey, req.CoordinatorType = key, kind
	return req
}

// findCoordinators is findCoordinator for many, which takes version 4.
func (f *features) findCoordinators(keys []string, kind int8) *kmsg.FindCoordinatorRequest {
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.Version = f.max(kmsg.FindCoordinator, 4)
	req.CoordinatorKeys, req.CoordinatorType = keys, kind
	return req
}

// deleteTopics asks for the removal of topics.
func (f *features) deleteTopics(names ...string) *kmsg.DeleteTopicsRequest {
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.Version = f.max(kmsg.DeleteTopics, 5) // by name in one field
	req.TimeoutMillis, req.TopicNames = 10_000, names
	return req
}

// askBrokers asks for the brokers and the controller, and for no topic.
func (f *features) askBrokers() *kmsg.MetadataRequest {
	req := kmsg.NewPtrMetadataRequest()
	req.Version = f.max(kmsg.Metadata, 12)
	req.Topics = []kmsg.MetadataRequestTopic{} // none; null would be all
	return req
}
