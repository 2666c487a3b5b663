package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
	"example.com/readcommitted/conformance/internal/wire"
)

// write sends a batch of n records, as part of the transaction if the producer
// has them, and returns its base offset.
func (w *producer) write(p model.Partition, n int) int64 { return w.writeValues(p, w.newValues(n)) }

// writeValues is write for records with these values.
func (w *producer) writeValues(p model.Partition, values [][]byte) int64 {
	if w.transactional() && w.level < TV2 && !w.part[p] {
		w.add(p)
	}
	r := w.trySend(p, w.batch(p, values))
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
		w.values = w.t.nextValue()
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
	w.starts()
	if w.transactional() && w.level >= TV2 {
		w.joins(p) // brokers add the partition, whatever becomes of the batch
	}
	sent := time.Now()
	r, repeated := w.attempts(p, b, raw)
	if r.ok() && repeated && w.id < 0 {
		w.t.onlyOnce(p, b)
	}
	if r.ok() && w.id >= 0 {
		w.sequence[p] = b.BaseSequence + int32(len(b.Values))
	}
	if r.ok() && w.transactional() {
		w.part[p] = true
		w.pin(p, r.base, sent)
	}
	return r
}

// attempts sends a batch until the cluster takes or refuses it. repeated says
// that an attempt was refused after which the batch may be in the log all the
// same; if it ends so, the partition is never quiet again. Without a producer
// ID the log is looked at first, as the broker would not know the batch again.
func (w *producer) attempts(p model.Partition, b model.Write, raw []byte) (r reply, repeated bool) {
	from := w.t.reached(p)
	defer func() {
		if repeated && !r.ok() {
			w.t.unknown(p)
		}
	}()
	r = w.t.retried("Produce to "+p.String(), func() reply {
		if repeated && w.id < 0 {
			if bases := w.t.copies(p, b, from); len(bases) > 0 {
				r = reply{exchange: r.exchange, base: bases[0]}
				return r
			}
		}
		r = w.produce(p, raw)
		repeated = repeated || r.in(perhapsWritten)
		return r
	})
	return r, repeated
}

// onlyOnce stops the script if a batch without a producer ID is in the log
// twice, for which no broker is to blame.
func (t *trial) onlyOnce(p model.Partition, b model.Write) {
	if len(t.copies(p, b, 0)) > 1 {
		t.undecided("produce to %s: an attempt that was refused was written all the same, so that the batch is there twice", p)
	}
}

// copies are the base offsets of a batch in the log, from an offset on.
func (t *trial) copies(p model.Partition, b model.Write, from int64) (bases []int64) {
	for _, found := range t.scan(p) {
		records, err := found.Records()
		if err == nil && found.Base >= from &&
			slices.EqualFunc(records, b.Values, func(r model.Record, value []byte) bool { return bytes.Equal(r.Value, value) }) {
			bases = append(bases, found.Base)
		}
	}
	return bases
}

// produce is one attempt. One that had no answer may have been written, and may
// still be: the partition is never quiet again.
func (w *producer) produce(p model.Partition, raw []byte) reply {
	req := w.produceRequest(p, raw)
	w.t.writing(p)
	e := w.t.do(w.t.leader(p), "produce "+w.name+w.side, req)
	w.t.written(p, e.Err)
	if e.Err != nil {
		if w.t.outage(e.Err) {
			w.t.refresh(p)
		}
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
	if rp.ErrorCode == 0 {
		w.t.reaches(p, rp.BaseOffset+1)
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

// pin notes that the transaction holds the last stable offset from here on,
// unless the batch, sent at a moment, is an older one that was sent again.
func (w *producer) pin(p model.Partition, base int64, sent time.Time) {
	t := w.t
	t.mu.Lock()
	defer t.mu.Unlock()
	at := t.placeLocked(p)
	if newest, any := at.written[w.id]; base < 0 || any && base <= newest {
		return
	}
	at.written[w.id] = base
	if w.wrote[p] {
		return
	}
	w.wrote[p] = true
	pin := at.inside(w.id, sent)
	if pin == nil || !pin.empty {
		pin = w.newPin(at)
	}
	pin.empty, pin.first, pin.acked = false, base, time.Now()
}

// newPin adds a pin that holds nothing yet. If something was sent already that
// may end the transaction, it may end this part of it too.
func (w *producer) newPin(at *place) *pin {
	pin := &pin{producerID: w.id, name: w.name, empty: true, expires: w.expiry(), cut: w.cut}
	at.pins = append(at.pins, pin)
	if ended := w.t.endings[w.name]; ended.After(w.began) {
		pin.ended = ended
		at.changes++
		at.unended++
	}
	return pin
}

// joins notes that partitions are part of the transaction from here on, and
// returns how to take that back.
func (w *producer) joins(ps ...model.Partition) (leave func()) {
	t := w.t
	t.mu.Lock()
	defer t.mu.Unlock()
	fresh := map[*pin]bool{}
	for _, p := range ps {
		if at := t.placeLocked(p); at.inside(w.id, w.began) == nil {
			fresh[w.newPin(at)] = true
		}
	}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		for _, p := range ps {
			at := t.placeLocked(p)
			at.pins = slices.DeleteFunc(at.pins, func(pin *pin) bool { return fresh[pin] && pin.empty && pin.ended.IsZero() })
		}
	}
}

// starts notes when the open transaction began, at the latest.
func (w *producer) starts() {
	if w.began.IsZero() {
		w.began = time.Now()
	}
}

// expiry is when the broker may end the open transaction by itself: its clock
// began when it got the first request of the transaction, and need not go as
// this one does.
func (w *producer) expiry() time.Time { return w.began.Add(w.timeout / 10 * 9) }

// unknown notes that nobody can tell whether something was written.
func (t *trial) unknown(p model.Partition) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.placeLocked(p).unknown = true
}

// nextValue numbers the values of the trial.
func (t *trial) nextValue() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.values++
	return t.values
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
	at.unknown = at.unknown || err != nil && !errors.Is(err, wire.ErrUnreachable)
}
