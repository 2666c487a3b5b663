package rcconsumer

import (
	"errors"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
)

// ValidateOpts returns the error that [New] would return, without making a
// consumer. It is kgo.ValidateOpts for one.
func ValidateOpts(opts ...kgo.Opt) error {
	_, err := readConfig(opts)
	return err
}

// CheckKgoOptions returns an error that names the options in a list that
// kgo.NewClient would take and ignore, since they are this package's; nil if
// there are none. Hooks of kgo's in [WithHooks] are no such thing, nor is
// [ReadUncommitted].
func CheckKgoOptions(opts ...kgo.Opt) error {
	var names []string
	for _, opt := range opts {
		switch our := opt.(type) {
		case option:
			if err := our.apply(new(ours)); err != nil {
				return err
			}
			if our.name != "WithHooks" {
				names = append(names, our.name)
			}
			for _, h := range our.hooks {
				if isHook(h) {
					names = append(names, fmt.Sprintf("%s(%T)", our.name, h))
				}
			}
		case groupOption:
			names = append(names, our.name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return errors.New("options that only a Consumer honours, kgo's own client would ignore them: " + strings.Join(names, ", "))
}
