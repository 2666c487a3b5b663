package mutant

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
)

// undecided are damages that give out, or hold back, what the right last stable
// offset does not allow.
var undecided = []Mutant{
	{
		Number: 13, Name: "one batch beyond the LSO", Kills: []string{"L-01", "L-03", "L-06"},
		Make: func() Damage { return onCommittedCall(oneBeyond) },
	},
	{
		Number: 122, Name: "records without a transaction pass an open one", Kills: []string{"L-03"},
		Make: func() Damage { return onCommittedCall(plainPasses) },
	},
	{
		Number: 130, Name: "records without a transaction are lost where one was open", Kills: []string{"L-03"},
		Make: func() Damage { return onCommittedCall(plainLost) },
	},
	{
		Number: 48, Name: "an empty registration pins the LSO", Kills: []string{"L-10"}, Slow: 0.2,
		Make: registrationPins,
	},
	{
		Number: 124, Name: "an empty registration that was aborted is listed", Kills: []string{"L-10"},
		Make: func() Damage { return onCommittedCall(emptyAbortsListed) },
	},
	{
		Number: 127, Name: "aborted records are not given out and cannot be passed", Kills: []string{"L-12"}, Slow: 0.2,
		Make: func() Damage { return onCommittedCall(abortedNotPassed) },
	},
}

// oneBeyond adds the batch at the last stable offset, or at the fetch offset if
// that lies above it.
func oneBeyond(c *Call, f fetched) {
	batches, next := f.batches(), f.fetchOffset
	if n := len(batches); n > 0 {
		next = batches[n-1].Last + 1
	}
	if next < f.LastStableOffset || next >= f.HighWatermark {
		return
	}
	if beyond := sourceOf(c, f).batches(next, f.HighWatermark); len(beyond) > 0 {
		f.put(append(batches, beyond[0]))
	}
}

func plainPasses(c *Call, f fetched) {
	batches, next := f.batches(), f.fetchOffset
	if n := len(batches); n > 0 {
		next = batches[n-1].Last + 1
	}
	if next < f.LastStableOffset || next >= f.HighWatermark {
		return
	}
	for _, b := range sourceOf(c, f).batches(next, f.HighWatermark) {
		if !b.Transactional() {
			batches = append(batches, b)
		}
	}
	f.put(batches)
}

func plainLost(c *Call, f fetched) {
	l := sourceOf(c, f).log(f.LastStableOffset)
	f.put(slices.DeleteFunc(f.batches(), func(b model.Batch) bool {
		return !b.Transactional() && slices.ContainsFunc(l.Runs, func(r model.Run) bool { return r.First < b.Base && b.Base < r.Marker })
	}))
}

// emptyAbortsListed lists abort markers that end no data of their partition.
func emptyAbortsListed(c *Call, f fetched) {
	l := sourceOf(c, f).log(f.LastStableOffset)
	for i := range l.Batches {
		if b := &l.Batches[i]; b.Kind == model.AbortMarker && l.Run(i) == nil && b.Base >= f.fetchOffset {
			f.addEntry(model.Entry{ProducerID: b.ProducerID, FirstOffset: b.Base})
		}
	}
}

// abortedNotPassed takes away what comes from the first aborted batch on.
func abortedNotPassed(c *Call, f fetched) {
	l := sourceOf(c, f).log(f.LastStableOffset)
	var kept []model.Batch
	for _, b := range f.batches() {
		if at, ok := l.Find(b.Base); ok && l.Fate(at) == model.Aborted {
			break
		}
		kept = append(kept, b)
	}
	f.put(kept)
}

// registrations are where the high watermark stood when a transaction took a
// partition up.
type registrations struct {
	pins  map[string]map[model.Partition]int64 // by transactional ID
	names map[[16]byte]string
}

func registrationPins() Damage {
	r := &registrations{pins: map[string]map[model.Partition]int64{}, names: map[[16]byte]string{}}
	d := misplaced(func(l *model.Log) int64 { return min(l.LSO(), r.lowest(l.Partition, l.End)) })
	bounds := d.Response
	d.Keys = append(d.Keys, kmsg.AddPartitionsToTxn, kmsg.EndTxn, kmsg.Metadata)
	d.Response = func(c *Call) {
		switch req := c.Request.(type) {
		case *kmsg.AddPartitionsToTxnRequest:
			r.add(c, req)
		case *kmsg.EndTxnRequest:
			if c.Response.(*kmsg.EndTxnResponse).ErrorCode == 0 {
				delete(r.pins, req.TransactionalID)
			}
		case *kmsg.MetadataRequest:
			for _, topic := range c.Response.(*kmsg.MetadataResponse).Topics {
				if topic.Topic != nil {
					r.names[topic.TopicID] = *topic.Topic
				}
			}
		default:
			bounds(c)
		}
	}
	return d
}

func (r *registrations) add(c *Call, req *kmsg.AddPartitionsToTxnRequest) {
	for _, topic := range req.Topics {
		for _, index := range topic.Partitions {
			p := model.Partition{Topic: topic.Topic, Index: index}
			got := byName(c, p.Topic, p.Index).read(model.ReadUncommitted, 0)
			if got == nil {
				continue
			}
			if r.pins[req.TransactionalID] == nil {
				r.pins[req.TransactionalID] = map[model.Partition]int64{}
			}
			r.pins[req.TransactionalID][p] = got.HighWatermark
		}
	}
}

// lowest is the lowest pin of a partition, known by name or by ID.
func (r *registrations) lowest(p model.Partition, end int64) int64 {
	var id [16]byte
	if copy(id[:], p.Topic) == len(id) && r.names[id] != "" {
		p.Topic = r.names[id]
	}
	for _, pins := range r.pins {
		if at, ok := pins[p]; ok {
			end = min(end, at)
		}
	}
	return end
}
