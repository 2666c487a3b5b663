package history

import (
	"encoding/binary"
	"hash/fnv"
	"slices"
)

// digestBlock is how many offsets one number stands for.
const digestBlock = 1000

// Digests are numbers that stand for records, one for each block of offsets.
// Two readers that got the same records have the same ones.
type Digests map[int64]uint64

// Add counts a record in.
func (d Digests) Add(offset int64, value []byte) {
	h := fnv.New64a()
	_, _ = h.Write(binary.BigEndian.AppendUint64(nil, uint64(offset)))
	_, _ = h.Write(value)
	d[offset/digestBlock] += h.Sum64()
}

// Differ are the first offsets of the blocks in which two differ, ascending.
func (d Digests) Differ(from Digests) []int64 {
	var out []int64
	for block, sum := range d {
		if from[block] != sum {
			out = append(out, block*digestBlock)
		}
	}
	for block := range from {
		if _, ok := d[block]; !ok {
			out = append(out, block*digestBlock)
		}
	}
	slices.Sort(out)
	return out
}
