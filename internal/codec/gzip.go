package codec

import (
	"bytes"
	"encoding/binary"
	"io"

	"github.com/klauspost/compress/gzip"
)

// minGzip is the size of a member without data: header 10, an empty block 2,
// trailer 8.
const minGzip = 20

type gzipReader struct {
	inner gzip.Reader
	src   bytes.Reader
}

func (d *Decompressor) decompressGzip(src []byte, limit int) ([]byte, error) {
	if len(src) < minGzip {
		return nil, io.ErrUnexpectedEOF
	}
	r := d.gzip.get()
	defer d.gzip.put(r)
	r.src.Reset(src)
	defer r.src.Reset(nil)
	if err := r.inner.Reset(&r.src); err != nil {
		return nil, err
	}
	// The trailer has the size of the last member modulo 2^32. That is the
	// whole output when there is one member, as there nearly always is.
	size := binary.LittleEndian.Uint32(src[len(src)-4:])
	return d.readAll(&r.inner, hint(uint64(size), src, limit), limit)
}
