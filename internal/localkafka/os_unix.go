//go:build linux || darwin

package localkafka

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

const (
	sigTerminate = syscall.SIGTERM
	sigPause     = syscall.SIGSTOP
	sigContinue  = syscall.SIGCONT
)

// ownGroup keeps a terminal's Ctrl-C away from a process: it is for us to end.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// lockFile waits for an exclusive lock on a file, which it creates. The lock
// ends with unlock or with this process.
func lockFile(ctx context.Context, path string) (unlock func(), err error) {
	for {
		unlock, err := flock(path)
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return unlock, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// tryLockFile is lockFile without waiting.
func tryLockFile(path string) (unlock func(), ok bool) {
	unlock, err := flock(path)
	return unlock, err == nil
}

func flock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, err
	}
	return func() { _ = f.Close() }, nil
}
