package mutant

import (
	"encoding/binary"
	"slices"

	"example.com/readcommitted/conformance/internal/model"
)

// Where a batch of format v2 has what these damages change.
const (
	crcAt         = 17
	attributesLow = 22
	codecMask     = 0x07
	transactional = 1 << 4
)

// shapeOfBytes are damages of batches whose CRC stays right, and of the CRC.
var shapeOfBytes = []Mutant{
	{
		Number: 46, Name: "a record's body is altered", Kills: []string{"P-11"},
		Make: func() Damage {
			return onFetch(func(f fetched) { damageBatches(f, alteredValue) })
		},
	},
	{
		Number: 103, Name: "the codec in a batch's attributes is another one", Kills: []string{"P-10"},
		Make: func() Damage {
			return onFetch(func(f fetched) {
				damageBatches(f, func(b *model.Batch, raw []byte) bool {
					if b.Codec() == 0 {
						return false
					}
					raw[attributesLow] = raw[attributesLow]&^codecMask | byte(b.Codec()%4+1)
					return true
				})
			})
		},
	},
	{
		Number: 104, Name: "compressed batches are not transactional", Kills: []string{"P-10"},
		Make: func() Damage {
			return onFetch(func(f fetched) {
				damageBatches(f, func(b *model.Batch, raw []byte) bool {
					if b.Codec() == 0 {
						return false
					}
					raw[attributesLow] &^= transactional
					return true
				})
			})
		},
	},
	{
		Number: 105, Name: "control batches have a CRC of 0", Kills: []string{"P-14"},
		Make: func() Damage {
			return onFetch(func(f fetched) {
				batches := f.batches()
				for i := range batches {
					if batches[i].Control() {
						batches[i].Raw = slices.Clone(batches[i].Raw)
						binary.BigEndian.PutUint32(batches[i].Raw[crcAt:], 0)
					}
				}
				f.put(batches)
			})
		},
	},
}

// alteredValue changes the last record, which ends with its value and the count
// of its headers, one byte.
func alteredValue(b *model.Batch, raw []byte) bool {
	end := len(raw) - 1
	if b.Control() || b.Codec() != 0 || b.Count == 0 || raw[end] != 0 {
		return false
	}
	raw[end-1] ^= 1
	return true
}

// damageBatches changes batches in place and gives those that were changed the
// CRC of what they hold then.
func damageBatches(f fetched, damage func(b *model.Batch, raw []byte) bool) {
	batches := f.batches()
	for i := range batches {
		raw := slices.Clone(batches[i].Raw)
		if damage(&batches[i], raw) {
			model.Seal(raw)
			batches[i].Raw = raw
		}
	}
	f.put(batches)
}
