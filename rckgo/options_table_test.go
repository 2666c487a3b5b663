package rckgo_test

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/rckgo"
)

// fate is what becomes of an option of kgo.
type fate string

const (
	honoured  fate = "the consumer reads it"
	leftToKgo fate = "the client underneath has it"
	refused   fate = "New refuses it, by name"
	replaced  fate = "there is one of ours, and New refuses kgo's by name"
)

// option is an option of kgo with a value that is not its default.
type option struct {
	fate
	opt kgo.Opt

	with    []kgo.Opt // what it needs
	instead string    // of one that is refused: what New says to use
	ours    kgo.Opt   // of one that is replaced
}

// consumerOptions classifies the options for consumers and groups. One of which
// only some values are refused stands here twice.
var consumerOptions = map[string]option{
	"ConsumeTopics":                   {honoured, kgo.ConsumeTopics("t"), nil, "", nil},
	"ConsumeRegex":                    {honoured, kgo.ConsumeRegex(), nil, "", nil},
	"ConsumeExcludeTopics":            {honoured, kgo.ConsumeExcludeTopics("t"), []kgo.Opt{kgo.ConsumeRegex()}, "", nil},
	"ConsumePartitions":               {honoured, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{"t": {0: kgo.NewOffset()}}), nil, "", nil},
	"ConsumeStartOffset":              {honoured, kgo.ConsumeStartOffset(kgo.NewOffset().At(3)), nil, "", nil},
	"ConsumeResetOffset":              {honoured, kgo.ConsumeResetOffset(kgo.NewOffset().At(3)), nil, "", nil},
	"FetchIsolationLevel":             {honoured, kgo.FetchIsolationLevel(kgo.ReadUncommitted()), nil, "", nil},
	"FetchMaxWait":                    {honoured, kgo.FetchMaxWait(3 * time.Second), nil, "", nil},
	"FetchMinBytes":                   {honoured, kgo.FetchMinBytes(3), nil, "", nil},
	"FetchMaxBytes":                   {honoured, kgo.FetchMaxBytes(3333), nil, "", nil},
	"FetchMaxPartitionBytes":          {honoured, kgo.FetchMaxPartitionBytes(3333), nil, "", nil},
	"KeepControlRecords":              {honoured, kgo.KeepControlRecords(), nil, "", nil},
	"KeepRetryableFetchErrors":        {honoured, kgo.KeepRetryableFetchErrors(), nil, "", nil},
	"DisableFetchCRCValidation":       {honoured, kgo.DisableFetchCRCValidation(), nil, "", nil},
	"DisableFetchSessions":            {honoured, kgo.DisableFetchSessions(), nil, "", nil},
	"MaxConcurrentFetches":            {honoured, kgo.MaxConcurrentFetches(3), nil, "", nil},
	"MaxConcurrentFetches(0)":         {refused, kgo.MaxConcurrentFetches(0), nil, "use BufferBytes", nil},
	"Rack":                            {honoured, kgo.Rack("r"), nil, "", nil},
	"RecheckPreferredReplicaInterval": {honoured, kgo.RecheckPreferredReplicaInterval(3 * time.Minute), nil, "", nil},
	"WithDecompressor":                {honoured, kgo.WithDecompressor(noDecompressor{}), nil, "", nil},
	"BalanceRacks":                    {leftToKgo, kgo.BalanceRacks(), []kgo.Opt{kgo.Rack("r")}, "", nil},
	"ConsumePreferringLagFn":          {refused, kgo.ConsumePreferringLagFn(kgo.PreferLagAt(3)), nil, "leave it out", nil},

	"ConsumerGroup":             {honoured, kgo.ConsumerGroup("g"), nil, "", nil},
	"AdjustFetchOffsetsFn":      {honoured, kgo.AdjustFetchOffsetsFn(adjust), inGroup, "", nil},
	"AutoCommitInterval":        {honoured, kgo.AutoCommitInterval(3 * time.Second), inGroup, "", nil},
	"AutoCommitMarks":           {honoured, kgo.AutoCommitMarks(), inGroup, "", nil},
	"BlockRebalanceOnPoll":      {honoured, kgo.BlockRebalanceOnPoll(), inGroup, "", nil},
	"DisableAutoCommit":         {honoured, kgo.DisableAutoCommit(), inGroup, "", nil},
	"GreedyAutoCommit":          {honoured, kgo.GreedyAutoCommit(), inGroup, "", nil},
	"RebalanceTimeout":          {honoured, kgo.RebalanceTimeout(3 * time.Second), inGroup, "", nil},
	"Balancers":                 {leftToKgo, kgo.Balancers(kgo.RangeBalancer()), inGroup, "", nil},
	"GroupProtocol":             {leftToKgo, kgo.GroupProtocol("p"), inGroup, "", nil},
	"HeartbeatInterval":         {honoured, kgo.HeartbeatInterval(time.Second), inGroup, "", nil},
	"InstanceID":                {leftToKgo, kgo.InstanceID("i"), inGroup, "", nil},
	"RequireStableFetchOffsets": {leftToKgo, kgo.RequireStableFetchOffsets(), inGroup, "", nil}, //nolint:staticcheck // deprecated, and still kgo's
	"ServerSideBalancer":        {leftToKgo, kgo.ServerSideBalancer(), inGroup, "", nil},
	"SessionTimeout":            {honoured, kgo.SessionTimeout(33 * time.Second), inGroup, "", nil},

	"OnPartitionsAssigned":        {replaced, kgo.OnPartitionsAssigned(partitions[*kgo.Client]), inGroup, useOurs, rckgo.OnPartitionsAssigned(partitions[*rckgo.Client])},
	"OnPartitionsRevoked":         {replaced, kgo.OnPartitionsRevoked(partitions[*kgo.Client]), inGroup, useOurs, rckgo.OnPartitionsRevoked(partitions[*rckgo.Client])},
	"OnPartitionsLost":            {replaced, kgo.OnPartitionsLost(partitions[*kgo.Client]), inGroup, useOurs, rckgo.OnPartitionsLost(partitions[*rckgo.Client])},
	"OnPartitionsCallbackBlocked": {replaced, kgo.OnPartitionsCallbackBlocked(blocked[*kgo.Client]), inGroup, useOurs, rckgo.OnPartitionsCallbackBlocked(blocked[*rckgo.Client])},
	"OnOffsetsFetched":            {replaced, kgo.OnOffsetsFetched(fetched[*kgo.Client]), inGroup, useOurs, rckgo.OnOffsetsFetched(fetched[*rckgo.Client])},
	"AutoCommitCallback":          {replaced, kgo.AutoCommitCallback(autoCommitted[*kgo.Client]), inGroup, useOurs, rckgo.AutoCommitCallback(autoCommitted[*rckgo.Client])},

	"ShareGroup":            {refused, kgo.ShareGroup("g"), nil, "use kgo itself", nil},
	"ShareMaxRecords":       {refused, kgo.ShareMaxRecords(3), inShareGroup, "use kgo itself", nil},
	"ShareMaxRecordsStrict": {refused, kgo.ShareMaxRecordsStrict(), inShareGroup, "use kgo itself", nil},
	"ShareAckCallback":      {refused, rckgo.ShareAckCallback(func(*rckgo.Client, kgo.ShareAckResults) {}), inShareGroup, "use kgo itself", nil},
}

var (
	inGroup      = []kgo.Opt{kgo.ConsumerGroup("g")}
	inShareGroup = []kgo.Opt{kgo.ShareGroup("g")}
)

const useOurs = "use rcconsumer."

func adjust(_ context.Context, o map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
	return o, nil
}

func partitions[C any](context.Context, C, map[string][]int32)                             {}
func blocked[C any](context.Context, C)                                                    {}
func fetched[C any](context.Context, C, *kmsg.OffsetFetchResponse) error                   { return nil }
func autoCommitted[C any](C, *kmsg.OffsetCommitRequest, *kmsg.OffsetCommitResponse, error) {}

// noDecompressor is a decompressor of a user's.
type noDecompressor struct{}

func (noDecompressor) Decompress(src []byte, _ kgo.CompressionCodecType) ([]byte, error) {
	return src, nil
}
