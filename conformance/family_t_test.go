package conformance

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/conformance/internal/model"
	"example.com/readcommitted/internal/kafkatest"
)

// playOnFake runs a script against a fake broker, once.
func playOnFake(t *testing.T, level Level, script func(*trial)) Result {
	t.Helper()
	r, err := newRun(t.Context(), Config{
		Options: []kgo.Opt{kgo.SeedBrokers(kafkatest.Fake(t, kafkatest.Config{}).Addrs()...)}, RunID: newRunID(t),
	})
	require.NoError(t, err)
	defer r.client.Close()
	s := &Scenario{ID: "Z-00", Class: Must, run: func(t *trial) {
		t.witness(true, "")
		script(t)
	}}
	return r.trial(t.Context(), s, level, 1)
}

// A broker counts from the first partition that a transaction has, and not from
// the acknowledgement of a batch: from its timeout on, nothing may be said of
// the last stable offset.
func TestATransactionExpiresByItsBeginning(t *testing.T) {
	for _, level := range []Level{TV1, TV2} {
		result := playOnFake(t, level, func(tr *trial) {
			ps, w := tr.partitions(2), tr.producerFor(tr.newID(), time.Minute)
			w.write(ps[0], 1)
			began := time.Now()
			tr.pause(100*time.Millisecond, "the next batch")
			w.write(ps[1], 1)
			for _, p := range ps {
				require.WithinRange(t, tr.places[p].pins[0].expires, began.Add(30*time.Second), began.Add(time.Minute))
			}
			w.commit()
			tr.pause(10*time.Millisecond, "the next transaction")
			began = time.Now()
			w.write(ps[0], 1)
			require.WithinRange(t, tr.places[ps[0]].pins[1].expires, began.Add(30*time.Second), time.Now().Add(time.Minute))
			w.commit()
		})
		require.Equal(t, Pass, result.Outcome, "%s %s", level, result.Reason)
	}
}

// Once the marker of a transaction that timed out was seen, the partition is
// quiet again, so that its ends are judged.
func TestAPartitionIsQuietAfterATimeout(t *testing.T) {
	result := playOnFake(t, TV1, func(tr *trial) {
		p, w := tr.partition(), tr.producerFor(tr.newID(), 200*time.Millisecond)
		w.write(p, 1)
		_, quiet := tr.quietNow(p)
		require.True(t, quiet, "before the timeout")
		tr.pause(210*time.Millisecond, "the timeout")
		_, quiet = tr.quietNow(p)
		require.False(t, quiet, "when the broker may abort")
		tr.timedOut(w)
		_, quiet = tr.quietNow(p)
		require.True(t, quiet, "after the marker")
		require.True(t, tr.settle(p))
	})
	require.Equal(t, Pass, result.Outcome, result.Reason)
	require.Equal(t, 1, result.Judged["U12"])
}

// A log without what was written does not say how that ended. What was committed
// has to be there.
func TestNothingHasNoFate(t *testing.T) {
	for want, outcome := range map[model.Fate]Outcome{model.Aborted: Inconclusive, model.Committed: Fail} {
		result := playOnFake(t, TV1, func(tr *trial) {
			p := tr.partition()
			tr.wantFate(tr.oracle(p), generation{7, 0}, want)
		})
		require.Equal(t, outcome, result.Outcome, "%s: %s", want, result.Reason)
	}
}

// Who gets nothing of what was aborted may not have got that far.
func TestWhatAbortedMustNotHoldReadersBack(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]func(*trial, model.Partition){
		"settled":   func(t *trial, p model.Partition) { t.wantSettled(p) },
		"committed": func(t *trial, p model.Partition) { t.wantCommitted(p, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			aborts := func(t *trial) {
				p, w := t.partition(), t.producer()
				t.plain(p, 1)
				w.write(p, 2)
				w.abort()
				t.witness(true, "")
				script(t, p)
			}
			r, _ := behind(t, lagging(time.Hour), quickly, scenario(aborts))
			require.Equal(t, Fail, r.Outcome, r.Reason)
			r, _ = behind(t, lagging(400*time.Millisecond), quickly, scenario(aborts))
			require.Equal(t, Pass, r.Outcome, "%s\n%s", r.Reason, findingsOf(r))
		})
	}
}

// The second attempt must not find what the first one left open.
func TestASecondAttemptHasNamesOfItsOwn(t *testing.T) {
	first, second := &trial{scenario: &Scenario{ID: "T-01"}, level: TV1}, &trial{scenario: &Scenario{ID: "T-01"}, level: TV1, attempt: 2}
	require.NotEqual(t, first.label(), second.label())
}
