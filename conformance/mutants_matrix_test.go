package conformance

import (
	"cmp"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/readcommitted/conformance/internal/mutant"
	"example.com/readcommitted/internal/kafkatest"
)

var wholeMatrix = flag.Bool("mutants.all", false, "run each mutant against every scenario of the profile standard, and print the matrix; this takes an hour and a half")

// matrixRow is a damage and what came of it, by scenario.
type matrixRow struct {
	number int // 0: no damage
	name   string
	kills  []string
	cells  map[string]Outcome
}

// Which scenarios notice which damage, beyond those that are named for it. The
// row without damage comes first: what it does not pass says nothing below.
func TestMutantMatrix(t *testing.T) {
	if !*wholeMatrix {
		t.Skip("takes an hour and a half: run with -mutants.all, -timeout 0 and KAFKA_TEST=local; -mutants.only chooses")
	}
	none := mutant.Mutant{Name: "no damage", Make: func() mutant.Damage { return mutant.Damage{} }}
	clusters := map[int]*kafkatest.Cluster{}
	var mu sync.Mutex
	rows := []matrixRow{}
	// The rows are run in parallel, and the matrix is printed after all of them.
	t.Run("rows", func(t *testing.T) {
		for _, m := range append([]mutant.Mutant{none}, mutant.All()...) {
			wanted := m.Number == none.Number || chosen(m.Number)
			if wanted && clusters[m.Brokers] == nil {
				clusters[m.Brokers] = kafkatest.Real(t, brokersFor(m.Brokers))
			}
			c := clusters[m.Brokers]
			t.Run(fmt.Sprintf("%02d %s", m.Number, m.Name), func(t *testing.T) {
				if !wanted {
					t.Skip("not among -mutants.only")
				}
				t.Parallel()
				row := runRow(t, c, m)
				mu.Lock()
				rows = append(rows, row)
				mu.Unlock()
				requireNoticed(t, row)
			})
		}
	})
	slices.SortFunc(rows, func(a, b matrixRow) int { return cmp.Compare(a.number, b.number) })
	t.Log("\n" + matrixText(rows))
}

func runRow(t *testing.T, c *kafkatest.Cluster, m mutant.Mutant) matrixRow {
	t.Helper()
	row := matrixRow{number: m.Number, name: m.Name, kills: slices.Concat(m.Kills, m.Warns), cells: map[string]Outcome{}}
	for _, r := range runMutant(t, c, m, Config{}).Results {
		row.cells[r.ID] = r.Outcome
		if r.Outcome == Inconclusive {
			t.Logf("%s: %s", r.ID, r.Reason)
		}
	}
	return row
}

// requireNoticed is what can be asked of any row: those that are named for a
// damage are asked one by one in [TestMutantsAreKilled], on a less busy cluster.
func requireNoticed(t *testing.T, row matrixRow) {
	t.Helper()
	var noticed []string
	for id, o := range row.cells {
		if o == Fail || o == Warn {
			noticed = append(noticed, id)
		}
	}
	slices.Sort(noticed)
	t.Log("noticed by", noticed)
	ran := func(id string) bool { return row.cells[id] != "" && row.cells[id] != Skip }
	switch {
	case row.number == 0:
		require.Empty(t, noticed)
	case slices.ContainsFunc(row.kills, ran):
		named := func(id string) bool { return slices.Contains(row.kills, id) }
		require.True(t, slices.ContainsFunc(noticed, named), "of %v none noticed", row.kills)
	}
}

// marks are the outcomes in the matrix.
var marks = map[Outcome]string{Pass: ".", Fail: "F", Warn: "W", Skip: "s", Inconclusive: "?", "": " "}

// matrixText has a row for each damage and a column for each scenario.
func matrixText(rows []matrixRow) string {
	var ids []string
	for _, s := range Scenarios() {
		if slices.ContainsFunc(rows, func(r matrixRow) bool { return r.cells[s.ID] != "" }) {
			ids = append(ids, s.ID)
		}
	}
	var b strings.Builder
	for place := range len("A-01") {
		fmt.Fprintf(&b, "%-58s", "")
		for _, id := range ids {
			b.WriteString(" " + id[place:place+1])
		}
		b.WriteString("\n")
	}
	for _, r := range rows {
		fmt.Fprintf(&b, "%3d %-54s", r.number, r.name[:min(len(r.name), 54)])
		noticed := 0
		for _, id := range ids {
			named := " "
			if slices.Contains(r.kills, id) {
				named = "|"
			}
			b.WriteString(named + marks[r.cells[id]])
			if o := r.cells[id]; o == Fail || o == Warn {
				noticed++
			}
		}
		fmt.Fprintf(&b, "  %d notice\n", noticed)
	}
	b.WriteString("F fail, W warn, ? inconclusive, s skipped, . pass; | is named for the damage\n")
	return b.String()
}

func TestMatrixText(t *testing.T) {
	text := matrixText([]matrixRow{
		{name: "no damage", cells: map[string]Outcome{"A-01": Pass, "L-01": Pass}},
		{number: 1, name: "entries dropped", kills: []string{"A-01"}, cells: map[string]Outcome{"A-01": Fail, "L-01": Inconclusive}},
	})
	lines := strings.Split(text, "\n")
	require.Contains(t, lines[0], " L A")
	require.Contains(t, lines[3], " 1 1")
	require.Contains(t, lines[4], "  0 no damage")
	require.Contains(t, lines[4], " . .  0 notice")
	require.Contains(t, lines[5], " ?|F  1 notice")
}
