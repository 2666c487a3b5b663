package history

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func someValue() Value {
	return Value{Run: 1, Producer: 2, Incarnation: 3, Txn: 4, Ending: Abort, Index: 5, Count: 6, Partitions: 7, Number: 8}
}

func TestValuesReadBack(t *testing.T) {
	for _, padding := range []int{0, 1, 1000} {
		got, err := Parse(someValue().Encode(padding))
		require.NoError(t, err)
		require.Equal(t, someValue(), got)
	}
}

// No byte of a value can change, or be missing, without being noticed.
func TestValuesAreHeldByTheirCRC(t *testing.T) {
	whole := someValue().Encode(9)
	for i := range whole {
		_, err := Parse(whole[:i])
		require.Error(t, err, i)
		other := append([]byte{}, whole...)
		other[i] ^= 0x40
		_, err = Parse(other)
		require.Error(t, err, i)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(someValue().Encode(0))
	f.Add(someValue().Encode(40))
	f.Add([]byte("x"))
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := Parse(b)
		if err == nil {
			require.Equal(t, b[:fieldsBytes], v.Encode(0)[:fieldsBytes])
			require.NotEmpty(t, v.String())
		}
	})
}
