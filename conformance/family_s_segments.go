package conformance

import (
	"strconv"

	"example.com/readcommitted/conformance/internal/model"
)

// smallSegment is the smallest segment.bytes that every version of Apache Kafka
// takes.
const smallSegment = 1 << 20

// largestSegment bounds the segments of a cluster that has a minimum of its
// own: three of them are written.
const largestSegment = 4 * smallSegment

// smallSegments makes a partition with small segments, and returns their size.
// A cluster that has none is skipped.
func (t *trial) smallSegments(configs ...string) (p model.Partition, size int) {
	p = t.partition(append(configs, "segment.bytes="+strconv.Itoa(smallSegment))...)
	told := t.topicSetting(p.Topic, "segment.bytes")
	size, err := strconv.Atoi(told)
	if err != nil || size <= 0 || size > largestSegment {
		t.otherSetting("segment.bytes", told, strconv.Itoa(smallSegment))
	}
	return p, size
}

// segmented is a log of more than three segments. One transaction has records
// in each of them but the last, where its abort marker is; another one that is
// aborted fills a segment.
type segmented struct {
	*book
	size int
	far  model.Entry // the transaction whose marker comes last
	log  *model.Log
}

func (t *trial) segmented() segmented {
	p, size := t.smallSegments()
	s := segmented{book: &book{t: t, p: p}, size: size}
	far, near, filler := s.author(), s.author(), s.author()
	near.run(false, 2)
	near.run(true, 1)
	s.far.ProducerID = far.id
	for i := range 3 {
		if base := far.write(1 + i); i == 0 {
			s.far.FirstOffset = base
		}
		near.run(i == 1, 1)
		filler.fill(size, func() {})
		filler.finish(i != 1)
	}
	near.run(false, 1)
	far.abort()
	near.run(true, 1)
	t.rest(p)
	s.log = s.logged()
	return s
}

// fill writes batches of more bytes than a segment has, with a call after each.
func (a *author) fill(size int, then func()) {
	a.padding = farPadding
	for range size/(farBatch*farPadding) + 2 {
		a.write(farBatch)
		then()
	}
	a.padding = 0
}

// markerInLaterSegment is S-01.
func markerInLaterSegment(t *trial) {
	s := t.segmented()
	marker := s.log.Run(s.log.At(s.far.FirstOffset)).Marker
	far := 0
	for _, limit := range []int32{1, farWindow} {
		for _, a := range s.wantWalk(s.log, 0, fetchSpec{partitionMaxBytes: limit}) {
			if a.needs(s.far) && bytesBetween(s.log, a.End(), marker) > 2*s.size {
				far++
			}
		}
	}
	t.witness(far > 0, "no answer with data of the transaction ends %d bytes before its marker", 2*s.size)
	s.wantDelivered(0, fetchSpec{partitionMaxBytes: farWindow})
	t.fact("segment.bytes is %d; %d answers end two segments and more before the marker of a transaction in them", s.size, far)
}

// fetchSpansSegments is S-02.
func fetchSpansSegments(t *trial) {
	s := t.segmented()
	whole := bytesBetween(s.log, 0, s.log.End)
	t.witness(whole > 3*s.size, "the log of %s has %d bytes", s.p, whole)
	s.wantDelivered(0, fetchSpec{})
	s.wantWalk(s.log, 0, fetchSpec{})
	for _, from := range s.everyBytes(s.size / 2) {
		s.wantWalk(s.log, from, fetchSpec{})
	}
}

// everyBytes are offsets about so many bytes apart.
func (s *segmented) everyBytes(apart int) (offsets []int64) {
	n := 0
	for i := range s.log.Batches {
		if n += len(s.log.Batches[i].Raw); n >= apart {
			offsets, n = append(offsets, s.log.Batches[i].Last), 0
		}
	}
	return offsets
}
