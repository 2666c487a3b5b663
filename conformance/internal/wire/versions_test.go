package wire_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/wire"
)

func TestVersionsThatBothSidesHave(t *testing.T) {
	fetch := kmsg.Fetch.Int16()
	have := func(low, high int16) wire.Versions {
		return wire.Versions{Keys: map[int16]wire.Range{fetch: {Min: low, Max: high}}}
	}
	newest := kmsg.NewPtrFetchRequest().MaxVersion()
	require.EqualValues(t, 12, have(4, 12).Max(fetch, math.MaxInt16))
	require.EqualValues(t, 7, have(4, 12).Max(fetch, 7))
	require.EqualValues(t, newest, have(4, newest+5).Max(fetch, math.MaxInt16))
	require.EqualValues(t, -1, have(4, 12).Max(fetch, 3))
	require.EqualValues(t, -1, have(newest+1, newest+5).Max(fetch, math.MaxInt16))
	require.EqualValues(t, -1, have(4, 12).Max(kmsg.Produce.Int16(), math.MaxInt16))

	require.True(t, have(4, 12).Allow(fetch, 4))
	require.False(t, have(4, 12).Allow(fetch, 3))
	require.False(t, have(4, 12).Allow(fetch, 13))
	require.Equal(t, "v4 to v12", have(4, 12).Describe(fetch))
	require.Equal(t, "none", have(4, 12).Describe(kmsg.Produce.Int16()))

	require.EqualValues(t, 1, have(4, 12).TransactionVersion())
	require.EqualValues(t, 2, wire.Versions{Feature: map[string]int16{"transaction.version": 2}}.TransactionVersion())
}
