package localkafka

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// process is one started program. A nil process is one that does not run.
type process struct {
	cmd  *exec.Cmd
	gone chan struct{} // closed once the process has been reaped
	err  error         // how it ended; read it after gone is closed
}

func (p *process) running() bool {
	if p == nil {
		return false
	}
	select {
	case <-p.gone:
		return false
	default:
		return true
	}
}

// done is closed when the process is gone; for a nil process it is closed.
func (p *process) done() <-chan struct{} {
	if p == nil {
		closed := make(chan struct{})
		close(closed)
		return closed
	}
	return p.gone
}

// signal sends a signal; a process that is gone already is no error.
func (p *process) signal(s os.Signal) error {
	if !p.running() {
		return nil
	}
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("localkafka: signal %v: %w", s, err)
	}
	return nil
}

// kill ends the process at once and waits until it is reaped.
func (p *process) kill() error {
	err := p.signal(os.Kill)
	<-p.done()
	return err
}
