package abortset_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"example.com/readcommitted/abortset"
)

// benchLog is a log of transactions of four data batches and a marker, the
// producers taking turns.
func benchLog(batches, producers int, end abortset.Kind) []abortset.Batch {
	log := make([]abortset.Batch, batches)
	for i := range log {
		offset := int64(i) * 10
		b := abortset.Batch{BaseOffset: offset, LastOffset: offset + 9, ProducerID: int64(i % producers), Kind: abortset.Transactional}
		if i/producers%5 == 4 {
			b.Kind = end
		}
		log[i] = b
	}
	return log
}

// benchList has entries that begin in span offsets from the given one on.
func benchList(entries, producers, from, span int) []abortset.AbortedTransaction {
	random := rand.New(rand.NewPCG(1, 2))
	list := make([]abortset.AbortedTransaction, entries)
	for i := range list {
		list[i] = abortset.AbortedTransaction{
			ProducerID:  int64(random.IntN(producers)),
			FirstOffset: int64(from + random.IntN(span)),
		}
	}
	return list
}

type benchCase struct {
	name    string
	batches []abortset.Batch
	list    []abortset.AbortedTransaction
}

// benchCases are usual responses, then extremes: long lists that begin before,
// within and beyond a short view, and a long view.
func benchCases() []benchCase {
	cases := []benchCase{
		{"entries=0/batches=100/producers=1/end=commit", benchLog(100, 1, abortset.Commit), nil},
		{"entries=0/batches=100/producers=10/end=commit", benchLog(100, 10, abortset.Commit), nil},
		{"entries=20/batches=100/producers=1/end=abort", benchLog(100, 1, abortset.Abort), benchList(20, 1, 0, 1000)},
		{"entries=20/batches=100/producers=10/end=abort", benchLog(100, 10, abortset.Abort), benchList(20, 10, 0, 1000)},
		{"entries=1/batches=100000", benchLog(100_000, 10, abortset.Commit), benchList(1, 10, 0, 1)},
	}
	for _, entries := range []int{1, 1000, 1_000_000} {
		for _, batches := range []int{1, 100} {
			log := benchLog(batches, 10, abortset.Commit)
			name := fmt.Sprintf("entries=%d/batches=%d/begin=", entries, batches)
			cases = append(cases,
				benchCase{name + "before", log, benchList(entries, 1000, 0, 1)},
				benchCase{name + "within", log, benchList(entries, 1000, 0, batches*10)},
				benchCase{name + "beyond", log, benchList(entries, 1000, batches*10, 1_000_000)})
		}
	}
	return cases
}

func BenchmarkResponse(b *testing.B) {
	for _, c := range benchCases() {
		b.Run(c.name, func(b *testing.B) {
			var r abortset.Response
			b.ReportAllocs()
			for b.Loop() {
				r.Judge(c.batches, c.list)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(c.batches)), "ns/batch")
		})
	}
}

func BenchmarkSet(b *testing.B) {
	for _, c := range benchCases() {
		b.Run(c.name, func(b *testing.B) {
			var s abortset.Set
			b.ReportAllocs()
			for b.Loop() {
				s.Reset(c.list)
				for _, batch := range c.batches {
					s.Judge(batch)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(c.batches)), "ns/batch")
		})
	}
}

func BenchmarkAudit(b *testing.B) {
	for _, producers := range []int{1, 10} {
		b.Run(fmt.Sprintf("batches=100/producers=%d", producers), func(b *testing.B) {
			log := benchLog(100, producers, abortset.Commit)
			var a abortset.Audit
			b.ReportAllocs()
			for b.Loop() {
				for _, batch := range log {
					a.Observe(batch, abortset.Deliver)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(log)), "ns/batch")
		})
	}
}
