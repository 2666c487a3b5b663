package batchtest

import (
	"errors"
	"fmt"
	"strings"
)

// parser reads a scenario line by line: the comment, the log, a line of four
// dashes, the expected result.
type parser struct {
	Scenario
	seen    map[string]bool // directives that may come once
	results bool            // behind the dashes
}

func (p *parser) line(line string) error {
	words := strings.Fields(line)
	switch {
	case len(words) == 0:
		return nil
	case strings.HasPrefix(line, "#"):
		p.comment(strings.TrimSpace(strings.TrimLeft(line, "#")))
		return nil
	case line == "----":
		if p.results {
			return errors.New("second line of dashes")
		}
		p.results = true
		return nil
	}
	key, rest := words[0], words[1:]
	if err := p.once(key); err != nil {
		return err
	}
	var err error
	if p.results {
		err = p.result(key, rest, strings.TrimSpace(strings.TrimPrefix(line, key)))
	} else {
		err = p.input(key, rest)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return nil
}

// comment collects the lines above the log.
func (p *parser) comment(text string) {
	if len(p.seen) == 0 && len(p.log) == 0 && !p.results {
		p.Doc = strings.TrimSpace(p.Doc + " " + text)
	}
}

// once refuses a second line of a directive that stands for one value.
func (p *parser) once(key string) error {
	switch key {
	case "aborted", "anomaly", "kgo", "batch", "empty", "message", "raw", "abort", "commit", "control":
		return nil
	}
	if p.seen[key] {
		return fmt.Errorf("second %s line", key)
	}
	p.seen[key] = true
	return nil
}

// input reads a line above the dashes.
func (p *parser) input(key string, words []string) error {
	switch key {
	case "batch", "empty", "message", "raw", "abort", "commit", "control":
		e, err := parseEntry(key, words)
		if err == nil {
			p.log = append(p.log, e)
		}
		return err
	case "aborted":
		return p.abortedLine(words)
	case "fetch", "limit", "log-start", "lso", "hw":
		return p.numberLine(key, words)
	}
	return errors.New("unknown line")
}

// numberLine reads a line that stands for one number.
func (p *parser) numberLine(key string, words []string) (err error) {
	if len(words) != 1 {
		return errors.New("takes one number")
	}
	switch key {
	case "fetch":
		p.Fetch, err = parseInt[int64](words[0], 64)
	case "limit":
		p.Limit, err = parseInt[int32](words[0], 32)
	case "log-start":
		p.LogStartOffset, err = parseInt[int64](words[0], 64)
	case "lso":
		p.LastStableOffset, err = parseInt[int64](words[0], 64)
	default:
		p.HighWatermark, err = parseInt[int64](words[0], 64)
	}
	return err
}

// abortedLine reads one entry of the list, or null.
func (p *parser) abortedLine(words []string) error {
	if len(words) == 1 && words[0] == "null" {
		if len(p.Aborted) > 0 {
			return errors.New("null after entries")
		}
		p.Aborted = nil
		return nil
	}
	if p.Aborted == nil {
		return errors.New("entries after null")
	}
	values, err := fields(words, "producer", "first")
	if err != nil {
		return err
	}
	p.Aborted = append(p.Aborted, Aborted(values...)...)
	return nil
}

// finish fills in what follows from the rest.
func (p *parser) finish() error {
	if p.Doc == "" {
		return errors.New("first line must be a comment that says what the file catches")
	}
	for _, key := range []string{"visible", "next", "uncommitted"} {
		if !p.seen[key] {
			return fmt.Errorf("no %s line", key)
		}
	}
	if p.Timestamps != nil && len(p.Timestamps) != len(p.Visible) {
		return fmt.Errorf("%d timestamps for %d visible records", len(p.Timestamps), len(p.Visible))
	}
	p.defaults()
	p.Records = p.log.Bytes()
	p.sent = map[int64]Record{}
	for _, e := range p.log {
		for _, r := range e.sent() {
			if _, twice := p.sent[r.Offset]; !twice {
				p.sent[r.Offset] = r
			}
		}
	}
	return nil
}

func (p *parser) defaults() {
	if !p.seen["hw"] {
		p.HighWatermark = max(p.log.End(), p.LastStableOffset)
	}
	if !p.seen["lso"] {
		p.LastStableOffset = p.HighWatermark
	}
	if !p.seen["uncommitted-next"] {
		p.UncommittedNext = p.Next
	}
	if !p.seen["uncommitted-error"] {
		p.UncommittedErrClass, p.UncommittedErrBase = p.ErrClass, p.ErrBase
	}
}
