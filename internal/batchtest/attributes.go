package batchtest

import (
	"fmt"
	"strings"
)

// attribute applies the text behind the equals sign to a batch.
type attribute func(Batch, string) (Batch, error)

// number makes an attribute out of a setter that takes a number.
func number[T int8 | int16 | int32 | int64 | int](bits int, set func(Batch, T) Batch) attribute {
	return func(b Batch, s string) (Batch, error) {
		n, err := parseInt[T](s, bits)
		return set(b, n), err
	}
}

// bounded makes an attribute out of a setter that takes a number of bytes, from
// 0 to a bound.
func bounded(bound int, set func(Batch, int) Batch) attribute {
	return func(b Batch, s string) (Batch, error) {
		n, err := parseInt[int](s, 32)
		if err == nil && (n < 0 || n > bound) {
			err = fmt.Errorf("%d is not within 0 and %d bytes", n, bound)
		}
		if err != nil {
			return b, err
		}
		return set(b, n), nil
	}
}

// flag makes an attribute out of a setter that takes no value.
func flag(set func(Batch) Batch) attribute {
	return func(b Batch, s string) (Batch, error) {
		if s != "" {
			return b, fmt.Errorf("takes no value")
		}
		return set(b), nil
	}
}

// batchAttributes are those of every line that makes a v2 batch.
var batchAttributes = map[string]attribute{
	"producer":     number(64, Batch.Idempotent),
	"epoch":        number(16, Batch.Epoch),
	"sequence":     number(32, Batch.Sequence),
	"leader-epoch": number(32, Batch.LeaderEpoch),
	"horizon":      number(64, Batch.DeleteHorizon),
	"count":        number(32, Batch.ClaimCount),
	"last-delta":   number(32, Batch.ClaimLastOffsetDelta),
	"magic":        number(8, Batch.ClaimMagic),
}

// emptyAttributes are those of an empty line.
var emptyAttributes = map[string]attribute{
	"txn":     flag(func(b Batch) Batch { return b.Txn(b.producerID) }),
	"control": flag(Batch.Control),
}

// dataAttributes are those of a batch line.
var dataAttributes = map[string]attribute{
	"txn":         flag(func(b Batch) Batch { return b.Txn(b.producerID) }),
	"append-time": number(64, Batch.LogAppendTime),
	"trailing":    bounded(maxBytes, Batch.Trailing),
	"codec": func(b Batch, s string) (Batch, error) {
		c, err := parseCodec(s)
		return b.Codec(c), err
	},
	"payload": func(b Batch, s string) (Batch, error) {
		p, err := parseHex(s)
		return b.Payload(p), err
	},
	"records": func(b Batch, s string) (Batch, error) {
		records, err := keep(b.records, s)
		return b.With(records...), err
	},
	"size": func(b Batch, s string) (Batch, error) {
		return bounded(maxBytes/(len(b.records)+1), Batch.Size)(b, s)
	},
	"key": func(b Batch, s string) (Batch, error) {
		return b.Each(func(r Record) Record { r.Key = parseText(s); return r }), nil
	},
	"value": func(b Batch, s string) (Batch, error) {
		return b.Each(func(r Record) Record { r.Value = parseText(s); return r }), nil
	},
	"headers":    parseHeaders,
	"timestamps": parseTimestamps,
	"spoil":      parseSpoil,
}

// controlAttributes are those of abort, commit and control lines.
var controlAttributes = map[string]attribute{
	"coordinator-epoch": number(32, func(b Batch, n int32) Batch {
		return b.Each(func(r Record) Record { r.Value = EndMarker(n); return r })
	}),
	"type": func(b Batch, s string) (Batch, error) {
		types := strings.Split(s, ",")
		if len(types) != len(b.records) {
			return b, fmt.Errorf("%d types for %d offsets", len(types), len(b.records))
		}
		var err error
		return b.Each(func(r Record) Record {
			n, bad := parseInt[int16](types[r.Offset-b.base], 16)
			if bad != nil {
				err = bad
			}
			r.Key = ControlKey(n)
			return r
		}), err
	},
	"key": func(b Batch, s string) (Batch, error) {
		key, err := parseHex(s)
		return b.Each(func(r Record) Record { r.Key = key; return r }), err
	},
	"value": func(b Batch, s string) (Batch, error) {
		value, err := parseHex(s)
		return b.Each(func(r Record) Record { r.Value = value; return r }), err
	},
}
