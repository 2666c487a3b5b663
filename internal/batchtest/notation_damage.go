package batchtest

import (
	"fmt"
	"strings"
)

// parseDamage parses the attributes that change bytes after encoding, which
// batches and messages share. It returns nil if the name is none of them.
func parseDamage(name, value string) (func([]byte) []byte, error) {
	switch name {
	case "fix-crc":
		return func(raw []byte) []byte {
			if len(raw) < 21 {
				return raw // nowhere to put it
			}
			return FixCRC(raw)
		}, nil
	case "set":
		pos, text, _ := strings.Cut(value, ":")
		with, err := parseHex(text)
		if err != nil {
			return nil, fmt.Errorf("set: %w", err)
		}
		return damageAt(pos, func(raw []byte, n int) []byte { return Set(raw, n, with...) })
	case "flip":
		return damageAt(value, Flip)
	case "cut", "keep", "length":
	default:
		return nil, nil
	}
	n, err := parseInt[int32](value, 32)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	switch name {
	case "cut":
		return func(raw []byte) []byte { return Cut(raw, int(n)) }, nil
	case "keep":
		return func(raw []byte) []byte { return Cut(raw, len(raw)-int(n)) }, nil
	}
	return func(raw []byte) []byte { return setLength(raw, n) }, nil
}

// damageAt is a change at a position; a position outside the bytes changes
// nothing.
func damageAt(pos string, change func([]byte, int) []byte) (func([]byte) []byte, error) {
	n, err := parseInt[int](pos, 32)
	if err != nil {
		return nil, err
	}
	return func(raw []byte) []byte {
		if i := at(raw, n); i < 0 || i >= len(raw) {
			return raw
		}
		return change(raw, n)
	}, nil
}
