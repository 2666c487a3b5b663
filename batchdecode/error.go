package batchdecode

import (
	"errors"
	"fmt"
	"strings"
)

// The classes of error, for [errors.Is].
var (
	// ErrTruncated means that the bytes end inside a batch. That is normal at
	// the end of a fetch response, which the broker cuts at a byte limit, and
	// says nothing against the bytes present.
	ErrTruncated = errors.New("truncated batch")

	// ErrCorrupt means that the bytes contradict the format. Nothing behind
	// the place can be trusted.
	ErrCorrupt = errors.New("corrupt data")

	// ErrUnsupported means a magic byte or a codec that is not known here, or
	// content that this package leaves to others.
	ErrUnsupported = errors.New("unsupported format")

	// ErrTooLarge means that records would decompress to more bytes than the
	// caller's limit.
	ErrTooLarge = errors.New("decompressed records exceed the limit")
)

// Error is an error of this package with the place it was found at.
type Error struct {
	// BaseOffset is the base offset of the batch, -1 if the bytes end before
	// the batch length, which is needed to believe in a batch.
	BaseOffset int64

	// LastOffset is the last offset of the batch, inclusive, -1 if it is not
	// known. It is not verified when the CRC was wrong or not checked.
	LastOffset int64

	// Position is the byte position within the batch. Within compressed
	// records it counts as if the batch were not compressed: [HeaderLen] plus
	// the position in the decompressed bytes.
	Position int

	// Field names what was being read, for example "record 3: key length".
	// Records and headers are counted from 0.
	Field string

	// Err holds the class and, where there is one, the cause.
	Err error
}

// Error names batch, field, position, class and reason.
func (e *Error) Error() string {
	var s strings.Builder
	switch {
	case e.BaseOffset < 0:
		s.WriteString("batch")
	case e.LastOffset < 0:
		fmt.Fprintf(&s, "batch at offset %d", e.BaseOffset)
	default:
		fmt.Fprintf(&s, "batch %d-%d", e.BaseOffset, e.LastOffset)
	}
	fmt.Fprintf(&s, ": %s at byte %d: %v", e.Field, e.Position, e.Err)
	return s.String()
}

// Unwrap returns the class and cause.
func (e *Error) Unwrap() error { return e.Err }

// corruptf returns an error of class ErrCorrupt with a reason.
func corruptf(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrCorrupt}, args...)...)
}
