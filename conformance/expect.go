package conformance

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"example.com/readcommitted/conformance/internal/model"
)

// expect holds an assertion of the scenario; a miss weighs as its class says.
// offset is the offending one, -1 for none. The script goes on.
func (t *trial) expect(ok bool, p model.Partition, offset int64, expected, observed string) bool {
	return t.expectAs(t.scenario.Class, ok, p, offset, expected, observed)
}

// expectAs is expect for a part of the scenario that weighs less, or more.
func (t *trial) expectAs(class Class, ok bool, p model.Partition, offset int64, expected, observed string) bool {
	if !ok {
		t.reportAs(class, p, offset, expected, observed)
	}
	return ok
}

// safety is the class of what readers get, and of how transactions ended: where
// a scenario is about the time that something takes, that has to be right at
// once all the same.
func (t *trial) safety() Class {
	if t.scenario.Class == Live {
		return Must
	}
	return t.scenario.Class
}

// expectSafe is expectAs for what nothing that comes late explains: that an
// acknowledged record is there, and that nothing is given out that must not be.
func (t *trial) expectSafe(class Class, ok bool, p model.Partition, offset int64, expected, observed string) bool {
	if !ok {
		f := t.finding(p, offset, expected, observed)
		f.unsafe = true
		t.weigh(class, f)
	}
	return ok
}

// expectEnd is expectSafe for how transactions ended; a marker that is not there
// may come late.
func (t *trial) expectEnd(class Class, open, ok bool, p model.Partition, offset int64, expected, observed string) bool {
	if open {
		return t.expectAs(class, ok, p, offset, expected, observed)
	}
	return t.expectSafe(class, ok, p, offset, expected, observed)
}

// reportShort is reportAs for what is less than there has to be, and no other:
// after a bound was over, that alone explains it.
func (t *trial) reportShort(class Class, p model.Partition, offset int64, expected, observed string) {
	f := t.finding(p, offset, expected, observed)
	f.short = true
	t.weigh(class, f)
}

func (t *trial) reportAs(class Class, p model.Partition, offset int64, expected, observed string) {
	t.weigh(class, t.finding(p, offset, expected, observed))
}

// finding is one about what the scenario requires.
func (t *trial) finding(p model.Partition, offset int64, expected, observed string) Finding {
	return Finding{
		Requirement: t.scenario.Requirement, Consequence: t.scenario.Consequence,
		Topic: p.Topic, Partition: p.Index, Offset: offset,
		Expected: expected, Observed: observed,
	}
}

// weigh reports what an assertion of the scenario missed. It weighs as a class
// says.
func (t *trial) weigh(class Class, f Finding) {
	late := t.isLate()
	f.own, f.late = true, class == Live || late && f.short
	f.doubtful = late && !f.late && !f.unsafe
	switch class {
	case Must, Live:
		f.Outcome = Fail
	case Should:
		f.Outcome = Warn
	default:
		t.fact("%s/%d: expected %s, observed %s", f.Topic, f.Partition, f.Expected, f.Observed)
		return
	}
	t.report(f)
}

// about names a Fetch in a line of evidence.
func (a answer) about() string {
	return fmt.Sprintf("fetch(isolation %d, offset %d)", a.Isolation, a.FetchOffset)
}

// wantLSO asserts the last stable offset of an answer.
func (t *trial) wantLSO(a answer, want int64) bool {
	if a.LastStableOffset == want {
		return true
	}
	report := t.reportAs
	if a.LastStableOffset < want {
		report = t.reportShort
	}
	report(t.scenario.Class, a.Partition, a.LastStableOffset,
		fmt.Sprintf("%s: LSO %d", a.about(), want), fmt.Sprintf("LSO %d", a.LastStableOffset))
	return false
}

// wantHigh asserts the high watermark of an answer.
func (t *trial) wantHigh(a answer, want int64) {
	t.expect(a.HighW == want || t.onlyRepeats(a.Partition, want, a.HighW), a.Partition, a.HighW,
		fmt.Sprintf("%s: HW %d", a.about(), want), fmt.Sprintf("HW %d", a.HighW))
}

// wantNoError asserts that an answer has no error.
func (t *trial) wantNoError(a answer) bool {
	return t.expect(a.ErrorCode == 0, a.Partition, a.FetchOffset, a.about()+": no error", codeName(a.ErrorCode))
}

// wantEnd asserts how far an answer's batches reach: want is one past the last
// offset; the fetch offset stands for none. An answer that does not get as far is
// continued by others: brokers end it where they like, and storage may need
// longer than a short wait.
func (t *trial) wantEnd(a answer, want int64) {
	end, spec := a.End(), fetchSpec{isolation: a.Isolation}
	for deadline := time.Now().Add(t.bound(settled)); a.ErrorCode == 0 && end < want && time.Now().Before(deadline); {
		more := t.fetch(a.Partition, end, spec)
		if more.ErrorCode != 0 {
			break
		}
		if more.End() <= end {
			spec.maxWait = longWait
		}
		end = more.End()
	}
	t.expect(end == want, a.Partition, end,
		fmt.Sprintf("%s: batches up to %d, exclusive", a.about(), want), fmt.Sprintf("batches up to %d", end))
}

// wantEntries asserts that the list of an answer holds these entries and no
// others, each once, in any order. One that stands for no data of the answer may
// be missing: brokers trim the list, and answers end where they like.
func (t *trial) wantEntries(a answer, want ...model.Entry) bool {
	left := slices.Clone(want)
	ok := true
	for _, e := range a.List {
		i := slices.Index(left, e)
		if ok = ok && i >= 0; ok {
			left = slices.Delete(left, i, i+1)
		}
	}
	ok = ok && !slices.ContainsFunc(left, a.needs)
	want = slices.SortedFunc(slices.Values(want), compareEntries)
	return t.expectAs(t.safety(), ok, a.Partition, a.FetchOffset,
		a.about()+": aborted "+model.ListString(want), "aborted "+model.ListString(a.List))
}

// needs reports whether the answer holds data that the entry is in force for.
func (a answer) needs(e model.Entry) bool {
	for i := range a.Batches {
		b := &a.Batches[i]
		switch {
		case b.ProducerID != e.ProducerID || b.Last < e.FirstOffset:
		case b.Kind == model.AbortMarker:
			return false
		case b.Transactional() && !b.Control():
			return true
		}
	}
	return false
}

func compareEntries(a, b model.Entry) int {
	return cmp.Or(cmp.Compare(a.ProducerID, b.ProducerID), cmp.Compare(a.FirstOffset, b.FirstOffset))
}

// wantOffsets asserts offsets that were delivered.
func (t *trial) wantOffsets(p model.Partition, what string, got, want []int64) {
	t.wantOffsetsAs(t.safety(), p, what, got, want)
}

// wantOffsetsAs is wantOffsets with a weight of its own.
func (t *trial) wantOffsetsAs(class Class, p model.Partition, what string, got, want []int64) {
	if slices.Equal(got, want) {
		return
	}
	extra, lost := model.Difference(got, want)
	expected, observed := what+": offsets "+model.Spans(want), "offsets "+model.Spans(got)
	switch {
	case len(extra) > 0:
		t.expectSafe(class, false, p, extra[0], expected, observed)
	case len(got) < len(want) && slices.Equal(got, want[:len(got)]): // as far as the last stable offset is
		t.reportShort(class, p, lost[0], expected, observed)
	case len(lost) > 0:
		t.reportAs(class, p, lost[0], expected, observed)
	default: // in another order
		t.expectSafe(class, false, p, -1, expected, observed)
	}
}

// wantDelivered asserts what a client that follows the lists gets at
// read_committed from an offset on.
func (t *trial) wantDelivered(p model.Partition, from int64, want ...int64) {
	t.wantOffsets(p, fmt.Sprintf("delivered at read_committed from %d on", from), t.delivered(p, from), want)
}

// wantCommitted asserts that a client that follows the lists gets from an
// offset on what the log says is committed, and returns the log. It asserts that
// the last stable offset comes to where the log says.
func (t *trial) wantCommitted(p model.Partition, from int64) *model.Log {
	l := t.oracle(p)
	if !t.inTime(settled, p, func() bool { return t.lso(p) >= l.LSO() }) {
		t.reportAs(t.lateness(), p, l.LSO(), fmt.Sprintf("LSO %d, as the log says, within %v", l.LSO(), t.bound(settled)), fmt.Sprintf("LSO %d", t.lso(p)))
	}
	got := t.delivered(p, from)
	want, err := l.Visible(from, l.LSO())
	if err != nil {
		t.undecided("reading the log of %s: %v", p, err)
	}
	t.wantOffsets(p, fmt.Sprintf("delivered at read_committed from %d on, as the log says", from), got, want)
	return l
}

// spanOf are the offsets in [from, to).
func spanOf(from, to int64) []int64 {
	var out []int64
	for ; from < to; from++ {
		out = append(out, from)
	}
	return out
}
