package batchdecode_test

import (
	"errors"
	"fmt"

	"example.com/readcommitted/batchdecode"
	"example.com/readcommitted/internal/batchtest"
)

// The records field of a fetch response, whose last batch is cut off.
func Example() {
	fetched := batchtest.Log{
		batchtest.Data(40, 41).Txn(7),
		batchtest.Commit(42, 7),
		batchtest.Data(43, 99).Cut(10),
	}.Bytes()

	for {
		batch, rest, err := batchdecode.Next(fetched)
		if errors.Is(err, batchdecode.ErrTruncated) {
			return // the broker sends the rest next time
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		fetched = rest

		if batch.IsControl() {
			c, _, err := batch.Control(nil, 0)
			fmt.Printf("%d: %v by producer %d, error %v\n", batch.LastOffset(), c.Type, batch.ProducerID(), err)
			continue
		}
		records, err := batch.Records(nil, 0)
		if err != nil {
			fmt.Println(err)
			return
		}
		var r batchdecode.Record
		for records.Next(&r) {
			fmt.Printf("%d: %s = %s\n", r.Offset, r.Key, r.Value)
		}
		if err := records.Err(); err != nil {
			fmt.Println(err)
			return
		}
	}

	// Output:
	// 40: k40 = value of 40
	// 41: k41 = value of 41
	// 42: commit by producer 7, error <nil>
}

// An error names the batch, the field and the byte, so that a caller can show
// what is wrong and step over it.
func ExampleError() {
	damaged := batchtest.Data(40, 49).Set(124, 0x7f).FixCRC().Bytes()
	batch, _, err := batchdecode.Next(damaged)
	if err != nil {
		fmt.Println(err)
		return
	}
	records, err := batch.Records(nil, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	for r := (batchdecode.Record{}); records.Next(&r); {
	}
	var e *batchdecode.Error
	if errors.As(records.Err(), &e) {
		fmt.Println(e)
		fmt.Println("go on at", e.LastOffset+1)
	}

	// Output:
	// batch 40-49: record 3: length at byte 124: corrupt data: -64 with 146 bytes left
	// go on at 50
}
