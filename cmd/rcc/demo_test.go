package main

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/internal/kafkatest"
)

// An interrupted demo takes its topic and its groups off the cluster, at whatever request the
// interrupt came.
func TestInterruptedDemoLeavesNoTopic(t *testing.T) {
	for _, key := range []kmsg.Key{kmsg.Produce, kmsg.JoinGroup, kmsg.OffsetCommit, kmsg.EndTxn, kmsg.Fetch} {
		t.Run(key.Name(), func(t *testing.T) {
			cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
			require.NoError(t, err)
			defer cluster.Close()
			seen := cluster.Fault(kfake.Fault{Keys: []kmsg.Key{key}, Count: -1, Observe: true})
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				_ = seen.Wait(ctx, 1)
				cancel()
			}()
			var out, errs bytes.Buffer
			code := run(ctx, []string{"demo", "-b", cluster.ListenAddrs()[0]}, nil, &out, &errs)
			require.Equal(t, exitInterrupted, code, errs.String())
			require.Contains(t, errs.String(), "rcc: interrupted\n")
			require.Empty(t, topicNames(t, cluster))
			require.Empty(t, groupNames(t, cluster))
		})
	}
}

// A demo that fails takes away what it made, and names what it could not.
func TestFailedDemoLeavesNothingUntold(t *testing.T) {
	for name, tt := range map[string]struct {
		faults []kfake.Fault
		want   string // lines of stderr
		left   int
	}{
		"no leader": {
			[]kfake.Fault{{Keys: []kmsg.Key{kmsg.ListOffsets}, Err: kerr.LeaderNotAvailable, Count: -1}},
			`^rcc: error: topic rcc-demo-\w+ has no leader after 10s(: LEADER_NOT_AVAILABLE[^;]*)?\nrcc: look at the brokers and their logs: .*\n$`, 0,
		},
		"no leader, and it cannot be removed": {
			[]kfake.Fault{
				{Keys: []kmsg.Key{kmsg.ListOffsets}, Err: kerr.LeaderNotAvailable, Count: -1},
				{Keys: []kmsg.Key{kmsg.DeleteTopics}, Err: kerr.TopicAuthorizationFailed, Count: -1},
			},
			`^rcc: topic rcc-demo-\w+ is left behind: TOPIC_AUTHORIZATION_FAILED.*\nrcc: error: topic rcc-demo-\w+ has no leader`, 1,
		},
		"refused": {
			[]kfake.Fault{
				{Keys: []kmsg.Key{kmsg.CreateTopics}, Err: kerr.TopicAuthorizationFailed, Count: -1},
				{Keys: []kmsg.Key{kmsg.DeleteTopics}, Err: kerr.TopicAuthorizationFailed, Count: -1},
			},
			`^rcc: error: create topic rcc-demo-\w+: TOPIC_AUTHORIZATION_FAILED.*\nrcc: look at the ACLs: .*\n$`, 0,
		},
		"no coordinator of groups": {
			[]kfake.Fault{{Keys: []kmsg.Key{kmsg.JoinGroup, kmsg.DeleteGroups}, Err: kerr.GroupAuthorizationFailed, Count: -1}},
			`(?s)group rcc-demo-\w+-rcc is left behind: GROUP_AUTHORIZATION_FAILED.*rcc: error: `, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := newKfake(t)
			for _, f := range tt.faults {
				cluster.Fault(f)
			}
			var out, errs bytes.Buffer
			code := run(t.Context(), []string{"demo", "-b", cluster.ListenAddrs()[0]}, nil, &out, &errs)
			require.Equal(t, exitError, code, errs.String())
			require.Regexp(t, tt.want, errs.String())
			require.NotContains(t, errs.String(), "firewall")
			require.Len(t, topicNames(t, cluster), tt.left)
		})
	}
}

func topicNames(t *testing.T, cluster *kfake.Cluster) []string {
	admin, err := newApp(nil, nil, nil).connect(t.Context(), cluster.ListenAddrs(), []kgo.Opt{kgo.SeedBrokers(cluster.ListenAddrs()...)})
	require.NoError(t, err)
	defer admin.Close()
	topics, err := admin.ListTopics(t.Context())
	require.NoError(t, err)
	return topics.Names()
}

func groupNames(t *testing.T, cluster *kfake.Cluster) []string {
	admin, err := newApp(nil, nil, nil).connect(t.Context(), cluster.ListenAddrs(), []kgo.Opt{kgo.SeedBrokers(cluster.ListenAddrs()...)})
	require.NoError(t, err)
	defer admin.Close()
	groups, err := admin.ListGroups(t.Context())
	require.NoError(t, err)
	return groups.Groups()
}

// A reader that gets something else than what was written is found out: the
// counts, the offsets and their order are compared.
func TestDemoComparesWhatWasReadWithWhatWasWritten(t *testing.T) {
	s := &script{markers: 2, batches: []written{
		{producer: "plain", first: 0, last: 1, outcome: "plain"},
		{producer: "orders", first: 2, last: 3, outcome: "committed"},
		{producer: "billing", first: 5, last: 6, outcome: "aborted"},
	}}
	all, visible, dropped, batches := s.expected()
	require.Equal(t, []int64{0, 1, 2, 3, 5, 6}, all)
	require.Equal(t, []int64{0, 1, 2, 3}, visible)
	require.EqualValues(t, 2, dropped)
	require.EqualValues(t, 1, batches)

	records := func(offsets ...int64) *demoReader {
		r := &demoReader{}
		for _, o := range offsets {
			record := testRecord(nil, nil)
			record.Offset = o
			r.records = append(r.records, record)
		}
		return r
	}
	stage := demoStage{Next: 8, HighWatermark: 8}
	stage.stats.AbortedRecords, stage.stats.AbortedBatches, stage.stats.ControlBatches = 2, 1, 2
	for name, tt := range map[string]struct {
		committed *demoReader
		lag       int64 // readable
		group     int64 // lag of our group
		want      string
	}{
		"right":             {records(0, 1, 2, 3), 0, 0, ""},
		"an aborted one":    {records(0, 1, 2, 3, 5), 0, 0, "delivered at read_committed: 5, want 4"},
		"one is lost":       {records(0, 1, 3), 0, 0, "delivered at read_committed: 3, want 4"},
		"another instead":   {records(0, 1, 2, 5), 0, 0, "offsets at read_committed"},
		"not in order":      {records(0, 2, 1, 3), 0, 0, "offsets at read_committed"},
		"lag is left over":  {records(0, 1, 2, 3), 1, 0, "readable lag"},
		"a group is behind": {records(0, 1, 2, 3), 0, 2, "committed by the group at the end: 6, want 8"},
	} {
		t.Run(name, func(t *testing.T) {
			last := stage
			last.ReadableLag = tt.lag
			d := &demo{script: s, committed: tt.committed, uncommitted: records(0, 1, 2, 3, 5, 6)}
			for _, offset := range []int64{4, 7} {
				m := marker([]byte{0, 0, 0, 0})
				m.Offset = offset
				d.uncommitted.records = append(d.uncommitted.records, m)
			}
			group := demoLag{Title: "at the end", HighWatermark: 8, LastStableOffset: 8, Committed: 8 - tt.group, Lag: tt.group}
			report := demoReport{Stages: []demoStage{last}, Groups: []demoLag{group}}
			report.finish(d)
			if tt.want == "" {
				require.Empty(t, report.Differences)
				return
			}
			require.NotEmpty(t, report.Differences)
			require.Contains(t, report.Differences[0], tt.want)
		})
	}
}

func TestRealDemoFindsNoDifference(t *testing.T) {
	cluster := kafkatest.Real(t, kafkatest.Config{})
	var out, errs bytes.Buffer
	code := run(t.Context(), []string{"demo", "-J", "-b", cluster.Addrs()[0]}, nil, &out, &errs)
	require.Equal(t, exitOK, code, errs.String())
	var report demoReport
	require.NoError(t, json.Unmarshal(out.Bytes(), &report))
	require.Empty(t, report.Differences)
	require.Equal(t, demoCounts{Delivered: 28, Dropped: 10, Markers: 6}, report.ReadCommitted)
	require.Equal(t, demoCounts{Delivered: 38, Markers: 6}, report.ReadUncommitted)
	topics, err := cluster.Admin().ListTopics(t.Context())
	require.NoError(t, err)
	require.NotContains(t, topics.Names(), report.Topic)
	require.Len(t, report.Groups, 3)
	for i, want := range []demoLag{
		{Title: "after billing aborted", HighWatermark: 28, LastStableOffset: 28, Committed: 28, Lag: 0, KgoCommitted: 23, KgoLag: 5},
		{Title: "while loader is open", HighWatermark: 43, LastStableOffset: 30, Committed: 30, Lag: 13, KgoCommitted: 30, KgoLag: 13},
		{Title: "after loader committed", HighWatermark: 44, LastStableOffset: 44, Committed: 44, Lag: 0, KgoCommitted: 43, KgoLag: 1},
	} {
		require.Equal(t, want, report.Groups[i])
	}
	groups, err := cluster.Admin().ListGroups(t.Context())
	require.NoError(t, err)
	require.NotContains(t, groups.Groups(), report.Topic+"-rcc")
	require.NotContains(t, groups.Groups(), report.Topic+"-kgo")
}
