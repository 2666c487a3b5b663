package conformance

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// NewRunID is the ID of a run that begins at this moment: the Unix time in
// seconds as eight hexadecimal digits, and four random ones. Whoever finds a
// name of the run can tell its age from the name alone.
func NewRunID() string { return runIDAt(time.Now()) }

func runIDAt(at time.Time) string {
	var random [2]byte
	_, _ = rand.Read(random[:]) // never fails; see crypto/rand
	return fmt.Sprintf("%08x%s", uint32(at.Unix()), hex.EncodeToString(random[:]))
}

// madeNames are names that runs with an ID of [NewRunID] give to topics, groups
// and transactional IDs: prefix, run ID, scenario, and what the scenario adds.
var madeNames = regexp.MustCompile(`^` + NamePrefix + `(([0-9a-f]{8})[0-9a-f]{4})-[A-Za-z]-[0-9]{2}(-[A-Za-z0-9._-]*)?$`)

// began is when the run began that made a name. ok is false for names that no
// run made.
func began(name string) (at time.Time, ok bool) {
	m := madeNames.FindStringSubmatch(name)
	if m == nil {
		return time.Time{}, false
	}
	seconds, err := strconv.ParseUint(m[2], 16, 32)
	return time.Unix(int64(seconds), 0), err == nil
}
