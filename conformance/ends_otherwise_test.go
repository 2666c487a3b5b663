package conformance

import (
	"context"
	"encoding/binary"
	"net"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/mutant"
	"example.com/readcommitted/internal/kafkatest"
)

// turnedEnds is a cluster that aborts what is to be committed, and the other
// way round, and says that all went well.
func turnedEnds() mutant.Damage {
	return mutant.Damage{Keys: []kmsg.Key{kmsg.EndTxn}, Request: func(c *mutant.Call) {
		req := c.Request.(*kmsg.EndTxnRequest)
		req.Commit = !req.Commit
	}}
}

// How a transaction ended is what the cluster acknowledged, and no matter of a
// scenario's situation.
func TestAnEndThatWentTheOtherWayIsAFailure(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"A-01", "A-03", "A-04", "A-10", "A-02"} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			r, _ := behind(t, turnedEnds(), func(c *Config) { c.assertionsOnly = true }, Find(id))
			require.Equal(t, Fail, r.Outcome, "%s\n%s", r.Reason, findingsOf(r))
		})
	}
}

// An end that never comes is what L-04 is about.
func TestAnEndThatNeverComesIsAFailure(t *testing.T) {
	t.Parallel()
	r, _ := behind(t, damageOf(t, 37), func(c *Config) { c.Slow, c.assertionsOnly = 0.05, true }, Find("L-04"))
	require.Equal(t, Fail, r.Outcome, "%s\n%s", r.Reason, findingsOf(r))
}

// cutting cuts connections on which a request with a key is sent, so often.
type cutting struct {
	net.Conn
	key  kmsg.Key
	left *atomic.Int64
}

func (c cutting) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if len(b) >= 6 && binary.BigEndian.Uint16(b[4:]) == uint16(c.key) && c.left.Add(-1) >= 0 { //nolint:gosec // keys are small
		_ = c.Close()
	}
	return n, err
}

// cutter dials connections that are cut at a request with a key, so often.
func cutter(key kmsg.Key, left *atomic.Int64) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return cutting{conn, key, left}, nil
	}
}

// cutOff runs a script over connections that it may have cut at an EndTxn, as
// often as it says.
func cutOff(t *testing.T, script func(t *trial, left *atomic.Int64)) Result {
	t.Helper()
	var left atomic.Int64
	c := kafkatest.Fake(t, kafkatest.Config{})
	return judgedBy(t.Context(), t, c, func(config *Config) {
		config.Options = []kgo.Opt{kgo.SeedBrokers(c.Addrs()...), kgo.Dialer(cutter(kmsg.EndTxn, &left))}
	}, scenario(func(t *trial) { script(t, &left) })).Results[0]
}

// A connection that is cut now and then is not the cluster's answer.
func TestRequestsWhoseConnectionIsCut(t *testing.T) {
	t.Parallel()
	for _, k := range []struct {
		name string
		cuts int64
		want Outcome
	}{
		{"never", 0, Pass},
		{"once", 1, Pass},
		{"always", 1000, Warn},
	} {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			r := cutOff(t, func(t *trial, left *atomic.Int64) {
				p, w := t.partition(), t.producer()
				w.write(p, 1)
				w.heir()
				t.witness(true, "")
				left.Store(k.cuts)
				t.wantRefused(p, "EndTxn of a fenced producer", w.tryEnd(true), fencedEnd)
				left.Store(0)
			})
			require.Equal(t, k.want, r.Outcome, "%s\n%s", r.Reason, findingsOf(r))
		})
	}
}

// An end that is said again, and gets no answer, was not refused.
func TestEndsWithoutAnAnswerDecideNothing(t *testing.T) {
	t.Parallel()
	r := cutOff(t, func(t *trial, left *atomic.Int64) {
		p, w := t.partition(), t.producer()
		w.write(p, 1)
		same := w.endRequest(true)
		w.commit()
		t.witness(true, "")
		left.Store(1000)
		defer left.Store(0)
		w.answeredEnd(same)
	})
	require.Equal(t, Inconclusive, r.Outcome, findingsOf(r))
	require.Contains(t, r.Reason, "EndTxn: ")
}
