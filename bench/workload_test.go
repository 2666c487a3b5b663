package bench

import (
	"fmt"
	"math/rand/v2"

	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/internal/batchtest"
)

const (
	responseBytes = 1 << 20 // about, of each response
	valueBytes    = 100     // of each record
	batchesATxn   = 4       // data batches of one transaction, a marker behind them
	txnsARound    = 10      // transactions are added in rounds, so that the shares are exact
)

// cell is one combination of what is varied.
type cell struct {
	codec   batchtest.Codec
	records int // of one batch
	aborted int // percentage of transactions
}

func (c cell) String() string {
	return fmt.Sprintf("codec=%s/records=%d/aborted=%d", c.codec, c.records, c.aborted)
}

// cells are the responses in which a broker's list has what is needed and no
// more.
func cells() []cell {
	var all []cell
	for _, codec := range []batchtest.Codec{batchtest.None, batchtest.LZ4, batchtest.Zstd, batchtest.ZstdStream} {
		for _, records := range []int{1, 100} {
			for _, aborted := range []int{0, 50, 90, 100} {
				all = append(all, cell{codec, records, aborted})
			}
		}
	}
	return all
}

// response is about 1 MiB of a log: transactions one behind the other, each of
// four batches and a marker, by ten producers in turn. Aborted ones are spread
// evenly.
func (c cell) response() *kmsg.FetchResponseTopicPartition {
	var (
		log    batchtest.Log
		list   []int64
		values = newValues()
		size   int
		offset int64
	)
	for size < responseBytes {
		round := 0
		for txn := range txnsARound {
			producer := int64(1000 + txn)
			aborted := (txn+1)*c.aborted/100 > txn*c.aborted/100
			if aborted {
				list = append(list, producer, offset)
			}
			for range batchesATxn {
				b := values.batch(offset, c.records).Txn(producer).Codec(c.codec)
				raw := batchtest.Raw(b.Bytes())
				log, offset, round = append(log, raw), offset+int64(c.records), round+len(raw)
			}
			marker := batchtest.Commit(offset, producer)
			if aborted {
				marker = batchtest.Abort(offset, producer)
			}
			log, offset = append(log, marker), offset+1
		}
		size += round
		if size+round/2 > responseBytes {
			break
		}
	}
	return log.Partition(batchtest.Aborted(list...))
}

// values makes record values that compress like small JSON documents: fixed
// field names and words, and in about 40 of 100 bytes digits without a pattern.
type values struct{ random *rand.Rand }

func newValues() *values { return &values{rand.New(rand.NewPCG(1, 2))} }

var words = []string{"pending", "shipped", "settled", "revoked", "created", "invoice", "payment", "account"}

func (v *values) next(offset int64) []byte {
	s := fmt.Sprintf(`{"id":"%016x","state":"%s","kind":"%s","amount":%d,"reference":"%016x","sequence":%d`,
		v.random.Uint64(), words[v.random.IntN(len(words))], words[v.random.IntN(len(words))],
		v.random.IntN(1_000_000), v.random.Uint64(), offset)
	for len(s) < valueBytes-1 {
		s += " "
	}
	return []byte(s[:valueBytes-1] + "}")
}

// batch has n records from an offset on, with a key of eight bytes each.
func (v *values) batch(offset int64, n int) batchtest.Batch {
	records := make([]batchtest.Record, n)
	for i := range records {
		at := offset + int64(i)
		records[i] = batchtest.Record{
			Offset:    at,
			Timestamp: batchtest.Timestamp(at),
			Key:       fmt.Appendf(nil, "%08d", at%1000),
			Value:     v.next(at),
		}
	}
	return batchtest.Data(offset, offset+int64(n)-1).With(records...)
}

// listCell is a response whose data stays the same while the list grows.
type listCell struct {
	entries int
	kind    string // what the entries beyond the first are about
}

const (
	ahead   = "ahead"   // producers in view, transactions behind the data
	foreign = "foreign" // producers that are not in view
)

func (c listCell) String() string {
	return fmt.Sprintf("codec=none/records=100/aborted=50/list=%d/others=%s", c.entries, c.kind)
}

func listCells() []listCell {
	var all []listCell
	for _, kind := range []string{ahead, foreign} {
		for entries := 1; entries <= 1_000_000; entries *= 10 {
			all = append(all, listCell{entries, kind})
		}
	}
	return all
}

// response has two transactions whose batches alternate; the first is aborted
// and needs the only entry. Brokers list transactions up to the end of the
// segment, so that long lists come with little data.
func (c listCell) response() *kmsg.FetchResponseTopicPartition {
	const aborted, committed = 1000, 1001
	var (
		log    batchtest.Log
		values = newValues()
		size   int
		offset int64
	)
	for size < responseBytes {
		for _, producer := range []int64{aborted, committed} {
			raw := batchtest.Raw(values.batch(offset, 100).Txn(producer).Bytes())
			log, offset, size = append(log, raw), offset+100, size+len(raw)
		}
	}
	log = append(log, batchtest.Abort(offset, aborted), batchtest.Commit(offset+1, committed))
	list := make([]int64, 0, 2*c.entries)
	list = append(list, aborted, 0)
	for i := int64(1); i < int64(c.entries); i++ {
		if c.kind == ahead {
			list = append(list, aborted+i%2, offset+2+10*i)
		} else {
			list = append(list, 2000+i%50_000, i%offset)
		}
	}
	return log.Partition(batchtest.Aborted(list...))
}
