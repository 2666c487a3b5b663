package conformance

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/readcommitted/conformance/internal/model"
	"example.com/readcommitted/internal/kafkatest"
)

// Producers that overlap in every way, and readers that share connections: no
// invariant may blame a correct cluster for any of it.
func TestNothingIsBlamedUnderLoad(t *testing.T) {
	kafkatest.Each(t, kafkatest.Config{}, func(t *testing.T, c *kafkatest.Cluster) { nothingIsBlamed(t, c, nil) })
}

// Leaders move all the while, and come back.
func TestNothingIsBlamedWhileLeadersMove(t *testing.T) {
	t.Parallel()
	c := kafkatest.Fake(t, kafkatest.Config{Nodes: 3})
	nothingIsBlamed(t, c, func(t *trial, ps []model.Partition, end time.Time) {
		for n := int32(0); time.Now().Before(end); n = (n + 1) % 3 {
			for _, p := range ps {
				_ = c.Fake().MoveTopicPartition(p.Topic, p.Index, n)
			}
			t.pause(100*time.Millisecond, "the next move")
		}
	})
}

// nothingIsBlamed runs producers and readers, and something beside them if it
// is not nil.
func nothingIsBlamed(t *testing.T, c *kafkatest.Cluster, beside func(*trial, []model.Partition, time.Time)) {
	t.Helper()
	s := scenario(func(t *trial) {
		ps := t.partitions(2)
		end := time.Now().Add(2 * time.Second)
		var all []func()
		if beside != nil {
			all = append(all, func() { beside(t, ps, end) })
		}
		for i := range 4 {
			all = append(all, func() { t.writeAtRandom(ps, uint64(i), end) })
		}
		for i := range 3 {
			all = append(all, func() { t.readAtRandom(ps, uint64(i), end) })
		}
		all = append(all, func() {
			for time.Now().Before(end) {
				t.plain(ps[0], 1)
				t.pause(20*time.Millisecond, "the next batch")
			}
		})
		t.together(all...)
		for _, p := range ps {
			t.witness(len(t.oracle(p).Runs) > 0, "no transactions")
		}
	})
	s.levels = eachLevel
	r := resultOf(t, c, s)
	require.Equal(t, Pass, r.Outcome, "%s\n%s", r.Reason, findingsOf(r))
	require.NotZero(t, r.Judged["U10"])
	t.Log(r.Judged)
}

func (t *trial) writeAtRandom(ps []model.Partition, seed uint64, end time.Time) {
	rnd := rand.New(rand.NewPCG(1, seed))
	w := t.producer()
	for first := true; first || time.Now().Before(end); first = false {
		if w.level < TV2 && rnd.IntN(3) == 0 {
			w.add(ps...) // perhaps with nothing written to one of them
		}
		for range 1 + rnd.IntN(3) {
			w.write(ps[rnd.IntN(len(ps))], 1+rnd.IntN(3))
		}
		switch rnd.IntN(6) {
		case 0:
			w.end(true)
		case 1:
			w.end(false)
		case 2:
			w = t.producerFor(w.name, defaultTimeout)
		case 3:
			w.abort()
		default:
			w.commit()
		}
		if rnd.IntN(8) == 0 {
			short := t.producerFor(t.newID(), 500*time.Millisecond) // and the broker has to end it
			short.write(ps[rnd.IntN(len(ps))], 1)
		}
	}
	w.init()
}

func (t *trial) readAtRandom(ps []model.Partition, seed uint64, end time.Time) {
	rnd := rand.New(rand.NewPCG(2, seed))
	for first := true; first || time.Now().Before(end); first = false {
		p := ps[rnd.IntN(len(ps))]
		t.fetch(p, rnd.Int64N(t.highWatermark(p)+1), fetchSpec{isolation: int8(rnd.IntN(2)), partitionMaxBytes: int32(1 + rnd.IntN(2000))})
	}
}
