package main

import (
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

var update = flag.Bool("update", false, "write the expected output in the scripts anew")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"rcc": func() { os.Exit(realMain()) }})
}

// The scripts run the real command in a process of its own against a broker in
// the test's process. Their own commands are the functions below.
func TestScripts(t *testing.T) {
	hearHangups(t)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       *update,
		Deadline:            time.Now().Add(2 * time.Minute),
		Setup: func(env *testscript.Env) error {
			env.Setenv("GORACE", "atexit_sleep_ms=0") // else each command takes a second more under -race
			env.Values[worldKey{}] = &world{scripts: make(map[string]*script)}
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"broker":      startBroker,
			"transact":    transact,
			"record":      writeRecord,
			"exits":       exits,
			"topics":      topics,
			"groups":      groups,
			"fault":       fault,
			"unfetched":   unfetched,
			"fetched":     fetched,
			"produced":    produced,
			"deleterecs":  deleteRecords,
			"occurrences": occurrences,
			"committed":   committed,
			"groupfault":  groupFault,
			"joined":      joined,
		},
	})
}

// hearHangups gives the programs that a test starts SIGHUP as they would have it
// from a terminal, also where the test itself runs under nohup(1): what is ignored
// here would be ignored there.
func hearHangups(t *testing.T) {
	t.Helper()
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(hangups) })
}

type worldKey struct{}

// world is one script's broker and what is attached to it.
type world struct {
	cluster *kfake.Cluster
	client  *kgo.Client
	admin   *kadm.Client
	scripts map[string]*script
	fetches *kfake.FaultHandle // counts Fetch requests
	writes  *kfake.FaultHandle // counts Produce requests
	seen    int                // of those, when unfetched was called
}

func worldOf(ts *testscript.TestScript) *world { return ts.Value(worldKey{}).(*world) }

// broker [TOPIC:PARTITIONS...] starts one and sets RCC_BROKERS.
func startBroker(ts *testscript.TestScript, _ bool, args []string) {
	w := worldOf(ts)
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	ts.Check(err)
	ts.Defer(cluster.Close)
	w.cluster = cluster
	for _, arg := range args {
		topic, n, _ := strings.Cut(arg, ":")
		partitions, err := strconv.ParseInt(n, 10, 32)
		ts.Check(err)
		ts.Check(cluster.CreateTopic(topic, int32(partitions), nil))
	}
	w.client, err = kgo.NewClient(
		kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.DisableIdempotentWrite(), // so that records carry no producer ID
	)
	ts.Check(err)
	ts.Defer(w.client.Close)
	w.admin = kadm.NewClient(w.client)
	w.fetches = cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Count: -1, Observe: true})
	w.writes = cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Count: -1, Observe: true})
	ts.Setenv("RCC_BROKERS", strings.Join(cluster.ListenAddrs(), ","))
}

// transact TOPIC PRODUCER:N|commit|abort... writes to partition 0. A producer
// named plain has no transactions.
func transact(ts *testscript.TestScript, _ bool, args []string) {
	w := worldOf(ts)
	s := w.scripts[args[0]]
	if s == nil {
		s = newScript(args[0], "", w.admin, []kgo.Opt{kgo.SeedBrokers(w.cluster.ListenAddrs()...)})
		w.scripts[args[0]] = s
		ts.Defer(func() { s.close(context.Background()) })
	}
	for _, arg := range args[1:] {
		st := step{}
		var what string
		st.producer, what, _ = strings.Cut(arg, ":")
		switch what {
		case "commit":
			st.action = commit
		case "abort":
			st.action = abort
		default:
			n, err := strconv.Atoi(what)
			ts.Check(err)
			st.records = n
		}
		ts.Check(s.play(context.Background(), st))
	}
}

// record TOPIC PARTITION UNIX-MS KEY VALUE [HEADER VALUE]... writes one plain
// record. Words may hold Go escapes; null is null.
func writeRecord(ts *testscript.TestScript, _ bool, args []string) {
	w := worldOf(ts)
	partition, err := strconv.ParseInt(args[1], 10, 32)
	ts.Check(err)
	ms, err := strconv.ParseInt(args[2], 10, 64)
	ts.Check(err)
	r := &kgo.Record{
		Topic: args[0], Partition: int32(partition), Timestamp: time.UnixMilli(ms),
		Key: word(ts, args[3]), Value: word(ts, args[4]),
	}
	for i := 5; i+1 < len(args); i += 2 {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: string(word(ts, args[i])), Value: word(ts, args[i+1])})
	}
	ts.Check(w.client.ProduceSync(context.Background(), r).FirstErr())
}

func word(ts *testscript.TestScript, s string) []byte {
	if s == "null" {
		return nil
	}
	unquoted, err := strconv.Unquote(`"` + s + `"`)
	ts.Check(err)
	return []byte(unquoted)
}

// exits CODE COMMAND... runs a command that must end with exactly that code.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// topics NAME... checks that these are all topics there are.
func topics(ts *testscript.TestScript, neg bool, args []string) {
	resp, err := kmsg.NewPtrMetadataRequest().RequestWith(context.Background(), worldOf(ts).client) // never cached
	ts.Check(err)
	var names []string
	for _, topic := range resp.Topics {
		names = append(names, *topic.Topic)
	}
	slices.Sort(names)
	got := strings.Join(names, " ")
	if want := strings.Join(args, " "); (got == want) == neg {
		ts.Fatalf("topics %q, want %q (negated: %v)", got, want, neg)
	}
}

// groups NAME... checks that these are all groups there are.
func groups(ts *testscript.TestScript, neg bool, args []string) {
	listed, err := worldOf(ts).admin.ListGroups(context.Background())
	ts.Check(err)
	got := strings.Join(listed.Groups(), " ")
	if want := strings.Join(args, " "); (got == want) == neg {
		ts.Fatalf("groups %q, want %q (negated: %v)", got, want, neg)
	}
}

// fault KEY TOPIC PARTITION ERROR [COUNT] makes every request of that key, or
// the next COUNT ones, fail for the partition.
func fault(ts *testscript.TestScript, _ bool, args []string) {
	codes := map[string]*kerr.Error{
		"TOPIC_AUTHORIZATION_FAILED": kerr.TopicAuthorizationFailed,
		"UNKNOWN_SERVER_ERROR":       kerr.UnknownServerError,
		"LEADER_NOT_AVAILABLE":       kerr.LeaderNotAvailable,
	}
	keys := map[string]kmsg.Key{"fetch": kmsg.Fetch, "produce": kmsg.Produce, "metadata": kmsg.Metadata, "listoffsets": kmsg.ListOffsets}
	partition, err := strconv.ParseInt(args[2], 10, 32)
	ts.Check(err)
	count := -1
	if len(args) > 4 {
		count, err = strconv.Atoi(args[4])
		ts.Check(err)
	}
	worldOf(ts).cluster.Fault(kfake.Fault{
		Keys: []kmsg.Key{keys[args[0]]}, Topic: args[1], Partitions: []int32{int32(partition)}, Err: codes[args[3]], Count: count,
	})
}

// unfetched remembers how many Fetch requests came in so far.
func unfetched(ts *testscript.TestScript, _ bool, _ []string) {
	w := worldOf(ts)
	w.seen = w.fetches.Hits()
}

// fetched waits until one more came in since unfetched.
func fetched(ts *testscript.TestScript, _ bool, _ []string) {
	w := worldOf(ts)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	ts.Check(w.fetches.Wait(ctx, w.seen+1))
}

// produced waits until a batch came in.
func produced(ts *testscript.TestScript, _ bool, _ []string) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	ts.Check(worldOf(ts).writes.Wait(ctx, 1))
}

// deleterecs TOPIC OFFSET moves the log start of partition 0.
func deleteRecords(ts *testscript.TestScript, _ bool, args []string) {
	offset, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	ts.Check(worldOf(ts).cluster.DeleteRecords(args[0], 0, offset))
}

// occurrences FILE N TEXT counts a text that may stand several times in a line.
func occurrences(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	if got := strings.Count(ts.ReadFile(args[0]), args[2]); got != want {
		ts.Fatalf("%q stands %d times, want %d", args[2], got, want)
	}
}
