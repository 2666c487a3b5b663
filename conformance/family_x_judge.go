package conformance

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"example.com/readcommitted/conformance/internal/history"
	"example.com/readcommitted/conformance/internal/model"
)

// How much is read again when all is at rest: faults that come now and then
// need answers to come in. A slow cluster gets through less.
const (
	rereadAnswers = 3000
	rereadTime    = 15 * time.Second
	rereadGlance  = 100 // answers, for a plan that is tried
)

// reread reads the partitions anew, in some answers from random offsets on.
func (x *randomRun) reread(answers int) {
	limit := time.Now().Add(x.t.bound(rereadTime))
	var all []func()
	for i, w := range x.truths {
		random := rand.New(rand.NewPCG(x.t.rand.Uint64(), uint64(i)))
		all = append(all, func() {
			x.sameAsTruth(i, w)
			for n := 0; n < answers/len(x.ps) && w.end > w.start && !x.broken() && time.Now().Before(limit); {
				n += x.rereadFrom(i, w, random)
			}
		})
	}
	x.t.together(all...)
}

// shown is what each finding says of the history, with its plan as text.
func (x *randomRun) shown(plan string) string {
	_, all := x.check.Anomalies()
	return fmt.Sprintf("%d anomalies in all, with seed %d, plan %016x: %s", all, x.t.run.config.Seed, x.plan.Hash(), plan)
}

// judge reports what was found.
func (x *randomRun) judge(shown string) {
	x.tell(shown)
	found, _ := x.check.Anomalies()
	for i := range x.ps {
		x.judgeClients(i, found, shown)
		x.t.compareFrom(x.truths[i])
	}
}

// tell reports what was found about the cluster.
func (x *randomRun) tell(shown string) {
	found, _ := x.check.Anomalies()
	for _, a := range found {
		if clientOf(a.Reader) == "" {
			x.report(OfCluster, a, shown)
		}
	}
}

// sameAsTruth holds what readers got while producers were at work against what
// the log says at the end.
func (x *randomRun) sameAsTruth(i int, w truth) {
	if x.broken() {
		return // and so are the digests
	}
	want := history.Digests{}
	for _, d := range w.records {
		want.Add(d.Offset, d.Value)
	}
	for _, from := range x.fetching.Digests(i).Differ(want) {
		x.check.Tell(history.Anomaly{
			Kind: history.Changed, Reader: fetchReader, Partition: i, Offset: from,
			Expected: "the records that the log has in the end", Observed: fmt.Sprintf("others among the 1,000 offsets from %d on", from),
		})
	}
}

// rereadFrom reads a partition at rest from a random offset on, in answers of odd
// sizes, and returns how many.
func (x *randomRun) rereadFrom(i int, w truth, random *rand.Rand) (answers int) {
	from := w.start + random.Int64N(w.end-w.start)
	var got []Delivered
	spec := fetchSpec{isolation: model.ReadCommitted, lane: laneOf("reread", i)}
	for next := from; next < w.end; {
		spec.partitionMaxBytes = 1 + random.Int32N(oddBytes)
		a, ok := x.t.filled(x.ps[i], next, spec)
		answers++
		if !ok || a.End() <= next {
			x.check.Tell(history.Anomaly{
				Kind: history.Stuck, Reader: fetchReader, Partition: i, Offset: next,
				Expected: "records or markers below the last stable offset", Observed: a.nothing() + ", where ordinary fetches get some",
			})
			return answers
		}
		records, err := believed(a.View)
		if err != nil {
			x.t.undecided("reading %s at %d: %v", x.ps[i], next, err)
		}
		got = append(got, records...)
		next = a.End()
	}
	got = slices.DeleteFunc(got, func(d Delivered) bool { return d.Offset >= w.end })
	if d := w.from(from).differs(got); d != nil {
		x.check.Tell(history.Anomaly{
			Kind: history.Changed, Reader: fetchReader, Partition: i, Offset: d.offset,
			Expected: fmt.Sprintf("from offset %d on what the log says is committed", from), Observed: d.what,
		})
	}
	return answers
}

// clientOf is the name of the client that a reader's name stands for, "" for
// the checker's own.
func clientOf(reader string) string {
	if name, ok := strings.CutPrefix(reader, clientPrefix); ok {
		return name
	}
	return ""
}

// judgeClients reports what clients got of a partition, if the cluster's own
// answers do not explain it.
func (x *randomRun) judgeClients(i int, found []history.Anomaly, shown string) {
	j := judgement{t: x.t, truth: x.truths[i]}
	for _, r := range x.clients {
		if r.i == i {
			j.all = append(j.all, r.reading)
		}
	}
	for _, a := range found {
		name := clientOf(a.Reader)
		switch {
		case name == "" || a.Partition != i:
		case x.broken() || j.clusterAtFault(otherwise):
			x.t.factOnce(fmt.Sprintf("client %s: %s, by answers that are wrong", name, a.Kind))
		default:
			x.report(OfClient(name), a, shown)
		}
	}
	for _, r := range j.all {
		if r.trouble != "" {
			j.stopped(r)
		}
		j.audit(r)
	}
}

// report makes a finding of an anomaly.
func (x *randomRun) report(subject Subject, a history.Anomaly, shown string) {
	class, stuck := Must, a.Kind == history.Stuck
	if stuck {
		class = Live
	}
	p := x.ps[a.Partition]
	x.t.weigh(class, Finding{
		Subject: subject, Requirement: x.t.scenario.Requirement, Consequence: x.t.scenario.Consequence,
		Topic: p.Topic, Partition: p.Index, Offset: a.Offset, Expected: a.Expected,
		Observed: fmt.Sprintf("%s: %s; %s", a.Kind, a.Observed, shown), Exchanges: x.evidence[a.Partition],
		unsafe: !stuck,
	})
}
