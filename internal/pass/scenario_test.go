package pass_test

import (
	"cmp"
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/readcommitted/batchdecode"
	"example.com/readcommitted/internal/batchtest"
	"example.com/readcommitted/internal/kafkatest/capture"
	"example.com/readcommitted/internal/pass"
)

func TestScenariosAnomaliesAndEpoch(t *testing.T) {
	for _, s := range scenarios(t) {
		t.Run(s.Name, func(t *testing.T) {
			p := s.Partition()
			var scanner pass.Scanner
			res := scanner.Scan(pass.Options{Offset: s.Fetch}, p.RecordBatches, p.AbortedTransactions)
			var got []batchtest.Anomaly
			for _, a := range res.Anomalies {
				got = append(got, batchtest.Anomaly{Kind: a.Kind.String(), ProducerID: a.ProducerID})
			}
			sortAnomalies(got)
			want := slices.Clone(s.Anomalies)
			sortAnomalies(want)
			require.Equal(t, want, got, s.Doc)
			if s.Epoch != batchtest.EpochUnstated {
				require.Equal(t, s.Epoch, res.NextEpoch, s.Doc)
			}
		})
	}
}

func sortAnomalies(a []batchtest.Anomaly) {
	slices.SortFunc(a, func(x, y batchtest.Anomaly) int {
		return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.ProducerID, y.ProducerID))
	})
}

// decoderOf is a decoder with a scenario's limit.
func decoderOf(s *batchtest.Scenario) *pass.Decoder {
	return &pass.Decoder{Topic: "t", MaxBatchBytes: int(s.Limit)}
}

// read is the whole pass: scan, decode, and where it ends.
func read(d *pass.Decoder, o pass.Options, s *batchtest.Scenario, records []byte) (got []int64, next int64, err error) {
	var scanner pass.Scanner
	res := scanner.Scan(o, records, s.Aborted)
	for _, k := range res.Kept {
		batch, err := d.Append(nil, k)
		if err != nil {
			return got, k.First(), err
		}
		got = append(got, offsets(batch)...)
	}
	return got, res.Next, res.Err
}

// A response may be cut anywhere: what is there is read as in the whole.
func TestScenariosEveryPrefix(t *testing.T) {
	for _, s := range scenarios(t) {
		t.Run(s.Name, func(t *testing.T) {
			for _, uncommitted := range []bool{false, true} {
				o := pass.Options{Offset: s.Fetch, ReadUncommitted: uncommitted}
				want, wantNext := s.Visible, s.Next
				if uncommitted {
					want, wantNext = s.Uncommitted, s.UncommittedNext
				}
				step := 1 + len(s.Records)/1_000
				last := s.Fetch
				for n := 0; n <= len(s.Records); n += step {
					got, next, err := read(decoderOf(&s), o, &s, s.Records[:n:n])
					if err != nil {
						require.NotErrorIs(t, err, batchdecode.ErrTruncated, "%d bytes: a cut is no error", n)
						requireClass(t, err)
					}
					require.GreaterOrEqual(t, next, last, "%d bytes", n)
					require.LessOrEqual(t, next, max(wantNext, s.Fetch), "%d bytes", n)
					last = next
					if len(s.Anomalies) > 0 && !uncommitted {
						continue // the marker that speaks against the list may be cut off
					}
					require.LessOrEqual(t, len(got), len(want), "%d bytes", n)
					require.True(t, slices.Equal(want[:len(got)], got), "%d bytes: got %v, want %v", n, got, want)
				}
			}
		})
	}
}

func requireClass(t testing.TB, err error) {
	t.Helper()
	require.True(t, errors.Is(err, batchdecode.ErrCorrupt) || errors.Is(err, batchdecode.ErrUnsupported) ||
		errors.Is(err, batchdecode.ErrTooLarge), "%v has no class", err)
	var e *batchdecode.Error
	require.ErrorAs(t, err, &e)
}

func TestScenariosThroughPools(t *testing.T) {
	for _, s := range scenarios(t) {
		t.Run(s.Name, func(t *testing.T) {
			p := &recordPool{}
			for _, uncommitted := range []bool{false, true} {
				o := pass.Options{Offset: s.Fetch, ReadUncommitted: uncommitted}
				want, wantNext, wantErr := read(decoderOf(&s), o, &s, s.Records)
				d := decoderOf(&s)
				d.Pools = append(d.Pools, p)
				got, next, err := read(d, o, &s, s.Records)
				require.Equal(t, want, got)
				require.Equal(t, wantNext, next)
				require.Equal(t, wantErr == nil, err == nil, "%v, with pools %v", wantErr, err)
			}
		})
	}
}

// What real brokers sent. Captures are read at the level they were asked for,
// and those of read_committed at the other level too.
func TestCaptures(t *testing.T) {
	captures, err := capture.Load(os.DirFS("../../testdata/captures"))
	require.NoError(t, err)
	require.NotEmpty(t, captures)
	for _, c := range captures {
		t.Run(c.Name, func(t *testing.T) {
			var list []int64
			for _, a := range c.Aborted {
				list = append(list, a.ProducerID, a.FirstOffset)
			}
			end, epoch := c.FetchOffset, int32(-1)
			for _, b := range c.Batches {
				end, epoch = b.LastOffset+1, b.PartitionLeaderEpoch
			}
			scanner, audit := pass.Scanner{}, pass.Audit{}
			o := pass.Options{Offset: c.FetchOffset, ReadUncommitted: c.IsolationLevel == 0, Audit: &audit}
			res := scanner.Scan(o, c.Bytes, batchtest.Aborted(list...))
			require.NoError(t, res.Err)
			require.Empty(t, res.Anomalies)
			require.Equal(t, len(c.Batches), res.Complete)
			require.Equal(t, end, res.Next)
			require.Equal(t, epoch, res.NextEpoch)
			got, err := decode(&pass.Decoder{}, res)
			require.NoError(t, err)
			require.Equal(t, c.Visible, offsets(got))

			sent := map[int64]capture.Record{}
			var data []int64
			for _, b := range c.Batches {
				for _, r := range b.Records {
					sent[r.Offset] = r
					if !b.Control && r.Offset >= c.FetchOffset {
						data = append(data, r.Offset)
					}
				}
			}
			for _, r := range got {
				require.Equal(t, sent[r.Offset].Key, r.Key)
				require.Equal(t, sent[r.Offset].Value, r.Value)
				require.Len(t, r.Headers, len(sent[r.Offset].Headers))
			}
			got, err = decode(&pass.Decoder{}, scanner.Scan(pass.Options{Offset: c.FetchOffset, ReadUncommitted: true}, c.Bytes, nil))
			require.NoError(t, err)
			require.Equal(t, data, offsets(got))
		})
	}
}
