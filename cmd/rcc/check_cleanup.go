package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"example.com/readcommitted/conformance"
)

// checkCleanupSchema names the JSON form of a clean-up.
const checkCleanupSchema = "readcommitted.check-cleanup/1"

// defaultAge is older than any run but those of the profile soak.
const defaultAge = 6 * time.Hour

func newCheckCleanupCommand(a *app) *cobra.Command {
	age := defaultAge
	yes := false
	cmd := &cobra.Command{
		Use:   "cleanup",
		Short: "remove what interrupted runs left behind",
		Long: `List what runs left behind that began longer ago than --older-than, then remove it:
open transactions are ended, groups and topics deleted. Only whole names as runs
make them count, rcconf-<run ID>-<scenario>...; the run ID says when it began.
With --yes nobody is asked. Without it, and without a terminal, it only lists.`,
		Example: `  rcc check cleanup -b kafka-1:9092
  rcc check cleanup -b kafka-1:9092 --older-than 24h --yes`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				if err := strayProperty(args[0]); err != nil {
					return err
				}
				return &usageError{err: fmt.Errorf("unexpected argument %q", args[0])}
			}
			if age < 0 {
				return &usageError{err: fmt.Errorf("older-than %s: want 0s or more", age)}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return a.checkCleanup(cmd.Context(), age, yes) },
	}
	cmd.Flags().DurationVar(&age, "older-than", age, "of runs that began longer ago than this `TIME`; 0s: of all")
	cmd.Flags().BoolVar(&yes, "yes", false, "remove without asking")
	return cmd
}

func (a *app) checkCleanup(ctx context.Context, age time.Duration, yes bool) error {
	if err := a.configure(); err != nil {
		return err
	}
	var config conformance.Config
	seeds, err := a.checkTarget(&config, 0)
	if err != nil {
		return err
	}
	found, err := conformance.FindLeftovers(ctx, config.Options, age)
	if err != nil {
		return a.notJudged(ctx, seeds, err)
	}
	defer found.Close()
	a.begin("looking for what runs left behind more than %s ago at %s", shortAge(age), strings.Join(seeds, ","))
	for _, hint := range found.Hints {
		a.warn("%s", oneLine(hint))
	}
	if err := a.printLeftovers(found.Found); err != nil {
		return err
	}
	a.tellYounger(found, age)
	if len(found.Found) == 0 {
		return nil
	}
	if !yes && (!isTerminal(a.stdin) || !isTerminal(a.stderr)) {
		a.say("nothing was removed: give --yes to remove it")
		return nil
	}
	if !yes {
		if err := a.ask(ctx, "remove all of it? [y/N] "); err != nil {
			return err
		}
	}
	return a.removeLeftovers(ctx, found)
}

// tellYounger says what was found, but is too young to be removed.
func (a *app) tellYounger(found *conformance.Leftovers, age time.Duration) {
	runs, last := map[string]bool{}, time.Time{}
	for _, f := range found.Younger {
		runs[f.RunID()] = true
		if f.Began.After(last) {
			last = f.Began
		}
	}
	younger := fmt.Sprintf("%s of %s; if no run is under way: %s", plural(int64(len(found.Younger)), "object"),
		plural(int64(len(runs)), "younger run"), a.cleanupCommand(time.Since(last)))
	switch none := len(found.Found) == 0; {
	case len(runs) > 0 && none:
		a.say("nothing older than %s; %s", shortAge(age), younger)
	case len(runs) > 0:
		a.say("not counted: %s", younger)
	case none:
		a.say("nothing is left behind")
	}
}

// cleanupCommand is a command line that removes what a run of this age left.
func (a *app) cleanupCommand(age time.Duration) string {
	least := "0s"
	if age > time.Minute {
		least = "1m"
	}
	return strings.Join(append(a.targetWords([]string{"rcc", "check", "cleanup"}), "--older-than", least), " ")
}

func (a *app) printLeftovers(found []conformance.Leftover) error {
	return a.write(func(w io.Writer) error {
		if a.wantJSON() {
			return json.NewEncoder(w).Encode(struct {
				Schema string                 `json:"schema"`
				Found  []conformance.Leftover `json:"found"`
			}{checkCleanupSchema, append([]conformance.Leftover{}, found...)})
		}
		for _, f := range found {
			if _, err := fmt.Fprintf(w, "%-16s  %s  %s\n", f.Kind, f.Began.Format(time.RFC3339), f.Name); err != nil {
				return err
			}
		}
		return nil
	})
}

func (a *app) removeLeftovers(ctx context.Context, found *conformance.Leftovers) error {
	left := found.Remove(ctx)
	if ctx.Err() != nil {
		return errInterrupted
	}
	a.say("%d of %d removed", len(found.Found)-len(left), len(found.Found))
	a.tellLeft(left)
	if len(left) > 0 {
		return fmt.Errorf("%d of %d are still there", len(left), len(found.Found))
	}
	return nil
}

// shortAge writes a time without units of zero: 6h, not 6h0m0s.
func shortAge(d time.Duration) string {
	s := d.String()
	s, _ = strings.CutSuffix(s, "m0s")
	if s != d.String() {
		s += "m"
	}
	if cutHours, ok := strings.CutSuffix(s, "h0m"); ok {
		s = cutHours + "h"
	}
	return s
}
