package batchdecode_test

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/readcommitted/batchdecode"
	"example.com/readcommitted/internal/batchtest"
)

// MemoryRecordsTest testBuildEndTxnMarker.
func TestMarkerIsOneRecordOf78Bytes(t *testing.T) {
	raw := batchtest.Marker(9, 7, batchtest.TypeCommit, 21).Epoch(2).Bytes()
	require.Len(t, raw, 78)
	b := next(t, raw)
	require.True(t, b.IsControl())
	require.True(t, b.IsTransactional())
	require.EqualValues(t, -1, b.BaseSequence())
	require.EqualValues(t, 1, b.RecordCount())
	require.EqualValues(t, 2, b.ProducerEpoch())
	c, ok, err := b.Control(nil, 0)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, batchdecode.ControlRecord{Type: batchdecode.ControlCommit, CoordinatorEpoch: 21}, c)
}

// Only the key's version and type decide; the value is opaque and may be null
// or short: redpanda-data/connect#953, redpanda#3189, sarama commit 3e66a3d6.
// Versions: EndTransactionMarkerTest, ControlRecordTypeTest.
func TestControlReadsTheKeyAlone(t *testing.T) {
	marker := batchtest.EndMarker(5)
	for _, tt := range []struct {
		name       string
		key, value []byte
		want       batchdecode.ControlRecord
		typeName   string
	}{
		{"abort", batchtest.ControlKey(0), marker, batchdecode.ControlRecord{Type: batchdecode.ControlAbort, CoordinatorEpoch: 5}, "abort"},
		{"commit", batchtest.ControlKey(1), marker, batchdecode.ControlRecord{Type: batchdecode.ControlCommit, CoordinatorEpoch: 5}, "commit"},
		{"null value", batchtest.ControlKey(1), nil, batchdecode.ControlRecord{Type: 1, CoordinatorEpoch: -1}, "commit"},
		{"empty value", batchtest.ControlKey(1), []byte{}, batchdecode.ControlRecord{Type: 1, CoordinatorEpoch: -1}, "commit"},
		{"short value", batchtest.ControlKey(1), marker[:5], batchdecode.ControlRecord{Type: 1, CoordinatorEpoch: -1}, "commit"},
		{"long value", batchtest.ControlKey(1), append(marker, make([]byte, 34)...), batchdecode.ControlRecord{Type: 1, CoordinatorEpoch: 5}, "commit"},
		{"higher value version", batchtest.ControlKey(1), []byte{0, 9, 0, 0, 0, 5, 1}, batchdecode.ControlRecord{Type: 1, CoordinatorEpoch: 5}, "commit"},
		{"negative value version", batchtest.ControlKey(1), []byte{0xff, 0xff, 0, 0, 0, 5}, batchdecode.ControlRecord{Type: 1, CoordinatorEpoch: -1}, "commit"},
		{"long key", append(batchtest.ControlKey(0), 1, 2, 3), marker, batchdecode.ControlRecord{Type: 0, CoordinatorEpoch: 5}, "abort"},
		{"higher key version", []byte{0x7f, 0xff, 0, 0}, marker, batchdecode.ControlRecord{Version: math.MaxInt16, Type: 0, CoordinatorEpoch: 5}, "abort"},
		{"leader change", batchtest.ControlKey(2), marker, batchdecode.ControlRecord{Type: 2, CoordinatorEpoch: -1}, "2"},
		{"negative type", batchtest.ControlKey(-3), marker, batchdecode.ControlRecord{Type: -3, CoordinatorEpoch: -1}, "-3"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, ok, err := next(t, batchtest.ControlBatch(9, 7, tt.key, tt.value).Bytes()).Control(nil, 0)
			require.NoError(t, err)
			require.True(t, ok)
			require.Equal(t, tt.want, c)
			require.Equal(t, tt.typeName, c.Type.String())

			c, err = batchdecode.ParseControlKey(tt.key)
			require.NoError(t, err)
			tt.want.CoordinatorEpoch = -1
			require.Equal(t, tt.want, c)
		})
	}
}

func TestBadControlKeyIsCorrupt(t *testing.T) {
	for name, key := range map[string][]byte{
		"null":             nil,
		"empty":            {},
		"short":            {0, 0, 0},
		"negative version": {0xff, 0xff, 0, 0},
		"smallest version": binary.BigEndian.AppendUint32(nil, 1<<31),
	} {
		t.Run(name, func(t *testing.T) {
			_, ok, err := next(t, batchtest.ControlBatch(9, 7, key, nil).Bytes()).Control(nil, 0)
			requireError(t, err, batchdecode.ErrCorrupt, 9, 9, "record 0: key")
			require.False(t, ok)
			_, err = batchdecode.ParseControlKey(key)
			require.ErrorIs(t, err, batchdecode.ErrCorrupt)
		})
	}
}

func TestControlOfOtherBatches(t *testing.T) {
	for name, b := range map[string]batchtest.Batch{
		"data":          batchtest.Data(9, 9).Txn(7),
		"empty control": batchtest.EmptyControl(9, 7),
	} {
		t.Run(name, func(t *testing.T) {
			_, ok, err := next(t, b.Bytes()).Control(nil, 0)
			require.NoError(t, err)
			require.False(t, ok)
		})
	}
	t.Run("bad record", func(t *testing.T) {
		_, ok, err := next(t, batchtest.Abort(9, 7).Trailing(1).Bytes()).Control(nil, 0)
		requireError(t, err, batchdecode.ErrCorrupt, 9, 9, "record 0: end")
		require.False(t, ok)
	})
	t.Run("compressed", func(t *testing.T) {
		b := next(t, batchtest.Abort(9, 7).Codec(batchtest.LZ4).Bytes())
		c, ok, err := b.Control(codecs, 0)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, batchdecode.ControlAbort, c.Type)
		_, _, err = b.Control(nil, 0)
		requireError(t, err, batchdecode.ErrUnsupported, 9, 9, "attributes")
	})
}

// The first record of a control batch decides, like in
// CompletedFetch.containsAbortMarker.
func TestFirstControlRecordDecides(t *testing.T) {
	abort, commit := batchtest.At(9), batchtest.At(10)
	abort.Key, commit.Key = batchtest.ControlKey(0), batchtest.ControlKey(1)
	c, ok, err := next(t, batchtest.Data(9, 10).Control().Txn(7).With(abort, commit).Bytes()).Control(nil, 0)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, batchdecode.ControlAbort, c.Type)
}

// An abort marker byte by byte, in the layout of KIP-98.
func TestControlOfLiteralBytes(t *testing.T) {
	raw, err := hex.DecodeString("" +
		"0000000000000005" + // base offset
		"00000042" + // batch length: 66
		"00000000" + // partition leader epoch
		"02" + // magic
		"00000000" + // crc, not checked here
		"0030" + // attributes: transactional, control
		"00000000" + // last offset delta
		"0000018bcfe56800" + // base timestamp
		"0000018bcfe56800" + // max timestamp
		"0000000000000007" + // producer ID
		"0001" + // producer epoch
		"ffffffff" + // base sequence
		"00000001" + // records count
		"20" + "00" + "00" + "00" + // length 16, attributes, timestamp delta, offset delta
		"08" + "00000000" + // key: version 0, abort
		"0c" + "000000000003" + // value: version 0, coordinator epoch 3
		"00") // headers
	require.NoError(t, err)
	b, _, err := batchdecode.NextUnchecked(raw)
	require.NoError(t, err)
	c, ok, err := b.Control(nil, 0)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, batchdecode.ControlRecord{Type: batchdecode.ControlAbort, CoordinatorEpoch: 3}, c)
}
