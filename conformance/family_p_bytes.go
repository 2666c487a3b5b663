package conformance

import (
	"bytes"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
)

// Scripts of family P about what becomes of a producer's bytes.

// codecUnderTest is a compression codec by the name that topic configurations
// have for it.
type codecUnderTest struct {
	name  string
	codec kgo.CompressionCodec
	bits  int8 // in a batch's attributes
}

var codecs = []codecUnderTest{
	{"gzip", kgo.GzipCompression(), 1},
	{"snappy", kgo.SnappyCompression(), 2},
	{"lz4", kgo.Lz4Compression(), 3},
	{"zstd", kgo.ZstdCompression(), 4},
}

// compressionMatrix is P-10: each codec as producers use it, and as the topic
// asks for it.
func compressionMatrix(t *trial) {
	compressed := 0
	for _, c := range codecs {
		if c.name == "zstd" && (!t.run.features.has(kmsg.Produce, 7) || !t.run.features.has(kmsg.Fetch, 10)) { // KIP-110
			t.fact("zstd: %s", ReasonAbsent)
			continue
		}
		for _, fixed := range []bool{false, true} {
			setting, codec := "compression.type=producer", c.codec
			if fixed {
				setting, codec = "compression.type="+c.name, kgo.NoCompression()
			}
			var p model.Partition
			if end := t.guarded(func() { p = t.partition(setting) }); end != nil {
				t.notTried(end, setting)
				continue
			}
			compressed += t.compressedLog(p, c, codec, fixed)
		}
	}
	t.witness(compressed > 0, "no batch in any log was compressed")
}

// notTried goes on without what the cluster refused; anything else ends the
// script, a missing right too, which says nothing about the cluster.
func (t *trial) notTried(end *stopped, what string) {
	if end.outcome != Skip || end.reason == ReasonNotAuthorized {
		panic(*end)
	}
	t.fact("%s: %s", what, end.reason)
}

// compressedLog writes 0..1 p1 | 2 p2 | 3 abort p2 | 4 commit p1 and judges
// how it reads. It returns how many batches are compressed.
func (t *trial) compressedLog(p model.Partition, c codecUnderTest, codec kgo.CompressionCodec, fixed bool) int {
	w1, w2 := t.producer(), t.producer()
	var sent []sentBatch
	for i, w := range []*producer{w1, w2} {
		w.codec, w.padding = codec, 300
		b, r := w.trySent(p, 2-i)
		if r.in([]*kerr.Error{kerr.UnsupportedCompressionType}) {
			t.fact("%s: %s", c.name, r)
			w1.tryEnd(false)
			return 0
		}
		if !r.ok() {
			r.unusable(t, "Produce to "+p.String())
		}
		sent = append(sent, b)
	}
	w2.abort()
	w1.commit()
	t.settle(p)
	return t.judgeCompressed(p, c, fixed, sent)
}

func (t *trial) judgeCompressed(p model.Partition, c codecUnderTest, fixed bool, sent []sentBatch) (compressed int) {
	l := t.oracle(p)
	at := placesOf(batchesOf(t.answers(p, 0, l.End, fetchSpec{isolation: model.ReadUncommitted})), sent)
	for _, s := range sent {
		t.wantAsSent(p, s, c.name, at)
		if b := at[s.base].batch; b != nil {
			t.wantCodec(p, b, c, fixed)
			if b.Codec() != 0 {
				compressed++
			}
		}
	}
	want, err := l.Visible(0, l.LSO())
	if err != nil {
		t.expect(false, p, -1, c.name+": records that can be read", err.Error())
		return compressed
	}
	answers := t.answers(p, 0, l.LSO(), fetchSpec{isolation: model.ReadCommitted})
	t.wantOffsets(p, c.name+": delivered", t.deliveredIn(answers), want)
	return compressed
}

// wantCodec looks at which codec a batch has. What clients read does not depend
// on it: brokers may compress anew, and some do not know the setting.
func (t *trial) wantCodec(p model.Partition, b *model.Batch, want codecUnderTest, fixed bool) {
	switch {
	case b.Codec() == want.bits:
	case fixed:
		t.factOnce("the codec that compression.type names is not applied")
	default:
		t.expectAs(Should, false, p, b.Base, fmt.Sprintf("codec %d, %s, as it was sent", want.bits, want.name), fmt.Sprintf("codec %d", b.Codec()))
	}
}

// sentBatch is a batch as it was sent, and the offset that was acknowledged.
type sentBatch struct {
	model.Write
	base int64
}

// trySent is tryWrite for scripts that look at the bytes afterwards; it makes
// the partition part of the transaction first where that is to be done.
func (w *producer) trySent(p model.Partition, n int) (sentBatch, reply) {
	if w.transactional() && w.level < TV2 && !w.part[p] {
		w.add(p)
	}
	b := w.batch(p, w.newValues(n))
	r := w.trySend(p, b)
	return sentBatch{b, r.base}, r
}

func (s sentBatch) String() string {
	return fmt.Sprintf("%d records of pid %d/%d, transactional %v", len(s.Values), s.ProducerID, s.Epoch, s.Transactional)
}

// changed says what is not as it was sent, "" if nothing is.
func (s sentBatch) changed(at map[int64]placed) string {
	for i, value := range s.Values {
		offset := s.base + int64(i)
		switch r := at[offset]; {
		case r.batch == nil:
			return fmt.Sprintf("nothing at offset %d", offset)
		case r.err != nil:
			return fmt.Sprintf("records at offset %d that cannot be read: %v", offset, r.err)
		case r.batch.ProducerID != s.ProducerID || r.batch.Epoch != s.Epoch || r.batch.Transactional() != s.Transactional || r.batch.Control():
			return batchLine(r.batch)
		case !bytes.Equal(r.value, value):
			return fmt.Sprintf("the value %q at offset %d instead of %q", shortened(r.value), offset, shortened(value))
		}
	}
	return ""
}

// shortened is a value as evidence shows it.
func shortened(value []byte) []byte { return value[:min(len(value), 60)] }

// placed is what lies at an offset.
type placed struct {
	batch *model.Batch
	value []byte
	err   error // the batch's records cannot be read
}

// placesOf are the records of batches by their offsets. Of a batch that cannot be
// read there are its base and what was sent to offsets within: its header may
// claim billions.
func placesOf(batches []model.Batch, sent []sentBatch) map[int64]placed {
	out := map[int64]placed{}
	for i := range batches {
		b := &batches[i]
		records, err := b.Records()
		if err != nil {
			noteUnreadable(out, b, sent, err)
			continue
		}
		for _, r := range records {
			out[r.Offset] = placed{batch: b, value: r.Value}
		}
	}
	return out
}

func noteUnreadable(at map[int64]placed, b *model.Batch, sent []sentBatch, err error) {
	at[b.Base] = placed{batch: b, err: err}
	for _, s := range sent {
		for i := range s.Values {
			if offset := s.base + int64(i); b.Base <= offset && offset <= b.Last {
				at[offset] = placed{batch: b, err: err}
			}
		}
	}
}

// wantAsSent asserts that what was sent lies, unchanged, where it was
// acknowledged.
func (t *trial) wantAsSent(p model.Partition, s sentBatch, what string, at map[int64]placed) {
	observed := s.changed(at)
	if observed == "" {
		return
	}
	for offset, r := range at {
		if bytes.Equal(r.value, s.Values[0]) && offset != s.base {
			observed += fmt.Sprintf("; its first record lies at %d", offset)
		}
	}
	t.expect(false, p, s.base, fmt.Sprintf("%s: %s from the acknowledged offset %d on", what, s, s.base), observed)
}

// batchAt is the batch with a base offset, nil for none.
func batchAt(batches []model.Batch, base int64) *model.Batch {
	for i := range batches {
		if batches[i].Base == base {
			return &batches[i]
		}
	}
	return nil
}

// Numbers of P-11.
const (
	acknowledged = 200
	perEnd       = 20 // batches between the ends of transactions
)

// acknowledgedOffsets is P-11.
func acknowledgedOffsets(t *trial) {
	p := t.partition()
	sent, ok := t.writeAcknowledged(p)
	t.witness(len(sent) == acknowledged || !ok, "%d batches were acknowledged", len(sent))
	if !ok {
		return
	}
	t.settle(p)
	at := placesOf(batchesOf(t.answers(p, 0, t.highWatermark(p), fetchSpec{isolation: model.ReadUncommitted})), sent)
	for _, s := range sent {
		t.wantAsSent(p, s, "acknowledged", at)
	}
}

// writeAcknowledged writes batches of several producers, one after the other,
// so that what is acknowledged has to ascend.
func (t *trial) writeAcknowledged(p model.Partition) (sent []sentBatch, ok bool) {
	ws := []*producer{t.producer(), t.producer(), t.producer()}
	next := int64(0)
	for k := range acknowledged {
		w := ws[t.rand.IntN(len(ws))]
		b, r := w.trySent(p, 1+t.rand.IntN(3))
		if !r.ok() {
			r.unusable(t, "Produce to "+p.String())
		}
		sent = append(sent, b)
		if !t.expect(b.base >= next, p, b.base, fmt.Sprintf("an acknowledged offset of at least %d", next), fmt.Sprint(b.base)) {
			return sent, false
		}
		next = b.base + int64(len(b.Values))
		if (k+1)%perEnd == 0 {
			w.finish(t.rand.IntN(2) == 0)
		}
	}
	for _, w := range ws {
		if len(w.partitionsInside()) > 0 {
			w.finish(true)
		}
	}
	return sent, true
}
