package localkafka

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"sync"
	"time"
)

// keeperScript runs in a shell beside us. It learns the processes we start
// over its standard input, whose other end only we hold: when that closes, by
// Close or because this process ended in any way at all, it kills what is left
// and removes the cluster's directory. It ignores the signals a terminal sends.
// A killed broker may still finish a write, hence the repeated removal.
const keeperScript = `
trap '' HUP INT TERM
pids=
while read -r op pid; do
	case $op in
	add) pids="$pids $pid" ;;
	del)
		left=
		for p in $pids; do
			[ "$p" = "$pid" ] || left="$left $p"
		done
		pids=$left
		;;
	esac
done
for p in $pids; do
	kill -9 "$p" 2>/dev/null
done
i=0
while [ $i -lt 50 ]; do
	rm -rf "$1" 2>/dev/null && exit 0
	sleep 0.1
	i=$((i + 1))
done
exit 1
`

var errKeeperClosed = errors.New("localkafka: cluster is closed")

// keeper starts processes that must not outlive this one.
//
// Besides the shell there is, on Linux, the kernel's parent death signal. It
// leaves no moment between a start and the shell's knowledge of it. The signal
// is sent when the starting *thread* ends, so one thread starts everything and
// stays until the keeper is closed.
type keeper struct {
	shell   *exec.Cmd
	work    chan func()
	stopped chan struct{} // closed when the starting thread has ended

	mu     sync.Mutex
	pipe   io.WriteCloser
	closed bool
	procs  map[*process]struct{}
}

func startKeeper(dir string) (*keeper, error) {
	k := &keeper{work: make(chan func()), stopped: make(chan struct{}), procs: map[*process]struct{}{}}
	k.shell = exec.Command("/bin/sh", "-c", keeperScript, "sh", dir)
	k.shell.SysProcAttr = ownGroup()
	pipe, err := k.shell.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("localkafka: %w", err)
	}
	k.pipe = pipe
	if err := k.shell.Start(); err != nil {
		return nil, fmt.Errorf("localkafka: start the shell that ends brokers: %w", err)
	}
	go k.serve()
	return k, nil
}

// serve runs the starts on one thread. The thread is not unlocked: it ends
// with the goroutine.
func (k *keeper) serve() {
	defer close(k.stopped)
	runtime.LockOSThread()
	for f := range k.work {
		f()
	}
}

// start starts cmd, which must not have been started, in a process group of
// its own.
func (k *keeper) start(cmd *exec.Cmd) (*process, error) {
	cmd.SysProcAttr = dieWithParent()
	cmd.WaitDelay = 5 * time.Second
	p := &process{cmd: cmd, gone: make(chan struct{})}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return nil, errKeeperClosed
	}
	result := make(chan error)
	k.work <- func() { result <- cmd.Start() }
	if err := <-result; err != nil {
		return nil, err
	}
	k.procs[p] = struct{}{}
	go k.wait(p)
	if _, err := fmt.Fprintf(k.pipe, "add %d\n", cmd.Process.Pid); err != nil {
		return nil, errors.Join(fmt.Errorf("localkafka: the shell that ends brokers is gone: %w", err), cmd.Process.Kill())
	}
	return p, nil
}

// wait reaps the process and makes the shell forget its ID, which may be used
// again from then on.
func (k *keeper) wait(p *process) {
	err := p.cmd.Wait()
	k.mu.Lock()
	delete(k.procs, p)
	if !k.closed {
		_, _ = fmt.Fprintf(k.pipe, "del %d\n", p.cmd.Process.Pid) // if the shell is gone it needs no telling
	}
	k.mu.Unlock()
	p.err = err
	close(p.gone)
}

// close ends all processes, then the shell, which removes the directory.
func (k *keeper) close() error {
	k.mu.Lock()
	k.closed = true
	left := k.procs
	k.procs = map[*process]struct{}{}
	k.mu.Unlock()

	var errs []error
	for p := range left {
		errs = append(errs, p.kill())
	}
	close(k.work)
	<-k.stopped
	errs = append(errs, k.pipe.Close())
	if err := k.shell.Wait(); err != nil {
		errs = append(errs, fmt.Errorf("localkafka: remove the cluster's directory: %w", err))
	}
	return errors.Join(errs...)
}
