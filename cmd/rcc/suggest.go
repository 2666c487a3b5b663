package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// choice is a flag's value that must be one of a few words. It implements
// [pflag.Value].
type choice struct {
	words []string
	value string
}

func (c *choice) String() string { return c.value }
func (c *choice) Type() string   { return strings.Join(c.words, "|") }

func (c *choice) Set(s string) error {
	for _, word := range c.words {
		if s == word {
			c.value = s
			return nil
		}
	}
	return &wordError{words: c.words, hint: nearest(s, c.words)}
}

// wordError is the error of a value that is none of the words it may be.
type wordError struct {
	words []string
	hint  string
}

func (e *wordError) Error() string { return "want " + strings.Join(e.words, ", ") }

// flagError turns pflag's errors into usage errors with the nearest flag or
// value.
func flagError(cmd *cobra.Command, err error) error {
	usage := &usageError{err: err}
	var missing *pflag.NotExistError
	var word *wordError
	var value *pflag.InvalidValueError
	switch {
	case errors.As(err, &word):
		usage.hint = didYouMean(word.hint)
	case errors.As(err, &value) && (errors.Is(err, strconv.ErrSyntax) || errors.Is(err, strconv.ErrRange)):
		usage.err = fmt.Errorf("invalid argument %q for --%s: want a number", value.GetValue(), value.GetFlag().Name)
	case errors.As(err, &missing):
		if group := missing.GetSpecifiedShortnames(); group != "" {
			// What follows may be the value of a flag that was meant, and secret.
			usage.err = fmt.Errorf("unknown flag: -%s", missing.GetSpecifiedName())
			usage.hint = otherTools[missing.GetSpecifiedName()]
			if letter := nearestShort(missing.GetSpecifiedName(), cmd.Flags()); letter != "" && usage.hint == "" {
				usage.hint = didYouMean("-" + letter)
			}
			return usage
		}
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, f.Name)
			}
		})
		names = append(names, "bootstrap-server")
		if name := nearest(missing.GetSpecifiedName(), names); name != "" {
			usage.hint = didYouMean("--" + name)
		}
	}
	return usage
}

// otherTools are flags that hands know from kcat.
var otherTools = map[string]string{
	"C": "reading is a command: rcc consume TOPIC...",
	"t": "topics are arguments: rcc consume TOPIC...",
	"G": "the group and the topics are given one by one: rcc consume TOPIC... -g GROUP",
	"c": "the count of records is given with -n",
}

// nearestShort is the flag of the same letter in the other case, "" if there is
// none.
func nearestShort(letter string, flags *pflag.FlagSet) string {
	for _, other := range []string{strings.ToUpper(letter), strings.ToLower(letter)} {
		if other != letter && len(other) == 1 && flags.ShorthandLookup(other) != nil {
			return other
		}
	}
	return ""
}

// strayProperty is the error of a property without its -X. Its value is not
// shown, it may be secret.
func strayProperty(word string) error {
	if !strings.Contains(word, "=") {
		return nil
	}
	return &usageError{err: fmt.Errorf("a property without -X"), hint: "write -X in front of every KEY=VALUE"}
}

// unknownCommand is what a first word that is no command gives.
func unknownCommand(root *cobra.Command, word string) error {
	if err := strayProperty(word); err != nil {
		return err
	}
	var names []string
	for _, c := range root.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	return &usageError{
		err:  fmt.Errorf("unknown command %q, want one of %s", word, strings.Join(names, ", ")),
		hint: didYouMean(nearest(word, names)),
	}
}

func didYouMean(word string) string {
	if word == "" {
		return ""
	}
	return "did you mean " + word + "?"
}

// nearest returns the word closest to s, or "" if none is close: at most a
// third of the letters may differ, at least two may, but not every one.
func nearest(s string, words []string) string {
	best, distance := "", max(2, len(s)/3)+1
	for _, word := range words {
		if d := editDistance(strings.ToLower(s), word); d < min(distance, len(word)) {
			best, distance = word, d
		}
	}
	if best == "" && len(s) >= 2 {
		for _, word := range words {
			if strings.HasPrefix(word, strings.ToLower(s)) {
				return word
			}
		}
	}
	return best
}

// editDistance counts the letters to insert, delete, replace or swap with a
// neighbour to turn a into b.
func editDistance(a, b string) int {
	before, row := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		next := make([]int, len(b)+1)
		next[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			next[j] = min(row[j]+1, next[j-1]+1, row[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				next[j] = min(next[j], before[j-2]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}
