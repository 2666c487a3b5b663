package model

import "fmt"

// Ends are the ends of a partition as ListOffsets and Fetch gave them while it
// was quiet.
type Ends struct {
	Listed, ListedCommitted int64 // latest, at read_uncommitted and read_committed
	High, Stable            int64 // of a Fetch
}

// U12 judges that both requests tell of the same ends.
func U12(e Ends) []Breach {
	if e.Listed == e.High && e.ListedCommitted == e.Stable {
		return nil
	}
	return []Breach{{
		Invariant: "U12", Severity: Failure, Offset: e.ListedCommitted,
		Requirement: "the latest offset is the last stable offset at read_committed and the high watermark at read_uncommitted",
		Consequence: "end offsets and lag are wrong, and a reader that reads to the end waits for ever or stops too early",
		Expected:    fmt.Sprintf("latest %d at read_committed, %d at read_uncommitted", e.Stable, e.High),
		Observed:    fmt.Sprintf("%d and %d", e.ListedCommitted, e.Listed),
	}}
}
