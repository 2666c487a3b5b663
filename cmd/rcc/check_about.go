package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"example.com/readcommitted/conformance"
)

// checkAboutSchema names the JSON form of what is said about scenarios.
const checkAboutSchema = "readcommitted.check-about/1"

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
		all = append(all, newAbout(x.Scenario))
	}
	return a.write(func(w io.Writer) error {
		if a.wantJSON() {
			return json.NewEncoder(w).Encode(struct {
				Schema    string          `json:"schema"`
				Suite     string          `json:"suite_version"`
				Scenarios []aboutScenario `json:"scenarios"`
			}{checkAboutSchema, conformance.SuiteVersion, all})
		}
		var texts []string
		for i := range all {
			texts = append(texts, all[i].text(max(60, terminalWidth(a.stdout))))
		}
		_, err := io.WriteString(w, strings.Join(texts, "\n"))
		return err
	})
}

func newAbout(s *conformance.Scenario) aboutScenario {
	about := aboutScenario{
		listedScenario: newListed(s), Requirement: s.Requirement, Consequence: s.Consequence,
		Witness: s.Witness, Log: s.Log, Known: s.Known,
	}
	if f, ok := s.Footprint(); ok {
		about.Makes = &f
	}
	return about
}

// command runs the scenario, with what it needs of the run; "" if nothing does.
func (s *aboutScenario) command() string {
	if !s.scenario.Built() {
		return ""
	}
	line := "rcc check run " + s.ID + " -b HOST:PORT --yes"
	if s.scenario.NeedsAdmin() {
		line += " --allow-admin"
	}
	if s.scenario.TakesBrokersAway() {
		line += " --hook 'COMMAND {action} {broker}'"
	}
	return line
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
	if line := s.command(); line != "" {
		b.rows("run it", []string{line}, 0) // to copy: never broken
	} else {
		b.field("run it", "cannot be run: it is listed, and not built", 0)
	}
	return b.String()
}
