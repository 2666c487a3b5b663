package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"example.com/readcommitted/conformance"
)

// confirmRun shows the plan and asks.
func (a *app) confirmRun(ctx context.Context, plan *checkPlan) error {
	if !isTerminal(a.stdin) || !isTerminal(a.stderr) {
		return &usageError{err: fmt.Errorf("a run makes topics on the cluster, and nobody confirmed it"), hint: "look at the plan (rcc check -b HOST:PORT), then give --yes"}
	}
	_, _ = io.WriteString(a.stderr, plan.text())
	return a.ask(ctx, "\nrun it now? [y/N] ")
}

// ask wants a yes from the terminal.
func (a *app) ask(ctx context.Context, question string) error {
	_, _ = io.WriteString(a.stderr, question)
	answer := make(chan string, 1)
	go func() { // it may outlive the command by waiting for a line
		line, _ := bufio.NewReader(a.stdin).ReadString('\n')
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case <-ctx.Done():
		return errInterrupted
	case word := <-answer:
		if word == "y" || word == "yes" {
			return nil
		}
		a.warn("nothing was done")
		return &verdictError{exitOK} // that was the answer, and no error
	}
}

// checkCommand is a command line that repeats a run, for people to copy. Values
// of -X may be secret, and are left out.
func (a *app) checkCommand(f *checkFlags, ids string, local bool, more ...string) string {
	words := []string{"rcc", "check", "run"}
	if ids != "" {
		words = append(words, ids)
	}
	if f.profile.value != string(conformance.Standard) {
		words = append(words, "--profile", f.profile.value) // also with IDs: some scenarios do more in larger profiles
	}
	if !local { // which takes no properties
		words = a.targetWords(words)
	}
	if f.slow != 1 {
		words = append(words, "--slow", fmt.Sprintf("%g", f.slow))
	}
	for _, c := range f.topicConfig {
		words = append(words, "--topic-config", shellWord(c))
	}
	if f.rate > 0 {
		words = append(words, "--rate", fmt.Sprintf("%g", f.rate))
	}
	if f.reuseTopics {
		words = append(words, "--reuse-topics")
	}
	if f.allowAdmin != local { // --local allows it
		words = append(words, map[bool]string{true: "--allow-admin", false: "--allow-admin=false"}[f.allowAdmin])
	}
	if f.hook != "" {
		words = append(words, "--hook", shellWord(f.hook))
	}
	return strings.Join(append(words, more...), " ")
}

// targetWords adds what names the cluster to the words of a command line.
func (a *app) targetWords(words []string) []string {
	if at := a.seedsToShow(); at != "" {
		words = append(words, "-b", at)
	}
	for _, file := range a.files {
		words = append(words, "-F", shellWord(file))
	}
	for _, property := range a.properties {
		key, _, _ := strings.Cut(property, "=")
		words = append(words, "-X", shellWord(key)+"=...")
	}
	return words
}

// seedsToShow are the addresses that a command line needs, "" if a file of
// properties has them.
func (a *app) seedsToShow() string {
	if len(a.brokers) == 0 && len(a.config.Brokers) > 0 {
		return ""
	}
	seeds, err := a.seeds()
	if err != nil {
		return "HOST:PORT"
	}
	return strings.Join(seeds, ",")
}

// shellWord quotes a word for a shell where that is needed.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./=:,@%+", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
