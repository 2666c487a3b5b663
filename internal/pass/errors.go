package pass

import (
	"errors"

	"example.com/readcommitted/batchdecode"
)

// BatchOf returns the offsets, inclusive, of the batch that err is about; -1
// where they are not known.
func BatchOf(err error) (base, last int64) {
	var e *batchdecode.Error
	if errors.As(err, &e) {
		return e.BaseOffset, e.LastOffset
	}
	return -1, -1
}

// IsTooLarge reports whether a batch decompresses to more than its limit.
func IsTooLarge(err error) bool { return errors.Is(err, batchdecode.ErrTooLarge) }
