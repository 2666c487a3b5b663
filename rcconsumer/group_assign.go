package rcconsumer

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// assigned makes the new partitions known, so that the user can seek in them.
// Reading begins with offsetsFetched.
func (g *group) assigned(ctx context.Context, _ *kgo.Client, added map[string][]int32) {
	<-g.ready
	for topic, ids := range added {
		for _, id := range ids {
			g.await(topic, id)
		}
	}
	g.joins()
	if fn := g.c.cfg.assigned; fn != nil {
		fn(ctx, g.c, added)
	}
	if len(added) == 0 {
		g.inSession()
	} else {
		g.asks() // what kgo does next
	}
}

// offsetsFetched begins to read partitions: at the group's commits, or where the
// options say. Partitions that are read already were taken out and assigned
// anew: they begin anew too. Nothing is left for kgo to consume.
func (g *group) offsetsFetched(ctx context.Context, offsets map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
	<-g.ready
	g.named() // the group has answered; what follows may be slow and the caller's
	fetched := make(map[key]bool)
	committed := make(map[key]kgo.EpochOffset)
	for topic, ps := range offsets {
		for id, o := range ps {
			fetched[key{topic: topic, partition: id}] = true
			if eo := o.EpochOffset(); eo.Offset >= 0 {
				committed[key{topic: topic, partition: id}] = kgo.EpochOffset{Epoch: eo.Epoch, Offset: eo.Offset}
			} else {
				ps[id] = g.c.cfg.startAsSet
			}
		}
	}
	if fn := g.c.cfg.adjust; fn != nil {
		adjusted, err := fn(ctx, offsets)
		if err != nil {
			return nil, err
		}
		offsets = adjusted
	}
	for topic, ps := range offsets {
		if !g.c.cfg.regex && !g.wanted(topic) { // purged since; a pattern finds it again
			continue
		}
		for id, o := range ps {
			at, ok := committed[key{topic: topic, partition: id}]
			if !ok {
				at = noOffset
			}
			g.begin(topic, id, specOf(o), at)
		}
	}
	g.leftOut(fetched)
	g.inSession()
	g.c.meta.refresh()
	return nil, nil //nolint:nilnil // an empty map: kgo has nothing to consume
}

// leftOut ends the wait for the group's offset where none will come: the
// coordinator refused it, or the user's function left the partition out. It is
// read once somebody seeks in it.
func (g *group) leftOut(fetched map[key]bool) {
	for _, p := range g.c.allPartitions() {
		if !fetched[p.key()] {
			p.unnamed()
		}
		if p.started(offsetSpec{at: atNowhere}, noOffset) {
			g.c.place(p)
		}
	}
}

// begin begins to read one partition.
func (g *group) begin(topic string, id int32, start offsetSpec, committed kgo.EpochOffset) {
	c := g.c
	g.guard.starts()
	p := g.await(topic, id)
	if !p.started(start, committed) { // it is read already
		c.release(p)
		p = g.await(topic, id)
		p.started(start, committed)
	}
	c.place(p)
	if start.at == atCommitted && p.rests() {
		c.inject(topic, id, fmt.Errorf("topic %s partition %d: %w", topic, id, errNoCommittedOffset))
	}
}

// await makes a partition known that waits for the group's offset.
func (g *group) await(topic string, id int32) *partition {
	p := g.c.ensure(topic, id, offsetSpec{at: atAssigned})
	retired := g.ids(topic)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.phase == assigned {
		p.retired = retired
	}
	return p
}

func (p *partition) rests() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.phase == resting
}

// started ends the wait for the group's offsets, unless it has ended before. A
// seek that came meanwhile wins.
func (p *partition) started(start offsetSpec, committed kgo.EpochOffset) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.phase != assigned {
		return false
	}
	p.phase = awaiting
	p.began = time.Now()
	p.pos.Committed = committed.Offset
	if at, ok := start.exact(); p.sought != nil || ok && at == committed.Offset {
		// Elsewhere, by the user's kgo.AdjustFetchOffsetsFn, the group's
		// commit is not what reading goes on from, and the next commit may
		// go back behind it.
		p.progress.committed = committed
	}
	switch {
	case p.sought != nil:
		p.soughtLocked(*p.sought)
	case start.at == atCommitted:
		p.stopLocked(errNoCommittedOffset)
	case start.at == atNowhere:
		p.restLocked()
	default:
		p.beginLocked(start)
	}
	return true
}
