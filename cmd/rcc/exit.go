package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"example.com/readcommitted/internal/clientconf"
)

// The exit codes. Scripts rely on them, and "rcc help" lists them.
const (
	exitOK          = 0
	exitError       = 1
	exitUsage       = 2
	exitFindings    = 3
	exitUndecided   = 4
	exitInterrupted = 130 // 128 + SIGINT, as shells report it
)

// usageError is an error in the command line: nothing was done, and the same
// line will fail again.
type usageError struct {
	err  error
	hint string // the nearest right word, if there is one
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// hintError carries a line of advice below an error.
type hintError struct {
	err  error
	hint string
}

func (e *hintError) Error() string { return e.err.Error() }
func (e *hintError) Unwrap() error { return e.err }

// verdictError ends a command whose output says what it found.
type verdictError struct{ code int }

func (e *verdictError) Error() string { return fmt.Sprintf("verdict %d", e.code) }

// undecidedError is the error of a judgement that could not be made.
type undecidedError struct{ err error }

func (e *undecidedError) Error() string { return e.err.Error() }
func (e *undecidedError) Unwrap() error { return e.err }

// outputError is an error of writing to stdout. Only of this one a closed pipe
// means that whoever read has enough: a broken connection to a broker gives the
// same error number.
type outputError struct{ err error }

func (e *outputError) Error() string { return "output: " + e.err.Error() }
func (e *outputError) Unwrap() error { return e.err }

// closedPipe reports whether err only says that nobody reads stdout any more.
func closedPipe(err error) bool {
	output, ok := errors.AsType[*outputError](err)
	return ok && errors.Is(output, syscall.EPIPE)
}

// errInterrupted ends a command that a signal stopped, after its partial
// summary is out.
var errInterrupted = errors.New("interrupted")

// exit reports err and turns it into the exit code.
func (a *app) exit(ctx context.Context, err error) int {
	var usage *usageError
	var verdict *verdictError
	var properties *clientconf.Error
	a.tellNotes()
	switch {
	case err == nil:
		return exitOK
	case closedPipe(err):
		return exitOK
	case errors.Is(err, errInterrupted), ctx.Err() != nil && errors.Is(err, context.Canceled):
		a.say("interrupted")
		return exitInterrupted
	case errors.As(err, &verdict):
		return verdict.code
	case errors.As(err, &properties):
		a.failProperties(properties)
		a.hint("see: " + a.command + " --help")
		return exitUsage
	case errors.As(err, &usage):
		a.fail(usage)
		a.hint(usage.hint)
		a.hint("see: " + a.command + " --help")
		return exitUsage
	}
	a.fail(err)
	var hinted *hintError
	if errors.As(err, &hinted) {
		a.hint(hinted.hint)
	} else {
		a.hint(a.advice(err))
	}
	if _, ok := errors.AsType[*undecidedError](err); ok {
		return exitUndecided
	}
	return exitError
}

// oneLine keeps an error on one line: brokers and libraries put line ends
// into theirs.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}
