package rckgo_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The README lists what New refuses: in its section "From kgo", the table whose
// first column is headed "Refused" has the options' names in backquotes there.
func TestReadmeListsTheRefusedOptions(t *testing.T) {
	var want []string
	for name, o := range options() {
		if o.fate == refused || o.fate == replaced {
			want = append(want, name)
		}
	}
	slices.Sort(want)
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	require.Equal(t, want, refusedIn(t, string(readme)))
}

var (
	fromKgo   = regexp.MustCompile(`(?m)^(#+) From kgo$`)
	backquote = regexp.MustCompile("`(?:kgo\\.)?([^`]+)`")
)

func refusedIn(t *testing.T, readme string) (names []string) {
	at := fromKgo.FindStringSubmatchIndex(readme)
	require.NotNil(t, at, `the README has no section "From kgo"`)
	section, level := readme[at[1]:], at[3]-at[2]
	next := regexp.MustCompile(fmt.Sprintf(`(?m)^#{1,%d} `, level))
	if end := next.FindStringIndex(section); end != nil {
		section = section[:end[0]]
	}
	inTable := false
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		switch {
		case len(cells) < 3:
			inTable = false
		case strings.TrimSpace(cells[1]) == "Refused":
			inTable = true
		case inTable:
			for _, match := range backquote.FindAllStringSubmatch(cells[1], -1) {
				names = append(names, match[1])
			}
		}
	}
	slices.Sort(names)
	return names
}

func TestReadingTheReadme(t *testing.T) {
	got := refusedIn(t, "# X\n\n| Refused | - |\n|---|---|\n| `No` | x |\n\n## From kgo\n\n| Changes | how |\n|---|---|\n| `Not` | x |\n\n### More\n\n"+
		"| Refused | instead |\n|---|---|\n| `B`, `kgo.A(0)` | `Use` |\n| `C` | x |\n\n`None` | `of` | this\n\n## Next\n\n| Refused | - |\n|---|---|\n| `No` | x |\n")
	require.Equal(t, []string{"A(0)", "B", "C"}, got)
}
