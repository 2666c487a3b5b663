package rcconsumer

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
)

// WithHooks adds hooks of this package and of kgo, in any mixture; see [Hook].
// Each is called for whatever it implements, in the order given, together with
// those of kgo.WithHooks. A slice of hooks counts as its elements. New refuses a
// value that implements no hook at all.
//
// A hook given to kgo.WithHooks that also implements one of ours need not be
// given again: a hook that is given twice is called twice.
func WithHooks(hooks ...Hook) kgo.Opt {
	all, err := flatten(hooks)
	var theirs []kgo.Hook
	for _, h := range all {
		if isKgoHook(h) {
			theirs = append(theirs, h)
		}
	}
	return option{
		Opt:   kgo.WithHooks(theirs...), // what kgo itself makes of it
		name:  "WithHooks",
		apply: func(*ours) error { return err },
		hooks: all,
	}
}

// flatten returns the hooks in a list, in which kgo allows lists too.
func flatten(hooks []Hook) (all []Hook, err error) {
	for _, h := range hooks {
		more, isList := h.([]Hook)
		switch {
		case isHook(h), isKgoHook(h):
			more = []Hook{h}
		case isList:
			if more, err = flatten(more); err != nil {
				return nil, err
			}
		default:
			return nil, fmt.Errorf("WithHooks: %T implements no hook of this package or of kgo", h)
		}
		all = append(all, more...)
	}
	return all, nil
}

// isKgoHook reports whether kgo takes a value for a hook of its own. kgo takes
// a list for one too.
func isKgoHook(h Hook) bool {
	if _, isList := h.([]Hook); isList {
		return false
	}
	return kgo.ValidateOpts(kgo.WithHooks(h)) == nil
}

// carrier takes a hook that is ours alone through kgo's options, so that all
// hooks come back in one order. It stands for a hook of kgo's and does nothing.
type carrier struct{ hook Hook }

func (carrier) OnClientClosed(*kgo.Client) {}

func carried(hooks []Hook) []kgo.Hook {
	list := make([]kgo.Hook, 0, len(hooks))
	for _, h := range hooks {
		if !isKgoHook(h) {
			h = carrier{h}
		}
		list = append(list, h)
	}
	return list
}

// sortHooks tells hooks of ours and of kgo apart; some are both.
func (c *config) sortHooks() {
	for i, h := range c.allHooks {
		if theirs, ok := h.(carrier); ok {
			h = theirs.hook
			c.allHooks[i] = h
		} else {
			c.kgoHooks = append(c.kgoHooks, h)
		}
		if isHook(h) {
			c.hooks = append(c.hooks, h)
		}
	}
}
