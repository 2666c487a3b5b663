package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance"
	"example.com/readcommitted/internal/localkafka"
)

// checkRun runs one command line in this process.
func checkRun(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(ctx, append([]string{"check"}, args...), nil, &out, &errs)
	return code, out.String(), errs.String()
}

func newKfake(t *testing.T, opts ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	cluster, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1)}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(cluster.Close)
	return cluster
}

// ackedOnly makes a cluster acknowledge the end of transactions, and end none.
func ackedOnly(cluster *kfake.Cluster) {
	cluster.ControlKey(int16(kmsg.EndTxn), func(req kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		end := req.(*kmsg.EndTxnRequest)
		resp := end.ResponseKind().(*kmsg.EndTxnResponse)
		resp.ProducerID, resp.ProducerEpoch = end.ProducerID, end.ProducerEpoch+1
		return resp, nil, true
	})
}

// A cluster that fails is exit code 3, and 0 with a file that knows of it. What
// is known of it beside that does not help.
func TestCheckOfABrokenCluster(t *testing.T) {
	cluster := newKfake(t)
	ackedOnly(cluster)
	dir := t.TempDir()
	known, report, junit := filepath.Join(dir, "known.txt"), filepath.Join(dir, "r.json"), filepath.Join(dir, "r.xml")
	require.NoError(t, os.WriteFile(known, []byte("A-01 # acks only\n"), 0o600))
	args := []string{"run", "A-01", "--yes", "-b", cluster.ListenAddrs()[0], "--slow", "0.1"}

	code, stdout, stderr := checkRun(t.Context(), append(args, "--report", report, "--report", junit)...)
	require.Equal(t, exitFindings, code, stdout+stderr)
	require.Contains(t, stdout, "FAIL A-01 single-abort  MUST")
	require.Contains(t, stdout, ": FAILED, A-01 failed; 0 pass, 1 fail")
	require.Contains(t, stdout, "repeat       rcc check run A-01 -b "+cluster.ListenAddrs()[0]+" --slow 0.1 --seed ")
	require.NotContains(t, stderr, "error")
	text, err := os.ReadFile(junit)
	require.NoError(t, err)
	require.Contains(t, string(text), `failures="1"`)
	text, err = os.ReadFile(report)
	require.NoError(t, err)
	var got checkReport
	require.NoError(t, json.Unmarshal(text, &got))
	require.Equal(t, []string{"A-01"}, got.Judgement.Failed)

	code, stdout, stderr = checkRun(t.Context(), append(args, "--known-failing", known)...)
	require.Equal(t, exitOK, code, stdout+stderr)
	require.Contains(t, stdout, "known to fail: acks only")
	require.Contains(t, stdout, ": PASSED; as known: A-01; ")
	require.Empty(t, topicNames(t, cluster))
}

// An interrupted run removes what it made, and says what it found by then.
func TestInterruptedCheckLeavesNothing(t *testing.T) {
	for _, key := range []kmsg.Key{kmsg.CreateTopics, kmsg.InitProducerID, kmsg.Produce, kmsg.EndTxn, kmsg.Fetch} {
		t.Run(key.Name(), func(t *testing.T) {
			cluster := newKfake(t)
			seen := cluster.Fault(kfake.Fault{Keys: []kmsg.Key{key}, Count: -1, Observe: true})
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				_ = seen.Wait(ctx, 2)
				cancel()
			}()
			report := filepath.Join(t.TempDir(), "r.json")
			code, stdout, stderr := checkRun(ctx, "run", "--yes", "-b", cluster.ListenAddrs()[0], "--report", report)
			require.Equal(t, exitInterrupted, code, stdout+stderr)
			require.Contains(t, stdout, ": INTERRUPTED")
			require.Contains(t, stderr, "rcc: interrupted\n")
			require.Empty(t, topicNames(t, cluster))
			require.Empty(t, groupNames(t, cluster))
			text, err := os.ReadFile(report)
			require.NoError(t, err)
			require.Contains(t, string(text), `"verdict": "interrupted"`)
		})
	}
}

// A cluster that goes away in the middle of a run is no failure of its own.
func TestCheckOfAClusterThatDies(t *testing.T) {
	cluster := newKfake(t)
	seen := cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.EndTxn}, Count: -1, Observe: true})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		if seen.Wait(ctx, 3) == nil {
			cluster.Close()
		}
	}()
	code, stdout, stderr := checkRun(ctx, "run", "L-01", "L-02", "A-01", "A-02", "--yes", "-b", cluster.ListenAddrs()[0], "--slow", "0.2")
	require.Equal(t, exitUndecided, code, stdout+stderr)
	require.Contains(t, stdout, ": NOT JUDGED")
	require.Contains(t, stdout, "INCONCLUSIVE")
	require.Contains(t, stderr, "left behind: ")
	require.Regexp(t, `rcc: to remove it later: rcc check cleanup -b 127\.0\.0\.1:\d+ --older-than 0s\n`, stderr)
}

// Who is no Kafka is not judged, in time and with a reason.
func TestCheckOfWhatIsNoKafka(t *testing.T) {
	for name, tt := range map[string]struct{ answer, want string }{
		"garbage": {"HTTP/1.1 400 Bad Request\r\n\r\n", "error: no Kafka at 127.0.0.1:"},
		"hang-up": {"", "error: no broker answers at 127.0.0.1:"},
	} {
		t.Run(name, func(t *testing.T) {
			listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
			require.NoError(t, err)
			defer listener.Close()
			go func() {
				for {
					conn, err := listener.Accept()
					if err != nil {
						return
					}
					_, _ = conn.Read(make([]byte, 1024))
					_, _ = conn.Write([]byte(tt.answer))
					_ = conn.Close()
				}
			}()
			code, stdout, stderr := checkRun(t.Context(), "run", "--yes", "-b", listener.Addr().String())
			require.Equal(t, exitUndecided, code, stdout+stderr)
			require.Empty(t, stdout)
			require.Contains(t, stderr, tt.want)
			require.Contains(t, stderr, "\nrcc: look at the port and security.protocol: ")
		})
	}
}

// nonsense is an answer that is none.
type nonsense struct{ kmsg.Response }

func (nonsense) AppendTo(dst []byte) []byte { return append(dst, "\xff\xff\xff\xffnonsense"...) }

// An answer that nobody can read is a failure of the cluster, with its bytes.
func TestCheckOfUnreadableAnswers(t *testing.T) {
	cluster := newKfake(t)
	cluster.ControlKey(int16(kmsg.Fetch), func(req kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		return nonsense{req.ResponseKind()}, nil, true
	})
	code, stdout, stderr := checkRun(t.Context(), "run", "L-01", "--yes", "-b", cluster.ListenAddrs()[0])
	require.Equal(t, exitFindings, code, stdout+stderr)
	require.Contains(t, stdout, "every answer is a Kafka answer")
	require.Regexp(t, `bytes +\d+, beginning with [0-9a-f]*ffffffff6e6f6e73656e7365`, stdout)
	require.Empty(t, topicNames(t, cluster))
}

// Without leave to make topics nothing is judged.
func TestCheckWithoutRights(t *testing.T) {
	cluster := newKfake(t)
	cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.CreateTopics}, Err: kerr.TopicAuthorizationFailed, Count: -1})
	code, stdout, stderr := checkRun(t.Context(), "run", "A", "--yes", "-b", cluster.ListenAddrs()[0])
	require.Equal(t, exitUndecided, code, stdout+stderr)
	require.Contains(t, stdout, "not-authorised")
	require.Contains(t, stdout, "no scenario was decided")
}

// A cluster that announces transactions and refuses them is not one without:
// facts about it are no pass.
func TestCheckOfRefusedTransactions(t *testing.T) {
	for _, key := range []kmsg.Key{kmsg.InitProducerID, kmsg.EndTxn} {
		cluster := newKfake(t)
		cluster.Fault(kfake.Fault{Keys: []kmsg.Key{key}, Err: kerr.UnsupportedVersion, Count: -1})
		code, stdout, stderr := checkRun(t.Context(), "run", "P-01", "L-01", "A-01", "--yes", "-b", cluster.ListenAddrs()[0])
		require.Equal(t, exitUndecided, code, stdout+stderr)
		require.Contains(t, stdout, "UNSUPPORTED_VERSION")
		require.Contains(t, stdout, ": NOT JUDGED, L-01 A-01 not decided, no scenario of class MUST or LIVE was decided; 1 pass")
	}
}

// A report that cannot be written is an error, and says less than a finding.
func TestCheckReportThatCannotBeWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gone")
	require.NoError(t, os.Mkdir(dir, 0o700))
	cluster := newKfake(t)
	seen := cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Count: -1, Observe: true})
	go func() {
		if seen.Wait(t.Context(), 1) == nil {
			_ = os.Remove(dir)
		}
	}()
	code, stdout, stderr := checkRun(t.Context(), "run", "A-01", "--yes", "-b", cluster.ListenAddrs()[0], "--report", filepath.Join(dir, "r.json"))
	require.Equal(t, exitError, code, stdout+stderr)
	require.Contains(t, stderr, "rcc: error: report: ")
	require.Contains(t, stdout, ": PASSED")
}

func TestShellHook(t *testing.T) {
	file := filepath.Join(t.TempDir(), "out")
	hook := shellHook("echo {action} {broker} >> " + file)
	require.NoError(t, hook(t.Context(), "kill", 3))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "kill 3\n", string(text))
	require.ErrorContains(t, shellHook("echo no {broker} >&2; exit 3")(t.Context(), "kill", 3), "exit status 3: no 3")

	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	begin := time.Now()
	require.ErrorContains(t, shellHook("echo waiting; sleep 60; : {broker}")(ctx, "kill", 3), "not done in time: context deadline exceeded: waiting")
	require.Less(t, time.Since(begin), hookDelay, "the command's own children end with it")
}

// A hook that fails is told with what it said, and nothing is judged by it.
func TestCheckWithAHookThatFails(t *testing.T) {
	code, stdout, stderr := checkRun(t.Context(), "run", "R-08", "--local", "kfake", "--local-nodes", "3", "--yes",
		"--hook", "echo no machine {broker} >&2; test {action} = start")
	require.Equal(t, exitUndecided, code, stdout+stderr)
	require.Regexp(t, `INCONCLUSIVE +R-08 .* the hook could not stop broker \d: .*: exit status 1: no machine \d`, stdout)
	require.NotContains(t, stderr, "left behind")
}

// The tree on a terminal counts what has ended and names what runs.
func TestCheckProgressTree(t *testing.T) {
	outline, err := conformance.Outline(conformance.Config{Select: []string{"A-01", "A-02", "L-01"}})
	require.NoError(t, err)
	var errs bytes.Buffer
	p := newApp(nil, nil, &errs).newCheckProgress(outline, conformance.Terms{})
	p.mode = treeProgress
	a01, a02 := conformance.Find("A-01"), conformance.Find("A-02")
	p.observe(conformance.Event{Scenario: a01})
	p.observe(conformance.Event{Scenario: a02})
	p.observe(conformance.Event{Scenario: a01, Result: &conformance.Result{ID: "A-01", Outcome: conformance.Fail}})
	p.draw()
	lines := strings.Split(errs.String(), "\n")
	require.Equal(t, "L  last stable offset         ............   0/1", lines[0])
	require.Equal(t, "A  aborted transactions       ######......   1/2  1 FAIL  A-02", lines[1])
	require.Regexp(t, `^1 of 3 scenarios, 0\.\ds$`, lines[2])
	p.draw()
	require.Contains(t, errs.String(), "\x1b[3A\x1b[J")
}

// Brokers of its own: no address, no question.
func TestRealCheckOfLocalBrokers(t *testing.T) {
	if os.Getenv("KAFKA_TEST") != "local" {
		t.Skip("starts brokers: run with KAFKA_TEST=local")
	}
	version := cmp.Or(os.Getenv("KAFKA_VERSION"), localkafka.DefaultVersion)
	report := filepath.Join(t.TempDir(), "r.json")
	begin := time.Now()
	code, stdout, stderr := checkRun(t.Context(), "run", "--local", version, "--report", report)
	t.Logf("%s\n%s%s", time.Since(begin), stdout, stderr)
	require.Equal(t, exitOK, code)
	require.Contains(t, stdout, ": PASSED")
}

// One broker that nobody can reach is named; the others answer.
func TestCheckOfAHalfReachableCluster(t *testing.T) {
	cluster := newKfake(t, kfake.NumBrokers(2))
	cluster.ControlKey(int16(kmsg.Metadata), func(req kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		resp := req.ResponseKind().(*kmsg.MetadataResponse)
		resp.Brokers = []kmsg.MetadataResponseBroker{{NodeID: 7, Host: "127.0.0.1", Port: 1}}
		return resp, nil, true
	})
	code, stdout, stderr := checkRun(t.Context(), "run", "--yes", "-b", cluster.ListenAddrs()[0])
	require.Equal(t, exitUndecided, code, stdout+stderr)
	require.Contains(t, stderr, "error: the cluster names broker 7 at 127.0.0.1:1: unreachable: ")
	require.Contains(t, stderr, "refused\nrcc: look at host and port: nothing listens there\n")
}

func TestCheckWithAWrongPassword(t *testing.T) {
	cluster := newKfake(t, kfake.EnableSASL(), kfake.Superuser("PLAIN", "alice", "right"))
	code, stdout, stderr := checkRun(t.Context(), asAlice(cluster, "run", "--yes")...)
	require.Equal(t, exitUndecided, code, stdout+stderr)
	require.Contains(t, stderr, "error: cannot log in at 127.0.0.1:")
	require.Contains(t, stderr, "look at the user name and password of user alice")
	require.NotContains(t, stderr, "secret")
}

// Few topics are enough where scenarios share them.
func TestCheckWithTopicsThatAreShared(t *testing.T) {
	cluster := newKfake(t, kfake.NumBrokers(2))
	var made []string
	cluster.ControlKey(int16(kmsg.CreateTopics), func(req kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		for _, topic := range req.(*kmsg.CreateTopicsRequest).Topics {
			made = append(made, topic.Topic)
		}
		return nil, nil, false
	})
	code, stdout, stderr := checkRun(t.Context(), "run", "L-01", "A-01", "A-02", "P-07", "M-02", "F-03", "--yes", "--reuse-topics", "-b", cluster.ListenAddrs()[0])
	require.Equal(t, exitOK, code, stdout+stderr)
	require.Len(t, unique(made), 1, "%v", made)
	require.Empty(t, topicNames(t, cluster))
}

// Every topic has the configuration that is asked for.
func TestCheckWithATopicConfiguration(t *testing.T) {
	cluster := newKfake(t)
	cluster.ControlKey(int16(kmsg.CreateTopics), func(req kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		for _, topic := range req.(*kmsg.CreateTopicsRequest).Topics {
			settings := map[string]string{}
			for _, c := range topic.Configs {
				settings[c.Name] = *c.Value
			}
			assert.Equal(t, "7777777", settings["retention.ms"])
			assert.Equal(t, "-1", settings["retention.bytes"], "what nobody asked for is the checker's own")
		}
		return nil, nil, false
	})
	code, stdout, stderr := checkRun(t.Context(), "run", "A-01", "--yes", "--topic-config", "retention.ms=7777777", "-b", cluster.ListenAddrs()[0])
	require.Equal(t, exitOK, code, stdout+stderr)
}

// A rate bounds what all connections read together.
func TestReadingAtARate(t *testing.T) {
	r := &readRate{bytesPerSecond: 1e6}
	begin := time.Now()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 10 {
				r.pay(5_000)
			}
		})
	}
	wg.Wait()
	require.Greater(t, time.Since(begin), 190*time.Millisecond)
	cluster := newKfake(t)
	code, stdout, stderr := checkRun(t.Context(), "run", "A-02", "C-05", "--yes", "--rate", "1", "-b", cluster.ListenAddrs()[0])
	require.Equal(t, exitOK, code, stdout+stderr)
}

// A port that reads lines is found out as soon as one that does not.
func TestCheckOfAPortThatReadsLines(t *testing.T) {
	port := rawPort(t, func(c net.Conn) {
		if _, err := bufio.NewReader(c).ReadString('\n'); err == nil {
			_, _ = c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
		}
	})
	begin := time.Now()
	code, stdout, stderr := checkRun(t.Context(), "-b", port.address)
	require.Equal(t, exitUndecided, code, stdout+stderr)
	require.Contains(t, stderr, "error: no Kafka at "+port.address+`: unreadable answer: a size of 1213486160 bytes ("HTTP")`)
	require.Less(t, time.Since(begin), 5*time.Second)
}
