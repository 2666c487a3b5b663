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
	switch Fault(kind) {
	case FaultLength, FaultBody, FaultOffset, FaultHeaderCount, FaultHeaderKey:
		return b.Spoil(Fault(kind), n), nil
	}
	return b, fmt.Errorf("unknown fault %q", kind)
}
