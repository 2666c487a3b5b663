package programs

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The form for rckgo differs in its import line and the listed edits, and in
// nothing else.
func TestDropInChangesWhatIsListed(t *testing.T) {
	const source = `package main

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
)

// "github.com/twmb/franz-go/pkg/kgo" is a path.
func main() { fmt.Println(kgo.NoResetOffset()); use(nil) }
`
	use := edit{file: "main.go", old: "use(nil)", new: "use(1)"}
	after, err := dropIn(source, []edit{use})
	require.NoError(t, err)
	require.Equal(t, []string{
		"\t\"github.com/twmb/franz-go/pkg/kgo\"",
		"func main() { fmt.Println(kgo.NoResetOffset()); use(nil) }",
	}, changedLines(t, source, after))
	require.Contains(t, after, "\n\tkgo \"example.com/readcommitted/rckgo\"\n")
	require.Contains(t, after, "use(1)")

	without := strings.Replace(source, "\t\"github.com/twmb/franz-go/pkg/kgo\"\n", "", 1)
	same, err := dropIn(without, nil)
	require.NoError(t, err)
	require.Equal(t, without, same, "a file that does not import kgo")

	for _, misfit := range []edit{
		{file: "main.go", old: "used(nil)"},
		{file: "main.go", old: "fmt"},
	} {
		_, err := dropIn(source, []edit{misfit})
		require.ErrorContains(t, err, misfit.old+"\" occurs")
	}
}
