package rcconsumer_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/readcommitted/batchdecode"
	"example.com/readcommitted/internal/batchtest"
	"example.com/readcommitted/rcconsumer"
)

// A compressed message set of formats v0 and v1 carries the offset of its last
// message, so where it begins is not known before it is decompressed
// (AbstractLegacyRecordBatch). Nobody may go on reading at that last offset.

func TestPositionDoesNotCoverAMessageSetBeforeItIsHandedOut(t *testing.T) {
	for name, set := range map[string]batchtest.Message{
		"v0": batchtest.MessageV0(0, 9).Codec(batchtest.Gzip), "v1": batchtest.MessageV1(0, 9).Codec(batchtest.Gzip),
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				w.forge(0, set, batchtest.Data(10, 19))
				c := w.consumer(startAt(0))
				eventually(t, "an answer", func() bool { return position(c).LastStableOffset == 20 })
				require.Zero(t, position(c).Next)
				c.PauseFetchTopics(topic)
				c.ResumeFetchTopics(topic)
				require.Equal(t, span(0, 19), readOffsets(t, c, 20), "nothing is lost to the pause")
			})
		})
	}
}

func TestDamagedMessageSetIsNotPassed(t *testing.T) {
	const attributes = 17
	for name, damaged := range map[string]batchtest.Message{
		"payload": batchtest.MessageV1(10, 19).Codec(batchtest.Gzip).Flip(-1),
		"codec":   batchtest.MessageV1(10, 19).Codec(batchtest.Gzip).Flip(attributes), // looks like a single message
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				f := w.forge(0, batchtest.Data(0, 9), damaged, batchtest.Data(20, 29))
				c := w.consumer(startAt(0))
				require.Equal(t, span(0, 9), readOffsets(t, c, 10))
				require.ErrorIs(t, failed(t, c).Err, batchdecode.ErrCorrupt)
				require.EqualValues(t, 10, position(c).Next)
				w.change(func() { f.log[1] = batchtest.MessageV1(10, 19).Codec(batchtest.Gzip) })
				require.Equal(t, span(10, 29), readOffsets(t, c, 20))
			})
		})
	}
}

func TestProcessFetchPartitionStaysInFrontOfADamagedMessageSet(t *testing.T) {
	rp := batchtest.Log{batchtest.MessageV1(0, 9).Codec(batchtest.Gzip).Flip(-1)}.Partition(nil)
	fp, next, _ := rcconsumer.ProcessFetchPartition(rcconsumer.PassOptions{Offset: 3}, rp)
	require.ErrorIs(t, fp.Err, batchdecode.ErrCorrupt)
	require.EqualValues(t, 3, next)
}

// Some producers sent sets whose offset is 0, whatever is inside
// (AbstractLegacyRecordBatch DeepRecordsIterator). No broker stores them so; if
// one did, what is inside would come again with the batches behind it.
func TestMessageSetDoesNotReachBeyondItsOwnOffset(t *testing.T) {
	set := batchtest.MessageV1(0, 4).Codec(batchtest.Gzip).Bytes()
	clear(set[:8])
	rp := batchtest.Log{batchtest.Raw(set), batchtest.Data(5, 9)}.Partition(nil)
	fp, next, _ := rcconsumer.ProcessFetchPartition(rcconsumer.PassOptions{}, rp)
	require.ErrorIs(t, fp.Err, batchdecode.ErrCorrupt)
	require.ErrorContains(t, fp.Err, "offset 4 in a message set that ends at 0")
	require.Empty(t, fp.Records)
	require.Zero(t, next)
}
