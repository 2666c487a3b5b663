package programs

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/readcommitted/internal/kafkatest"
)

// instance is a process of the service ingest.
type instance struct {
	name     string
	out, log tail
	cmd      *exec.Cmd
	watchdog *exec.Cmd
	line     io.Closer     // to the watchdog
	done     chan struct{} // closed when the process has ended
	err      error         // how it ended
	killed   bool
}

// watch kills a process when its standard input ends, as it does when this test
// binary does.
const watch = `read -r _; kill -9 "$1" 2>/dev/null`

// startInstance starts a process of the service that writes to files of its own.
func startInstance(t *testing.T, binary, name, dir string, args ...string) *instance {
	t.Helper()
	i := &instance{name: name, done: make(chan struct{})}
	i.out.name, i.log.name = filepath.Join(dir, name+".jsonl"), filepath.Join(dir, name+".log")
	log, err := os.Create(i.log.name)
	require.NoError(t, err)
	defer log.Close() // the process has its own descriptor
	i.cmd = exec.Command(binary, append([]string{"-out", i.out.name}, args...)...)
	i.cmd.Stderr = log
	require.NoError(t, i.cmd.Start())
	i.watchdog = exec.Command("/bin/sh", "-c", watch, "sh", strconv.Itoa(i.cmd.Process.Pid))
	i.line, err = i.watchdog.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, i.watchdog.Start())
	go func() {
		i.err = i.cmd.Wait()
		close(i.done)
	}()
	t.Cleanup(func() {
		if i.kill(); t.Failed() {
			t.Logf("the last that %s has logged:\n%s", name, i.lastWords())
		}
	})
	return i
}

// kill ends the process at once, if it runs, and its watchdog.
func (i *instance) kill() {
	i.killed = i.killed || !i.ended()
	_ = i.cmd.Process.Kill() // an error means that it has ended
	<-i.done
	_ = i.watchdog.Process.Kill()
	_ = i.watchdog.Wait() // it was killed
	_ = i.line.Close()
}

func (i *instance) ended() bool {
	select {
	case <-i.done:
		return true
	default:
		return false
	}
}

// terminate ends the process by SIGTERM and fails unless it ends well.
func (i *instance) terminate(t *testing.T) {
	t.Helper()
	require.False(t, i.ended(), "%s has ended by itself: %v", i.name, i.err)
	require.NoError(t, i.cmd.Process.Signal(syscall.SIGTERM))
	kafkatest.Wait(t, i.name+" to end after SIGTERM", func(context.Context) (string, bool) { return i.lastWords(), i.ended() })
	require.NoError(t, i.err, "%s: %s", i.name, i.lastWords())
}

// lastWords are the end of the process's log.
func (i *instance) lastWords() string {
	b, err := os.ReadFile(i.log.name)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}

// tail reads what a file grows by.
type tail struct {
	name string
	at   int64
	rest string // of a line that is not complete
}

// lines returns the lines that were completed since it was last asked.
func (f *tail) lines() ([]string, error) {
	file, err := os.Open(f.name)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	b, err := io.ReadAll(io.NewSectionReader(file, f.at, 1<<62))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.name, err)
	}
	f.at += int64(len(b))
	all := strings.Split(f.rest+string(b), "\n")
	f.rest = all[len(all)-1]
	return all[:len(all)-1], nil
}
