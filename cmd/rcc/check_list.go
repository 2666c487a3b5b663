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

// checkListSchema names the JSON form of a list.
const checkListSchema = "readcommitted.check-list/1"

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
