package conformance

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
	"example.com/readcommitted/conformance/internal/mutant"
	"example.com/readcommitted/internal/kafkatest"
)

// Correct clusters are slow, throttle, change leaders and lose connections. None
// of that is held against them.

// behind runs a scenario on a fake cluster whose answers are changed on the way.
func behind(t *testing.T, damage mutant.Damage, change func(*Config), s *Scenario) (Result, *Report) {
	t.Helper()
	return behindSeveral(t, 1, damage, change, s)
}

// behindSeveral is behind with some brokers.
func behindSeveral(t *testing.T, brokers int, damage mutant.Damage, change func(*Config), s *Scenario) (Result, *Report) {
	t.Helper()
	c := kafkatest.Fake(t, kafkatest.Config{Nodes: brokers})
	proxy, err := mutant.New(t.Context(), c.Addrs(), damage)
	require.NoError(t, err)
	t.Cleanup(proxy.Close)
	report := judgedBy(t.Context(), t, c, func(config *Config) {
		config.Options = []kgo.Opt{kgo.SeedBrokers(proxy.Addrs()...)}
		if change != nil {
			change(config)
		}
	}, s)
	return report.Results[0], report
}

// quickly makes every bound on time a tenth of what it is.
func quickly(c *Config) { c.Slow = 0.1 }

// once is a damage of the first answer only.
func once(key kmsg.Key, do func(*mutant.Call)) mutant.Damage {
	done := false
	return mutant.Damage{Keys: []kmsg.Key{key}, Response: func(c *mutant.Call) {
		if !done {
			done = true
			do(c)
		}
	}}
}

func produceCode(code int16) func(*mutant.Call) {
	return func(c *mutant.Call) {
		p := &c.Response.(*kmsg.ProduceResponse).Topics[0].Partitions[0]
		p.ErrorCode, p.BaseOffset = code, -1
	}
}

// writes one plain batch and one of a transaction.
func writes(t *trial) {
	p, w := t.partition(), t.producer()
	t.plain(p, 1)
	w.write(p, 2)
	w.commit()
	_, quiet := t.quietNow(p)
	l := t.oracle(p)
	t.witness(quiet && len(l.Batches) == 3, "quiet %v, %s", quiet, l)
}

func TestAttemptsThatWereWrittenAllTheSame(t *testing.T) {
	t.Parallel()
	for _, code := range []*kerr.Error{kerr.NotLeaderForPartition, kerr.RequestTimedOut, kerr.NotEnoughReplicasAfterAppend} {
		t.Run("plain batch, "+code.Message, func(t *testing.T) {
			r, _ := behind(t, once(kmsg.Produce, produceCode(code.Code)), nil, scenario(writes))
			require.Equal(t, Pass, r.Outcome, "%s\n%s", r.Reason, findingsOf(r))
		})
		t.Run("plain batch that shows late, "+code.Message, func(t *testing.T) {
			refused, looks := false, 0
			d := mutant.Damage{Keys: []kmsg.Key{kmsg.Produce, kmsg.ListOffsets}, Response: func(c *mutant.Call) {
				if list, ok := c.Response.(*kmsg.ListOffsetsResponse); ok {
					if looks++; looks <= 2 {
						list.Topics[0].Partitions[0].Offset = 0
					}
				} else if !refused {
					refused = true
					produceCode(code.Code)(c)
				}
			}}
			r, _ := behind(t, d, nil, scenario(writes))
			require.Equal(t, Inconclusive, r.Outcome, findingsOf(r))
			require.Contains(t, r.Reason, "the batch is there twice")
		})
	}
	t.Run("batch with a producer ID", func(t *testing.T) {
		r, _ := behind(t, once(kmsg.Produce, produceCode(kerr.NotEnoughReplicasAfterAppend.Code)), nil, scenario(func(t *trial) {
			p, w := t.partition(), t.producer()
			w.write(p, 2)
			w.commit()
			l := t.oracle(p)
			t.witness(len(l.Batches) == 2, "%s", l)
		}))
		require.Equal(t, Pass, r.Outcome, r.Reason)
	})
	t.Run("refused, and not written", func(t *testing.T) {
		refused := false
		r, _ := behind(t, mutant.Damage{Keys: []kmsg.Key{kmsg.Produce}, Request: func(c *mutant.Call) {
			if refused {
				return
			}
			refused = true
			req := c.Request.(*kmsg.ProduceRequest)
			resp := req.ResponseKind().(*kmsg.ProduceResponse)
			topic := kmsg.NewProduceResponseTopic()
			topic.Topic = req.Topics[0].Topic
			p := kmsg.NewProduceResponseTopicPartition()
			p.ErrorCode, p.BaseOffset = kerr.NotLeaderForPartition.Code, -1
			topic.Partitions = append(topic.Partitions, p)
			resp.Topics = append(resp.Topics, topic)
			c.Response = resp
		}}, nil, scenario(writes))
		require.Equal(t, Pass, r.Outcome, r.Reason)
	})
	t.Run("refused until time is over", func(t *testing.T) {
		d := mutant.Damage{Keys: []kmsg.Key{kmsg.Produce}, Response: produceCode(kerr.RequestTimedOut.Code)}
		r, _ := behind(t, d, quickly, scenario(writes))
		require.Equal(t, Inconclusive, r.Outcome)
		require.Contains(t, r.Reason, "still REQUEST_TIMED_OUT")
	})
}

// A throttled Fetch is empty, whatever the partition holds.
func TestThrottledAnswersAreNotJudged(t *testing.T) {
	throttled := 0
	d := mutant.Damage{Keys: []kmsg.Key{kmsg.Fetch}, Response: func(c *mutant.Call) {
		if throttled++; throttled%2 == 0 {
			return
		}
		resp := c.Response.(*kmsg.FetchResponse)
		resp.ThrottleMillis = 30
		for i := range resp.Topics {
			for k := range resp.Topics[i].Partitions {
				p := &resp.Topics[i].Partitions[k]
				p.RecordBatches, p.HighWatermark, p.LastStableOffset = nil, 0, 9
			}
		}
	}}
	r, _ := behind(t, d, nil, scenario(func(t *trial) {
		writes(t)
		p := t.order[0]
		t.wantDelivered(p, 0, 0, 1, 2)
	}))
	require.Equal(t, Pass, r.Outcome, "%s\n%s", r.Reason, findingsOf(r))
	require.GreaterOrEqual(t, r.Throttled, 60*time.Millisecond)
}

// lagging has the last stable offset, and what it lets through, follow some
// time after the marker: a time for each topic in turn, the last one for all
// that come after.
func lagging(lags ...time.Duration) mutant.Damage {
	since, lagOf := map[string]time.Time{}, map[string]time.Duration{}
	return mutant.Damage{Keys: []kmsg.Key{kmsg.Fetch}, Response: func(c *mutant.Call) {
		resp := c.Response.(*kmsg.FetchResponse)
		if c.Request.(*kmsg.FetchRequest).IsolationLevel == model.ReadUncommitted {
			return
		}
		for i := range resp.Topics {
			for k := range resp.Topics[i].Partitions {
				p := &resp.Topics[i].Partitions[k]
				id := string(resp.Topics[i].TopicID[:])
				if since[id].IsZero() && p.HighWatermark >= 4 {
					since[id], lagOf[id] = time.Now(), lags[min(len(lagOf), len(lags)-1)]
				}
				if time.Since(since[id]) < lagOf[id] {
					p.LastStableOffset = min(p.LastStableOffset, 1)
					p.RecordBatches = nil
				}
			}
		}
	}}
}

func settles(t *trial) {
	p, w := t.partition(), t.producer()
	t.plain(p, 1)
	w.write(p, 2)
	w.commit()
	t.settle(p)
	a := t.fetch(p, 0, fetchSpec{isolation: model.ReadCommitted})
	t.wantLSO(a, 4)
	t.witness(a.HighW == 4, "HW %d", a.HighW)
	t.wantDelivered(p, 0, 0, 1, 2)
}

func TestSlowMarkersAreNotUnsafe(t *testing.T) {
	t.Parallel()
	t.Run("in time", func(t *testing.T) {
		r, _ := behind(t, lagging(400*time.Millisecond), quickly, scenario(settles))
		require.Equal(t, Pass, r.Outcome, "%s\n%s", r.Reason, findingsOf(r))
	})
	t.Run("in time, and nobody waits for it", func(t *testing.T) {
		r, _ := behind(t, lagging(400*time.Millisecond), quickly, scenario(func(t *trial) {
			p, w := t.partition(), t.producer()
			t.plain(p, 1)
			w.write(p, 2)
			w.commit()
			l := t.wantCommitted(p, 0)
			t.witness(l.End == 4, "%s", l)
		}))
		require.Equal(t, Pass, r.Outcome, "%s\n%s", r.Reason, findingsOf(r))
	})
	t.Run("late once", func(t *testing.T) {
		r, _ := behind(t, lagging(time.Hour, 0), quickly, scenario(settles))
		require.Equal(t, Warn, r.Outcome, "%s\n%s", r.Reason, findingsOf(r))
		require.Contains(t, r.Reason, "flaky")
	})
	t.Run("never", func(t *testing.T) {
		r, _ := behind(t, lagging(time.Hour), quickly, scenario(settles))
		require.Equal(t, Fail, r.Outcome)
	})
}

// A cluster that has just started makes its internal topics first, which takes
// longer than anything that a scenario waits for.
func TestColdClustersMayTakeTheirTime(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	d := mutant.Damage{Keys: []kmsg.Key{kmsg.FindCoordinator}, Response: func(c *mutant.Call) {
		if time.Since(begin) < 3*time.Second {
			c.Response.(*kmsg.FindCoordinatorResponse).ErrorCode = kerr.CoordinatorNotAvailable.Code
		}
	}}
	r, _ := behind(t, d, quickly, scenario(writes))
	require.Equal(t, Pass, r.Outcome, "%s\n%s", r.Reason, findingsOf(r))
}

// Who is asked too early may also leave.
func TestColdClustersMayCutConnections(t *testing.T) {
	t.Parallel()
	c := kafkatest.Fake(t, kafkatest.Config{})
	cuts := 0
	c.Fake().ControlKey(int16(kmsg.FindCoordinator), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.Fake().KeepControl()
		if cuts++; cuts == 5 {
			c.Fake().DropControl()
		}
		return nil, errors.New("the broker is not ready"), true
	})
	r := judgedBy(t.Context(), t, c, quickly, scenario(writes)).Results[0]
	require.Equal(t, Pass, r.Outcome, "%s\n%s", r.Reason, findingsOf(r))
}

// A reader may be told that an offset is out of range while a new leader's high
// watermark is behind.
func TestErrorsOfANewLeaderPass(t *testing.T) {
	t.Parallel()
	left := 3
	d := mutant.Damage{Keys: []kmsg.Key{kmsg.Fetch, kmsg.ListOffsets}, Response: func(c *mutant.Call) {
		switch resp := c.Response.(type) {
		case *kmsg.FetchResponse:
			if p := &resp.Topics[0].Partitions[0]; left > 0 && c.Request.(*kmsg.FetchRequest).IsolationLevel == model.ReadCommitted {
				left--
				p.ErrorCode, p.HighWatermark, p.LastStableOffset, p.RecordBatches = kerr.OffsetOutOfRange.Code, -1, -1, nil
			}
		case *kmsg.ListOffsetsResponse:
			if p := &resp.Topics[0].Partitions[0]; left == 2 {
				left--
				p.ErrorCode, p.Offset = kerr.OffsetNotAvailable.Code, -1
			}
		}
	}}
	r, _ := behind(t, d, nil, scenario(func(t *trial) {
		p := t.partition()
		t.plain(p, 3)
		t.witness(true, "")
		t.wantDelivered(p, 0, 0, 1, 2)
	}))
	require.Equal(t, Pass, r.Outcome, "%s\n%s", r.Reason, findingsOf(r))
}

// Without the log nothing is known of the answers.
func TestAnswersThatCannotBeJudgedAreNoPass(t *testing.T) {
	d := mutant.Damage{Keys: []kmsg.Key{kmsg.Fetch}, Response: func(c *mutant.Call) {
		if c.Request.(*kmsg.FetchRequest).IsolationLevel == model.ReadUncommitted {
			c.Response.(*kmsg.FetchResponse).Topics[0].Partitions[0].ErrorCode = kerr.UnknownServerError.Code
		}
	}}
	r, _ := behind(t, d, nil, scenario(func(t *trial) {
		p := t.partition()
		t.plain(p, 1)
		t.committed(p, 0)
		t.witness(true, "")
	}))
	require.Equal(t, Inconclusive, r.Outcome)
	require.Contains(t, r.Reason, "its answers could not be judged")
}

func TestTopicsOfSomebodyElseAreLeftAlone(t *testing.T) {
	c := kafkatest.Fake(t, kafkatest.Config{})
	id := newRunID(t)
	_, err := c.Admin().CreateTopic(t.Context(), 1, 1, nil, "rcconf-"+id+"-t-01-tv1-0")
	require.NoError(t, err)
	r := judgedBy(t.Context(), t, c, func(config *Config) { config.RunID = id }, scenario(func(t *trial) {
		t.partition()
		t.witness(true, "")
	})).Results[0]
	require.Equal(t, Inconclusive, r.Outcome)
	require.Contains(t, r.Reason, "TOPIC_ALREADY_EXISTS")
	topics, err := c.Admin().ListTopics(t.Context())
	require.NoError(t, err)
	require.Len(t, topics.Names(), 1)
}

func TestEverythingIsRemoved(t *testing.T) {
	t.Parallel()
	leaves := func(then func(*trial)) *Scenario {
		return scenario(func(t *trial) {
			p, w := t.partition(), t.producer()
			w.write(p, 1)
			t.witness(true, "")
			then(t)
		})
	}
	for name, then := range map[string]func(*trial){
		"at the end":     func(*trial) {},
		"after a panic":  func(*trial) { panic("oh") },
		"when it stops":  func(t *trial) { t.undecided("x") },
		"after its time": func(t *trial) { t.pause(time.Hour, "the end") },
	} {
		t.Run(name, func(t *testing.T) {
			c := kafkatest.Fake(t, kafkatest.Config{})
			s := leaves(then)
			s.Limit = time.Second
			report := judgedBy(t.Context(), t, c, nil, s)
			require.Empty(t, report.Left)
			nothingLeft(t, c)
		})
	}
	t.Run("after the run was interrupted", func(t *testing.T) {
		c := kafkatest.Fake(t, kafkatest.Config{})
		ctx, cancel := context.WithCancel(t.Context())
		report := judgedBy(ctx, t, c, nil, leaves(func(t *trial) { cancel(); t.pause(time.Hour, "the end") }))
		require.Equal(t, Inconclusive, report.Results[0].Outcome)
		require.Empty(t, report.Left)
		nothingLeft(t, c)
	})
	t.Run("unless it is to be kept", func(t *testing.T) {
		c := kafkatest.Fake(t, kafkatest.Config{})
		judgedBy(t.Context(), t, c, func(c *Config) { c.Keep = true }, leaves(func(*trial) {}))
		topics, err := c.Admin().ListTopics(t.Context())
		require.NoError(t, err)
		require.Len(t, topics.Names(), 1)
	})
}

func nothingLeft(t *testing.T, c *kafkatest.Cluster) {
	t.Helper()
	topics, err := c.Admin().ListTopics(t.Context())
	require.NoError(t, err)
	for _, name := range topics.Names() {
		require.False(t, strings.HasPrefix(name, NamePrefix), name)
	}
	open, err := c.Admin().ListTransactions(t.Context(), nil, []string{"Ongoing"})
	require.NoError(t, err)
	require.Empty(t, open)
}

// A cluster that cannot delete topics is not asked again and again.
func TestWhatCannotBeRemovedIsNamed(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	_, report := behind(t, without(kmsg.DeleteTopics), nil, scenario(writes))
	require.Len(t, report.Left, 1)
	require.Contains(t, report.Left[0], "topic rcconf-")
	require.Less(t, time.Since(begin), 8*time.Second)
}

// A broker may answer with one batch at a time, and list what these need.
func TestShortAnswersAreLegal(t *testing.T) {
	t.Parallel()
	d := mutant.Damage{Keys: []kmsg.Key{kmsg.Fetch}, Response: func(c *mutant.Call) {
		p := &c.Response.(*kmsg.FetchResponse).Topics[0].Partitions[0]
		if batches, _, _ := model.Parse(p.RecordBatches); len(batches) > 0 {
			p.RecordBatches = batches[0].Raw
			end := batches[0].Last + 1
			p.AbortedTransactions = slices.DeleteFunc(p.AbortedTransactions, func(a kmsg.FetchResponseTopicPartitionAbortedTransaction) bool {
				return a.FirstOffset >= end
			})
		}
	}}
	for _, s := range []*Scenario{Find("A-01"), Find("A-02"), Find("L-01"), Find("L-02")} {
		r, _ := behind(t, d, nil, s)
		require.Equal(t, Pass, r.Outcome, "%s: %s\n%s", s.ID, r.Reason, findingsOf(r))
	}
}

// Replication may be slow, or throttled. What a follower has, it has to give.
func TestFollowersMayBeSlow(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		damage func(*kmsg.FetchResponseTopicPartition)
		want   Outcome
	}{
		{"nothing is late", func(*kmsg.FetchResponseTopicPartition) {}, Pass},
		{"the follower lags", func(p *kmsg.FetchResponseTopicPartition) { p.HighWatermark, p.LastStableOffset = 2, 2 }, Inconclusive},
		{"its last stable offset stays", func(p *kmsg.FetchResponseTopicPartition) { p.LastStableOffset = 2 }, Fail},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := mutant.Damage{Keys: []kmsg.Key{kmsg.Fetch}, Response: func(c *mutant.Call) {
				test.damage(&c.Response.(*kmsg.FetchResponse).Topics[0].Partitions[0])
			}}
			r, _ := behind(t, d, func(c *Config) { c.Slow, c.assertionsOnly = 0.1, true }, scenario(func(t *trial) {
				p := t.partition()
				t.plain(p, 3)
				t.witness(true, "")
				t.caughtUp(p, fetchSpec{isolation: model.ReadCommitted, broker: t.leader(p) + 1}, 3)
			}))
			require.Equal(t, test.want, r.Outcome, "%s\n%s", r.Reason, findingsOf(r))
			if test.want == Inconclusive {
				require.Contains(t, r.Reason, "follows")
			}
		})
	}
}

// A plain batch of a book that was refused and written all the same is in the
// log once, and the book knows where.
func TestBooksKnowPlainBatchesThatWereRefused(t *testing.T) {
	t.Parallel()
	r, _ := behind(t, once(kmsg.Produce, produceCode(kerr.NotLeaderForPartition.Code)), nil, scenario(func(t *trial) {
		b := t.book()
		b.loose(2)
		b.loose(1)
		t.witness(t.highWatermark(b.p) == 3, "HW %d", t.highWatermark(b.p))
		b.wantDelivered(0, fetchSpec{})
	}))
	require.Equal(t, Pass, r.Outcome, "%s\n%s", r.Reason, findingsOf(r))
}

// Coordinators may write a marker again, at any time after. Nothing else may
// come.
func TestMarkersMayComeTwice(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		more func(*trial, *producer, model.Partition)
		want Outcome
	}{
		{"the marker again", func(t *trial, w *producer, p model.Partition) {
			t.tryAbortMarker(p, adminMarker{producerID: w.id, epoch: w.epoch})
		}, Pass},
		{"a record", func(t *trial, _ *producer, p model.Partition) { t.plain(p, 1) }, Fail},
		{"the end of another transaction", func(t *trial, w *producer, p model.Partition) {
			w.write(p, 1)
			w.abort()
		}, Fail},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, _ := behind(t, mutant.Damage{}, nil, scenario(func(t *trial) {
				p, w := t.partition(), t.producer()
				w.write(p, 1)
				w.abort()
				t.settle(p)
				test.more(t, w, p)
				high := t.highWatermark(p)
				t.witness(high > 2, "HW %d", high)
				t.wantEndAt(p, 2, "what nobody wrote")
				t.wantHigh(t.uncommitted(p, 0), 2)
			}))
			require.Equal(t, test.want, r.Outcome, "%s\n%s", r.Reason, findingsOf(r))
		})
	}
}
