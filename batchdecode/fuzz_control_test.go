package batchdecode_test

import (
	"bytes"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/batchdecode"
	"example.com/readcommitted/internal/batchtest"
)

// FuzzControl decodes any key and value as a control record and holds it
// against kmsg, then any bytes as the record section of a control batch, which
// must say what its first record says.
func FuzzControl(f *testing.F) {
	marker := batchtest.EndMarker(5)
	for _, key := range [][]byte{
		nil,
		{},
		{0, 0, 0},
		batchtest.ControlKey(batchtest.TypeAbort),
		batchtest.ControlKey(batchtest.TypeCommit),
		batchtest.ControlKey(-3),
		append(batchtest.ControlKey(batchtest.TypeAbort), 1, 2, 3),
		{0x7f, 0xff, 0, 0},
		{0xff, 0xff, 0, 0},
	} {
		f.Add(key, marker, []byte(nil), int32(1))
		f.Add(key, marker[:5], []byte{0}, int32(0))
	}
	for _, s := range seeds() {
		if b, _, err := batchdecode.Next(s); err == nil && b.Magic() == 2 {
			f.Add([]byte(nil), []byte(nil), b.Payload(), b.RecordCount())
		}
	}
	f.Fuzz(func(t *testing.T, key, value, section []byte, count int32) {
		if len(section) == 0 {
			requireControlLikeKmsg(t, key, value)
			return
		}
		raw := batchtest.Data(100, 109).Control().Txn(7).Payload(section).ClaimCount(count & math.MaxInt32).Bytes()
		before := bytes.Clone(raw)
		b, _, err := batchdecode.Next(raw)
		require.NoError(t, err)
		requireCheap(t, len(raw), func() { _, _, _ = b.Control(nil, 0) })
		requireFirstRecordDecides(t, b)
		require.Equal(t, before, raw, "decoding never writes")
	})
}

// requireControlLikeKmsg decodes a control record alone and in a batch.
func requireControlLikeKmsg(t *testing.T, key, value []byte) {
	c, err := batchdecode.ParseControlRecord(key, value)
	alone, keyErr := batchdecode.ParseControlKey(key)
	var want kmsg.ControlRecordKey
	if want.ReadFrom(key) != nil || want.Version < 0 {
		require.ErrorIs(t, err, batchdecode.ErrCorrupt)
		require.ErrorIs(t, keyErr, batchdecode.ErrCorrupt)
	} else {
		require.NoError(t, err)
		require.NoError(t, keyErr)
		require.Equal(t, batchdecode.ControlRecord{Version: want.Version, Type: batchdecode.ControlType(want.Type), CoordinatorEpoch: -1}, alone)
		require.Equal(t, coordinatorEpochLikeKmsg(alone.Type, value), c.CoordinatorEpoch)
		alone.CoordinatorEpoch = c.CoordinatorEpoch
		require.Equal(t, alone, c)
	}
	b, _, nextErr := batchdecode.Next(batchtest.ControlBatch(9, 7, key, value).Bytes())
	require.NoError(t, nextErr)
	inBatch, ok, batchErr := b.Control(nil, 0)
	require.Equal(t, err == nil, batchErr == nil)
	require.Equal(t, err == nil, ok)
	if ok {
		require.Equal(t, c, inBatch)
	} else {
		requirePlace(t, batchErr, len(b.Bytes()))
	}
}

func coordinatorEpochLikeKmsg(kind batchdecode.ControlType, value []byte) int32 {
	var marker kmsg.EndTxnMarker
	if kind != batchdecode.ControlAbort && kind != batchdecode.ControlCommit || marker.ReadFrom(value) != nil || marker.Version < 0 {
		return -1
	}
	return marker.CoordinatorEpoch
}

// requireFirstRecordDecides compares Control with the batch's first record.
func requireFirstRecordDecides(t *testing.T, b batchdecode.Batch) {
	c, ok, err := b.Control(nil, 0)
	records, openErr := b.Records(nil, 0)
	var r batchdecode.Record
	switch {
	case openErr != nil:
		require.ErrorIs(t, err, batchdecode.ErrCorrupt)
	case !records.Next(&r):
		require.Equal(t, records.Err(), err)
	default:
		want, keyErr := batchdecode.ParseControlRecord(r.Key, r.Value)
		require.Equal(t, keyErr == nil, err == nil)
		require.Equal(t, want, c)
		require.Equal(t, keyErr == nil, ok)
		return
	}
	require.False(t, ok)
	if err != nil {
		requirePlace(t, err, len(b.Bytes()))
	}
}
