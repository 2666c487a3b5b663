package batchdecode_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/readcommitted/batchdecode"
)

func TestErrorSaysWhatIsKnown(t *testing.T) {
	cause := errors.New("cause")
	err := fmt.Errorf("%w: %w", batchdecode.ErrCorrupt, cause)
	for _, tt := range []struct {
		base, last int64
		want       string
	}{
		{-1, -1, "batch: crc at byte 17: corrupt data: cause"},
		{5, -1, "batch at offset 5: crc at byte 17: corrupt data: cause"},
		{5, 9, "batch 5-9: crc at byte 17: corrupt data: cause"},
		{0, 0, "batch 0-0: crc at byte 17: corrupt data: cause"},
	} {
		e := &batchdecode.Error{BaseOffset: tt.base, LastOffset: tt.last, Position: 17, Field: "crc", Err: err}
		require.Equal(t, tt.want, e.Error())
		require.ErrorIs(t, e, batchdecode.ErrCorrupt)
		require.ErrorIs(t, e, cause)
	}
}
