package batchdecode

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// sectionOf makes a record section in which now and then something is wrong or
// out of the ordinary.
func sectionOf(random *rand.Rand, count int) []byte {
	var section []byte
	rare := func() bool { return random.IntN(60) == 0 }
	number := func(b []byte, n int64) []byte {
		if rare() {
			n = int64(random.Uint64()) >> random.IntN(64)
		}
		return binary.AppendVarint(b, n)
	}
	bytes := func(b []byte) []byte {
		n := random.IntN(4) - 1
		b = number(b, int64(n))
		return append(b, make([]byte, max(n, 0))...)
	}
	for i := range count {
		r := number([]byte{byte(random.IntN(2))}, random.Int64N(1<<20)-1<<19)
		r = number(r, int64(i))
		r = bytes(bytes(r))
		if headers := random.IntN(6) - 4; headers > 0 {
			r = number(r, int64(headers))
			r = bytes(append(r, 2, 'k'))
		} else {
			r = number(r, 0)
		}
		if rare() {
			r = append(r, 0)
		}
		section = append(number(section, int64(len(r))), r...)
	}
	if rare() {
		section = append(section, 0)
	}
	if rare() {
		section = section[:random.IntN(len(section)+1)]
	}
	return section
}

// A record that is decoded the quick way is what the careful way makes of it,
// and the iterator goes on alike.
func TestQuickAgreesWithCareful(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	quick, failed := 0, 0
	for range 20_000 {
		count := 1 + random.IntN(6)
		one := Records{
			section: sectionOf(random, count), count: count, previousDelta: -1,
			baseOffset: 100, baseTimestamp: 1000, lastDelta: int32(count - 1), appended: random.IntN(4) == 0, appendTime: 7,
		}
		other := one
		for {
			var r, want Record
			before := one
			ok := one.read < one.count && one.quick(&r)
			if !ok {
				require.Equal(t, before, one, "it changes nothing")
				if one.read >= one.count || !one.careful(&r) {
					break
				}
			} else {
				quick++
			}
			require.True(t, other.careful(&want))
			want.headers = want.headers[:len(want.headers):len(want.headers)]
			if want.headerCount == 0 {
				require.Empty(t, want.headers)
				want.headers, r.headers = nil, nil
			}
			require.Equal(t, want, r)
			require.Equal(t, other, one)
		}
		if one.err != nil {
			failed++
		}
	}
	require.Greater(t, quick, 20_000)
	require.Greater(t, failed, 1_000)
}
