package conformance

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
	"example.com/readcommitted/conformance/internal/mutant"
	"example.com/readcommitted/internal/kafkatest"
)

// What kfake does otherwise than Kafka, and nothing else.
func TestOffsetsInTransactionsOnAFakeCluster(t *testing.T) {
	t.Parallel()
	for _, r := range runThrough(t, kafkatest.Fake(t, kafkatest.Config{}), mutant.Damage{}, "O").Results {
		want := Pass
		switch r.ID {
		case "O-03": // no such group, while its first offset is pending
			want = Warn
		case "O-04": // one pending offset makes all of the group unstable
			want = Warn
		}
		require.Equal(t, want, r.Outcome, "%s: %s\n%s", r.ID, r.Reason, findingsOf(r))
	}
}

// A checker that passes a cluster which loses the offsets of transactions is
// worth nothing to loops that rest on them.
func TestLostOffsetsAreNoticed(t *testing.T) {
	t.Parallel()
	for _, m := range mutant.All() {
		if m.Number != 219 && m.Number != 220 {
			continue
		}
		for _, r := range runBehind(t, kafkatest.Fake(t, kafkatest.Config{}), m.Make(), Config{Select: m.Kills, Slow: m.Slow}).Results {
			require.Equal(t, Fail, r.Outcome, "%s: %s\n%s", r.ID, r.Reason, findingsOf(r))
		}
	}
}

// applyingLate has the offsets of a transaction pending for some time after its
// end was acknowledged.
func applyingLate(by time.Duration) mutant.Damage {
	return afterEnds(by, func(stable bool, p *kmsg.OffsetFetchResponseGroupTopicPartition) {
		if stable {
			p.ErrorCode, p.Offset = kerr.UnstableOffsetCommit.Code, -1
		}
	})
}

// applyingUnseen is applyingLate by a cluster that does not say so: it gives
// what it had before, in O-09 nothing or the offset of the transaction before.
func applyingUnseen(by time.Duration) mutant.Damage {
	return afterEnds(by, func(_ bool, p *kmsg.OffsetFetchResponseGroupTopicPartition) {
		if p.Offset--; p.Offset < firstOffset {
			p.Offset = noOffset
		}
	})
}

// afterEnds changes answers about a group for some time after the end of a
// transaction with its offsets.
func afterEnds(by time.Duration, change func(stable bool, p *kmsg.OffsetFetchResponseGroupTopicPartition)) mutant.Damage {
	groups, until := map[string]string{}, map[string]time.Time{} // by transactional ID; by group
	return mutant.Damage{Keys: []kmsg.Key{kmsg.TxnOffsetCommit, kmsg.EndTxn, kmsg.OffsetFetch}, Response: func(c *mutant.Call) {
		switch req := c.Request.(type) {
		case *kmsg.TxnOffsetCommitRequest:
			groups[req.TransactionalID] = req.Group
		case *kmsg.EndTxnRequest:
			until[groups[req.TransactionalID]] = time.Now().Add(by)
		case *kmsg.OffsetFetchRequest:
			resp := c.Response.(*kmsg.OffsetFetchResponse)
			for g := range resp.Groups {
				for i := range resp.Groups[g].Topics {
					for k := range resp.Groups[g].Topics[i].Partitions {
						if time.Now().Before(until[resp.Groups[g].Group]) {
							change(req.RequireStable, &resp.Groups[g].Topics[i].Partitions[k])
						}
					}
				}
			}
		}
	}}
}

// failingNow and then answers a request about offsets with an error that passes.
func failingNow(code *kerr.Error) mutant.Damage {
	n := 0
	return mutant.Damage{
		Keys: []kmsg.Key{kmsg.AddOffsetsToTxn, kmsg.OffsetFetch},
		Request: func(c *mutant.Call) {
			if n++; n%3 != 0 {
				return
			}
			switch req := c.Request.(type) {
			case *kmsg.AddOffsetsToTxnRequest:
				resp := req.ResponseKind().(*kmsg.AddOffsetsToTxnResponse)
				resp.ErrorCode = code.Code
				c.Response = resp
			case *kmsg.OffsetFetchRequest:
				resp := req.ResponseKind().(*kmsg.OffsetFetchResponse)
				for _, g := range req.Groups {
					rg := kmsg.NewOffsetFetchResponseGroup()
					rg.Group, rg.ErrorCode = g.Group, code.Code
					resp.Groups = append(resp.Groups, rg)
				}
				c.Response = resp
			}
		},
	}
}

// oldOffsetFetch is a cluster that cannot be asked for stable offsets only.
func oldOffsetFetch() mutant.Damage {
	return mutant.Damage{Keys: []kmsg.Key{kmsg.ApiVersions}, Response: func(c *mutant.Call) {
		resp := c.Response.(*kmsg.ApiVersionsResponse)
		for i := range resp.ApiKeys {
			if resp.ApiKeys[i].ApiKey == int16(kmsg.OffsetFetch) {
				resp.ApiKeys[i].MaxVersion = stableLeast - 1
			}
		}
	}}
}

// What a right cluster may do, if not all of them do it.
func TestOffsetsThatTakeTheirTimeAreRight(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		damage    mutant.Damage
		scenarios []string
	}{
		{"late, in a loop", applyingLate(20 * time.Millisecond), []string{"O-08"}},
		{"late", applyingLate(200 * time.Millisecond), []string{"O-02", "O-06", "O-09"}},
		{"late, and not said so", applyingUnseen(200 * time.Millisecond), []string{"O-09"}},
		{"moving", failingNow(kerr.NotCoordinator), []string{"O-01", "O-02", "O-06", "O-07", "O-09"}},
		{"busy", failingNow(kerr.CoordinatorLoadInProgress), []string{"O-01", "O-02", "O-09"}},
		{"slow", slow(20*time.Millisecond, kmsg.OffsetFetch, kmsg.TxnOffsetCommit), []string{"O-01", "O-02", "O-05", "O-07", "O-09"}},
		{"old", oldOffsetFetch(), []string{"O-01", "O-02", "O-09"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, r := range runThrough(t, kafkatest.Fake(t, kafkatest.Config{}), c.damage, c.scenarios...).Results {
				require.Equal(t, Pass, r.Outcome, "%s: %s\n%s", r.ID, r.Reason, findingsOf(r))
			}
		})
	}
}

func TestWhatNeedsStableOffsetsIsSkippedWithoutThem(t *testing.T) {
	t.Parallel()
	for _, r := range runThrough(t, kafkatest.Fake(t, kafkatest.Config{}), oldOffsetFetch(), "O-03", "O-04", "O-05", "O-06", "O-08").Results {
		require.Equal(t, Skip, r.Outcome, r.ID)
		require.Equal(t, ReasonAbsent, r.Reason, r.ID)
	}
}

// A pending offset that stays pending is a matter of progress, and tried again.
func TestOffsetsThatStayPending(t *testing.T) {
	t.Parallel()
	patient := *Find("O-09")
	patient.Limit = 5 * time.Minute // on busy machines, waiting for each of its ends is not all that takes time
	r, _ := behind(t, applyingLate(1500*time.Millisecond), quickly, &patient)
	require.Equal(t, Warn, r.Outcome, "%s\n%s", r.Reason, findingsOf(r))
	require.Contains(t, r.Reason, "flaky")
	r, _ = behind(t, applyingLate(time.Hour), quickly, &patient)
	require.Equal(t, Fail, r.Outcome, "%s\n%s", r.Reason, findingsOf(r))
}

// Members that a stopped script leaves behind keep a group from being deleted
// until their session is over.
func TestGroupsAreRemoved(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]bool{"whose member left": true, "whose member was cut off": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := kafkatest.Fake(t, kafkatest.Config{})
			r := resultOf(t, c, scenario(func(t *trial) {
				p, g, w := t.partition(), t.group(), t.producer()
				m := g.joinAs("a", p)
				if leave {
					defer m.leave()
				}
				w.commitOffset(g, p, 1)
				t.undecided("it is stopped")
			}))
			require.Equal(t, "it is stopped", r.Reason)
			groups, err := c.Admin().ListGroups(t.Context())
			require.NoError(t, err)
			require.Empty(t, groups)
			require.Equal(t, 1, r.Made.Groups)
		})
	}
}

func TestOffsetsInAnswersOfEveryVersion(t *testing.T) {
	p, q := model.Partition{Topic: "t"}, model.Partition{Topic: "t", Index: 1}
	old := kmsg.NewPtrOffsetFetchResponse()
	old.Topics = []kmsg.OffsetFetchResponseTopic{{Topic: "t", Partitions: []kmsg.OffsetFetchResponseTopicPartition{{Offset: 7}, {Partition: 1, Offset: -1, ErrorCode: 88}}}}
	young := kmsg.NewPtrOffsetFetchResponse()
	young.Groups = []kmsg.OffsetFetchResponseGroup{{Group: "g", Topics: []kmsg.OffsetFetchResponseGroupTopic{
		{Topic: "t", Partitions: []kmsg.OffsetFetchResponseGroupTopicPartition{{Offset: 7}, {Partition: 1, Offset: -1, ErrorCode: 88}}},
	}}}
	for _, resp := range []*kmsg.OffsetFetchResponse{old, young} {
		o, ok := offsetsIn(resp).of(p)
		require.True(t, ok)
		require.True(t, o.is(7))
		require.False(t, o.unstable())
		o, ok = offsetsIn(resp).of(q)
		require.True(t, ok)
		require.True(t, o.unstable())
		require.False(t, o.is(-1), "an error is no offset")
		_, ok = offsetsIn(resp).of(model.Partition{Topic: "u"})
		require.False(t, ok)
	}
	young.Groups[0].ErrorCode = kerr.GroupIDNotFound.Code
	o, ok := offsetsIn(young).of(p)
	require.True(t, ok)
	require.Equal(t, "GROUP_ID_NOT_FOUND, offset -1", o.String())
	require.True(t, o.is(noOffset), "a group that is not there has no offset")
}

func TestCopiesAreCounted(t *testing.T) {
	copies := func(values ...string) (out []Delivered) {
		for i, v := range values {
			out = append(out, Delivered{Offset: int64(i), Value: []byte(v)})
		}
		return out
	}
	out := []model.Partition{{Topic: "out"}, {Topic: "out", Index: 1}}
	for _, test := range []struct {
		name          string
		first, second []Delivered
		want          []string
	}{
		{"each once", copies("a", "b"), copies("c"), nil},
		{"one twice in a partition", copies("a", "b", "a"), copies("c"), []string{"the copy of a is at out/0@0 and at out/0@2"}},
		{"one in both", copies("a", "b"), copies("c", "b"), []string{"the copy of b is at out/0@1 and at out/1@1"}},
		{"one missing", copies("a"), copies("c"), []string{"the copy of b, which was committed, is missing"}},
		{"one too many", copies("a", "b"), copies("c", "d"), []string{"out/1@1 has the copy of d"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := &copying{t: bare(), out: []outputOf{{p: out[0], after: test.first}, {p: out[1], after: test.second}}}
			c.wantEachOnce("a reader", []string{"a", "b", "c"}, func(o outputOf) []Delivered { return o.after })
			var got []string
			for _, f := range c.t.result.Findings {
				got = append(got, f.Observed)
			}
			require.Equal(t, test.want, got)
		})
	}
}
