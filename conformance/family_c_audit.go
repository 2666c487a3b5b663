package conformance

import "example.com/readcommitted/conformance/internal/model"

// auditedEnds is how often one producer ends a transaction under audit.
const auditedEnds = 20

// selfAudit gives readers that compare deliveries with markers much to compare:
// runs of one producer that end now this way and now that, some of them while
// the reader waits in the middle, and data far in front of its marker.
func selfAudit(t *trial) {
	ps := t.partitions(2)
	w, beside := t.producer(), t.producer()
	for i := range auditedEnds {
		beside.write(ps[0], 1)
		w.write(ps[0], 1+i%4)
		w.finish(i%2 == 0)
	}
	beside.abort()
	markersFarBehind(t, ps[1:])
	for _, p := range ps {
		t.plain(p, 1)
		w := t.truth(p, model.ReadCommitted)
		t.witness(aborted(w.log) > 0, "the log of %s is %s", p, w.log)
		t.compareFrom(w)
		t.compareReaders(p, model.ReadUncommitted) // without a list there is nothing to contradict
	}
	followAudited(t)
}

// followAudited lets readers be at the end each time that a transaction ends,
// so that every answer of theirs begins somewhere else.
func followAudited(t *trial) {
	p, w, beside := t.partition(), t.producer(), t.producer()
	t.plain(p, 1)
	begin := t.truth(p, model.ReadCommitted)
	rs := t.openAll(begin.assignment())
	defer rs.close()
	var now truth
	for i := range auditedEnds / 4 {
		beside.write(p, 1)
		w.write(p, 2)
		w.finish(i%2 == 1)
		beside.finish(i%2 == 0)
		t.plain(p, 1)
		now = t.truth(p, model.ReadCommitted)
		rs.each(t, func(r *reading) { r.readAll(now) })
	}
	t.judgeReadings(now, rs)
}

// aborted counts the aborted runs of a log.
func aborted(l *model.Log) int {
	n := 0
	for _, r := range l.Runs {
		if r.Fate == model.Aborted {
			n++
		}
	}
	return n
}
