package main

import (
	"strconv"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// committed GROUP TOPIC PARTITION OFFSET checks what the group holds.
func committed(ts *testscript.TestScript, _ bool, args []string) {
	partition, err := strconv.ParseInt(args[2], 10, 32)
	ts.Check(err)
	want, err := strconv.ParseInt(args[3], 10, 64)
	ts.Check(err)
	if got := committedIn(worldOf(ts).cluster, args[0], args[1], int32(partition)); got != want {
		ts.Fatalf("group %s has committed %d of %s/%d, want %d", args[0], got, args[1], partition, want)
	}
}

// committedIn is what a group holds of a partition, -1 if it holds nothing.
func committedIn(cluster *kfake.Cluster, group, topic string, partition int32) int64 {
	if g := cluster.GroupInfo(group); g != nil {
		if c, ok := g.Commits[topic][partition]; ok {
			return c.Offset
		}
	}
	return -1
}

// groupfault KEY GROUP ERROR [COUNT] makes every request of that key, or the next
// COUNT ones, fail for the group.
func groupFault(ts *testscript.TestScript, _ bool, args []string) {
	codes := map[string]*kerr.Error{
		"GROUP_AUTHORIZATION_FAILED":   kerr.GroupAuthorizationFailed,
		"COORDINATOR_LOAD_IN_PROGRESS": kerr.CoordinatorLoadInProgress,
		"UNKNOWN_MEMBER_ID":            kerr.UnknownMemberID,
	}
	keys := map[string]kmsg.Key{
		"offsetfetch": kmsg.OffsetFetch, "findcoordinator": kmsg.FindCoordinator,
		"joingroup": kmsg.JoinGroup, "offsetcommit": kmsg.OffsetCommit,
	}
	f := kfake.Fault{Keys: []kmsg.Key{keys[args[0]]}, Group: args[1], Err: codes[args[2]], Count: -1}
	if len(args) > 3 {
		count, err := strconv.Atoi(args[3])
		ts.Check(err)
		f.Count = count
	}
	worldOf(ts).cluster.Fault(f)
}

// joined GROUP waits until the group has members and all have their partitions.
func joined(ts *testscript.TestScript, _ bool, args []string) {
	deadline := time.Now().Add(20 * time.Second)
	for time.Now().Before(deadline) {
		if g := worldOf(ts).cluster.GroupInfo(args[0]); g != nil && g.State == "Stable" {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	ts.Fatalf("group %s does not get stable", args[0])
}
