package main

import (
	"encoding/base64"
	"strconv"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// appendRecord appends one record in some form, its line end included. The
// partition is the one that the record was fetched with.
type appendRecord func(dst []byte, p *kgo.FetchPartition, r *kgo.Record) []byte

// jsonTime is RFC 3339 in UTC with milliseconds, Kafka's resolution.
const jsonTime = "2006-01-02T15:04:05.000Z07:00"

// appendJSON appends the record as one line of JSON. Keys, values and header
// values are strings where they are UTF-8 and base64 where they are not, which
// a second field then says; null stays apart from the empty string. A marker's
// key and value are always base64: they are numbers.
func appendJSON(dst []byte, _ *kgo.FetchPartition, r *kgo.Record) []byte {
	marker := r.Attrs.IsControl()
	dst = append(dst, `{"topic":`...)
	dst = appendJSONString(dst, r.Topic)
	dst = append(dst, `,"partition":`...)
	dst = strconv.AppendInt(dst, int64(r.Partition), 10)
	dst = append(dst, `,"offset":`...)
	dst = strconv.AppendInt(dst, r.Offset, 10)
	dst = append(dst, `,"timestamp":`...)
	dst = appendJSONTime(dst, r.Timestamp)
	dst = append(dst, ',')
	dst = appendJSONBytes(dst, "key", r.Key, marker)
	dst = append(dst, ',')
	dst = appendJSONBytes(dst, "value", r.Value, marker)
	dst = append(dst, `,"headers":[`...)
	for i, h := range r.Headers {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, '{')
		dst = appendJSONBytes(dst, "key", []byte(h.Key), false)
		dst = append(dst, ',')
		dst = appendJSONBytes(dst, "value", h.Value, false)
		dst = append(dst, '}')
	}
	dst = append(dst, `],"producer_id":`...)
	dst = strconv.AppendInt(dst, r.ProducerID, 10)
	dst = append(dst, `,"producer_epoch":`...)
	dst = strconv.AppendInt(dst, int64(r.ProducerEpoch), 10)
	dst = append(dst, `,"leader_epoch":`...)
	dst = strconv.AppendInt(dst, int64(r.LeaderEpoch), 10)
	dst = append(dst, `,"transactional":`...)
	dst = strconv.AppendBool(dst, r.Attrs.IsTransactional())
	if marker {
		dst = append(dst, `,"control":`...)
		dst = appendJSONString(dst, controlWord(r.Key))
	}
	return append(dst, "}\n"...)
}

// controlWord names a control record by the type in its key: commit, abort,
// or the number of any other type.
//
// Source: ControlRecordType.
func controlWord(key []byte) string {
	var k kmsg.ControlRecordKey
	if err := k.ReadFrom(key); err != nil {
		return "unreadable"
	}
	switch k.Type {
	case kmsg.ControlRecordKeyTypeAbort:
		return "abort"
	case kmsg.ControlRecordKeyTypeCommit:
		return "commit"
	default:
		return strconv.Itoa(int(k.Type))
	}
}

// appendJSONTime appends null for the timestamp -1, which is Kafka's "none".
func appendJSONTime(dst []byte, t time.Time) []byte {
	if t.UnixMilli() < 0 {
		return append(dst, "null"...)
	}
	dst = append(dst, '"')
	dst = t.UTC().AppendFormat(dst, jsonTime)
	return append(dst, '"')
}

// appendJSONBytes appends "name":value, and "name_encoding":"base64" if the
// bytes had to be encoded.
func appendJSONBytes(dst []byte, name string, b []byte, binary bool) []byte {
	dst = append(dst, '"')
	dst = append(dst, name...)
	dst = append(dst, `":`...)
	switch {
	case b == nil:
		return append(dst, "null"...)
	case !binary && utf8.Valid(b):
		return appendJSONString(dst, string(b))
	}
	dst = append(dst, '"')
	dst = base64.StdEncoding.AppendEncode(dst, b)
	dst = append(dst, `","`...)
	dst = append(dst, name...)
	return append(dst, `_encoding":"base64"`...)
}

// appendJSONString appends s quoted. Every rune that is not printable becomes
// \uXXXX, more than JSON asks for: C1 controls and bidirectional overrides are
// legal in JSON and not harmless on a terminal.
func appendJSONString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '\n':
			dst = append(dst, `\n`...)
		case r == '\r':
			dst = append(dst, `\r`...)
		case r == '\t':
			dst = append(dst, `\t`...)
		case unicode.IsPrint(r):
			dst = utf8.AppendRune(dst, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			dst = appendHexRune(appendHexRune(dst, high), low)
		default:
			dst = appendHexRune(dst, r)
		}
	}
	return append(dst, '"')
}

func appendHexRune(dst []byte, r rune) []byte {
	const digits = "0123456789abcdef"
	return append(dst, '\\', 'u', digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15])
}
