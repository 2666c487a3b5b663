package conformance

import (
	"fmt"
	"slices"
	"strings"

	"example.com/readcommitted/conformance/internal/model"
)

// compareReaders holds what each client delivers of a whole partition at an
// isolation level, and its bytes, against the log. Any scenario may call it for
// any partition that nobody writes to meanwhile.
//
// The comparison is at its sharpest when the last record of the log is one that
// the readers get: there is nothing to wait for after it.
func (t *trial) compareReaders(p model.Partition, isolation int8) {
	if len(t.run.config.Clients) == 0 {
		return
	}
	t.compareFrom(t.truth(p, isolation))
}

// compareFrom is compareReaders for readers that begin where the truth does.
func (t *trial) compareFrom(w truth) {
	rs := t.openAll(w.assignment())
	defer rs.close()
	rs.each(t, func(r *reading) {
		if r.readAll(w); r.trouble == "" {
			r.pull(glancing) // a reader may begin anew
		}
	})
	t.judgeReadings(w, rs)
}

// judgeReadings tells apart who is at fault where readers did not get the
// truth: the cluster, if its answers contradict the log, and else the reader.
func (t *trial) judgeReadings(w truth, rs readings) {
	j := judgement{t: t, truth: w, all: rs}
	for _, r := range rs {
		switch d := w.differs(r.got); {
		case r.trouble != "" && (d == nil || d.short):
			j.stopped(r)
		case d != nil:
			j.differs(r, d)
		}
		j.audit(r)
	}
}

// judgement is about several readings of one truth.
type judgement struct {
	t     *trial
	truth truth
	all   readings

	asked  bool         // the cluster's own answers were looked at
	faults []difference // in these
}

// clusterAtFault looks for faults in the cluster's own answers that can lead a
// reader to a difference of a kind. There is a finding about the cluster then,
// and a reader may have made of the answers what it likes.
func (j *judgement) clusterAtFault(of kind) bool {
	if !j.asked {
		j.asked, j.faults = true, j.t.wrongAnswers(j.truth)
		if len(j.faults) > 0 {
			first := j.faults[0]
			j.weigh(OfCluster, Must, first.offset, "answers to Fetch that agree with the log", first.what)
		}
	}
	return slices.ContainsFunc(j.faults, func(d difference) bool { return d.kind == of || d.kind == otherwise || of == otherwise })
}

func (j *judgement) differs(r *reading, d *difference) {
	if j.clusterAtFault(d.kind) {
		j.t.fact("client %s: %s, by answers that are wrong", r.client.Name(), d.what)
		return
	}
	j.weigh(OfClient(r.client.Name()), Must, d.offset, j.expected(), d.what)
}

// stopped judges a reader that did not get to the end although it was right as
// far as it got. Looking at the cluster's answers also shows that it answers.
func (j *judgement) stopped(r *reading) {
	if j.clusterAtFault(otherwise) {
		j.t.fact("client %s, by answers that are wrong: %s", r.client.Name(), r.trouble)
		return
	}
	class, at := Must, max(r.passed(), j.truth.start)
	switch {
	case r.stalled && j.t.throttled() > 0: // and so may it have been
		j.t.unread("client %s got to offset %d only, while the cluster throttles", r.client.Name(), at)
		return
	case r.stalled:
		class = Live // how long is long enough is a matter of the machine, too
	}
	j.weigh(OfClient(r.client.Name()), class, at, j.expected(), fmt.Sprintf("after offset %d: %s", at-1, r.trouble))
}

// weigh reports a finding, with what every reader got.
func (j *judgement) weigh(subject Subject, class Class, offset int64, expected, observed string) {
	j.t.weighReader(subject, class, j.truth.log.Partition, offset, expected, observed+"; readers got "+j.views())
}

// The client's own audit of the broker: what it says is looked into.
const (
	auditRequirement = "what a reader hands out agrees with the markers that come after it"
	auditConsequence = "the broker's lists told the reader something else than the log, or its filter is wrong"
)

// audit judges the contradictions that a reader noticed itself.
func (j *judgement) audit(r *reading) {
	for _, anomaly := range r.state.Anomalies {
		f := Finding{
			Subject: OfClient(r.client.Name()), Outcome: Fail, Requirement: auditRequirement, Consequence: auditConsequence,
			Topic: j.truth.log.Partition.Topic, Partition: j.truth.log.Partition.Index, Offset: j.truth.start,
			Expected: "no contradiction: the checker sees none in the same partition", Observed: anomaly,
		}
		if j.clusterAtFault(otherwise) {
			f.Subject, f.Expected = OfCluster, "no contradiction"
		}
		j.t.report(f)
	}
}

// expected is what every reader has to get.
func (j *judgement) expected() string {
	level := "read_uncommitted"
	if j.truth.isolation == model.ReadCommitted {
		level = "read_committed"
	}
	return fmt.Sprintf("at %s from %d on: offsets %s, as in the log", level, j.truth.start, spansOf(j.truth.records))
}

// views are what all readers got, side by side.
func (j *judgement) views() string {
	var views []string
	for _, r := range j.all {
		views = append(views, fmt.Sprintf("%s: %s", r.client.Name(), spansOf(r.got)))
	}
	return strings.Join(views, "; ")
}

func spansOf(records []Delivered) string {
	offsets := make([]int64, len(records))
	for i, d := range records {
		offsets[i] = d.Offset
	}
	return model.Spans(offsets)
}
