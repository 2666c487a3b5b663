//go:build !linux && !darwin

package localkafka

import (
	"context"
	"errors"
	"os"
	"syscall"
)

// Here the package only compiles: every start ends in errUnsupported, because
// the jar cache and the ports cannot be locked.

var sigTerminate, sigPause, sigContinue = os.Interrupt, os.Interrupt, os.Interrupt

var errUnsupported = errors.New("local brokers need Linux or macOS")

func ownGroup() *syscall.SysProcAttr { return nil }

func dieWithParent() *syscall.SysProcAttr { return nil }

func lockFile(context.Context, string) (func(), error) { return nil, errUnsupported }

func tryLockFile(string) (func(), bool) { return nil, false }
