package main

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"example.com/readcommitted/internal/clientconf"
	"example.com/readcommitted/internal/picture"
)

// app is what every command shares: the streams and the flags of the root.
// All words that a user reads on stderr go through its methods: prefixed with
// the program's name, no capitals, no full stop, advice on a line of its own.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
	runID          string // random, part of every client.id and demo topic
	command        string // the words that chose what runs: rcc consume
	checkID        string // the run ID of a check
	ports          ports

	brokers    []string
	properties []string // -X
	files      []string // -F
	config     *clientconf.Config
	notes      []note // of the configuration, not told yet

	output choice
	json   bool
	quiet  bool
	color  choice
}

func newApp(stdin io.Reader, stdout, stderr io.Writer) *app {
	var id [4]byte
	_, _ = rand.Read(id[:]) // never fails; see crypto/rand
	return &app{
		stdin: stdin, stdout: stdout, stderr: stderr,
		getenv: os.Getenv,
		runID:  hex.EncodeToString(id[:]),
		config: &clientconf.Config{},
		output: choice{words: []string{"text", "json"}, value: "text"},
		color:  choice{words: []string{"auto", "always", "never"}, value: "auto"},
	}
}

// say tells the user what goes on, unless -q asks for silence.
func (a *app) say(format string, args ...any) {
	if !a.quiet {
		a.line(fmt.Sprintf(format, args...))
	}
}

// warn tells what the user has to know even with -q.
func (a *app) warn(format string, args ...any) {
	a.line(fmt.Sprintf(format, args...))
}

func (a *app) fail(err error) { a.line("error: " + oneLine(err.Error())) }

func (a *app) hint(text string) {
	if text != "" {
		a.line(text)
	}
}

// line writes one line to stderr. A broken stderr is not worth an exit code.
func (a *app) line(text string) {
	_, _ = fmt.Fprintln(a.stderr, "rcc: "+picture.Printable(text))
}

// write writes to stdout by way of f.
func (a *app) write(f func(io.Writer) error) error {
	if err := f(a.stdout); err != nil {
		return &outputError{err}
	}
	return nil
}

func (a *app) wantJSON() bool { return a.json || a.output.value == "json" }

// colored reports whether w gets colours.
func (a *app) colored(w io.Writer) bool {
	switch a.color.value {
	case "always":
		return true
	case "never":
		return false
	}
	return isTerminal(w) && a.getenv("NO_COLOR") == "" && a.getenv("TERM") != "dumb"
}

// clientID names this run's connections in the brokers' logs and quotas.
func (a *app) clientID(command string) string {
	return "rcc-" + command + "-" + a.runID
}

// seeds returns the bootstrap addresses: the flag's, else those of -X and -F,
// else RCC_BROKERS.
func (a *app) seeds() ([]string, error) {
	seeds := a.givenSeeds()
	if len(seeds) == 0 {
		seeds = strings.FieldsFunc(a.getenv("RCC_BROKERS"), func(r rune) bool { return r == ',' || r == ' ' })
	}
	if len(seeds) == 0 {
		return nil, &usageError{err: fmt.Errorf("no broker address"), hint: "give -b HOST:PORT or set RCC_BROKERS"}
	}
	return seeds, nil
}

// givenSeeds are the addresses that the command line gives.
func (a *app) givenSeeds() []string {
	if len(a.brokers) > 0 {
		return a.brokers
	}
	return a.config.Brokers
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// terminalWidth is the width of a terminal, 80 for everything else.
func terminalWidth(stream any) int {
	if f, ok := stream.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return 80
}
