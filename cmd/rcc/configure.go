package main

import (
	"strings"

	"example.com/readcommitted/internal/clientconf"
)

// note is a line about the configuration.
type note struct {
	text   string
	always bool // with -q too
}

// configure reads the properties of -F and -X, once.
func (a *app) configure() error {
	config, err := clientconf.Load(clientconf.Sources{Files: a.files, Arguments: a.properties, Suggest: nearest})
	if err != nil {
		return err
	}
	a.config = config
	for _, text := range config.Warnings {
		a.notes = append(a.notes, note{text: "warning: " + text, always: true})
	}
	for _, ignored := range config.Ignored {
		a.notes = append(a.notes, note{text: ignored.File + ": means nothing to this command: " + strings.Join(ignored.Keys, ", ")})
	}
	return nil
}

// begin says what a command is going to read. That is the first line of
// stderr; notes on the configuration come after it.
func (a *app) begin(format string, args ...any) {
	a.say(format, args...)
	a.tellNotes()
}

// tellNotes tells them once.
func (a *app) tellNotes() {
	for _, n := range a.notes {
		if n.always {
			a.warn("%s", n.text)
		} else {
			a.say("%s", n.text)
		}
	}
	a.notes = nil
}

// maxProblems is how many problems of the properties are told: a file of
// another kind has one in every line.
const maxProblems = 20

// failProperties tells what is wrong with the properties, a line for each
// problem.
func (a *app) failProperties(err *clientconf.Error) {
	problems := err.Problems
	for _, p := range problems[:min(len(problems), maxProblems)] {
		text := p.String()
		if p.Hint != "" {
			text += "; " + p.Hint
		}
		a.line("error: " + oneLine(text))
	}
	if more := len(problems) - maxProblems; more > 0 {
		a.line("error: " + plural(int64(more), "more problem"))
	}
}
