package rcconsumer

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
)

// customDecompressor is a user's own.
type customDecompressor struct{}

func (customDecompressor) Decompress(src []byte, _ kgo.CompressionCodecType) ([]byte, error) {
	return src, nil
}

type slicePool struct{}

func (slicePool) GetRecords(int) []kgo.Record { return nil }
func (slicePool) PutRecords([]kgo.Record)     {}

// Every option is given a value that is no default, so that a value read as
// the wrong type, which would be zero, fails.
func TestOptionValuesAreRead(t *testing.T) {
	partitions := map[string]map[int32]kgo.Offset{"p": {3: kgo.NewOffset().At(7)}}
	logger := kgo.BasicLogger(nil, kgo.LogLevelNone, nil)
	cfg, err := readConfig([]kgo.Opt{
		kgo.ConsumeTopics("a"), kgo.ConsumePartitions(partitions),
		kgo.ConsumeStartOffset(kgo.NewOffset().AtEnd()), kgo.ConsumeResetOffset(kgo.NewOffset().AtEnd().Relative(-2)),
		kgo.KeepControlRecords(), kgo.KeepRetryableFetchErrors(), kgo.DisableFetchCRCValidation(),
		kgo.FetchMaxWait(123 * time.Millisecond), kgo.FetchMinBytes(11), kgo.FetchMaxBytes(1234567), kgo.FetchMaxPartitionBytes(12345),
		kgo.MaxConcurrentFetches(4), kgo.MaxDecompressBatchBytes(54321), kgo.WithDecompressor(customDecompressor{}),
		kgo.WithPools(slicePool{}), kgo.MetadataMaxAge(77 * time.Second),
		kgo.RetryBackoffFn(func(int) time.Duration { return 42 }), kgo.RequestTimeoutOverhead(33 * time.Second), kgo.WithLogger(logger),
		ReadUncommitted(), BufferBytes(99), ReturnOnProgress(), OnAnomalyDo(AnomalyFail),
	})
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, cfg.topics)
	require.Equal(t, partitions, cfg.partitions)
	require.Equal(t, offsetSpec{at: atEnd, epoch: -1}, cfg.start)
	require.Equal(t, offsetSpec{at: atEnd, relative: -2, epoch: -1}, cfg.reset)
	require.True(t, cfg.readUncommitted)
	require.True(t, cfg.keepControl)
	require.True(t, cfg.keepRetryable)
	require.True(t, cfg.skipCRC)
	require.Equal(t, 123*time.Millisecond, cfg.maxWait)
	require.Equal(t, []int32{11, 1234567, 12345}, []int32{cfg.minBytes, cfg.maxBytes, cfg.maxPartBytes})
	require.Equal(t, 4, cfg.maxConcurrent)
	require.Equal(t, 54321, cfg.maxDecompressed)
	require.Equal(t, customDecompressor{}, cfg.decompressor)
	require.Equal(t, []kgo.Pool{slicePool{}}, cfg.pools)
	require.Equal(t, 77*time.Second, cfg.metadataMaxAge)
	require.Equal(t, time.Duration(42), cfg.backoff(1))
	require.Equal(t, 33*time.Second, cfg.requestTimeout)
	require.Equal(t, logger, unwrapped(cfg.logger))
	require.Equal(t, int64(99), cfg.bufferBytes)
	require.True(t, cfg.returnOnProgress)
	require.Equal(t, AnomalyFail, cfg.anomalyPolicy)
	require.Empty(t, cfg.kgoHooks)
}

func TestMoreOptionValuesAreRead(t *testing.T) {
	adjusted := false
	cfg, err := readConfig([]kgo.Opt{
		kgo.ConsumerGroup("g"), kgo.ConsumeTopics("a"), kgo.ConsumeRegex(), kgo.ConsumeExcludeTopics("b"),
		kgo.AutoCommitInterval(11 * time.Second), kgo.BlockRebalanceOnPoll(), kgo.RebalanceTimeout(22 * time.Second), kgo.AutoCommitMarks(),
		kgo.AdjustFetchOffsetsFn(func(context.Context, map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
			adjusted = true
			return nil, nil
		}),
		kgo.DisableFetchSessions(), kgo.Rack("r"), kgo.RecheckPreferredReplicaInterval(33 * time.Second),
		kgo.ConsiderMissingTopicDeletedAfter(44 * time.Second), kgo.AllowAutoTopicCreation(), kgo.ConsumeStartOffset(kgo.NewOffset().At(5)),
	})
	require.NoError(t, err)
	require.Equal(t, "g", cfg.group)
	require.True(t, cfg.regex)
	require.Equal(t, []string{"b"}, cfg.excluded)
	require.Equal(t, 11*time.Second, cfg.commitInterval)
	require.True(t, cfg.blockOnPoll)
	require.Equal(t, 22*time.Second, cfg.rebalanceTimeout)
	require.Equal(t, commitMarks, cfg.commitMode)
	_, _ = cfg.adjust(t.Context(), nil)
	require.True(t, adjusted)
	require.True(t, cfg.noSessions)
	require.Equal(t, "r", cfg.rack)
	require.Equal(t, 33*time.Second, cfg.recheck)
	require.Equal(t, 44*time.Second, cfg.missingAfter)
	require.True(t, cfg.autoCreate)
	require.Equal(t, kgo.NewOffset().At(5), cfg.startAsSet)
	for mode, opts := range map[commitMode][]kgo.Opt{
		commitPlain: nil, commitGreedy: {kgo.GreedyAutoCommit()}, commitManual: {kgo.DisableAutoCommit()},
		commitMarksManual: {kgo.AutoCommitMarks(), kgo.TransactionalID("x")}, commitTransactional: {kgo.TransactionalID("x")},
	} {
		cfg, err := readConfig(append(opts, kgo.ConsumerGroup("g")))
		require.NoError(t, err)
		require.Equal(t, mode, cfg.commitMode)
	}
}

// unwrapped is the logger that kgo may have put into one of its own.
func unwrapped(l kgo.Logger) kgo.Logger {
	if w, ok := l.(interface{ Unwrap() kgo.Logger }); ok {
		return w.Unwrap()
	}
	return l
}

func TestPatternsAreCompiled(t *testing.T) {
	cfg, err := readConfig([]kgo.Opt{kgo.ConsumeRegex(), kgo.ConsumeTopics("^a"), kgo.ConsumeExcludeTopics("b$")})
	require.NoError(t, err)
	for name, want := range map[string]bool{"a": true, "ax": true, "ab": false, "xa": false} {
		require.Equal(t, want, cfg.matches(name), name)
	}
	_, err = readConfig([]kgo.Opt{kgo.ConsumeRegex(), kgo.ConsumeTopics("(")})
	require.Error(t, err)
}

func TestDefaultsAreKgosButIsolationAndWait(t *testing.T) {
	cfg, err := readConfig(nil)
	require.NoError(t, err)
	require.False(t, cfg.readUncommitted)
	require.Equal(t, 500*time.Millisecond, cfg.maxWait)
	require.Equal(t, int64(DefaultBufferBytes), cfg.bufferBytes)
	require.Equal(t, offsetSpec{at: atStart, epoch: -1}, cfg.start)
	require.Equal(t, offsetSpec{at: atRewind, lookback: time.Minute, epoch: -1}, cfg.reset)
	require.Nil(t, cfg.decompressor, "the built-in codecs")
	require.Equal(t, []int32{1, 50 << 20, 1 << 20}, []int32{cfg.minBytes, cfg.maxBytes, cfg.maxPartBytes})
	require.Equal(t, -1, cfg.maxConcurrent)
	require.Equal(t, 1<<30, cfg.maxDecompressed)
	require.Equal(t, 5*time.Minute, cfg.metadataMaxAge)
	require.Equal(t, 10*time.Second, cfg.requestTimeout)
	require.NotNil(t, cfg.backoff)
	cfg, err = readConfig([]kgo.Opt{kgo.WithDecompressor(kgo.DefaultDecompressor())})
	require.NoError(t, err)
	require.Nil(t, cfg.decompressor, "kgo's is the same as none")
	cfg, err = readConfig([]kgo.Opt{ReadUncommitted(), kgo.FetchIsolationLevel(kgo.ReadCommitted())})
	require.NoError(t, err)
	require.False(t, cfg.readUncommitted, "the last one counts")
}

func TestSpecOf(t *testing.T) {
	o := kgo.NewOffset
	const d = 90 * time.Second
	tests := []struct {
		name   string
		offset kgo.Offset
		want   offsetSpec
	}{
		{"new", o(), offsetSpec{at: atEnd, epoch: -1}},
		{"start", o().AtStart(), offsetSpec{at: atStart, epoch: -1}},
		{"end", o().AtEnd(), offsetSpec{at: atEnd, epoch: -1}},
		{"exact", o().At(5), offsetSpec{at: 5, epoch: -1}},
		{"exact zero", o().At(0), offsetSpec{at: 0, epoch: -1}},
		{"exact with epoch", o().At(5).WithEpoch(3), offsetSpec{at: 5, epoch: 3}},
		{"exact and relative", o().At(5).Relative(-2), offsetSpec{at: 5, relative: -2, epoch: -1}},
		{"start and relative", o().AtStart().Relative(7), offsetSpec{at: atStart, relative: 7, epoch: -1}},
		{"end and relative", o().AtEnd().Relative(-7), offsetSpec{at: atEnd, relative: -7, epoch: -1}},
		{"relative then exact", o().Relative(4).At(1), offsetSpec{at: 1, relative: 4, epoch: -1}},
		{"exact -1", o().At(-1), offsetSpec{at: atEnd, epoch: -1}},
		{"exact -2", o().At(-2), offsetSpec{at: atStart, epoch: -1}},
		{"after a time", o().AfterMilli(1000), offsetSpec{at: 1000, byTime: true, epoch: -1}},
		{"after time zero", o().AfterMilli(0), offsetSpec{at: 0, byTime: true, epoch: -1}},
		{"after a time, undone by relative", o().AfterMilli(1000).Relative(2), offsetSpec{at: 1000, relative: 2, epoch: -1}},
		{"committed", o().AtCommitted(), offsetSpec{at: atCommitted, noReset: true, epoch: -1}},
		{"no reset", kgo.NoResetOffset(), offsetSpec{at: atEnd, noReset: true, epoch: -1}},
		{"no reset at an offset", kgo.NoResetOffset().At(9), offsetSpec{at: 9, noReset: true, epoch: -1}},
		{"no reset after a time", o().AtCommitted().AfterMilli(9), offsetSpec{at: 9, byTime: true, noReset: true, epoch: -1}},
		{"rewind", kgo.RewindOffset(d), offsetSpec{at: atRewind, lookback: d, epoch: -1}},
		{"look back", kgo.LookbackOffset(d), offsetSpec{at: atLookback, lookback: d, epoch: -1}},
		{"rewind turned into start", kgo.RewindOffset(d).AtStart(), offsetSpec{at: atStart, lookback: d, epoch: -1}},
		{"look back turned into end", kgo.LookbackOffset(d).AtEnd(), offsetSpec{at: atEnd, lookback: d, epoch: -1}},
		{"look back turned exact", kgo.LookbackOffset(d).At(3), offsetSpec{at: 3, lookback: d, epoch: -1}},
		{"zero value", kgo.Offset{}, offsetSpec{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := specOf(test.offset)
			if got.at == atStart || got.at == atEnd || got.at == 3 {
				test.want.lookback, got.lookback = 0, 0 // a leftover that nothing reads
			}
			require.Equal(t, test.want, got, fmt.Sprint(test.offset))
		})
	}
}
