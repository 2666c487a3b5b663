package batchdecode_test

import (
	"fmt"
	"testing"

	"example.com/readcommitted/batchdecode"
	"example.com/readcommitted/internal/batchtest"
)

func sized(records, size int, c batchtest.Codec) []byte {
	return batchtest.Data(0, int64(records-1)).Txn(7).Codec(c).Each(func(r batchtest.Record) batchtest.Record {
		r.Value = make([]byte, size)
		for i := range r.Value {
			r.Value[i] = byte(i * int(r.Offset+1))
		}
		return r
	}).Bytes()
}

func BenchmarkNext(b *testing.B) {
	for _, records := range []int{1, 100, 10_000} {
		raw := sized(records, 100, batchtest.None)
		for _, next := range nexts {
			b.Run(fmt.Sprintf("func=%s/records=%d", next.name, records), func(b *testing.B) {
				b.SetBytes(int64(len(raw)))
				b.ReportAllocs()
				for b.Loop() {
					if _, _, err := next.f(raw); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkRecords(b *testing.B) {
	for _, size := range []int{10, 100, 1000} {
		batch, _, err := batchdecode.Next(sized(1000, size, batchtest.None))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("records=1000/value=%d", size), func(b *testing.B) {
			b.SetBytes(int64(len(batch.Bytes())))
			b.ReportAllocs()
			for b.Loop() {
				it, err := batch.Records(nil, 0)
				if err != nil {
					b.Fatal(err)
				}
				var r batchdecode.Record
				for it.Next(&r) {
				}
				if it.Err() != nil {
					b.Fatal(it.Err())
				}
			}
		})
	}
}
