package model_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/readcommitted/conformance/internal/model"
)

// told is one answer of a history: its bounds, and who gave it.
type told struct {
	start, lso, hw int64
	conn           uint64
	broker         int32
	epoch          int32
	isolation      int8
	code           int16
	follower       bool
	elected        bool
	want           string
}

func TestBoundsAfterOneAnother(t *testing.T) {
	const committed, uncommitted = model.ReadCommitted, model.ReadUncommitted
	for _, c := range []struct {
		name    string
		answers []told
	}{
		{"growing", []told{
			{lso: 1, hw: 3, isolation: committed}, {lso: 3, hw: 3, isolation: committed}, {start: 2, lso: 3, hw: 9, isolation: committed},
		}},
		{"standing still", []told{{lso: 1, hw: 3, isolation: committed}, {lso: 1, hw: 3, isolation: committed}}},
		{"HW goes back", []told{{lso: 3, hw: 5, isolation: committed}, {lso: 3, hw: 4, isolation: committed, want: "U10"}}},
		{"a new leader works its LSO out", []told{
			{lso: 5, hw: 5, isolation: committed, elected: true},
			{lso: 3, hw: 5, isolation: committed, elected: true},
			{lso: 6, hw: 6, isolation: committed, elected: true},
			{lso: 5, hw: 6, isolation: committed, elected: true, want: "U10"},
		}},
		{"a new leader's HW goes back", []told{{lso: 5, hw: 5, isolation: committed, elected: true}, {lso: 4, hw: 4, isolation: committed, elected: true, want: "U10, U1"}}},
		{"a follower truncates", []told{{lso: 3, hw: 5, isolation: committed, follower: true}, {lso: 2, hw: 5, isolation: committed, follower: true}}},
		{"a follower answers in between", []told{{hw: 5, broker: 1}, {hw: 3, broker: 2, follower: true}, {hw: 4, broker: 1, want: "U10"}}},
		{"HW goes back at read_uncommitted", []told{{hw: 5}, {hw: 4, want: "U10"}}},
		{"LSO goes back", []told{{lso: 3, hw: 5, isolation: committed}, {lso: 2, hw: 5, isolation: committed, want: "U10"}}},
		{"LSO goes back for readers who did not ask", []told{{lso: 5, hw: 5}, {lso: -1, hw: 5}}},
		{"log start goes back", []told{{start: 2, lso: 3, hw: 5, isolation: committed}, {start: 1, lso: 3, hw: 5, isolation: committed, want: "U10"}}},
		{"the version has no log start", []told{{start: 2, hw: 5}, {start: -1, hw: 5}, {start: 2, hw: 5}}},
		{"LSO above the HW of the same answer", []told{{lso: 4, hw: 3, isolation: committed}, {lso: 4, hw: 4, isolation: committed}}},
		{"LSO above the HW of the next answer", []told{{lso: 5, hw: 3, isolation: committed}, {lso: 5, hw: 4, isolation: committed, want: "U1"}}},
		{"HW moves while the LSO is worked out", []told{
			{lso: 12, hw: 10, isolation: committed}, {lso: 10, hw: 12, isolation: committed}, {lso: 9, hw: 12, isolation: committed, want: "U10"},
		}},
		{"LSO goes back behind what was stable while HW moved", []told{{lso: 12, hw: 10, isolation: committed}, {lso: 9, hw: 12, isolation: committed, want: "U10"}}},
		{"isolation levels do not meet", []told{{lso: 3, hw: 5, isolation: committed}, {hw: 4}}},
		{"connections do not meet", []told{{hw: 5, conn: 1}, {hw: 4, conn: 2}, {hw: 5, conn: 1}}},
		{"after an error the broker may not lead any more", []told{{hw: 5}, {hw: -1, code: 6}, {hw: 4}}},
		{"leadership moves and comes back", []told{{hw: 5, conn: 1, broker: 1}, {hw: 4, conn: 2, broker: 2}, {hw: 4, conn: 1, broker: 1}}},
		{"leadership moves and comes back unseen", []told{{hw: 5, conn: 1, broker: 1, epoch: 3}, {hw: 4, conn: 1, broker: 1, epoch: 5}}},
		{"compared again after it came back", []told{
			{hw: 5, conn: 1, broker: 1}, {hw: 4, conn: 2, broker: 2}, {hw: 4, conn: 1, broker: 1}, {hw: 3, conn: 1, broker: 1, want: "U10"},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var h model.History
			for i, a := range c.answers {
				got, _ := h.Next(&model.View{
					Partition: partition, Conn: a.conn, Broker: a.broker, LeaderEpoch: a.epoch, Isolation: a.isolation, ErrorCode: a.code, Follower: a.follower, Elected: a.elected,
					LogStartOffset: a.start, LastStableOffset: a.lso, HighW: a.hw,
				})
				require.Equal(t, a.want, strings.Join(names(got), ", "), "answer %d", i)
			}
		})
	}
}

func TestPartitionsHaveHistoriesOfTheirOwn(t *testing.T) {
	var h model.History
	_, compared := h.Next(&model.View{Partition: partition, HighW: 5})
	require.False(t, compared)
	other := model.Partition{Topic: "t", Index: 1}
	got, compared := h.Next(&model.View{Partition: other, HighW: 1, Broker: 2})
	require.False(t, compared)
	require.Empty(t, got)
	_, compared = h.Next(&model.View{Partition: partition, HighW: 5})
	require.True(t, compared)
}
