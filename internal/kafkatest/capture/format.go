package capture

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

const separator = "----"

// hexWidth is how many bytes a line of hex holds.
const hexWidth = 32

// Format writes the capture in the form that [Parse] reads.
func (c Capture) Format() []byte {
	var b strings.Builder
	for line := range strings.Lines(c.Doc) {
		fmt.Fprintf(&b, "# %s\n", strings.TrimSpace(line))
	}
	rest := c.Bytes
	for i, batch := range c.Batches {
		fmt.Fprintf(&b, "# batch %d, %d bytes\n", i, batch.Size)
		writeHex(&b, rest[:batch.Size])
		rest = rest[batch.Size:]
	}
	if len(rest) > 0 {
		fmt.Fprintf(&b, "# %d bytes of the next batch\n", len(rest))
		writeHex(&b, rest)
	}
	fmt.Fprintf(&b, "%s\nfetch %d isolation=%d\n", separator, c.FetchOffset, c.IsolationLevel)
	fmt.Fprintf(&b, "log-start %d\nlso %d\nhw %d\n", c.LogStartOffset, c.LastStableOffset, c.HighWatermark)
	if c.Aborted == nil {
		b.WriteString("aborted null\n")
	}
	for _, a := range c.Aborted {
		fmt.Fprintf(&b, "aborted producer=%d first=%d\n", a.ProducerID, a.FirstOffset)
	}
	for _, batch := range c.Batches {
		batch.format(&b)
	}
	fmt.Fprintf(&b, "tail %d\nvisible", c.Tail)
	for _, offset := range c.Visible {
		fmt.Fprintf(&b, " %d", offset)
	}
	b.WriteString("\n")
	return []byte(b.String())
}

func writeHex(b *strings.Builder, raw []byte) {
	for len(raw) > 0 {
		n := min(len(raw), hexWidth)
		fmt.Fprintf(b, "%s\n", hex.EncodeToString(raw[:n]))
		raw = raw[n:]
	}
}

func (b Batch) format(w *strings.Builder) {
	fmt.Fprintf(w, "batch %d-%d size=%d leader-epoch=%d producer=%d epoch=%d sequence=%d codec=%s base-time=%d max-time=%d",
		b.BaseOffset, b.LastOffset, b.Size, b.PartitionLeaderEpoch, b.ProducerID, b.ProducerEpoch, b.BaseSequence,
		b.Codec, b.BaseTimestamp, b.MaxTimestamp)
	for _, f := range b.flags() {
		if *f.set {
			fmt.Fprintf(w, " %s", f.name)
		}
	}
	w.WriteString("\n")
	for _, r := range b.Records {
		r.format(w)
	}
}

func (r Record) format(w *strings.Builder) {
	fmt.Fprintf(w, "record %d time-delta=%d key=%s value=%s", r.Offset, r.TimestampDelta, quote(r.Key), quote(r.Value))
	for _, h := range r.Headers {
		fmt.Fprintf(w, " header=%s:%s", quote([]byte(h.Key)), quote(h.Value))
	}
	w.WriteString("\n")
}

type flag struct {
	name string
	set  *bool
}

// flags are the batch's yes-or-no attributes under their names in the file.
func (b *Batch) flags() []flag {
	return []flag{
		{"txn", &b.Transactional},
		{"control", &b.Control},
		{"append-time", &b.LogAppendTime},
		{"horizon", &b.DeleteHorizon},
	}
}

// quote writes bytes as a Go string without spaces or colons, so that a line
// can be split at them.
func quote(b []byte) string {
	if b == nil {
		return "null"
	}
	return strings.NewReplacer(" ", `\x20`, ":", `\x3a`).Replace(strconv.QuoteToASCII(string(b)))
}

func unquote(s string) ([]byte, error) {
	if s == "null" {
		return nil, nil
	}
	text, err := strconv.Unquote(s)
	return []byte(text), err
}
