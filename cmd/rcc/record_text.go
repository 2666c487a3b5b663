package main

import (
	"fmt"
	"strconv"

	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/internal/picture"
)

// The ANSI codes of text output.
const (
	dim   = "\x1b[2m"
	red   = "\x1b[31m"
	green = "\x1b[32m"
	reset = "\x1b[0m"
)

// textAppender returns the form of a record without --format: place, time,
// key, value and headers, with tabs between. It is made for eyes and always
// printable; null is "null" without quotes only where the record holds none,
// so a reader that has to be sure takes JSON.
func textAppender(color bool) appendRecord {
	paint := func(dst []byte, code string) []byte {
		if color {
			dst = append(dst, code...)
		}
		return dst
	}
	return func(dst []byte, _ *kgo.FetchPartition, r *kgo.Record) []byte {
		dst = paint(dst, dim)
		dst = appendText(dst, []byte(r.Topic))
		dst = fmt.Appendf(dst, "/%d@%d\t", r.Partition, r.Offset)
		if r.Timestamp.UnixMilli() >= 0 {
			dst = r.Timestamp.UTC().AppendFormat(dst, jsonTime)
		}
		dst = append(dst, '\t')
		dst = paint(dst, reset)
		if r.Attrs.IsControl() {
			word := controlWord(r.Key)
			dst = paint(dst, markerColor(word))
			dst = fmt.Appendf(dst, "%s marker of producer %d epoch %d", word, r.ProducerID, r.ProducerEpoch)
			return append(paint(dst, reset), '\n')
		}
		dst = append(appendText(dst, r.Key), '\t')
		dst = appendText(dst, r.Value)
		for _, h := range r.Headers {
			dst = append(dst, '\t')
			dst = append(appendText(dst, []byte(h.Key)), '=')
			dst = appendText(dst, h.Value)
		}
		return append(dst, '\n')
	}
}

func markerColor(word string) string {
	switch word {
	case "commit":
		return green
	case "abort":
		return red
	}
	return dim
}

func appendText(dst, b []byte) []byte {
	if b == nil {
		return append(dst, "null"...)
	}
	return picture.AppendPrintable(dst, b, "")
}

// formatAppender returns the form that a layout of [kgo.NewRecordFormatter]
// describes. Bytes go out as they are, so that layouts for machines work; if
// a terminal would get them, everything but line ends and tabs is escaped.
func formatAppender(layout string, terminal bool) (appendRecord, error) {
	formatter, err := kgo.NewRecordFormatter(layout)
	if err != nil {
		return nil, &usageError{err: fmt.Errorf("format %s: %w", strconv.Quote(layout), err)}
	}
	if !terminal {
		return formatter.AppendPartitionRecord, nil
	}
	var raw []byte
	return func(dst []byte, p *kgo.FetchPartition, r *kgo.Record) []byte {
		raw = formatter.AppendPartitionRecord(raw[:0], p, r)
		return picture.AppendPrintable(dst, raw, "\n\t")
	}, nil
}
