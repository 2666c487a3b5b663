package codec

import (
	"bytes"
	"errors"
	"io"
	"sync"
)

const (
	minScratch = 64 << 10
	maxScratch = 4 << 20 // larger buffers are not kept
	maxEmpty   = 100     // reads without bytes or error before giving up
)

// pool is a sync.Pool of one type. The zero value is ready, Get returns a zero
// value if nothing is kept.
type pool[T any] struct{ p sync.Pool }

func (p *pool[T]) get() *T {
	if v, ok := p.p.Get().(*T); ok {
		return v
	}
	return new(T)
}

func (p *pool[T]) put(v *T) { p.p.Put(v) }

// putScratch keeps a buffer unless it is large: one large batch should not
// hold memory for ever.
func (d *Decompressor) putScratch(slot *[]byte, b []byte) {
	if cap(b) > maxScratch {
		b = nil
	}
	*slot = b[:0]
	d.scratch.put(slot)
}

// readAll reads r to its end into fresh memory of the right size, never more
// than limit bytes. With size > 0, which is what the output is believed to be,
// it reads into the result directly; otherwise into a kept buffer first.
func (d *Decompressor) readAll(r io.Reader, size, limit int) ([]byte, error) {
	if size > 0 {
		// One byte more: a full read of size bytes then ends with EOF
		// instead of a larger buffer.
		out, err := readInto(r, make([]byte, 0, size+1), limit)
		return out[:len(out):len(out)], err
	}
	slot := d.scratch.get()
	buf := *slot
	if cap(buf) == 0 {
		buf = make([]byte, 0, minScratch)
	}
	buf, err := readInto(r, buf, limit)
	defer d.putScratch(slot, buf)
	if err != nil {
		return nil, err
	}
	return own(buf), nil
}

// own copies a kept buffer to fresh memory, which is never nil.
func own(buf []byte) []byte {
	out := bytes.Clone(buf[:len(buf):len(buf)])
	if out == nil {
		out = []byte{}
	}
	return out[:len(out):len(out)]
}

// readInto reads r to its end into buf, which is empty, and grows it.
func readInto(r io.Reader, buf []byte, limit int) ([]byte, error) {
	for empty := 0; empty < maxEmpty; {
		if len(buf) == cap(buf) {
			buf = append(make([]byte, 0, min(2*cap(buf), limit+1)), buf...)
		}
		n, err := r.Read(buf[len(buf):min(cap(buf), limit+1)])
		buf = buf[:len(buf)+n]
		switch {
		case len(buf) > limit:
			return buf, tooLarge(limit)
		case errors.Is(err, io.EOF):
			return buf, nil
		case err != nil:
			return buf, err
		case n == 0:
			empty++
		default:
			empty = 0
		}
	}
	return buf, io.ErrNoProgress
}
