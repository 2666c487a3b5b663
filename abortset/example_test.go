package abortset_test

import (
	"fmt"

	"example.com/readcommitted/abortset"
)

// The log of the package comment: producer 7 aborts, then commits, while
// producer 8 has a transaction open.
func ExampleResponse() {
	batches := []abortset.Batch{
		{BaseOffset: 0, LastOffset: 1, ProducerID: 7, Kind: abortset.Transactional},
		{BaseOffset: 2, LastOffset: 2, ProducerID: 8, Kind: abortset.Transactional},
		{BaseOffset: 3, LastOffset: 3, ProducerID: 7, Kind: abortset.Abort},
		{BaseOffset: 4, LastOffset: 4, ProducerID: 7, Kind: abortset.Transactional},
		{BaseOffset: 5, LastOffset: 5, ProducerID: 8, Kind: abortset.Commit},
		{BaseOffset: 6, LastOffset: 6, ProducerID: 7, Kind: abortset.Commit},
		{BaseOffset: 7, LastOffset: 7, ProducerID: -1, Kind: abortset.Plain},
	}
	list := []abortset.AbortedTransaction{{ProducerID: 7, FirstOffset: 0}}

	var r abortset.Response
	verdicts, anomalies := r.Judge(batches, list)
	for i, b := range batches {
		fmt.Println(b.BaseOffset, b.Kind, b.ProducerID, verdicts[i])
	}
	fmt.Println("anomalies:", len(anomalies))

	// A broker that forgets the entry is found out: the abort marker is there.
	verdicts, anomalies = r.Judge(batches, nil)
	fmt.Println("without the list:", verdicts[0], anomalies[0].Kind)

	// Output:
	// 0 transactional 7 drop
	// 2 transactional 8 deliver
	// 3 abort 7 control
	// 4 transactional 7 deliver
	// 5 commit 8 control
	// 6 commit 7 control
	// 7 plain -1 deliver
	// anomalies: 0
	// without the list: drop missing
}

// Set needs no look-ahead: it can judge batches as they are decoded.
func ExampleSet() {
	var s abortset.Set
	s.Reset([]abortset.AbortedTransaction{{ProducerID: 7, FirstOffset: 0}})
	fmt.Println(s.Judge(abortset.Batch{BaseOffset: 0, LastOffset: 1, ProducerID: 7, Kind: abortset.Transactional}))
	fmt.Println(s.Judge(abortset.Batch{BaseOffset: 2, LastOffset: 2, ProducerID: 7, Kind: abortset.Abort}))
	fmt.Println(s.Judge(abortset.Batch{BaseOffset: 3, LastOffset: 3, ProducerID: 7, Kind: abortset.Transactional}))
	// Output:
	// drop
	// control
	// deliver
}
