package bench

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// BenchmarkPass compares by codec, batch size and share of aborted
// transactions.
func BenchmarkPass(b *testing.B) {
	for _, c := range cells() {
		b.Run(c.String(), func(b *testing.B) { compare(b, c.response()) })
	}
}

// BenchmarkList compares by the length of the list of aborted transactions.
func BenchmarkList(b *testing.B) {
	for _, c := range listCells() {
		b.Run(c.String(), func(b *testing.B) { compare(b, c.response()) })
	}
}

// sink is the sum over what was delivered, so that nothing is optimized away.
var sink int64

func compare(b *testing.B, rp *kmsg.FetchResponseTopicPartition) {
	for _, im := range impls() {
		b.Run("impl="+im.name, func(b *testing.B) {
			b.SetBytes(int64(len(rp.RecordBatches)))
			b.ReportAllocs()
			before := cpuTime()
			for b.Loop() {
				fp, next := im.pass(rp)
				sink += sum(fp.Records) + next
			}
			b.ReportMetric(float64(cpuTime()-before)/float64(b.N), "cpu-ns/op")
		})
	}
}

// sum looks at every record, as a consumer would.
func sum(records []*kgo.Record) (n int64) {
	for _, r := range records {
		n += r.Offset + int64(len(r.Value))
	}
	return n
}

func TestBothDeliverTheSame(t *testing.T) {
	if raceDetector {
		t.Skip("takes minutes with the race detector, and nothing here runs at the same time")
	}
	for _, c := range cells() {
		t.Run(c.String(), func(t *testing.T) {
			delivered := requireSame(t, c.response())
			require.Equal(t, c.aborted == 100, delivered == 0)
		})
	}
	for _, c := range listCells() {
		t.Run(c.String(), func(t *testing.T) { require.NotZero(t, requireSame(t, c.response())) })
	}
}

// requireSame compares what both make of a response and returns the number of
// records.
func requireSame(t *testing.T, rp *kmsg.FetchResponseTopicPartition) int {
	t.Helper()
	both := impls()
	want, wantNext := both[0].pass(rp)
	got, gotNext := both[1].pass(rp)
	require.NoError(t, want.Err)
	require.NoError(t, got.Err)
	require.Equal(t, rp.HighWatermark, gotNext)
	require.Equal(t, wantNext, gotNext)
	require.Len(t, got.Records, len(want.Records))
	for i, r := range want.Records {
		if !reflect.DeepEqual(r, got.Records[i]) { // require.Equal alone is slow
			require.Equal(t, r, got.Records[i])
		}
	}
	return len(want.Records)
}
