package pass

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/abortset"
)

// shorten fills s.list with the entries that can matter here, and a few more:
// those that begin in or before the view, of producers that seem to be in it. A
// broker lists transactions up to the end of a segment, which can be very many
// beside a megabyte of data, and so none of the others is copied.
func (s *Scanner) shorten(list []kmsg.FetchResponseTopicPartitionAbortedTransaction) {
	s.list = s.list[:0]
	if len(list) == 0 || len(s.judged) == 0 {
		return
	}
	var inView producerFilter
	for i := range s.judged {
		inView.add(s.judged[i].ProducerID)
	}
	last := s.judged[len(s.judged)-1].LastOffset
	for i := range list {
		if a := &list[i]; a.FirstOffset <= last && inView.has(a.ProducerID) {
			s.list = append(s.list, abortset.AbortedTransaction{ProducerID: a.ProducerID, FirstOffset: a.FirstOffset})
		}
	}
}

// producerFilter is a set of producer IDs that may err on the side of having
// one.
type producerFilter [1 << (producerFilterBits - 6)]uint64

const producerFilterBits = 12

func (f *producerFilter) add(id int64) { i := f.index(id); f[i>>6] |= 1 << (i & 63) }

func (f *producerFilter) has(id int64) bool { i := f.index(id); return f[i>>6]&(1<<(i&63)) != 0 }

// index spreads IDs that follow one another, as those of producers do.
func (*producerFilter) index(id int64) uint64 {
	return uint64(id) * 0x9e3779b97f4a7c15 >> (64 - producerFilterBits)
}
