package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"example.com/readcommitted/conformance"
)

// Names of the JSON forms.
const (
	checkListSchema  = "readcommitted.check-list/1"
	checkAboutSchema = "readcommitted.check-about/1"
)

// listedScenario is a scenario as lists have it.
type listedScenario struct {
	ID       string        `json:"id"`
	Name     string        `json:"name"`
	Class    string        `json:"class"`
	Profile  string        `json:"profile"` // the smallest that has it
	Time     time.Duration `json:"time_ns"`
	Needs    []string      `json:"needs"`
	Skipped  string        `json:"skipped,omitempty"`
	scenario *conformance.Scenario
}

func newListed(s *conformance.Scenario) listedScenario {
	return listedScenario{
		ID: s.ID, Name: s.Name, Class: string(s.Class), Profile: string(s.Profile), Time: s.Typical,
		Needs: append([]string{}, s.Needs()...), scenario: s,
	}
}

func newCheckListCommand(a *app) *cobra.Command {
	f := newCheckFlags()
	all := true
	cmd := &cobra.Command{
		Use:   "list [ID...]",
		Short: "list scenarios: class, profile, time, needs, and why they would be skipped",
		Long: `List all scenarios, or those of a profile, of families or IDs. With the address of
a cluster the list says which would be skipped there, and why. Nothing is written.`,
		Example: `  rcc check list
  rcc check list T V -b kafka-1:9092 --profile extended`,
		Args: func(cmd *cobra.Command, args []string) error {
			all = len(args) == 0 && !cmd.Flags().Changed("profile")
			return f.check(args)
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if all {
				f.ids = families()
			}
			return a.checkList(cmd.Context(), f)
		},
	}
	f.register(cmd.Flags())
	return cmd
}

// families are the letters of all families, in order.
func families() []string {
	var letters []string
	for _, s := range conformance.Scenarios() {
		letters = append(letters, s.Family())
	}
	return unique(letters)
}

func (a *app) checkList(ctx context.Context, f *checkFlags) error {
	examination, _, err := a.examine(ctx, f)
	if err != nil {
		return err
	}
	a.tellNotes()
	list := struct {
		Schema    string               `json:"schema"`
		Suite     string               `json:"suite_version"`
		Cluster   *conformance.Cluster `json:"cluster,omitempty"`
		Scenarios []listedScenario     `json:"scenarios"`
	}{Schema: checkListSchema, Suite: conformance.SuiteVersion, Cluster: examination.Cluster}
	for _, x := range examination.Scenarios {
		l := newListed(x.Scenario)
		l.Skipped = x.Skipped
		list.Scenarios = append(list.Scenarios, l)
	}
	return a.write(func(w io.Writer) error {
		if a.wantJSON() {
			return json.NewEncoder(w).Encode(list)
		}
		return listText(w, list.Scenarios)
	})
}

func listText(w io.Writer, scenarios []listedScenario) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tNAME\tCLASS\tPROFILE\tTIME\tNEEDS\tSKIPPED HERE") //nolint:errcheck // Flush tells
	for _, s := range scenarios {
		needs := strings.Join(s.Needs, ", ")
		if needs == "" {
			needs = "-"
		}
		line := fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s\t%s", s.ID, s.Name, s.Class, s.Profile, roughly(s.Time), needs, s.Skipped)
		fmt.Fprintln(table, strings.TrimRight(line, "\t")) //nolint:errcheck // Flush tells
	}
	return table.Flush()
}

func newCheckAboutCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "about ID...",
		Short:   "explain a scenario: requirement, consequence, witness, known bugs",
		Example: `  rcc check about A-02`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return &usageError{err: fmt.Errorf("no scenario"), hint: "give one or more IDs; rcc check list has them"}
			}
			for _, word := range args {
				if err := knownSelector(word); err != nil {
					return err
				}
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.checkAbout(args) },
	}
}

// aboutScenario is all that is to be said of a scenario.
type aboutScenario struct {
	listedScenario
	Requirement string                 `json:"requirement"`
	Consequence string                 `json:"consequence"`
	Witness     string                 `json:"witness"`
	Log         string                 `json:"log,omitempty"`
	Known       string                 `json:"known_bugs,omitempty"`
	Makes       *conformance.Footprint `json:"makes,omitempty"`
}

func (a *app) checkAbout(args []string) error {
	outline, err := conformance.Outline(conformance.Config{Select: args})
	if err != nil {
		return err
	}
	var all []aboutScenario
	for _, x := range outline.Scenarios {
		s := x.Scenario
		about := aboutScenario{
			listedScenario: newListed(s), Requirement: s.Requirement, Consequence: s.Consequence,
			Witness: s.Witness, Log: s.Log, Known: s.Known,
		}
		if f, ok := s.Footprint(); ok {
			about.Makes = &f
		}
		all = append(all, about)
	}
	return a.write(func(w io.Writer) error {
		if a.wantJSON() {
			return json.NewEncoder(w).Encode(struct {
				Schema    string          `json:"schema"`
				Suite     string          `json:"suite_version"`
				Scenarios []aboutScenario `json:"scenarios"`
			}{checkAboutSchema, conformance.SuiteVersion, all})
		}
		for i := range all {
			if i > 0 {
				_, _ = io.WriteString(w, "\n")
			}
			if _, err := io.WriteString(w, all[i].text(max(60, terminalWidth(a.stdout)))); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *aboutScenario) text(width int) string {
	b := &block{width: width}
	b.line(fmt.Sprintf("%s %s   %s, profile %s, about %s", s.ID, s.Name, s.Class, s.Profile, roughly(s.Time)))
	b.field("family", conformance.FamilyName(s.scenario.Family()), 0)
	b.field("requirement", s.Requirement, 0)
	b.field("consequence", s.Consequence, 0)
	b.field("witness", s.Witness, 0)
	b.log(s.Log, 0)
	b.field("known bugs", s.Known, 0)
	b.field("needs", strings.Join(s.Needs, ", "), 0)
	if s.Makes != nil {
		b.field("makes", fmt.Sprintf("%s, %s, %s, %s", plural(int64(s.Makes.Topics), "topic"), plural(int64(s.Makes.TransactionalIDs), "transactional ID"),
			plural(int64(s.Makes.Groups), "group"), size(s.Makes.Bytes)), 0)
		b.field("asks", strings.Join(s.Makes.Requests, " "), 0)
	}
	b.field("run it", "rcc check run "+s.ID+" -b HOST:PORT --yes", 0)
	return b.String()
}
