package abortset_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/readcommitted/abortset"
)

// What compaction can leave of an event.
const (
	kept    = iota
	removed // a hole
	emptied // of a marker: an empty control batch
	outcomes
)

// index says which entries a list still has.
const (
	exact  = iota // those whose marker is whole: what Kafka's cleaner keeps
	pruned        // those that still have data: the least it keeps
	stale         // all that ever were, even if the marker is gone: a broken index
	indexes
)

// tally counts responses, and those with a verdict that differs from the fate
// of the data in the log before compaction.
type tally struct {
	responses          int
	setLost, setLeaked int // Set dropped committed data, or delivered aborted data
	lost, leaked       int // the same for Response
	anomalous          int // an anomaly was reported
	unprovoked         int // though Set was right
}

// Every log with every way to remove data, and markers without data, from it,
// in every window. What the cleaner works on lies below the last stable offset.
//
// Neither Set nor Response errs with an index that Kafka's cleaner leaves, and
// there is no anomaly. If the index still has the entry of a marker already
// gone, the Java client's rule drops committed data; markers in view save all
// of it but what lies before a hole or has no marker in the window, and the
// entries are reported as contradicted: they cannot be told from invented ones.
func TestCompactedLogs(t *testing.T) {
	tests := []struct {
		length  int
		healthy tally // with the index exact or pruned
		stale   tally
		whole   tally // of stale, windows that reach to the end of the log
	}{
		{length: 1, healthy: tally{responses: 1}, stale: tally{responses: 1}, whole: tally{responses: 1}},
		{length: 2, healthy: tally{responses: 117}, stale: tally{responses: 117}, whole: tally{responses: 78}},
		{length: 3, healthy: tally{responses: 6066}, stale: tally{responses: 6066}, whole: tally{responses: 3033}},
		{
			length: 4, healthy: tally{responses: 223310},
			stale: tally{responses: 223310, setLost: 16, lost: 8, anomalous: 8},
			whole: tally{responses: 89324, setLost: 8, lost: 0, anomalous: 8},
		},
		{
			length: 5, healthy: tally{responses: 6797205},
			stale: tally{responses: 6797205, setLost: 1352, lost: 692, anomalous: 660},
			whole: tally{responses: 2265735, setLost: 580, lost: 32, anomalous: 548},
		},
		{
			length: 6, healthy: tally{responses: 183295287},
			stale: tally{responses: 183295287, setLost: 69712, lost: 36424, anomalous: 33328},
			whole: tally{responses: 52370082, setLost: 26200, lost: 2672, anomalous: 23560},
		},
	}
	for _, test := range tests {
		t.Run(fmt.Sprintf("length=%d", test.length), func(t *testing.T) {
			if test.length > longestLog() || test.length == 6 && *exhaustive < 6 {
				t.Skip("takes long; -exhaustive", test.length, "runs it")
			}
			var c compactor
			c.visit = func(w *world) {
				w.eachWindow(func(from, to int) { c.read(w, from, to) })
			}
			eachWorld(test.length, 1, func(w *world) {
				if w.stable == test.length {
					c.left = make([]int, test.length)
					c.compact(w, 0, 0)
				}
			})
			require.Equal(t, test.healthy, c.tallies[exact], "exact")
			require.Equal(t, test.healthy, c.tallies[pruned], "pruned")
			require.Equal(t, test.stale, c.tallies[stale], "stale")
			require.Equal(t, test.whole, c.whole, "stale, to the end of the log")
		})
	}
}

// compactor enumerates what compaction leaves of a world, and counts.
type compactor struct {
	visit func(*world)

	tallies [indexes]tally
	whole   tally

	left     []int // outcome for each position
	batches  []abortset.Batch
	fates    []abortset.Verdict
	list     []abortset.AbortedTransaction
	set      abortset.Set
	response abortset.Response
}

// compact tries every outcome for the events from position i on. Data is kept
// or removed, a marker without data can go, too. At least one data batch goes.
func (c *compactor) compact(w *world, i, gone int) {
	if i == len(w.log) {
		if gone > 0 {
			c.visit(w)
		}
		return
	}
	c.left[i] = kept
	c.compact(w, i+1, gone)
	switch {
	case w.log[i].isData():
		c.left[i] = removed
		c.compact(w, i+1, gone+1)
	case !c.hasData(w, i):
		c.left[i] = removed
		c.compact(w, i+1, gone)
		c.left[i] = emptied
		c.compact(w, i+1, gone)
	}
}

// hasData reports whether a data batch survives of the transaction that the
// marker at position i ends.
func (c *compactor) hasData(w *world, i int) bool {
	for j := i - 1; j >= 0; j-- {
		if w.log[j].producer() != w.log[i].producer() {
			continue
		}
		if w.log[j].isMarker() {
			return false
		}
		if c.left[j] == kept {
			return true
		}
	}
	return false
}

// read fetches what is left of a window, with each index.
func (c *compactor) read(w *world, from, to int) {
	c.fetch(w, from, to)
	for index := range c.tallies {
		c.listFrom(w, from, index)
		one := c.judge()
		c.tallies[index].add(one)
		if index == stale && to == len(w.log) {
			c.whole.add(one)
		}
	}
}

// fetch puts what is left of a window into batches and fates.
func (c *compactor) fetch(w *world, from, to int) {
	c.batches, c.fates = c.batches[:0], c.fates[:0]
	for i := from; i < to; i++ {
		if c.left[i] == removed {
			continue
		}
		b := w.batches[i]
		if c.left[i] == emptied {
			b.Kind = abortset.EmptyControl
		}
		c.batches, c.fates = append(c.batches, b), append(c.fates, w.fate[i])
	}
}

// listFrom puts what the index has for a fetch from position from into list.
func (c *compactor) listFrom(w *world, from, index int) {
	c.list = c.list[:0]
	for _, a := range w.aborted {
		if a.marker >= from && c.indexed(w, a, index) {
			c.list = append(c.list, abortset.AbortedTransaction{ProducerID: a.producer, FirstOffset: int64(a.first)})
		}
	}
}

func (c *compactor) indexed(w *world, a aborted, index int) bool {
	switch index {
	case exact:
		return c.left[a.marker] == kept
	case pruned:
		return c.hasData(w, a.marker)
	}
	return true
}

func (c *compactor) judge() tally {
	one := tally{responses: 1}
	verdicts, anomalies := c.response.Judge(c.batches, c.list)
	one.lost, one.leaked = differ(verdicts, c.fates)
	one.anomalous = min(1, len(anomalies))

	c.set.Reset(c.list)
	for i, b := range c.batches { // those of Response were looked at
		verdicts[i] = c.set.Judge(b)
	}
	one.setLost, one.setLeaked = differ(verdicts, c.fates)
	if one.setLost+one.setLeaked == 0 {
		one.unprovoked = one.anomalous
	}
	return one
}

func (y *tally) add(one tally) {
	y.responses += one.responses
	y.setLost += one.setLost
	y.setLeaked += one.setLeaked
	y.lost += one.lost
	y.leaked += one.leaked
	y.anomalous += one.anomalous
	y.unprovoked += one.unprovoked
}

// differ returns 1 for each way in which verdicts are wrong.
func differ(verdicts, fates []abortset.Verdict) (lost, leaked int) {
	for i, v := range verdicts {
		if v == abortset.Drop && fates[i] == abortset.Deliver {
			lost = 1
		}
		if v == abortset.Deliver && fates[i] == abortset.Drop {
			leaked = 1
		}
	}
	return lost, leaked
}
