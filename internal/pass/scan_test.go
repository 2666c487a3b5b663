package pass_test

import (
	"runtime"
	"testing"
	"weak"

	"github.com/stretchr/testify/require"

	"example.com/readcommitted/batchdecode"
	"example.com/readcommitted/internal/batchtest"
	"example.com/readcommitted/internal/pass"
)

func TestScanPositionsAndCounts(t *testing.T) {
	size := func(entries ...batchtest.Entry) int64 { return int64(len(batchtest.Log(entries).Bytes())) }
	plain := func(base, last int64) batchtest.Batch { return batchtest.Data(base, last) }
	txn := func(base, last int64) batchtest.Batch { return batchtest.Data(base, last).Txn(7) }
	for _, tt := range []struct {
		name string
		log  batchtest.Log
		list []int64
		o    pass.Options

		kept     []int64 // base offsets
		next     int64
		epoch    int32
		complete int
		counts   pass.Counts
	}{
		{
			name: "no bytes move nothing",
			o:    pass.Options{Offset: 5},
			next: 5, epoch: -1,
		},
		{
			name: "delivered, dropped and markers",
			log:  batchtest.Log{plain(0, 1), txn(2, 4), batchtest.Abort(5, 7), txn(6, 6), batchtest.Commit(7, 7)},
			list: []int64{7, 2},
			kept: []int64{0, 6}, next: 8, complete: 5,
			counts: pass.Counts{
				AbortedBatches: 1, AbortedRecords: 3, AbortedBytes: size(txn(2, 4)), ControlBatches: 2,
				ScannedBytes: size(plain(0, 1), txn(2, 4), batchtest.Abort(5, 7), txn(6, 6), batchtest.Commit(7, 7)),
			},
		},
		{
			name: "read_uncommitted drops nothing and counts nothing as aborted",
			log:  batchtest.Log{txn(0, 1), batchtest.Abort(2, 7)},
			list: []int64{7, 0},
			o:    pass.Options{ReadUncommitted: true},
			kept: []int64{0}, next: 3, complete: 2,
			counts: pass.Counts{ControlBatches: 1, ScannedBytes: size(txn(0, 1), batchtest.Abort(2, 7))},
		},
		{
			name: "control batches are kept if asked for",
			log:  batchtest.Log{txn(0, 1), batchtest.Abort(2, 7)},
			list: []int64{7, 0},
			o:    pass.Options{KeepControl: true},
			kept: []int64{2}, next: 3, complete: 2,
			counts: pass.Counts{
				AbortedBatches: 1, AbortedRecords: 2, AbortedBytes: size(txn(0, 1)), ControlBatches: 1,
				ScannedBytes: size(txn(0, 1), batchtest.Abort(2, 7)),
			},
		},
		{
			name: "control batches are kept at read_uncommitted too",
			log:  batchtest.Log{txn(0, 1), batchtest.Commit(2, 7)},
			o:    pass.Options{KeepControl: true, ReadUncommitted: true},
			kept: []int64{0, 2}, next: 3, complete: 2,
			counts: pass.Counts{ControlBatches: 1, ScannedBytes: size(txn(0, 1), batchtest.Commit(2, 7))},
		},
		{
			name: "batches below the fetch offset are judged, not counted",
			log:  batchtest.Log{txn(0, 1), batchtest.Abort(2, 7), txn(3, 3), batchtest.Commit(4, 7)},
			list: []int64{7, 0},
			o:    pass.Options{Offset: 3},
			kept: []int64{3}, next: 5, complete: 4,
			counts: pass.Counts{ControlBatches: 1, ScannedBytes: size(txn(3, 3), batchtest.Commit(4, 7))},
		},
		{
			name: "a batch that holds the fetch offset counts whole",
			log:  batchtest.Log{plain(0, 9)},
			o:    pass.Options{Offset: 9},
			kept: []int64{0}, next: 10, complete: 1,
			counts: pass.Counts{ScannedBytes: size(plain(0, 9))},
		},
		{
			name: "a fetch offset behind everything stays",
			log:  batchtest.Log{plain(0, 9)},
			o:    pass.Options{Offset: 10},
			next: 10, epoch: -1, complete: 1,
		},
		{
			name: "a cut batch ends the scan",
			log:  batchtest.Log{plain(0, 1).LeaderEpoch(3), plain(2, 3).LeaderEpoch(4).Cut(1)},
			kept: []int64{0}, next: 2, epoch: 3, complete: 1,
			counts: pass.Counts{ScannedBytes: size(plain(0, 1))},
		},
		{
			name: "a cut batch alone moves nothing",
			log:  batchtest.Log{plain(0, 1).Cut(1)},
			next: 0, epoch: -1,
		},
		{
			name: "empty batches are passed, not kept",
			log:  batchtest.Log{batchtest.Empty(0, 4).LeaderEpoch(1), plain(5, 5).LeaderEpoch(2), batchtest.Empty(6, 9).LeaderEpoch(5)},
			kept: []int64{5}, next: 10, epoch: 5, complete: 3,
			counts: pass.Counts{ScannedBytes: size(batchtest.Empty(0, 4), plain(5, 5), batchtest.Empty(6, 9))},
		},
		{
			name: "an empty batch of an aborted transaction is dropped",
			log:  batchtest.Log{batchtest.Empty(0, 4).Txn(7), batchtest.Abort(5, 7)},
			list: []int64{7, 0},
			next: 6, complete: 2,
			counts: pass.Counts{
				AbortedBatches: 1, AbortedBytes: size(batchtest.Empty(0, 4)), ControlBatches: 1,
				ScannedBytes: size(batchtest.Empty(0, 4), batchtest.Abort(5, 7)),
			},
		},
		{
			name: "an emptied marker moves the offset and is no message",
			log:  batchtest.Log{plain(0, 0), batchtest.EmptyControl(1, 7)},
			o:    pass.Options{KeepControl: true},
			kept: []int64{0}, next: 2, complete: 2,
			counts: pass.Counts{ControlBatches: 1, ScannedBytes: size(plain(0, 0), batchtest.EmptyControl(1, 7))},
		},
		{
			name: "holes are stepped over",
			log:  batchtest.Log{plain(3, 4), plain(10, 12).Keep(11)},
			o:    pass.Options{Offset: 1},
			kept: []int64{3, 10}, next: 13, complete: 2,
			counts: pass.Counts{ScannedBytes: size(plain(3, 4), plain(10, 12).Keep(11))},
		},
		{
			name: "old messages are kept",
			log:  batchtest.Log{batchtest.MessageV0(0, 0), batchtest.MessageV1(1, 3).Codec(batchtest.Gzip)},
			kept: []int64{0, 3}, next: 4, epoch: -1, complete: 2,
			counts: pass.Counts{AbortedRecords: 0, ScannedBytes: size(batchtest.MessageV0(0, 0), batchtest.MessageV1(1, 3).Codec(batchtest.Gzip))},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res := scan(tt.o, tt.log, tt.list...)
			require.NoError(t, res.Err)
			require.Equal(t, tt.kept, bases(res))
			require.Equal(t, tt.next, res.Next)
			require.Equal(t, tt.epoch, res.NextEpoch)
			require.Equal(t, tt.complete, res.Complete)
			require.Equal(t, tt.counts, res.Counts)
			require.Empty(t, res.Anomalies)
			for _, k := range res.Kept {
				require.GreaterOrEqual(t, k.From, tt.o.Offset)
				require.LessOrEqual(t, k.From, k.Batch.LastOffset())
				require.Equal(t, k.Batch.IsControl(), k.Control)
			}
		})
	}
}

// What comes before damage counts, what comes after it does not, be it data or
// a marker that would have spoken for the data before.
func TestScanEndsAtDamage(t *testing.T) {
	first := batchtest.Data(0, 1).LeaderEpoch(4)
	behind := batchtest.Data(4, 5)
	for _, tt := range []struct {
		name   string
		second batchtest.Entry
		class  error
		base   int64
		last   int64
	}{
		{"crc", batchtest.Data(2, 3).Flip(-1), batchdecode.ErrCorrupt, 2, 3},
		{"magic", batchtest.Data(2, 3).ClaimMagic(3), batchdecode.ErrUnsupported, 2, -1},
		{"length", batchtest.Data(2, 3).ClaimLength(5), batchdecode.ErrCorrupt, 2, -1},
		{"last offset below base offset", batchtest.Data(2, 3).ClaimLastOffsetDelta(-1), batchdecode.ErrCorrupt, 2, -1},
		{"base offset below the batch before", batchtest.Data(0, 3), batchdecode.ErrCorrupt, 0, 3},
		{"base offset inside the batch before", batchtest.Data(1, 3), batchdecode.ErrCorrupt, 1, 3},
		{"control key", batchtest.ControlBatch(2, 7, []byte{0, 0, 0}, nil), batchdecode.ErrCorrupt, 2, 2},
		{"control records", batchtest.Abort(2, 7).ClaimCount(9), batchdecode.ErrCorrupt, 2, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res := scan(pass.Options{}, batchtest.Log{first, tt.second, behind})
			require.ErrorIs(t, res.Err, tt.class)
			base, last := pass.BatchOf(res.Err)
			require.Equal(t, tt.base, base)
			require.Equal(t, tt.last, last)
			require.Equal(t, []int64{0}, bases(res))
			require.EqualValues(t, 2, res.Next)
			require.EqualValues(t, 4, res.NextEpoch)
			require.Equal(t, 1, res.Complete)
			require.EqualValues(t, len(first.Bytes()), res.Counts.ScannedBytes)
		})
	}
}

func TestScanMarkerBehindDamageIsNotBelieved(t *testing.T) {
	data, broken, marker := batchtest.Data(0, 1).Txn(7), batchtest.Data(2, 2).Flip(-1), batchtest.Abort(3, 7)
	res := scan(pass.Options{}, batchtest.Log{data, broken, marker})
	require.Equal(t, []int64{0}, bases(res))
	require.Empty(t, res.Anomalies)
	res = scan(pass.Options{}, batchtest.Log{data, batchtest.Data(2, 2), marker})
	require.Equal(t, []int64{2}, bases(res), "without damage it is")
}

func TestScanSkipsCRCOnlyIfAsked(t *testing.T) {
	l := batchtest.Log{batchtest.Data(0, 1).Set(17, 1, 2, 3, 4)}
	require.ErrorIs(t, scan(pass.Options{}, l).Err, batchdecode.ErrCorrupt)
	res := scan(pass.Options{SkipCRC: true}, l)
	require.NoError(t, res.Err)
	require.EqualValues(t, 2, res.Next)
}

// KIP-320: the epoch that goes with a position is that of the batch before it.
func TestScanEpochBefore(t *testing.T) {
	l := batchtest.Log{
		batchtest.Data(0, 0).LeaderEpoch(1),
		batchtest.Data(1, 1).LeaderEpoch(2),
		batchtest.Data(2, 2).Txn(7).LeaderEpoch(3),
		batchtest.Abort(3, 7).LeaderEpoch(4),
		batchtest.Data(4, 4).LeaderEpoch(-1),
		batchtest.Data(5, 5).LeaderEpoch(6),
	}
	epochs := func(res pass.Result) (out []int32) {
		for _, k := range res.Kept {
			out = append(out, k.EpochBefore)
		}
		return out
	}
	res := scan(pass.Options{}, l, 7, 2)
	require.Equal(t, []int64{0, 1, 4, 5}, bases(res))
	require.Equal(t, []int32{-1, 1, 4, -1}, epochs(res))
	require.EqualValues(t, 6, res.NextEpoch)

	res = scan(pass.Options{Offset: 1}, l, 7, 2)
	require.Equal(t, []int32{-1, 4, -1}, epochs(res), "a batch below the fetch offset says nothing")
}

func TestScanListsAbortedBatchesIfAsked(t *testing.T) {
	l := batchtest.Log{
		batchtest.Data(0, 1).Txn(7), batchtest.Data(2, 2), batchtest.Data(3, 4).Txn(7), batchtest.Abort(5, 7),
	}
	require.Nil(t, scan(pass.Options{}, l, 7, 0).Aborted)
	res := scan(pass.Options{Aborted: true, Offset: 2}, l, 7, 0)
	require.Len(t, res.Aborted, 1, "not the one below the fetch offset")
	require.EqualValues(t, 3, res.Aborted[0].BaseOffset())
}

func TestScanAnomaliesSayWhere(t *testing.T) {
	for _, tt := range []struct {
		name string
		log  batchtest.Log
		list []int64
		kept []int64
		want []pass.Anomaly
		at   []int64 // base offset of the batch, by OffsetOf
	}{
		{
			name: "missing",
			log:  batchtest.Log{batchtest.Data(0, 0), batchtest.Data(1, 2).Txn(7), batchtest.Abort(3, 7)},
			kept: []int64{0},
			want: []pass.Anomaly{{Kind: missing, ProducerID: 7, Offset: 1, FirstOffset: -1, Batch: 1}},
			at:   []int64{1},
		},
		{
			name: "contradicted",
			log:  batchtest.Log{batchtest.Data(4, 5).Txn(7), batchtest.Commit(6, 7)},
			list: []int64{7, 1},
			kept: []int64{4},
			want: []pass.Anomaly{{Kind: contradicted, ProducerID: 7, Offset: 4, FirstOffset: 1, Batch: 0}},
			at:   []int64{4},
		},
		{
			name: "duplicate",
			log:  batchtest.Log{batchtest.Data(4, 5).Txn(7), batchtest.Abort(6, 7)},
			list: []int64{7, 4, 7, 4, 7, 4},
			want: []pass.Anomaly{{Kind: duplicate, ProducerID: 7, Offset: 4, FirstOffset: 4, Batch: -1}},
			at:   []int64{4},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var s pass.Scanner
			res := s.Scan(pass.Options{}, tt.log.Bytes(), batchtest.Aborted(tt.list...))
			require.Equal(t, tt.kept, bases(res))
			require.Equal(t, tt.want, res.Anomalies)
			for i, a := range res.Anomalies {
				require.Equal(t, tt.at[i], s.OffsetOf(a))
			}
			res = s.Scan(pass.Options{ReadUncommitted: true}, tt.log.Bytes(), batchtest.Aborted(tt.list...))
			require.Empty(t, res.Anomalies, "at read_uncommitted the list means nothing")
		})
	}
}

// An abort marker that comes after its data was delivered is found across
// responses, unless something in between may have been erased.
func TestScanAuditSpansResponses(t *testing.T) {
	data := batchtest.Log{batchtest.Data(0, 1).Txn(7)}
	marker := batchtest.Log{batchtest.Abort(2, 7)}
	run := func(second int64, change func(*pass.Audit), o pass.Options, l batchtest.Log) pass.Result {
		var s pass.Scanner
		var audit pass.Audit
		o.Audit = &audit
		require.Empty(t, s.Scan(o, data.Bytes(), nil).Anomalies)
		if change != nil {
			change(&audit)
		}
		o.Offset = second
		return s.Scan(o, l.Bytes(), nil)
	}
	res := run(2, nil, pass.Options{}, marker)
	require.Equal(t, []pass.Anomaly{{Kind: leaked, ProducerID: 7, Offset: 0, FirstOffset: -1, Batch: 0}}, res.Anomalies)

	require.Empty(t, run(2, (*pass.Audit).Clear, pass.Options{}, marker).Anomalies, "forgotten")
	require.Empty(t, run(2, nil, pass.Options{ReadUncommitted: true}, marker).Anomalies, "read_uncommitted")
	require.Empty(t, run(2, nil, pass.Options{}, batchtest.Log{batchtest.Commit(2, 7)}).Anomalies, "committed after all")
	require.Empty(t, run(2, nil, pass.Options{}, batchtest.Log{batchtest.Abort(3, 7)}).Anomalies, "a hole")
	require.Empty(t, run(2, nil, pass.Options{}, batchtest.Log{batchtest.Abort(2, 8)}).Anomalies, "another producer")

	again := batchtest.Log{data[0], marker[0]}
	res = run(2, nil, pass.Options{}, again)
	require.Equal(t, []pass.Anomaly{
		{Kind: missing, ProducerID: 7, Offset: 0, FirstOffset: -1, Batch: 0},
		{Kind: leaked, ProducerID: 7, Offset: 0, FirstOffset: -1, Batch: 1},
	}, res.Anomalies, "dropped now, but delivered before: what lies below the fetch offset is not observed again")
}

// One scanner serves many partitions: nothing of one scan may show in the next.
func TestScannerKeepsNothingBetweenScans(t *testing.T) {
	var reused pass.Scanner
	for _, s := range scenarios(t) {
		p := s.Partition()
		got := reused.Scan(pass.Options{Offset: s.Fetch, Aborted: true}, p.RecordBatches, p.AbortedTransactions)
		var fresh pass.Scanner
		want := fresh.Scan(pass.Options{Offset: s.Fetch, Aborted: true}, p.RecordBatches, p.AbortedTransactions)
		if len(want.Anomalies) == 0 {
			want.Anomalies, got.Anomalies = nil, got.Anomalies[:len(got.Anomalies):len(got.Anomalies)]
			require.Empty(t, got.Anomalies, s.Name)
			got.Anomalies = nil
		}
		require.Equal(t, want, got, s.Name)
	}
}

// A cut tail's producer, a list of any length and the number of aborted
// batches cost no memory in a scanner that has seen as much before.
func TestScanOfAbortedDataAllocatesNothing(t *testing.T) {
	var l batchtest.Log
	list := []int64{7, 0}
	for i := range int64(200) {
		l = append(l, batchtest.Data(2*i, 2*i).Txn(7), batchtest.Abort(2*i+1, 7))
		list = append(list, 7, 2*i+2)
	}
	records, aborted := l.Bytes(), batchtest.Aborted(list...)
	var s pass.Scanner
	require.Zero(t, testing.AllocsPerRun(20, func() {
		if res := s.Scan(pass.Options{}, records, aborted); res.Counts.AbortedBatches != 200 {
			t.Error("not all are aborted")
		}
	}))
}

// The Java client looks at a control key only at read_committed
// (CompletedFetch containsAbortMarker).
func TestScanReadUncommittedPassesOverControlBatches(t *testing.T) {
	l := batchtest.Log{batchtest.ControlBatch(0, 7, []byte{0, 0, 0}, nil), batchtest.Abort(1, 7).ClaimCount(9), batchtest.Data(2, 2)}
	require.ErrorIs(t, scan(pass.Options{}, l).Err, batchdecode.ErrCorrupt)
	res := scan(pass.Options{ReadUncommitted: true}, l)
	require.NoError(t, res.Err)
	require.Equal(t, []int64{2}, bases(res))
	require.EqualValues(t, 2, res.Counts.ControlBatches)
}

// A scanner lives as long as its consumer, an answer does not.
func TestScannerDoesNotHoldOnToTheBytes(t *testing.T) {
	var s pass.Scanner
	bytes := scanPart(&s)
	runtime.GC()
	require.Nil(t, bytes.Value())
	s.Scan(pass.Options{}, nil, nil)
}

// scanPart scans bytes that nobody else refers to.
func scanPart(s *pass.Scanner) weak.Pointer[[4096]byte] {
	part := new([4096]byte)
	n := copy(part[:], batchtest.Log{batchtest.Data(0, 1).Txn(7), batchtest.Abort(2, 7)}.Bytes())
	s.Scan(pass.Options{Aborted: true}, part[:n], batchtest.Aborted(7, 0))
	return weak.Make(part)
}
