package rcconsumer_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/batchdecode"
	"example.com/readcommitted/internal/batchtest"
	"example.com/readcommitted/rcconsumer"
)

// damaged is three batches of which the second one is as the test wants it.
func damaged(second batchtest.Batch) []batchtest.Entry {
	return []batchtest.Entry{batchtest.Data(0, 9), second, batchtest.Data(20, 29)}
}

// badRecords is a batch whose headers and CRC are right and whose records
// cannot be decompressed.
func badRecords() batchtest.Batch {
	return batchtest.Data(10, 19).Codec(batchtest.Zstd).Payload([]byte("these are not zstd frames"))
}

func requireDamage(t *testing.T, err error) {
	t.Helper()
	var e *rcconsumer.BatchError
	require.ErrorAs(t, err, &e)
	require.Equal(t, []any{topic, int32(0), int64(10)}, []any{e.Topic, e.Partition, e.BaseOffset})
	if !errors.Is(err, batchdecode.ErrUnsupported) { // of an unknown format nothing more is known
		require.Equal(t, int64(19), e.LastOffset)
	}
}

// Sources: KAFKA-5211, KAFKA-5630, twmb/franz-go#1164, twmb/franz-go#883.
func TestDamagedBatchIsNeverSkipped(t *testing.T) {
	tests := []struct {
		name   string
		second batchtest.Batch
		class  error
		field  string
	}{
		{"bit flip", batchtest.Data(10, 19).Flip(-3), batchdecode.ErrCorrupt, "crc"},
		{"bit flip in an aborted batch", batchtest.Data(10, 19).Txn(1).Flip(-3), batchdecode.ErrCorrupt, "crc"},
		{"records that do not decompress", badRecords(), batchdecode.ErrCorrupt, ""},
		{"a magic from the future", batchtest.Data(10, 19).ClaimMagic(3), batchdecode.ErrUnsupported, "magic"},
		{"an unknown codec", batchtest.Data(10, 19).Codec(7), batchdecode.ErrUnsupported, ""},
		{"more records than present", batchtest.Data(10, 19).ClaimCount(11), batchdecode.ErrCorrupt, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				w.forge(0, damaged(test.second)...).aborted = batchtest.Aborted(1, 10)
				c := w.consumer(startAt(0))
				require.Equal(t, span(0, 9), readOffsets(t, c, 10))
				for range 3 {
					e := failed(t, c).Err
					requireDamage(t, e)
					require.ErrorIs(t, e, test.class)
					var cause *batchdecode.Error
					require.ErrorAs(t, e, &cause)
					require.Equal(t, int64(10), cause.BaseOffset)
					if test.field != "" {
						require.Equal(t, test.field, cause.Field)
					}
					require.Contains(t, e.Error(), cause.Field)
					require.Equal(t, int64(10), position(c).Next)
				}
				seek(c, 20)
				require.Equal(t, span(20, 29), readOffsets(t, c, 10))
			})
		})
	}
}

func TestDamagedBatchIsAskedForEverMoreSeldom(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.forge(0, damaged(batchtest.Data(10, 19).Flip(-3))...)
		c := w.consumer(startAt(10))
		var last time.Time
		var pauses []time.Duration
		for range 9 {
			requireDamage(t, failed(t, c).Err)
			pauses = append(pauses, time.Since(last).Round(50*time.Millisecond))
			last = time.Now()
		}
		ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
		require.Equal(t, []time.Duration{ms(250), ms(500), ms(1000), ms(2000), ms(4000), ms(5000), ms(5000), ms(5000)}, pauses[1:])
		require.Equal(t, 9, w.count())
	})
}

func TestDamagedBatchNobodyPollsForHoldsLittle(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.forge(0, damaged(batchtest.Data(10, 19).Flip(-3))...)
		c := w.consumer(startAt(0))
		time.Sleep(time.Hour)
		require.Equal(t, span(0, 9), readOffsets(t, c, 10))
		requireDamage(t, failed(t, c).Err)
		before := w.count()
		requireDamage(t, failed(t, c).Err)
		require.LessOrEqual(t, w.count(), before+1, "old errors must not have piled up")
	})
}

func TestDamagedBatchThatBecomesWholeIsReadWithoutSeek(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		f := w.forge(0, damaged(batchtest.Data(10, 19).Flip(-3))...)
		c := w.consumer(startAt(0))
		readOffsets(t, c, 10)
		requireDamage(t, failed(t, c).Err)
		w.change(func() { f.log = damaged(batchtest.Data(10, 19)) })
		require.Equal(t, span(10, 29), readOffsets(t, c, 20))
	})
}

// The pass over headers is ahead of the decoding of records, so more may have
// been fetched when a batch turns out to be damaged.
func TestNothingBehindADamagedBatchIsHandedOut(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		f := w.forge(0, damaged(badRecords())...)
		f.batches = 1
		c := w.consumer(startAt(0))
		eventually(t, "fetches to run ahead", func() bool {
			asks := w.asks(f)
			return len(asks) > 0 && asks[len(asks)-1].offset == 30
		})
		require.Equal(t, span(0, 9), readOffsets(t, c, 10))
		for range 3 {
			requireDamage(t, failed(t, c).Err)
			require.Equal(t, int64(10), position(c).Next)
		}
		asks := w.asks(f)
		again := slices.IndexFunc(asks, func(a ask) bool { return a.offset == 30 })
		require.True(t, slices.ContainsFunc(asks[again:], func(a ask) bool { return a.offset == 10 }), "the damaged batch is asked for again")
		seek(c, 20)
		require.Equal(t, span(20, 29), readOffsets(t, c, 10))
	})
}

// Source: twmb/franz-go commit 19b10ce2, few bytes that decompress to many.
func TestBatchAboveTheDecompressionLimitRests(t *testing.T) {
	for _, codec := range []batchtest.Codec{batchtest.Gzip, batchtest.Snappy, batchtest.LZ4, batchtest.Zstd} {
		t.Run(codec.String(), func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				w.forge(0, damaged(batchtest.Data(10, 19).Size(1000).Codec(codec))...)
				c := w.consumer(startAt(0), kgo.MaxDecompressBatchBytes(5000))
				require.Equal(t, span(0, 9), readOffsets(t, c, 10))
				e := failed(t, c).Err
				requireDamage(t, e)
				require.ErrorIs(t, e, batchdecode.ErrTooLarge)
				var theirs *kgo.ErrDecompressTooLarge
				require.ErrorAs(t, e, &theirs)
				require.Equal(t, []int64{10, 20}, []int64{theirs.Offset, theirs.NextOffset})
				require.Contains(t, e.Error(), "MaxDecompressBatchBytes")
				silent(t, c, 10*time.Second)
				require.Zero(t, w.during(time.Minute), "it would be as large again")
				seek(c, 20)
				require.Equal(t, span(20, 29), readOffsets(t, c, 10))
			})
		})
	}
}

func TestCRCIsNotCheckedIfTheOptionSaysSo(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.forge(0, damaged(batchtest.Data(10, 19).Flip(17))...) // of the CRC itself
		c := w.consumer(startAt(0), kgo.DisableFetchCRCValidation())
		require.Equal(t, span(0, 29), readOffsets(t, c, 30))
	})
}

// Source: twmb/franz-go#883; a broker cuts the last batch of an answer.
func TestCutBatchBehindAGoodOneIsNoError(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		f := w.forge(0, batchtest.Data(0, 9), batchtest.Data(10, 19).Codec(batchtest.Zstd))
		f.script = func(a ask) *kmsg.FetchResponseTopicPartition {
			if a.offset != 0 {
				return nil
			}
			return batchtest.Log{batchtest.Data(0, 9), batchtest.Data(10, 19).Codec(batchtest.Zstd).Cut(3)}.Partition(nil)
		}
		c := w.consumer(startAt(0))
		require.Equal(t, span(0, 19), readOffsets(t, c, 20))
	})
}

// Source: twmb/franz-go commit 2ef926db, which let any control record end an
// aborted transaction.
func TestUnknownControlTypeIsSkippedAndCounted(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.forge(0, batchtest.Data(0, 1).Txn(3), batchtest.Marker(2, 3, 7, 0), batchtest.Data(3, 3).Txn(3),
			batchtest.Abort(4, 3), batchtest.Data(5, 5)).aborted = batchtest.Aborted(3, 0)
		c := w.consumer(startAt(0))
		require.Equal(t, []int64{5}, readOffsets(t, c, 1))
		s := c.Stats()[topic][0]
		require.Equal(t, []int64{2, 2, 3}, []int64{s.ControlBatches, s.AbortedBatches, s.AbortedRecords})
	})
}

func TestDamageInOnePartitionDoesNotStopAnother(t *testing.T) {
	inWorld(t, 1, 2, func(t *testing.T, w *world) {
		w.forge(0, batchtest.Data(0, 9).Flip(-3))
		w.forge(1, batchtest.Data(0, 9), batchtest.Data(10, 19)).batches = 1
		c := w.consumer(kgo.ConsumeTopics(topic))
		var got []int64
		failures := 0
		for failures < 3 || len(got) < 20 {
			fs := poll(c, patience)
			require.False(t, timedOut(fs))
			got = append(got, offsets(fs)...)
			failures += len(fs.Errors())
		}
		require.Equal(t, span(0, 19), got)
	})
}
