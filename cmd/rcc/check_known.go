package main

import (
	"fmt"
	"os"
	"strings"

	"example.com/readcommitted/conformance"
)

// readKnownFailing reads a list of scenarios that are known not to pass: one ID
// on a line, and behind # the reason. A question mark behind the ID says that it
// passes now and then.
func readKnownFailing(file string) (known map[string]string, mayPass []string, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, &usageError{err: fmt.Errorf("known-failing: %w", err)}
	}
	known = map[string]string{}
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		id, reason, _ := strings.Cut(line, "#")
		id, passes := strings.CutSuffix(strings.TrimSpace(id), "?")
		if id == "" && !passes {
			continue
		}
		s := conformance.Find(id)
		if s == nil {
			return nil, nil, &usageError{err: fmt.Errorf("%s, line %d: %q is no scenario", file, number, id), hint: "one ID on a line, and behind # the reason"}
		}
		known[s.ID] = strings.TrimSpace(reason)
		if passes {
			mayPass = append(mayPass, s.ID)
		}
	}
	return known, mayPass, nil
}
