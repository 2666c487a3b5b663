package batchtest

import (
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// What one range of a scenario file may stand for, and what the values of one
// batch may add up to.
const (
	maxOffsets = 1 << 20
	maxBytes   = 1 << 26
)

// parseInt parses a whole decimal number of a size in bits.
func parseInt[T int8 | int16 | int32 | int64 | int](s string, bits int) (T, error) {
	n, err := strconv.ParseInt(s, 10, bits)
	if err != nil {
		return 0, fmt.Errorf("%q is not a whole number of %d bits", s, bits)
	}
	return T(n), nil
}

// parseSpan parses A-B or A, both inclusive.
func parseSpan(s string) (first, last int64, err error) {
	from, to, both := strings.Cut(s, "-")
	if !both {
		to = from
	}
	if first, err = parseInt[int64](from, 64); err != nil {
		return 0, 0, err
	}
	if last, err = parseInt[int64](to, 64); err != nil {
		return 0, 0, err
	}
	if last < first || last-first >= maxOffsets || last == math.MaxInt64 {
		return 0, 0, fmt.Errorf("range %q is empty or too long", s)
	}
	return first, last, nil
}

// parseOffsets parses ranges separated by commas or blanks; "none" is nil.
func parseOffsets(s string) ([]int64, error) {
	if s == "none" {
		return nil, nil
	}
	var offsets []int64
	for _, span := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' }) {
		first, last, err := parseSpan(span)
		if err != nil {
			return nil, err
		}
		for o := first; o <= last; o++ {
			offsets = append(offsets, o)
		}
	}
	if len(offsets) == 0 {
		return nil, fmt.Errorf("no offsets; say none")
	}
	return offsets, nil
}

// parseText parses a key or value: null, empty or the text itself.
func parseText(s string) []byte {
	switch s {
	case "null":
		return nil
	case "empty":
		return []byte{}
	}
	return []byte(s)
}

// parseHex is parseText for bytes in hexadecimal.
func parseHex(s string) ([]byte, error) {
	switch s {
	case "null":
		return nil, nil
	case "empty":
		return []byte{}, nil
	}
	b, err := hex.DecodeString(s)
	if err != nil {
		return nil, fmt.Errorf("%q is not hexadecimal", s)
	}
	return b, nil
}

func parseCodec(s string) (Codec, error) {
	for _, c := range Codecs() {
		if s == c.String() {
			return c, nil
		}
	}
	if n, err := strconv.ParseUint(s, 10, 3); err == nil && n > uint64(Zstd) {
		return Codec(n), nil
	}
	return None, fmt.Errorf("unknown codec %q", s)
}
