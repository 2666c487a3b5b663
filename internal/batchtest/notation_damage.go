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
		return fixCRC, nil
	case "flip":
		return damageAt(value, Flip)
	case "set":
		pos, text, _ := strings.Cut(value, ":")
		with, err := parseHex(text)
		if err != nil {
			return nil, fmt.Errorf("set: %w", err)
		}
		return damageAt(pos, func(raw []byte, n int) []byte { return Set(raw, n, with...) })
	case "cut":
		return damageBy(value, func(raw []byte, n int32) []byte { return Cut(raw, int(n)) })
	case "keep":
		return damageBy(value, func(raw []byte, n int32) []byte { return Cut(raw, len(raw)-int(n)) })
	case "length":
		return damageBy(value, setLength)
	}
	return nil, nil
}

// fixCRC is [FixCRC] for what may have been cut before.
func fixCRC(raw []byte) []byte {
	if len(raw) < 21 { // ends before the CRC does
		return raw
	}
	return FixCRC(raw)
}

// damageBy is a change by a number.
func damageBy(value string, change func([]byte, int32) []byte) (func([]byte) []byte, error) {
	n, err := parseInt[int32](value, 32)
	if err != nil {
		return nil, err
	}
	return func(raw []byte) []byte { return change(raw, n) }, nil
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
