package rckgo_test

import (
	"context"
	"crypto/tls"
	"iter"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kversion"
	"github.com/twmb/franz-go/pkg/sasl/plain"

	"example.com/readcommitted/rckgo"
)

// clientOptions classifies the options for clients and producers.
var clientOptions = map[string]option{
	"AllowAutoTopicCreation":           {honoured, kgo.AllowAutoTopicCreation(), nil, "", nil},
	"ConsiderMissingTopicDeletedAfter": {honoured, kgo.ConsiderMissingTopicDeletedAfter(3 * time.Second), nil, "", nil},
	"MaxDecompressBatchBytes":          {honoured, kgo.MaxDecompressBatchBytes(3333), nil, "", nil},
	"MetadataMaxAge":                   {honoured, kgo.MetadataMaxAge(3 * time.Minute), nil, "", nil},
	"RequestTimeoutOverhead":           {honoured, kgo.RequestTimeoutOverhead(3 * time.Second), nil, "", nil},
	"RetryBackoffFn":                   {honoured, kgo.RetryBackoffFn(func(int) time.Duration { return 3 }), nil, "", nil},
	"WithLogger":                       {honoured, kgo.WithLogger(kgo.BasicLogger(nil, kgo.LogLevelNone, nil)), nil, "", nil},
	"WithPools":                        {honoured, kgo.WithPools(noPool{}), nil, "", nil},
	"WithHooks":                        {honoured, rckgo.WithHooks(noHook{}), nil, "", nil},
	"TransactionalID":                  {honoured, kgo.TransactionalID("x"), nil, "", nil}, // a member commits nothing by itself

	"AlwaysRetryEOF":                {leftToKgo, kgo.AlwaysRetryEOF(), nil, "", nil},
	"BrokerMaxReadBytes":            {leftToKgo, kgo.BrokerMaxReadBytes(333 << 20), nil, "", nil},
	"BrokerMaxWriteBytes":           {leftToKgo, kgo.BrokerMaxWriteBytes(333 << 20), nil, "", nil},
	"ClientID":                      {leftToKgo, kgo.ClientID("c"), nil, "", nil},
	"ConcurrentTransactionsBackoff": {leftToKgo, kgo.ConcurrentTransactionsBackoff(3 * time.Second), nil, "", nil},
	"ConnIdleTimeout":               {leftToKgo, kgo.ConnIdleTimeout(3 * time.Second), nil, "", nil},
	"DialTLS":                       {leftToKgo, kgo.DialTLS(), nil, "", nil},
	"DialTLSConfig":                 {leftToKgo, kgo.DialTLSConfig(&tls.Config{ServerName: "s", MinVersion: tls.VersionTLS13}), nil, "", nil},
	"DialTimeout":                   {leftToKgo, kgo.DialTimeout(3 * time.Second), nil, "", nil},
	"Dialer":                        {leftToKgo, kgo.Dialer(dial), nil, "", nil},
	"DisableClientMetrics":          {leftToKgo, kgo.DisableClientMetrics(), nil, "", nil},
	"MaxVersions":                   {leftToKgo, kgo.MaxVersions(kversion.V3_0_0()), nil, "", nil},
	"MetadataMinAge":                {leftToKgo, kgo.MetadataMinAge(3 * time.Second), nil, "", nil},
	"MinVersions":                   {leftToKgo, kgo.MinVersions(kversion.V3_0_0()), nil, "", nil},
	"OnRebootstrapRequired":         {leftToKgo, kgo.OnRebootstrapRequired(func() ([]string, error) { return nil, nil }), nil, "", nil},
	"RequestRetries":                {leftToKgo, kgo.RequestRetries(3), nil, "", nil},
	"RetryTimeout":                  {leftToKgo, kgo.RetryTimeout(3 * time.Second), nil, "", nil},
	"RetryTimeoutFn":                {leftToKgo, kgo.RetryTimeoutFn(func(int16) time.Duration { return 3 }), nil, "", nil},
	"SASL":                          {leftToKgo, kgo.SASL(plain.Auth{User: "u", Pass: "p"}.AsMechanism()), nil, "", nil},
	"SeedBrokers":                   {leftToKgo, kgo.SeedBrokers("127.0.0.1:2"), nil, "", nil},
	"SoftwareNameAndVersion":        {leftToKgo, kgo.SoftwareNameAndVersion("n", "1"), nil, "", nil},
	"UserMetricsFn":                 {leftToKgo, kgo.UserMetricsFn(func() iter.Seq[kgo.Metric] { return nil }), nil, "", nil},
	"WithContext":                   {leftToKgo, kgo.WithContext(context.WithValue(context.Background(), noPool{}, 3)), nil, "", nil},

	"AllowIdempotentProduceCancellation":  {leftToKgo, kgo.AllowIdempotentProduceCancellation(), nil, "", nil},
	"DefaultProduceTopic":                 {leftToKgo, kgo.DefaultProduceTopic("t"), nil, "", nil},
	"DefaultProduceTopicAlways":           {leftToKgo, kgo.DefaultProduceTopicAlways(), []kgo.Opt{kgo.DefaultProduceTopic("t")}, "", nil},
	"DisableIdempotentWrite":              {leftToKgo, kgo.DisableIdempotentWrite(), nil, "", nil},
	"ManualFlushing":                      {leftToKgo, kgo.ManualFlushing(), nil, "", nil},
	"MaxBufferedBytes":                    {leftToKgo, kgo.MaxBufferedBytes(3333), nil, "", nil},
	"MaxBufferedRecords":                  {leftToKgo, kgo.MaxBufferedRecords(3), nil, "", nil},
	"MaxProduceRequestsInflightPerBroker": {leftToKgo, kgo.MaxProduceRequestsInflightPerBroker(3), []kgo.Opt{kgo.DisableIdempotentWrite()}, "", nil},
	"ProduceRequestTimeout":               {leftToKgo, kgo.ProduceRequestTimeout(3 * time.Second), nil, "", nil},
	"ProducerBatchCompression":            {leftToKgo, kgo.ProducerBatchCompression(kgo.NoCompression()), nil, "", nil},
	"ProducerBatchMaxBytes":               {leftToKgo, kgo.ProducerBatchMaxBytes(3333), nil, "", nil},
	"ProducerBatchMaxBytesFn":             {leftToKgo, kgo.ProducerBatchMaxBytesFn(func(string) int32 { return 3333 }), nil, "", nil},
	"ProducerLinger":                      {leftToKgo, kgo.ProducerLinger(3 * time.Second), nil, "", nil},
	"ProducerOnDataLossDetected":          {leftToKgo, kgo.ProducerOnDataLossDetected(func(string, int32) {}), nil, "", nil},
	"RackAwarePartitioning":               {leftToKgo, kgo.RackAwarePartitioning(), nil, "", nil},
	"RecordDeliveryTimeout":               {leftToKgo, kgo.RecordDeliveryTimeout(3 * time.Second), nil, "", nil},
	"RecordPartitioner":                   {leftToKgo, kgo.RecordPartitioner(kgo.RoundRobinPartitioner()), nil, "", nil},
	"RecordRetries":                       {leftToKgo, kgo.RecordRetries(3), nil, "", nil},
	"RequiredAcks":                        {leftToKgo, kgo.RequiredAcks(kgo.LeaderAck()), []kgo.Opt{kgo.DisableIdempotentWrite()}, "", nil},
	"StopProducerOnDataLossDetected":      {leftToKgo, kgo.StopProducerOnDataLossDetected(), nil, "", nil},
	"StreamingCompression":                {leftToKgo, kgo.StreamingCompression(), nil, "", nil},
	"TransactionTimeout":                  {leftToKgo, kgo.TransactionTimeout(3 * time.Second), nil, "", nil},
	"UnknownTopicRetries":                 {leftToKgo, kgo.UnknownTopicRetries(3), nil, "", nil},
	"WithCompressor":                      {leftToKgo, kgo.WithCompressor(noCompressor{}), nil, "", nil},
}

func dial(context.Context, string, string) (net.Conn, error) { return nil, net.ErrClosed }

type noPool struct{}

func (noPool) GetRecords(int) []kgo.Record { return nil }
func (noPool) PutRecords([]kgo.Record)     {}

type noHook struct{}

func (noHook) OnPollStart(context.Context) {}

type noCompressor struct{ kgo.Compressor }
