package conformance

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
)

// A new leader starts with a high watermark that may be lower than the one
// before had told of, until its followers have fetched from it once. That is
// held against nobody: what it answers until then is asked for again.

// led notes who leads the partition. alone says that no other broker could.
func (p *place) led(leader, epoch int32, alone bool) {
	if leader != p.leader || epoch != p.leaderEpoch || epoch < 0 && !alone {
		p.behind = p.told
		p.changes++
	}
	if p.firstEpoch < 0 {
		p.firstEpoch = epoch
	}
	p.leader, p.leaderEpoch = leader, epoch
}

// reaches notes that the partition is known to go as far as an offset,
// exclusive.
func (t *trial) reaches(p model.Partition, end int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := t.placeLocked(p)
	at.told = max(at.told, end)
}

// tells takes in how far a leader says that the partition goes.
func (t *trial) tells(v *model.View) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := t.placeLocked(v.Partition)
	if v.HighW >= at.behind {
		at.behind = 0
	}
	at.told = max(at.told, endTold(v))
}

// reached is how far the partition is known to go.
func (t *trial) reached(p model.Partition) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.placeLocked(p).told
}

// reachedEach is reached for several partitions.
func (t *trial) reachedEach(ps []model.Partition) (ends []int64) {
	for _, p := range ps {
		ends = append(ends, t.reached(p))
	}
	return ends
}

// lags reports whether an answer came from a leader that does not know yet how
// far the one before it had got. told is what was known when the request went
// out. Only an answer to a request that named the leader's epoch is surely not
// from another leader than the last; of others the metadata has to tell.
func (t *trial) lags(v *model.View, told int64) bool {
	if v.ErrorCode != 0 || v.HighW >= told {
		return false
	}
	if !v.Fenced() {
		t.refresh(v.Partition)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return v.HighW < t.placeLocked(v.Partition).behind
}

// stillNew waits a moment for a new leader. After the deadline it reports false:
// what the leader says counts as it stands, from then on.
func (t *trial) stillNew(p model.Partition, deadline time.Time) bool {
	if time.Now().Before(deadline) {
		t.pause(retryPause, "the high watermark of a new leader of "+p.String())
		return true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	at := t.placeLocked(p)
	at.behind, at.told = 0, 0
	return false
}

// leads reports whether a broker leads, as far as is known.
func (t *trial) leads(broker int32, p model.Partition) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	leader := t.placeLocked(p).leader
	return leader < 0 || leader == broker
}

// elected reports whether a leader epoch began while the trial looked on.
func (t *trial) elected(p model.Partition, epoch int32) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return epoch > t.placeLocked(p).firstEpoch
}

// epochSent is the leader epoch that a Fetch named for a partition, -1 for none.
func epochSent(req *kmsg.FetchRequest, index int32) int32 {
	for i := range req.Topics {
		for _, partition := range req.Topics[i].Partitions {
			if partition.Partition == index {
				return partition.CurrentLeaderEpoch
			}
		}
	}
	return -1
}

// oneLeader reports whether one leader, in one epoch, surely gave both answers.
// Brokers refuse a request that names another epoch than theirs; of requests
// that cannot name one, it is known only if the epoch is the same to this day.
func (t *trial) oneLeader(before, v *model.View) bool {
	switch {
	case before.Fenced() && v.Fenced(), len(t.run.features.brokers) == 1:
		return true
	case v.LeaderEpoch < 0:
		return false
	}
	same := false
	t.guarded(func() {
		t.refresh(v.Partition)
		t.highWatermark(v.Partition) // refused, if the metadata is old
		same = t.leaderEpoch(v.Partition) == v.LeaderEpoch
	})
	return same
}
