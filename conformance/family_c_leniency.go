package conformance

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
)

// leniency gives every reader the same answers by hand, right ones and wrong
// ones, and records what each makes of them.
func leniency(t *trial) {
	p := t.partition()
	w, other := t.producer(), t.producer()
	for _, commits := range []bool{true, false, true} {
		w.write(p, 2)
		other.write(p, 1)
		w.finish(commits)
	}
	other.commit()
	whole := t.truth(p, model.ReadCommitted)
	a := t.committed(p, 0)
	t.witness(a.End() == whole.end && aborted(whole.log) == 1, "the log of %s is %s", p, whole.log)
	for _, fault := range faults {
		answer := rawAnswer(a.View)
		fault.damage(answer, whole.log)
		for _, c := range t.run.config.Clients {
			if r, ok := c.(Replayer); ok {
				t.fact("%s: %s", fault.name, replayed(r, whole, answer))
			}
		}
	}
}

// replayed is what one reader makes of an answer, in words.
func replayed(r Replayer, w truth, answer *kmsg.FetchResponseTopicPartition) string {
	var got []Delivered
	err := safely(func() (err error) {
		got, err = r.Replay(w.assignment(), answer)
		return err
	})
	switch d := w.differs(got); {
	case err != nil:
		return fmt.Sprintf("client %s hands out %s and then says: %v", r.Name(), spansOf(got), err)
	case d != nil:
		return fmt.Sprintf("client %s hands out %s: %s", r.Name(), spansOf(got), d.what)
	}
	return fmt.Sprintf("client %s hands out what the log has", r.Name())
}

// rawAnswer makes an answer anew out of a view of it.
func rawAnswer(v *model.View) *kmsg.FetchResponseTopicPartition {
	out := kmsg.NewFetchResponseTopicPartition()
	out.Partition = v.Partition.Index
	out.HighWatermark, out.LastStableOffset, out.LogStartOffset = v.HighW, v.LastStableOffset, v.LogStartOffset
	for _, e := range v.List {
		out.AbortedTransactions = append(out.AbortedTransactions, listEntry(e.ProducerID, e.FirstOffset))
	}
	for _, b := range v.Batches {
		out.RecordBatches = append(out.RecordBatches, b.Raw...)
	}
	return &out
}

func listEntry(producerID, first int64) kmsg.FetchResponseTopicPartitionAbortedTransaction {
	e := kmsg.NewFetchResponseTopicPartitionAbortedTransaction()
	e.ProducerID, e.FirstOffset = producerID, first
	return e
}

// fault is one way in which an answer can be wrong.
type fault struct {
	name   string
	damage func(a *kmsg.FetchResponseTopicPartition, l *model.Log)
}

var faults = []fault{
	{"a right answer", func(*kmsg.FetchResponseTopicPartition, *model.Log) {}},
	{"no list", func(a *kmsg.FetchResponseTopicPartition, _ *model.Log) { a.AbortedTransactions = nil }},
	{"every entry twice", func(a *kmsg.FetchResponseTopicPartition, _ *model.Log) {
		a.AbortedTransactions = slices.Concat(a.AbortedTransactions, a.AbortedTransactions)
	}},
	{"entries that begin one offset late", func(a *kmsg.FetchResponseTopicPartition, _ *model.Log) {
		for i := range a.AbortedTransactions {
			a.AbortedTransactions[i].FirstOffset++
		}
	}},
	{"an entry for a committed transaction", func(a *kmsg.FetchResponseTopicPartition, l *model.Log) {
		for _, r := range l.Runs {
			if r.Fate == model.Committed {
				a.AbortedTransactions = append(a.AbortedTransactions, listEntry(r.ProducerID, r.First))
			}
		}
	}},
	{"a batch that is cut off at the end", func(a *kmsg.FetchResponseTopicPartition, l *model.Log) {
		a.RecordBatches = append(a.RecordBatches, l.Batches[0].Raw[:len(l.Batches[0].Raw)-1]...)
	}},
}
