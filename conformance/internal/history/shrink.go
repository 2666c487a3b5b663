package history

// Shrink looks for a smaller plan that fails too: without faults, without some
// producers, then without some transactions, then without some writes, then with
// shorter pauses. fails has to answer false when there is no time left. The plan itself
// is returned if nothing smaller fails.
func Shrink(p Plan, fails func(Plan) bool) Plan {
	if calm := p.withoutFaults(); calm.Hash() != p.Hash() && fails(calm) {
		p = calm
	}
	actors := make([]int, 0, len(p.Actors))
	for i, a := range p.Actors {
		if len(a.Txns) > 0 {
			actors = append(actors, i)
		}
	}
	keep := reduce(len(actors), func(keep []bool) bool { return fails(p.withActors(actors, keep)) })
	p = p.withActors(actors, keep)
	keep = reduce(p.Transactions(), func(keep []bool) bool { return fails(p.withTransactions(keep)) })
	p = p.withTransactions(keep)
	keep = reduce(p.writes(), func(keep []bool) bool { return fails(p.withWrites(keep)) })
	p = p.withWrites(keep)
	for p.paused() {
		shorter := p.withPauses(func(w *Write) { w.Pause /= 8 })
		if !fails(shorter) {
			break
		}
		p = shorter
	}
	return p
}

// Often makes a test that fails if r of at most n runs do: what depends on time
// does not fail always.
func Often(r, n int, run func(Plan) bool) func(Plan) bool {
	return func(p Plan) bool {
		failed := 0
		for i := 0; i < n && failed < r && failed+n-i >= r; i++ {
			if run(p) {
				failed++
			}
		}
		return failed >= r
	}
}

// reduce is delta debugging: it takes away parts of n things, large ones first,
// as long as the rest fails.
func reduce(n int, fails func(keep []bool) bool) []bool {
	keep := make([]bool, n)
	for i := range keep {
		keep[i] = true
	}
	for size := (n + 1) / 2; size > 0 && n > 1; size /= 2 {
		for from := 0; from < n; from += size {
			try := append([]bool{}, keep...)
			taken, left := 0, 0
			for i := range try {
				if i >= from && i < from+size && try[i] {
					try[i] = false
					taken++
				} else if try[i] {
					left++
				}
			}
			if taken > 0 && left > 0 && fails(try) {
				keep = try
			}
		}
	}
	return keep
}

func (p Plan) withoutFaults() Plan {
	return p.filter(func(_ int, t Txn) (Txn, bool) {
		t.Fault, t.On, t.Wait = NoFault, 0, 0
		return t, true
	})
}

func (p Plan) withActors(actors []int, keep []bool) Plan {
	out := Plan{Partitions: p.Partitions, Actors: append([]Actor{}, p.Actors...)}
	for i, at := range actors {
		if !keep[i] {
			out.Actors[at].Txns = nil // numbers of others stay
		}
	}
	return out
}

func (p Plan) withTransactions(keep []bool) Plan {
	return p.filter(func(n int, t Txn) (Txn, bool) { return t, keep[n] })
}

func (p Plan) writes() (n int) {
	for _, a := range p.Actors {
		for _, t := range a.Txns {
			n += len(t.Writes)
		}
	}
	return n
}

func (p Plan) withWrites(keep []bool) Plan {
	at := 0
	return p.filter(func(_ int, t Txn) (Txn, bool) {
		var writes []Write
		for _, w := range t.Writes {
			if keep[at] {
				writes = append(writes, w)
			}
			at++
		}
		t.Writes = writes
		return t, len(writes) > 0
	})
}

func (p Plan) paused() bool {
	for _, a := range p.Actors {
		for _, t := range a.Txns {
			for _, w := range t.Writes {
				if w.Pause > 0 {
					return true
				}
			}
		}
	}
	return false
}

func (p Plan) withPauses(change func(*Write)) Plan {
	return p.filter(func(_ int, t Txn) (Txn, bool) {
		writes := append([]Write{}, t.Writes...)
		for i := range writes {
			change(&writes[i])
		}
		t.Writes = writes
		return t, true
	})
}

// filter makes a plan of some of the transactions, by their place in the whole
// plan, perhaps changed.
func (p Plan) filter(pick func(n int, t Txn) (Txn, bool)) Plan {
	out := Plan{Partitions: p.Partitions}
	n := 0
	for _, a := range p.Actors {
		b := Actor{Old: a.Old}
		for _, t := range a.Txns {
			if changed, ok := pick(n, t); ok {
				b.Txns = append(b.Txns, changed)
			}
			n++
		}
		out.Actors = append(out.Actors, b)
	}
	return out
}
