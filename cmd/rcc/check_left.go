package main

import (
	"regexp"
	"strings"
)

// Bounds of what is told of the things that are left behind.
const (
	reasonsTold = 5 // reasons
	leftTold    = 3 // names of each
)

// ownPort is the client's end of a connection: another one in every error.
var ownPort = regexp.MustCompile(`\b(read|write) tcp \S+->`)

// tellLeft names what is left behind, a line for each reason.
func (a *app) tellLeft(left []string) {
	var reasons []string
	names := map[string][]string{}
	for _, what := range left {
		name, reason, _ := strings.Cut(oneLine(what), ": ")
		reason = ownPort.ReplaceAllString(reason, "$1 tcp ")
		if names[reason] == nil {
			reasons = append(reasons, reason)
		}
		names[reason] = append(names[reason], name)
	}
	for _, reason := range reasons[:min(reasonsTold, len(reasons))] {
		told := names[reason][:min(leftTold, len(names[reason]))]
		more := ""
		if n := len(names[reason]) - len(told); n > 0 {
			more = " and " + plural(int64(n), "other")
		}
		a.warn("left behind: %s%s: %s", strings.Join(told, ", "), more, reason)
	}
	if more := len(reasons) - reasonsTold; more > 0 {
		a.warn("left behind: more, for %s", plural(int64(more), "other reason"))
	}
}
