package conformance

import (
	"bytes"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
)

// write sends a batch of n records, as part of the transaction if the producer
// has them, and returns its base offset.
func (w *producer) write(p model.Partition, n int) int64 {
	if w.transactional() && w.level < TV2 && !w.part[p] {
		w.add(p)
	}
	r := w.tryWrite(p, n)
	if !r.ok() {
		r.unusable(w.t, "Produce to "+p.String())
	}
	return r.base
}

// tryWrite is write without AddPartitionsToTxn, for answers that a script wants
// to see.
func (w *producer) tryWrite(p model.Partition, n int) reply {
	return w.trySend(p, w.batch(p, w.newValues(n)))
}

// batch is the producer's next batch for a partition.
func (w *producer) batch(p model.Partition, values [][]byte) model.Write {
	b := model.Write{
		ProducerID: w.id, Epoch: w.epoch, BaseSequence: -1, Transactional: w.transactional(),
		Values: values, Keys: w.keys, Codec: w.codec, Timestamp: w.timestamp,
	}
	if w.id >= 0 {
		b.BaseSequence = w.sequence[p]
	}
	return b
}

// newValues are values that nobody wrote before.
func (w *producer) newValues(n int) [][]byte {
	out := make([][]byte, n)
	for i := range out {
		w.values++
		out[i] = fmt.Appendf(nil, "%s/%d/%d/%d", w.name, w.id, w.txn, w.values)
		out[i] = append(out[i], bytes.Repeat([]byte{'.'}, w.padding)...)
	}
	return out
}

// trySend sends a batch as it stands.
func (w *producer) trySend(p model.Partition, b model.Write) reply {
	raw, err := b.Encode()
	if err != nil {
		w.t.undecided("encoding a batch: %v", err)
	}
	w.beginning()
	r := w.t.retried("Produce", func() reply { return w.produce(p, raw) })
	if r.ok() && w.id >= 0 {
		w.sequence[p] = b.BaseSequence + int32(len(b.Values))
	}
	if r.ok() && w.transactional() {
		w.part[p] = true
		w.pin(p, r.base)
	}
	return r
}

// produce is one attempt. One that had no answer may have been written, and may
// still be: the partition is never quiet again.
func (w *producer) produce(p model.Partition, raw []byte) reply {
	req := w.produceRequest(p, raw)
	w.t.writing(p)
	e := w.t.do(w.t.leader(p), "produce "+w.name+w.side, req)
	w.t.written(p, e.Err)
	if e.Err != nil {
		return reply{exchange: e, err: e.Err}
	}
	resp := e.Response.(*kmsg.ProduceResponse)
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		w.t.undecided("produce to %s: an answer without the partition", p)
	}
	rp := resp.Topics[0].Partitions[0]
	if passes(rp.ErrorCode) {
		w.t.refresh(p)
	}
	return reply{exchange: e, code: rp.ErrorCode, base: rp.BaseOffset}
}

func (w *producer) produceRequest(p model.Partition, raw []byte) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Version = w.t.version(kmsg.Produce, w.produceLimit())
	req.Acks, req.TimeoutMillis = -1, 10_000
	if w.transactional() {
		req.TransactionID = &w.name
	}
	partition := kmsg.NewProduceRequestTopicPartition()
	partition.Partition, partition.Records = p.Index, raw
	topic := kmsg.NewProduceRequestTopic()
	topic.Topic = p.Topic
	topic.Partitions = append(topic.Partitions, partition)
	req.Topics = append(req.Topics, topic)
	return req
}

// produceLimit is the newest version of the producer's level; above 12 a topic
// ID stands for the name.
func (w *producer) produceLimit() int16 {
	if w.level >= TV2 {
		return 12
	}
	return 11
}

// beginning notes when the transaction may have begun: a broker counts its
// timeout from the first partition on, before any acknowledgement.
func (w *producer) beginning() {
	if w.began.IsZero() {
		w.began = time.Now()
	}
}

// pin notes that the transaction holds the last stable offset from here on.
func (w *producer) pin(p model.Partition, base int64) {
	t := w.t
	t.mu.Lock()
	defer t.mu.Unlock()
	if w.wrote[p] {
		return
	}
	w.wrote[p] = true
	at := t.placeLocked(p)
	at.pins = append(at.pins, &pin{
		producerID: w.id, name: w.name, first: base, acked: time.Now(), expires: w.began.Add(w.timeout),
	})
}

// writing notes that something is being written to a partition.
func (t *trial) writing(p model.Partition) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := t.placeLocked(p)
	at.changes++
	at.inFlight++
}

// written notes that it is over.
func (t *trial) written(p model.Partition, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := t.placeLocked(p)
	at.inFlight--
	at.unknown = at.unknown || err != nil
}
