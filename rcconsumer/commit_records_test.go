package rcconsumer_test

import (
	"math/rand/v2"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/rcconsumer"
)

// mixed writes batches at random: plain, committed, aborted.
func (w *world) mixed(r *rand.Rand, batches int) {
	w.t.Helper()
	for range batches {
		switch vs := values(1 + r.IntN(4)); r.IntN(4) {
		case 0:
			w.produce(topic, 0, vs...)
		case 1:
			w.begin(topic, 0, vs...)(false)
		default:
			w.begin(topic, 0, vs...)(true)
		}
	}
}

func TestCommitsOfRecordsOnlyAreThoseOfKgo(t *testing.T) {
	modes := map[string][]kgo.Opt{
		"plain": nil, "greedy": {kgo.GreedyAutoCommit()}, "marks": {kgo.AutoCommitMarks()}, "manual": {manually},
	}
	for name, opts := range modes {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				seed := rand.Uint64()
				t.Log("seed", seed)
				r := rand.New(rand.NewPCG(seed, 1))
				w.mixed(r, 15)
				all := append([]kgo.Opt{rcconsumer.CommitThroughMarkers(false)}, opts...)
				for range 4 {
					alike(t, w, random(r.Uint64(), 25), all...)
				}
			})
		})
	}
}

// Where the log ends before the commit reading begins elsewhere, and kgo commits
// nothing until something has been read there.
func TestAResetIsNoReasonToCommitRecords(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.produce(topic, 0, values(10)...)
		commit := func(offset int64) func(*twin) {
			return func(d *twin) { d.commitSync(t.Context(), eachAt(-1, offset), d.answered("sync")) }
		}
		opts := []kgo.Opt{rcconsumer.CommitThroughMarkers(false), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart())}
		alike(t, w, commit(100), opts...)
		alike(t, w, func(d *twin) {
			d.tick()
			d.state("beyond the end")
			d.poll(3)
			d.tick()
			d.state("polled")
			d.poll(2)
			d.tick()
			d.state("polled again")
		}, opts...)
	})
}
