package batchdecode

// quick decodes the next record if it has the usual shape: no headers, and no
// number of more than 28 bits. It reports false for any other, also for every
// kind of damage, and has then changed nothing but r; careful goes on from there.
//
// It halves the cost of a record, since it keeps the position in a register and
// carries no field names.
func (it *Records) quick(r *Record) bool {
	length, at := quickVarint(it.section, it.at)
	if at < 0 || length < 0 || length > len(it.section)-at {
		return false
	}
	b := it.section[:at+length]
	if at >= len(b) {
		return false
	}
	r.Attributes = int8(b[at])
	timestampDelta, at := quickVarint(b, at+1)
	delta, at := quickVarint(b, at)
	r.Key, at = quickBytes(b, at)
	r.Value, at = quickBytes(b, at)
	switch {
	case at < 0 || at != len(b)-1 || b[at] != 0: // the header count is last
		return false
	case delta <= int(it.previousDelta) || delta > int(it.lastDelta):
		return false
	case it.read == it.count-1 && len(b) < len(it.section):
		return false
	}
	r.headers, r.headerCount = nil, 0
	r.Offset = it.baseOffset + int64(delta)
	r.Timestamp = it.baseTimestamp + int64(timestampDelta)
	if it.appended {
		r.Timestamp = it.appendTime
	}
	it.previousDelta = int32(delta)
	it.at = len(b)
	it.read++
	return true
}

// quickVarint reads a zigzag-coded number of at most 28 bits and returns the
// position behind it, or -1 if there is none; at may be -1 already.
func quickVarint(b []byte, at int) (value, next int) {
	u := uint(0)
	for shift := 0; shift < 28; shift += 7 {
		if uint(at) >= uint(len(b)) {
			return 0, -1
		}
		c := b[at]
		at++
		u |= uint(c&0x7f) << shift
		if c < 0x80 {
			return int(u>>1) ^ -int(u&1), at
		}
	}
	return 0, -1
}

// quickBytes reads a length and as many bytes, nil if the length is negative,
// and returns the position behind them, or -1; at may be -1 already.
func quickBytes(b []byte, at int) (value []byte, next int) {
	n, at := quickVarint(b, at)
	switch {
	case at < 0 || n > len(b)-at:
		return nil, -1
	case n < 0:
		return nil, at
	}
	return b[at : at+n : at+n], at + n
}
