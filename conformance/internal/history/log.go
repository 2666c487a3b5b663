package history

// Logged takes data of the log that a producer wrote, in offset order.
func (r *Reader) Logged(partition int, producerID int64, records []Record) {
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	open := r.open[partition]
	for _, record := range records {
		p, _ := r.place(partition, record)
		if p == nil {
			continue
		}
		p.inLog++
		if p.txn.ending == Plain {
			p.logged = Committed
			r.c.weigh(p)
			continue
		}
		if all := open[producerID]; len(all) == 0 || all[len(all)-1] != p {
			open[producerID] = append(all, p)
		}
	}
}

// Marked takes a marker of the log: it decides what its producer has written
// since the one before.
func (r *Reader) Marked(partition int, producerID, offset int64, fate Fate) {
	c := r.c
	c.mu.Lock()
	defer c.mu.Unlock()
	r.next[partition] = max(r.next[partition], offset+1)
	for _, p := range r.open[partition][producerID] {
		if p.logged != Undecided && p.logged != fate {
			c.accuse(p, Torn, "", offset, "one marker, or equal ones: it is "+p.logged.String(), "records of it that are "+fate.String())
		}
		p.logged = fate
		c.showsAborted = c.showsAborted || fate == Aborted
		c.weigh(p)
	}
	delete(r.open[partition], producerID)
}

// Open reports whether the log has data of a partition that no marker ended.
func (r *Reader) Open(partition int) bool {
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	return len(r.open[partition]) > 0
}
