package conformance

import (
	"fmt"
	"strings"

	"example.com/readcommitted/conformance/internal/model"
)

// batchesShown bounds the batches of one answer in its line.
const batchesShown = 16

// describeView is a partition of an answer to a Fetch in one line.
func describeView(v *model.View) string { return at(v.Received) + " " + viewWords(v) }

func viewWords(v *model.View) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Fetch v%d isolation %d %s@%d: ", v.Version, v.Isolation, v.Partition, v.FetchOffset)
	if v.ErrorCode != 0 {
		b.WriteString(codeName(v.ErrorCode) + " ")
	}
	fmt.Fprintf(&b, "start %d LSO %d HW %d", v.LogStartOffset, v.LastStableOffset, v.HighW)
	if v.Shed {
		b.WriteString("; nothing else was kept")
		return b.String()
	}
	b.WriteString(" list ")
	if v.ListNull {
		b.WriteString("null")
	} else {
		b.WriteString(listShown(v.List))
	}
	l := model.NewLog(v.Partition, v.FetchOffset, v.End(), v.Batches[:min(len(v.Batches), batchesShown)])
	b.WriteString(" batches ")
	b.WriteString(strings.ReplaceAll(l.String(), "open ", "transactional "))
	if more := len(v.Batches) - batchesShown; more > 0 {
		fmt.Fprintf(&b, " and %d more", more)
	}
	if v.Tail > 0 {
		fmt.Fprintf(&b, " and %d bytes of a cut one", v.Tail)
	}
	if v.Throttled {
		b.WriteString(" (throttled)")
	}
	return b.String()
}

func listShown(list []model.Entry) string {
	if len(list) <= batchesShown {
		return model.ListString(list)
	}
	return fmt.Sprintf("%s and %d more", model.ListString(list[:batchesShown]), len(list)-batchesShown)
}
