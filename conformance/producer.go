package conformance

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
	"example.com/readcommitted/conformance/internal/wire"
)

// producer is a producer that does exactly as it is told: one request for each
// batch, nothing repeated but what did not take effect, nothing in the
// background. Its fields may be changed to make it lie.
type producer struct {
	t       *trial
	name    string // transactional ID, "" for one that only has a producer ID
	level   Level
	timeout time.Duration
	exact   bool // the timeout is what it is, whatever the cluster allows
	cut     bool // the timeout is shorter than it was to be, as the cluster does not allow that

	id       int64
	epoch    int16
	sequence map[model.Partition]int32 // of the next batch
	part     map[model.Partition]bool  // of the open transaction
	wrote    map[model.Partition]bool  // in the open transaction
	groups   map[*group]bool           // whose offsets are part of the open transaction

	side string // keeps its requests apart from those of another producer of its name

	began       time.Time // the open transaction; zero: nothing of it was sent yet
	txn, values int       // numbers of the next transaction and the last value
	codec       kgo.CompressionCodec
	keys        [][]byte  // of the next batch; nil: none
	padding     int       // bytes added to each value
	timestamp   time.Time // of the next batches; zero: now
}

// defaultTimeout is a transaction timeout that no scenario outlives.
const defaultTimeout = 5 * time.Minute

// producer makes a transactional producer of the trial's level under a new
// transactional ID.
func (t *trial) producer() *producer { return t.producerFor(t.newID(), defaultTimeout) }

// newID is a transactional ID that nobody has used.
func (t *trial) newID() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.names++
	return fmt.Sprintf("%s%d", t.idPrefix(), t.names)
}

// producerFor makes a producer under a transactional ID, which ends what an
// older one of that ID left open.
func (t *trial) producerFor(name string, timeout time.Duration) *producer {
	w := t.idle(name, timeout)
	w.init()
	return w
}

// idle is a producer that has not asked for its producer ID yet.
func (t *trial) idle(name string, timeout time.Duration) *producer {
	return &producer{
		t: t, name: name, level: t.level, timeout: timeout, id: -1, epoch: -1,
		sequence: map[model.Partition]int32{}, part: map[model.Partition]bool{}, wrote: map[model.Partition]bool{},
		groups: map[*group]bool{},
	}
}

// plain writes n records without a producer ID.
func (t *trial) plain(p model.Partition, n int) {
	w := &producer{t: t, level: t.level, id: -1, epoch: -1, sequence: map[model.Partition]int32{}}
	w.write(p, n)
}

// transactional reports whether the producer writes in transactions.
func (w *producer) transactional() bool { return w.name != "" }

// coordinator is who ends the producer's transactions.
func (w *producer) coordinator() int32 {
	if !w.transactional() {
		return wire.Bootstrap
	}
	return w.t.coordinator(w.name, ofTransaction)
}

// lane keeps the producer's requests to coordinators on a connection of its own.
func (w *producer) lane() string { return "txn " + w.name + w.side }

// init asks for the producer ID and the epoch.
func (w *producer) init() {
	if r := w.tryInit(); !r.ok() {
		r.unusable(w.t, "InitProducerId")
	}
}

// tryInit is init, for answers that a script wants to see.
func (w *producer) tryInit() reply { return w.tryInitAs(-1, -1) }

// tryInitAs is tryInit by a producer that says which producer ID and epoch it
// has (KIP-360), -1 for none. Where the cluster does not allow its timeout, it
// has a shorter one from then on.
func (w *producer) tryInitAs(id int64, epoch int16) reply {
	if w.exact {
		return w.initOnce(id, epoch)
	}
	w.allowed()
	r := w.initOnce(id, epoch)
	for r.in(tooLong) && w.shorten() {
		if r = w.initOnce(id, epoch); r.ok() {
			w.t.run.longest.Store(int64(w.timeout))
		}
	}
	return r
}

func (w *producer) initOnce(id int64, epoch int16) reply {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.Version = w.t.version(kmsg.InitProducerID, w.initLimit())
	req.TransactionTimeoutMillis = int32(w.timeout.Milliseconds())
	if w.transactional() {
		req.TransactionalID = &w.name
	}
	req.ProducerID, req.ProducerEpoch = id, epoch
	w.t.endingAll(w.name)
	r := w.t.retried("InitProducerId", func() reply {
		return replyIn(w.t.do(w.coordinator(), w.lane(), req))
	})
	if r.ok() {
		resp := r.exchange.Response.(*kmsg.InitProducerIDResponse)
		w.begin(resp.ProducerID, resp.ProducerEpoch)
	}
	return r
}

// initLimit keeps a producer of TV1 below the version that is made for TV2.
func (w *producer) initLimit() int16 { return 5 }

// begin takes over a new epoch, in which sequences begin at 0.
func (w *producer) begin(id int64, epoch int16) {
	w.id, w.epoch, w.began = id, epoch, time.Time{}
	clear(w.sequence)
	clear(w.part)
	clear(w.wrote)
	clear(w.groups)
}

// partitionsInside are the partitions of the open transaction, in order.
func (w *producer) partitionsInside() []model.Partition {
	return slices.SortedFunc(maps.Keys(w.part), comparePartitions)
}

func comparePartitions(a, b model.Partition) int {
	return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Index, b.Index))
}
