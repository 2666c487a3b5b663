package batchtest

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// parseEntry turns one line of the log part into an entry: a kind, offsets and
// attributes, which are applied from left to right.
func parseEntry(kind string, words []string) (Entry, error) {
	if len(words) == 0 {
		return nil, fmt.Errorf("%s needs an offset or a range", kind)
	}
	if kind == "raw" {
		b, err := parseHex(strings.Join(words, ""))
		return Raw(b), err
	}
	base, last, err := parseSpan(words[0])
	if err != nil {
		return nil, err
	}
	switch kind {
	case "batch":
		return parseBatch(Data(base, last), dataAttributes, words[1:])
	case "empty":
		return parseBatch(Empty(base, last), emptyAttributes, words[1:])
	case "message":
		return parseMessage(base, last, words[1:])
	}
	return parseControl(kind, base, last, words[1:])
}

// parseControl parses abort, commit and control lines.
func parseControl(kind string, base, last int64, words []string) (Entry, error) {
	b := Data(base, last).Control()
	b.attributes |= attrTransactional
	types := map[string]int16{"abort": TypeAbort, "commit": TypeCommit}
	b = b.Each(func(r Record) Record {
		r.Key, r.Value = ControlKey(types[kind]), EndMarker(0)
		return r
	})
	b, err := parseBatch(b, controlAttributes, words)
	if err == nil && b.producerID == -1 {
		err = fmt.Errorf("%s needs producer=", kind)
	}
	return b, err
}

type attribute func(Batch, string) (Batch, error)

func parseBatch(b Batch, known map[string]attribute, words []string) (Batch, error) {
	for _, w := range words {
		name, value, _ := strings.Cut(w, "=")
		apply := known[name]
		if apply == nil {
			apply = batchAttributes[name]
		}
		if damage, err := parseDamage(name, value); err != nil {
			return b, err
		} else if damage != nil {
			apply = func(b Batch, _ string) (Batch, error) { return b.then(damage), nil }
		}
		if apply == nil {
			return b, fmt.Errorf("unknown attribute %q", name)
		}
		var err error
		if b, err = apply(b, value); err != nil {
			return b, fmt.Errorf("%s: %w", name, err)
		}
	}
	return b, nil
}

func parseMessage(base, last int64, words []string) (Entry, error) {
	m := MessageV1(base, last)
	for _, w := range words {
		name, value, _ := strings.Cut(w, "=")
		damage, err := parseDamage(name, value)
		switch {
		case err != nil:
		case damage != nil:
			m = m.then(damage)
		case name == "magic" && (value == "0" || value == "1"):
			m.magic = int8(value[0] - '0')
		case name == "codec":
			m.codec, err = parseCodec(value)
		case name == "records":
			m.records, err = keep(m.records, value)
		default:
			err = fmt.Errorf("unknown attribute %q", w)
		}
		if err != nil {
			return nil, err
		}
	}
	if len(m.records) == 0 || len(m.records) > 1 && m.codec == None {
		return nil, fmt.Errorf("a message holds one record, or several in a codec")
	}
	return m, nil
}

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

// keep leaves the records at the offsets.
func keep(records []Record, s string) ([]Record, error) {
	offsets, err := parseOffsets(s)
	return Batch{records: records}.Keep(offsets...).records, err
}

// parseHeaders parses name:value pairs separated by commas. A pair without a
// colon has a null value.
func parseHeaders(b Batch, s string) (Batch, error) {
	var headers []kmsg.Header
	for pair := range strings.SplitSeq(s, ",") {
		name, value, some := strings.Cut(pair, ":")
		h := kmsg.Header{Key: name}
		if some {
			h.Value = []byte(value)
		}
		headers = append(headers, h)
	}
	return b.Each(func(r Record) Record { r.Headers = headers; return r }), nil
}

// parseTimestamps parses one time in milliseconds for every record.
func parseTimestamps(b Batch, s string) (Batch, error) {
	times := strings.Split(s, ",")
	if len(times) != len(b.records) {
		return b, fmt.Errorf("%d timestamps for %d records", len(times), len(b.records))
	}
	records := make([]Record, len(b.records))
	for i, r := range b.records {
		t, err := parseInt[int64](times[i], 64)
		if err != nil {
			return b, err
		}
		r.Timestamp = t
		records[i] = r
	}
	return b.With(records...), nil
}

// parseSpoil parses FAULT:INDEX.
func parseSpoil(b Batch, s string) (Batch, error) {
	kind, index, _ := strings.Cut(s, ":")
	n, err := parseInt[int](index, 32)
	if err != nil {
		return b, err
	}
	if n < 0 || n >= len(b.records) {
		return b, fmt.Errorf("no record %d", n)
	}
	switch Spoilt(kind) {
	case SpoiltLength, SpoiltBody, SpoiltOffset, SpoiltHeaderCount, SpoiltHeaderKey:
		return b.Spoil(Spoilt(kind), n), nil
	}
	return b, fmt.Errorf("unknown fault %q", kind)
}
