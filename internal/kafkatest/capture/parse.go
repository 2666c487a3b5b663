package capture

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

var errUnknownWord = errors.New("unknown word")

// Parse reads a capture file. The errors name file and line.
func Parse(name string, text []byte) (Capture, error) {
	c := Capture{Name: name}
	var doc []string
	number, below := 0, false
	for line := range strings.Lines(string(text)) {
		number++
		line = strings.TrimSpace(line)
		var err error
		switch {
		case line == separator:
			below, c.Aborted = true, []AbortedTransaction{}
		case below:
			err = c.parseResult(strings.Fields(line))
		case strings.HasPrefix(line, "#"):
			if len(c.Bytes) == 0 && !strings.HasPrefix(line, "# batch ") {
				doc = append(doc, strings.TrimPrefix(line, "# "))
			}
		default:
			var raw []byte
			raw, err = hex.DecodeString(line)
			c.Bytes = append(c.Bytes, raw...)
		}
		if err != nil {
			return c, fmt.Errorf("capture %s, line %d: %w", name, number, err)
		}
	}
	if !below {
		return c, fmt.Errorf("capture %s: no %s line", name, separator)
	}
	c.Doc = strings.Join(doc, "\n")
	return c, nil
}

func (c *Capture) parseResult(words []string) error {
	if len(words) == 0 {
		return nil
	}
	args := attributes(words[1:])
	var r reader
	switch words[0] {
	case "fetch":
		c.FetchOffset = r.number(args.at(0))
		c.IsolationLevel = int8(r.number(args.get("isolation")))
	case "log-start":
		c.LogStartOffset = r.number(args.at(0))
	case "lso":
		c.LastStableOffset = r.number(args.at(0))
	case "hw":
		c.HighWatermark = r.number(args.at(0))
	case "tail":
		c.Tail = int(r.number(args.at(0)))
	case "visible":
		for i := range args {
			c.Visible = append(c.Visible, r.number(args.at(i)))
		}
	case "aborted":
		c.parseAborted(args, &r)
	case "batch":
		c.Batches = append(c.Batches, parseBatch(args, &r))
	case "record":
		if len(c.Batches) == 0 {
			return fmt.Errorf("record before any batch")
		}
		b := &c.Batches[len(c.Batches)-1]
		b.Records = append(b.Records, parseRecord(args, &r))
	default:
		return fmt.Errorf("%w %q", errUnknownWord, words[0])
	}
	return r.err
}

func (c *Capture) parseAborted(args attributes, r *reader) {
	if args.at(0) == "null" {
		c.Aborted = nil
		return
	}
	c.Aborted = append(c.Aborted, AbortedTransaction{r.number(args.get("producer")), r.number(args.get("first"))})
}

func parseBatch(args attributes, r *reader) Batch {
	base, last, _ := strings.Cut(args.at(0), "-")
	b := Batch{
		BaseOffset:           r.number(base),
		LastOffset:           r.number(last),
		Size:                 int(r.number(args.get("size"))),
		PartitionLeaderEpoch: int32(r.number(args.get("leader-epoch"))),
		ProducerID:           r.number(args.get("producer")),
		ProducerEpoch:        int16(r.number(args.get("epoch"))),
		BaseSequence:         int32(r.number(args.get("sequence"))),
		Codec:                args.get("codec"),
		BaseTimestamp:        r.number(args.get("base-time")),
		MaxTimestamp:         r.number(args.get("max-time")),
	}
	for _, f := range b.flags() {
		for _, word := range args {
			*f.set = *f.set || word == f.name
		}
	}
	return b
}

func parseRecord(args attributes, r *reader) Record {
	record := Record{
		Offset:         r.number(args.at(0)),
		TimestampDelta: r.number(args.get("time-delta")),
		Key:            r.bytes(args.get("key")),
		Value:          r.bytes(args.get("value")),
	}
	for _, word := range args {
		if header, ok := strings.CutPrefix(word, "header="); ok {
			key, value, _ := strings.Cut(header, ":")
			record.Headers = append(record.Headers, Header{string(r.bytes(key)), r.bytes(value)})
		}
	}
	return record
}

// attributes are the words of a line after the first.
type attributes []string

// at is the word at index i, empty if there is none.
func (a attributes) at(i int) string {
	if i >= len(a) {
		return ""
	}
	return a[i]
}

// get is the value of name=value, empty if there is none.
func (a attributes) get(name string) string {
	for _, word := range a {
		if value, ok := strings.CutPrefix(word, name+"="); ok {
			return value
		}
	}
	return ""
}

// reader keeps the first error, so that a line is read straight down.
type reader struct{ err error }

func (r *reader) number(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	r.keep(s, err)
	return n
}

func (r *reader) bytes(s string) []byte {
	b, err := unquote(s)
	r.keep(s, err)
	return b
}

func (r *reader) keep(s string, err error) {
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("%q: %w", s, err)
	}
}
