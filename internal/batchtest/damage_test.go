package batchtest

import (
	"hash/crc32"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func crcHolds(raw []byte) bool {
	var rb kmsg.RecordBatch
	return rb.ReadFrom(raw) == nil && uint32(rb.CRC) == crc32.Checksum(raw[21:], crc32.MakeTable(crc32.Castagnoli))
}

func TestLiesStandUnderARightCRC(t *testing.T) {
	b := Data(0, 3)
	lies := map[string]Batch{
		"count":      b.ClaimCount(-1),
		"last delta": b.ClaimLastOffsetDelta(-1),
		"magic":      b.ClaimMagic(3),
		"payload":    b.Payload([]byte{1, 2, 3}),
		"trailing":   b.Trailing(3),
		"fixed flip": b.Flip(-1).FixCRC(),
	}
	for _, s := range []Fault{FaultLength, FaultBody, FaultOffset, FaultHeaderCount, FaultHeaderKey} {
		lies[string(s)] = b.Spoil(s, 2)
	}
	for name, lie := range lies {
		require.NotEqual(t, b.Bytes(), lie.Bytes(), name)
		require.True(t, crcHolds(lie.Bytes()), name)
		require.True(t, lie.damaged(), name)
	}
	require.False(t, b.damaged())
}

func TestDamageBreaksTheCRC(t *testing.T) {
	require.True(t, crcHolds(Data(0, 3).Bytes()))
	require.False(t, crcHolds(Data(0, 3).Flip(-1).Bytes()))
	require.False(t, crcHolds(Data(0, 3).Set(40, 0xff, 0xfe).Bytes()))
	require.False(t, crcHolds(Abort(3, 1).Flip(22).Bytes()))
}

// A faults record is found where it was put: the ones before it decode.
func TestSpoiltRecordLeavesTheOthersAlone(t *testing.T) {
	records := decode(t, Data(0, 2).Spoil(FaultHeaderKey, 1).Bytes()).Records
	good := decode(t, Data(0, 2).Bytes()).Records
	size := len(At(0).wire(0, Timestamp(0)))
	require.Equal(t, good[:size], records[:size])
	require.Equal(t, good[2*size:], records[len(records)-size:])
}

func TestClaimedLengthAndCutChangeNothingElse(t *testing.T) {
	raw := Data(0, 3).Bytes()
	claimed := Data(0, 3).ClaimLength(-13).Bytes()
	require.Equal(t, []byte{0xff, 0xff, 0xff, 0xf3}, claimed[8:12])
	require.Equal(t, raw[12:], claimed[12:])
	require.Equal(t, raw[:len(raw)-5], Data(0, 3).Cut(5).Bytes())
	require.Empty(t, Data(0, 3).Cut(1<<20).Bytes())
	require.Len(t, MessageV1(0, 0).Cut(1).Bytes(), len(MessageV1(0, 0).Bytes())-1)
	require.NotEqual(t, MessageV1(0, 0).Bytes(), MessageV1(0, 0).Flip(-1).Bytes())
}
