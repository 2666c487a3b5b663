package main

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"example.com/readcommitted/conformance"
	"example.com/readcommitted/internal/picture"
)

// checkMatrixSchema names the JSON form of a matrix.
const checkMatrixSchema = "readcommitted.check-matrix/1"

const checkMatrixHelp = `Lay the reports of several runs (--report FILE.json) side by side: a row for each
scenario, a column for each report, named as its file. A scenario that a report
does not have is "-"; (known) stands behind what was known to fail.`

func newCheckMatrixCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "matrix FILE...",
		Short:   "lay the reports of several runs side by side",
		Long:    checkMatrixHelp,
		Example: `  rcc check matrix kafka-4.4.0.json tansu.json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return &usageError{err: fmt.Errorf("no report"), hint: "rcc check run --report FILE.json writes one"}
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			m := &checkMatrix{Schema: checkMatrixSchema, Reports: []matrixReport{}, Scenarios: []matrixScenario{}}
			for _, file := range args {
				report, err := readReport(file)
				if err != nil {
					return err
				}
				m.add(file, report)
			}
			m.order()
			return a.write(func(w io.Writer) error {
				if a.wantJSON() {
					return json.NewEncoder(w).Encode(m)
				}
				return m.text(w)
			})
		},
	}
}

// checkMatrix is several reports side by side.
type checkMatrix struct {
	Schema    string           `json:"schema"`
	Reports   []matrixReport   `json:"reports"`
	Scenarios []matrixScenario `json:"scenarios"`
}

// matrixReport is a column.
type matrixReport struct {
	Name    string              `json:"name"` // of its file
	Cluster string              `json:"cluster_id"`
	Level   string              `json:"transaction_level"`
	Suite   string              `json:"suite_version"`
	RunID   string              `json:"run_id"`
	Profile conformance.Profile `json:"profile"`
	Chosen  []string            `json:"selected,omitempty"` // what was named instead of the profile
	Verdict string              `json:"verdict"`

	scenarios string // what was chosen, in words
}

// matrixScenario is a row. Outcomes are in the order of the reports, "" for a
// report that does not have the scenario.
type matrixScenario struct {
	ID       string                `json:"id"`
	Name     string                `json:"name"`
	Class    conformance.Class     `json:"class"`
	Outcomes []conformance.Outcome `json:"outcomes"`
	Known    []bool                `json:"known_failing"` // by report, whether it was known to fail
}

func (m *checkMatrix) add(file string, report *checkReport) {
	name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	m.Reports = append(m.Reports, matrixReport{
		Name: name, Cluster: report.Cluster.ID, Level: report.Cluster.Level, Suite: report.Suite, RunID: report.RunID,
		Profile: report.Profile, Chosen: report.Selected, Verdict: report.Verdict, scenarios: strings.TrimPrefix(report.chosen(), "profile "),
	})
	for i := range m.Scenarios {
		m.Scenarios[i].grow(len(m.Reports))
	}
	for i := range report.Results {
		r := &report.Results[i]
		at := slices.IndexFunc(m.Scenarios, func(s matrixScenario) bool { return s.ID == r.ID })
		if at < 0 {
			at = len(m.Scenarios)
			m.Scenarios = append(m.Scenarios, matrixScenario{ID: r.ID, Name: r.Name, Class: r.Class})
			m.Scenarios[at].grow(len(m.Reports))
		}
		m.Scenarios[at].Outcomes[len(m.Reports)-1] = r.Outcome
		_, m.Scenarios[at].Known[len(m.Reports)-1] = report.KnownReason[r.ID]
	}
}

func (s *matrixScenario) grow(n int) {
	for len(s.Outcomes) < n {
		s.Outcomes, s.Known = append(s.Outcomes, ""), append(s.Known, false)
	}
}

// order sorts the rows as the catalogue has them; what it has no more comes last.
func (m *checkMatrix) order() {
	place := map[string]int{}
	for i, s := range conformance.Scenarios() {
		place[s.ID] = i - len(conformance.Scenarios())
	}
	slices.SortStableFunc(m.Scenarios, func(a, b matrixScenario) int { return place[a.ID] - place[b.ID] })
}

func (m *checkMatrix) text(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(cells []string) {
		for i := range cells {
			cells[i] = picture.Printable(cells[i])
		}
		fmt.Fprintln(table, strings.Join(cells, "\t")) //nolint:errcheck // Flush tells
	}
	about := func(name string, of func(matrixReport) string) {
		cells := []string{name, "", ""}
		for _, r := range m.Reports {
			cells = append(cells, of(r))
		}
		row(cells)
	}
	head := []string{"ID", "NAME", "CLASS"}
	for _, r := range m.Reports {
		head = append(head, r.Name)
	}
	row(head)
	for _, s := range m.Scenarios {
		cells := []string{s.ID, s.Name, string(s.Class)}
		for i, outcome := range s.Outcomes {
			cell := string(outcome)
			switch {
			case outcome == "":
				cell = "-"
			case s.Known[i]:
				cell += " (known)"
			}
			cells = append(cells, cell)
		}
		row(cells)
	}
	about("verdict", func(r matrixReport) string { return r.Verdict })
	about("scenarios", func(r matrixReport) string { return r.scenarios })
	about("level", func(r matrixReport) string { return r.Level })
	about("suite", func(r matrixReport) string { return r.Suite })
	return table.Flush()
}
