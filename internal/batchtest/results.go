package batchtest

import (
	"errors"
	"fmt"
	"strings"
)

// result reads a line below the dashes.
func (p *parser) result(key string, words []string, rest string) (err error) {
	switch key {
	case "visible":
		p.Visible, err = parseOffsets(rest)
	case "uncommitted":
		p.Uncommitted, err = parseOffsets(rest)
	case "next":
		p.Next, err = parseInt[int64](rest, 64)
	case "uncommitted-next":
		p.UncommittedNext, err = parseInt[int64](rest, 64)
	case "epoch":
		p.Epoch, err = parseInt[int32](rest, 32)
	case "timestamps":
		for _, w := range words {
			t, bad := parseInt[int64](w, 64)
			p.Timestamps, err = append(p.Timestamps, t), errors.Join(err, bad)
		}
	case "error":
		p.ErrClass, p.ErrBase, err = parseError(words)
	case "uncommitted-error":
		p.UncommittedErrClass, p.UncommittedErrBase, err = parseError(words)
	case "anomaly":
		return p.anomalyLine(words)
	case "kgo":
		return p.kgoLine(rest)
	default:
		err = errors.New("unknown line")
	}
	return err
}

func (p *parser) anomalyLine(words []string) error {
	if len(words) == 0 {
		return errors.New("needs a kind")
	}
	switch words[0] {
	case "missing", "contradicted", "duplicate":
	default:
		return fmt.Errorf("unknown kind %q", words[0])
	}
	values, err := fields(words[1:], "producer")
	if err == nil {
		p.Anomalies = append(p.Anomalies, Anomaly{Kind: words[0], ProducerID: values[0]})
	}
	return err
}

// kgoLine reads: differs [committed|uncommitted] "reason". Without a level
// both differ.
func (p *parser) kgoLine(rest string) error {
	before, quoted, _ := strings.Cut(rest, `"`)
	reason, after, closed := strings.Cut(quoted, `"`)
	if !closed || after != "" || reason == "" {
		return errors.New(`needs a reason in quotes`)
	}
	switch strings.Join(strings.Fields(before), " ") {
	case "differs":
		p.KgoDiffers, p.KgoDiffersUncommitted = reason, reason
	case "differs committed":
		p.KgoDiffers = reason
	case "differs uncommitted":
		p.KgoDiffersUncommitted = reason
	default:
		return errors.New(`must be: differs [committed|uncommitted] "reason"`)
	}
	return nil
}

// parseError reads: CLASS base=N, or none.
func parseError(words []string) (ErrorClass, int64, error) {
	if len(words) == 1 && words[0] == "none" {
		return NoError, 0, nil
	}
	if len(words) != 2 {
		return NoError, 0, errors.New("needs a class and base=")
	}
	switch c := ErrorClass(words[0]); c {
	case Corrupt, Unsupported, TooLarge:
		values, err := fields(words[1:], "base")
		if err != nil {
			return NoError, 0, err
		}
		return c, values[0], nil
	default:
		return NoError, 0, fmt.Errorf("unknown class %q", words[0])
	}
}

// fields reads name=number words, all names once and in order.
func fields(words []string, names ...string) ([]int64, error) {
	if len(words) != len(names) {
		return nil, fmt.Errorf("needs %s=", strings.Join(names, "= and "))
	}
	values := make([]int64, len(names))
	for i, w := range words {
		name, value, _ := strings.Cut(w, "=")
		if name != names[i] {
			return nil, fmt.Errorf("%q where %s= belongs", w, names[i])
		}
		var err error
		if values[i], err = parseInt[int64](value, 64); err != nil {
			return nil, err
		}
	}
	return values, nil
}
