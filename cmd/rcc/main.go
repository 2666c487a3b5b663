// Command rcc reads Kafka topics at read_committed and shows what a
// transaction-aware reader sees, drops and waits for.
//
// Data goes to stdout, everything else to stderr. See "rcc help".
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	os.Exit(realMain())
}

// sameSignal is how far apart two signals may come and still be one wish.
const sameSignal = 300 * time.Millisecond

func realMain() int {
	// Without this the runtime kills the process at the first write to a
	// closed pipe. "rcc consume | head" is an ordinary use and ends with 0.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), endings()...)
	defer stop()
	// The first signal asks for a clean end; a later one, with the handler
	// gone, ends the process at once. Not right away: timeout(1), and a
	// terminal through "go run", send the same signal twice. That a terminal is
	// gone is no wish to leave things behind, and shell and kernel both tell it.
	context.AfterFunc(ctx, func() {
		time.Sleep(sameSignal)
		signal.Ignore(syscall.SIGHUP)
		stop()
	})
	return run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
}

// endings are the signals that ask for the end. Under nohup(1) the end of the
// terminal is none.
func endings() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

// run executes one command line and returns the exit code. It reads nothing
// of the process but its environment, so tests can call it.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := newApp(stdin, stdout, stderr)
	root := newRootCommand(a)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	a.command = strings.TrimSuffix(cmd.CommandPath(), " help")
	return a.exit(ctx, err)
}
