package model

import (
	"cmp"
	"slices"
)

// Deliver is what the Java client's rule makes of one answer at read_committed:
// the offsets that it hands to the application (CompletedFetch in Kafka's
// clients).
func Deliver(list []Entry, batches []Batch, fetchOffset int64) ([]int64, error) {
	waiting := slices.SortedFunc(slices.Values(list), func(x, y Entry) int { return cmp.Compare(x.FirstOffset, y.FirstOffset) })
	aborted := map[int64]bool{}
	var out []int64
	for i := range batches {
		b := &batches[i]
		for len(waiting) > 0 && waiting[0].FirstOffset <= b.Last {
			aborted[waiting[0].ProducerID] = true
			waiting = waiting[1:]
		}
		if b.Kind == AbortMarker {
			delete(aborted, b.ProducerID)
		}
		if b.Control() || b.Transactional() && aborted[b.ProducerID] {
			continue
		}
		offsets, err := b.Offsets()
		if err != nil {
			return out, err
		}
		for _, o := range offsets {
			if o >= fetchOffset {
				out = append(out, o)
			}
		}
	}
	return out, nil
}
