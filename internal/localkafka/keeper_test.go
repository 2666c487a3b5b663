package localkafka

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// The shell alone, as it works where there is no parent death signal.
func TestKeeperShellKillsWhatItKnowsAtEndOfInput(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a cluster's directory")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "data"), 0o700))
	known, forgotten := sleeper(t), sleeper(t)

	shell := exec.Command("/bin/sh", "-c", keeperScript, "sh", dir)
	input, err := shell.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, shell.Start())
	fmt.Fprintf(input, "add %d\nadd %d\ndel %d\n", known.Process.Pid, forgotten.Process.Pid, forgotten.Process.Pid)
	require.NoError(t, known.Process.Signal(sigPause)) // a stopped process ends too
	require.NoError(t, input.Close())
	require.NoError(t, shell.Wait())

	require.EqualError(t, known.Wait(), "signal: killed")
	require.NoDirExists(t, dir)
	require.NoError(t, forgotten.Process.Signal(sigTerminate))
	require.EqualError(t, forgotten.Wait(), "signal: terminated")
}

func TestKeeperCloseEndsProcessesAndGoroutines(t *testing.T) {
	defer goleak.VerifyNone(t)
	dir := filepath.Join(t.TempDir(), "cluster")
	require.NoError(t, os.Mkdir(dir, 0o700))
	k, err := startKeeper(dir)
	require.NoError(t, err)
	left, err := k.start(exec.Command("sleep", "600"))
	require.NoError(t, err)
	short, err := k.start(exec.Command("true"))
	require.NoError(t, err)
	<-short.done()
	require.NoError(t, short.err)
	require.True(t, left.running())

	require.NoError(t, k.close())
	<-left.done()
	require.EqualError(t, left.err, "signal: killed")
	require.NoDirExists(t, dir)
	_, err = k.start(exec.Command("true"))
	require.ErrorIs(t, err, errKeeperClosed)
}

func TestReservedPortsAreNotGivenTwice(t *testing.T) {
	ownCache(t)
	a, err := reservePorts(20)
	require.NoError(t, err)
	defer a.release()
	b, err := reservePorts(20)
	require.NoError(t, err)
	defer b.release()
	for _, port := range b.ports {
		require.NotContains(t, a.ports, port)
		require.Less(t, port, lastPort)
		require.GreaterOrEqual(t, port, firstPort)
	}
}

func sleeper(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd
}
