package conformance

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"example.com/readcommitted/conformance/internal/model"
)

// harmless reports whether an error code says nothing against the way in which was
// asked: it passes with time, a right is missing, or the log holds what older
// versions cannot carry (KIP-110).
func harmless(code int16) bool {
	return passes(code) || refusal(code) == ReasonNotAuthorized ||
		code == kerr.UnsupportedCompressionType.Code || code == kerr.UnsupportedForMessageFormat.Code
}

// shownEnough is how often an ordinary fetch has to show data that another way
// to read does not, before that counts as never. Counting looks instead of
// seconds is fair to clusters that are slow with both.
const shownEnough = 20

// longWait is how long a Fetch may wait after one that came back empty although
// there is something: storage may need longer than a short wait.
const longWait = 500 * time.Millisecond

// keepsUp calls advance until it gets past an offset, and reports whether it
// did before ordinary fetches had shown data at the offset often enough.
func (t *trial) keepsUp(p model.Partition, offset int64, isolation int8, advance func() bool) bool {
	deadline := time.Now().Add(t.bound(settled))
	for shown := 0; !advance(); {
		switch wide := t.fetch(p, offset, fetchSpec{isolation: isolation, maxWait: longWait}); {
		case len(wide.Batches) > 0:
			if shown++; shown == shownEnough {
				return false
			}
		case time.Now().After(deadline):
			what := "nothing"
			if wide.ErrorCode != 0 {
				what = codeName(wide.ErrorCode)
			}
			t.undecided("reading %s at isolation level %d: %s at offset %d", p, isolation, what, offset)
		}
		t.pause(retryPause, "data at an offset of "+p.String())
	}
	return true
}

// filled is fetch, again until the answer holds batches. ok is false if
// ordinary fetches do and this one never does.
func (t *trial) filled(p model.Partition, offset int64, spec fetchSpec) (a answer, ok bool) {
	return t.filledInside(p, offset, offset, spec)
}

// filledInside is filled from inside a batch, where ordinary fetches from its
// base offset show that there is something. An error in place of batches counts
// as none; one that came and went leaves the script undecided.
func (t *trial) filledInside(p model.Partition, base, offset int64, spec fetchSpec) (a answer, ok bool) {
	refused := ""
	ok = t.keepsUp(p, base, spec.isolation, func() bool {
		a = t.tryFetch(p, offset, spec)
		if a.absent || a.ErrorCode != 0 {
			refused = a.nothing()
			if harmless(a.ErrorCode) {
				t.undecided("reading %s at %d: %s", p, offset, refused)
			}
		}
		if a.Problem != nil {
			t.unreadable(p, a)
		}
		spec.maxWait = longWait
		return len(a.Batches) > 0
	})
	if ok && refused != "" {
		t.undecided("reading %s at %d: %s, and then batches", p, offset, refused)
	}
	return a, ok
}

// shown is committed, again until the answer holds batches where it has to: the
// log has a record to give from the offset on, below the last stable offset that
// the answer itself tells. Storage may need longer than a short wait, and what is
// empty proves no list.
func (t *trial) shown(p model.Partition, offset, record int64) answer {
	a := t.committed(p, offset)
	if len(a.Batches) > 0 || a.ErrorCode != 0 || a.Problem != nil || a.LastStableOffset <= record {
		return a
	}
	a, ok := t.filled(p, offset, fetchSpec{isolation: model.ReadCommitted, maxWait: longWait})
	if !ok {
		t.undecided("reading %s at %d: %s", p, offset, a.nothing())
	}
	return a
}

// shownOf is shown of a log. Where that has no record to give, what comes after a
// longer wait counts: brokers may keep markers to themselves.
func (t *trial) shownOf(l *model.Log, offset int64) answer {
	for i := l.At(offset); i < len(l.Batches); i++ {
		if fate := l.Fate(i); fate == model.Plain || fate == model.Committed {
			return t.shown(l.Partition, offset, max(offset, l.Batches[i].Base))
		}
	}
	a := t.committed(l.Partition, offset)
	if len(a.Batches) == 0 && a.ErrorCode == 0 && offset < a.LastStableOffset {
		a = t.fetch(l.Partition, offset, fetchSpec{isolation: model.ReadCommitted, maxWait: longWait})
	}
	return a
}

// answers are those of a reader that fetches its way from an offset to
// another, exclusive; each holds batches. A reader who gets stuck is a finding
// and ends the script.
func (t *trial) answers(p model.Partition, from, to int64, spec fetchSpec) []answer {
	return t.answersInside(p, from, from, to, spec)
}

// answersInside is answers of a reader that begins inside a batch with a base
// offset.
func (t *trial) answersInside(p model.Partition, base, from, to int64, spec fetchSpec) []answer {
	var out []answer
	for from < to {
		a, ok := t.filledInside(p, base, from, spec)
		if !ok || a.End() <= from {
			t.expect(false, p, from, fmt.Sprintf("%s in v%d with a limit of %d bytes: a batch", a.about(), a.Version, orElse(spec.partitionMaxBytes, defaultPartitionMaxBytes)),
				a.nothing()+", where ordinary fetches get one")
			t.stop(Inconclusive, "the reader cannot get past an offset")
		}
		out = append(out, a)
		from = a.End()
		base = from
	}
	return out
}

// batchesOf are the batches of consecutive answers.
func batchesOf(answers []answer) []model.Batch {
	var out []model.Batch
	for _, a := range answers {
		out = append(out, a.Batches...)
	}
	return out
}

// entriesOf are the entries of consecutive answers, each once.
func entriesOf(answers []answer) []model.Entry {
	var out []model.Entry
	seen := map[model.Entry]bool{}
	for _, a := range answers {
		for _, e := range a.List {
			if !seen[e] {
				seen[e] = true
				out = append(out, e)
			}
		}
	}
	return out
}

// deliveredIn are the offsets that a client which follows the lists gets from
// consecutive answers.
func (t *trial) deliveredIn(answers []answer) []int64 {
	var out []int64
	for _, a := range answers {
		got, err := model.Deliver(a.List, a.Batches, a.FetchOffset)
		if err != nil {
			t.undecided("reading %s at %d: %v", a.Partition, a.FetchOffset, err)
		}
		out = append(out, got...)
	}
	return out
}

// wantBatches asserts that batches read one way are those of the log up to an
// offset, exclusive: the same ranges, producers, epochs and kinds. A broker may
// keep from readers at read_committed what no application gets: aborted batches
// and markers.
func (t *trial) wantBatches(l *model.Log, to int64, isolation int8, how string, got []model.Batch) {
	how = fmt.Sprintf("%s at isolation level %d", how, isolation)
	for i := range l.Batches {
		want := &l.Batches[i]
		if want.Last >= to {
			break
		}
		if len(got) > 0 && sameBatch(want, &got[0]) {
			got = got[1:]
			continue
		}
		if fate := l.Fate(i); isolation == model.ReadCommitted && (fate == model.Aborted || fate == model.Control) {
			continue
		}
		observed := "none"
		if len(got) > 0 {
			observed = batchLine(&got[0])
		}
		t.expect(false, l.Partition, want.Base, how+": "+batchLine(want), observed)
		return
	}
	if len(got) > 0 {
		t.expect(false, l.Partition, got[0].Base, how+": no more batches", batchLine(&got[0]))
	}
}

// sameBatch compares what decides over a batch's visibility.
func sameBatch(a, b *model.Batch) bool {
	return a.Base == b.Base && a.Last == b.Last && a.ProducerID == b.ProducerID && a.Epoch == b.Epoch &&
		a.Kind == b.Kind && a.Transactional() == b.Transactional()
}

// batchLine is a batch in a line of evidence.
func batchLine(b *model.Batch) string {
	kind := b.Kind.String()
	if !b.Control() && b.Transactional() {
		kind = "transactional " + kind
	}
	return fmt.Sprintf("batch %d..%d %s pid %d/%d", b.Base, b.Last, kind, b.ProducerID, b.Epoch)
}
