package batchtest

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestLineIsTheBuildersEntry(t *testing.T) {
	headers := []kmsg.Header{{Key: "a", Value: []byte("x")}, {Key: "b", Value: []byte{}}, {Key: "c"}}
	tests := []struct {
		line string
		want Entry
	}{
		{"batch 0-1 producer=7 txn codec=lz4", Data(0, 1).Txn(7).Codec(LZ4)},
		{"batch 3 producer=7 epoch=2 sequence=5 leader-epoch=4", Data(3, 3).Idempotent(7).Epoch(2).Sequence(5).LeaderEpoch(4)},
		{"batch 0-9 records=1,4-5 horizon=9", Data(0, 9).Keep(1, 4, 5).DeleteHorizon(9)},
		{"batch 0 append-time=9 size=100 trailing=2", Data(0, 0).LogAppendTime(9).Size(100).Trailing(2)},
		{"batch 0 headers=a:x,b:,c", Data(0, 0).Each(func(r Record) Record { r.Headers = headers; return r })},
		{"batch 0 key=null value=empty", Data(0, 0).With(Record{Timestamp: Timestamp(0), Value: []byte{}})},
		{"batch 0 timestamps=5", Data(0, 0).With(Record{Timestamp: 5, Key: Key(0), Value: Value(0)})},
		{"batch 0-1 count=-1 last-delta=-1 magic=3", Data(0, 1).ClaimCount(-1).ClaimLastOffsetDelta(-1).ClaimMagic(3)},
		{"batch 0 length=5 cut=2", Data(0, 0).ClaimLength(5).Cut(2)},
		{"batch 0 flip=-3 fix-crc", Data(0, 0).Flip(-3).FixCRC()},
		{"batch 0 set=30:ffee", Data(0, 0).Set(30, 0xff, 0xee)},
		{"batch 0 keep=20", Raw(Data(0, 0).Bytes()[:20])},
		{"batch 0-1 spoil=record-length:1", Data(0, 1).Spoil(FaultLength, 1)},
		{"batch 0 codec=6 payload=0102", Data(0, 0).Codec(6).Payload([]byte{1, 2})},
		{"empty 0-9 producer=1 txn", Empty(0, 9).Txn(1)},
		{"empty 4 producer=1 txn control", EmptyControl(4, 1)},
		{"abort 4 producer=1", Abort(4, 1)},
		{"commit 4 epoch=3 producer=1", Commit(4, 1).Epoch(3)},
		{"abort 4 producer=1 coordinator-epoch=8", Marker(4, 1, TypeAbort, 8)},
		{"control 4 producer=1 type=2", Marker(4, 1, 2, 0)},
		{"control 4 producer=1 key=000102 value=null", ControlBatch(4, 1, []byte{0, 1, 2}, nil)},
		{"message 4 magic=0", MessageV0(4, 4)},
		{"message 4-9 magic=1 codec=gzip records=4,9 flip=-1", MessageV1(4, 9).Codec(Gzip).Keep(4, 9).Flip(-1)},
		{"message 4 flip=-1 fix-crc", Raw(FixCRC(MessageV1(4, 4).Flip(-1).Bytes()))},
		{"raw 00ff 01", Raw{0, 0xff, 1}},
	}
	for _, tt := range tests {
		t.Run(tt.line, func(t *testing.T) {
			words := strings.Fields(tt.line)
			got, err := parseEntry(words[0], words[1:])
			require.NoError(t, err)
			require.Equal(t, tt.want.Bytes(), got.Bytes())
		})
	}
}

const good = `# what it catches
# and where that is known from
fetch      1
limit      500
log-start  1
lso        6
hw         9
aborted    producer=7 first=0
aborted    producer=8 first=-1

batch      0-3  producer=7 txn
# a remark in the log
abort      4    producer=7
batch      5    producer=8 txn
----
visible            5
next               6
uncommitted        1-3 5
uncommitted-next   8
epoch              0
timestamps         1700000000005
error              corrupt base=6
uncommitted-error  none
anomaly            missing producer=7
anomaly            duplicate producer=8
kgo                differs committed "a # reason"
`

func TestParseReadsEveryLine(t *testing.T) {
	s, err := Parse("dir/a-name.txt", good)
	require.NoError(t, err)
	log := Log{Data(0, 3).Txn(7), Abort(4, 7), Data(5, 5).Txn(8)}
	s.log, s.sent = nil, nil
	require.Equal(t, Scenario{
		Name: "a-name", Doc: "what it catches and where that is known from",
		Fetch: 1, Limit: 500, Records: log.Bytes(), Aborted: Aborted(7, 0, 8, -1),
		LogStartOffset: 1, LastStableOffset: 6, HighWatermark: 9,
		Visible: []int64{5}, Next: 6, ErrClass: Corrupt, ErrBase: 6,
		Anomalies: []Anomaly{{"missing", 7}, {"duplicate", 8}}, Timestamps: []int64{1700000000005},
		Uncommitted: []int64{1, 2, 3, 5}, UncommittedNext: 8, KgoDiffers: "a # reason",
	}, s)
}

func TestParseFillsInDefaults(t *testing.T) {
	s, err := Parse("f.txt", "# x\nbatch 0-1\n----\nvisible none\nnext 2\nuncommitted 0-1\nerror toolarge base=4\n")
	require.NoError(t, err)
	require.Nil(t, s.Visible)
	require.Equal(t, int64(2), s.UncommittedNext)
	require.Equal(t, int64(2), s.HighWatermark)
	require.Equal(t, int64(2), s.LastStableOffset)
	require.Equal(t, TooLarge, s.UncommittedErrClass)
	require.Equal(t, int64(4), s.UncommittedErrBase)
	require.Equal(t, EpochUnstated, s.Epoch)
	require.NotNil(t, s.Aborted)
	require.Empty(t, s.Aborted)
	require.Equal(t, s.Records, s.Partition().RecordBatches)
}

func TestParseNamesFileAndLine(t *testing.T) {
	head, result := "# x\n", "----\nvisible none\nnext 0\nuncommitted none\n"
	tests := []struct {
		name, text, want string
	}{
		{"unknown line above", head + "fetsch 1\n" + result, "f.txt:2: fetsch: unknown line"},
		{"fetch without a number", head + "fetch\n" + result, "f.txt:2: fetch: takes one number"},
		{"unknown line below", head + result + "visibel 1\n", "f.txt:6: visibel: unknown line"},
		{"unknown attribute", head + "batch 0 txm\n" + result, `f.txt:2: batch: unknown attribute "txm"`},
		{"attribute of another kind", head + "abort 0 producer=1 codec=lz4\n" + result, "f.txt:2: abort: unknown attribute"},
		{"marker without producer", head + "abort 0\n" + result, "f.txt:2: abort: abort needs producer="},
		{"empty range", head + "batch 3-2\n" + result, "f.txt:2: batch: range"},
		{"endless range", head + "batch 0-9223372036854775806\n" + result, "f.txt:2: batch: range"},
		{"last offset of all", head + "batch 9223372036854775807\n" + result, "f.txt:2: batch: range"},
		{"number too wide", head + "batch 0 epoch=32768\n" + result, "f.txt:2: batch: epoch:"},
		{"unknown codec", head + "batch 0 codec=lzo\n" + result, "f.txt:2: batch: codec: unknown codec"},
		{"too many bytes", head + "batch 0-1000 size=1000000\n" + result, "f.txt:2: batch: size:"},
		{"negative trailing", head + "batch 0 trailing=-1\n" + result, "f.txt:2: batch: trailing:"},
		{"faults record out of range", head + "batch 0 spoil=record-body:1\n" + result, "f.txt:2: batch: spoil: no record 1"},
		{"types and offsets", head + "control 0-1 producer=1 type=2\n" + result, "f.txt:2: control: type: 1 types for 2"},
		{"messages without codec", head + "message 0-1 magic=1\n" + result, "f.txt:2: message: a message holds"},
		{"flag with a value", head + "batch 0 txn=1\n" + result, "f.txt:2: batch: txn: takes no value"},
		{"second fetch", head + "fetch 1\nfetch 1\n" + result, "f.txt:3: second fetch line"},
		{"second visible", head + result + "visible 1\n", "f.txt:6: second visible line"},
		{"second dashes", head + result + "----\n", "f.txt:6: second line of dashes"},
		{"entry after null", head + "aborted null\naborted producer=1 first=0\n" + result, "f.txt:3: aborted: entries after null"},
		{"half an entry", head + "aborted producer=1\n" + result, "f.txt:2: aborted: needs producer= and first="},
		{"unknown class", head + result + "error damaged base=1\n", "f.txt:6: error: unknown class"},
		{"unknown anomaly", head + result + "anomaly odd producer=1\n", "f.txt:6: anomaly: unknown kind"},
		{"difference without reason", head + result + "kgo differs\n", "f.txt:6: kgo: needs a reason"},
		{"no comment", "batch 0\n" + result, "f.txt: first line"},
		{"no result", head + "batch 0\n", "f.txt: no visible line"},
		{"timestamps of nothing", head + result + "timestamps 5\n", "f.txt: 1 timestamps for 0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse("f.txt", tt.text)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestLoadReportsEveryFile(t *testing.T) {
	_, err := Load(fstest.MapFS{"a.txt": {Data: []byte("x\n")}, "b.txt": {Data: []byte("# x\ny\n")}, "README.md": {}})
	require.ErrorContains(t, err, "a.txt:1")
	require.ErrorContains(t, err, "b.txt:2")
	_, err = Load(fstest.MapFS{})
	require.Error(t, err)
}

func FuzzParse(f *testing.F) {
	f.Add(good)
	for _, line := range []string{
		"batch 0-3 codec=zstd spoil=header-key:2 trailing=3 flip=70 set=-1:00 fix-crc cut=3 length=-1",
		"batch 0-1 timestamps=5,-1 append-time=3 headers=a:x,: records=none payload=00 keep=30 fix-crc",
		"control 4-5 producer=1 type=0,9 value=00 magic=1 fix-crc", "message 0-9 magic=0 codec=snappy records=3-4 flip=2",
		"empty 0-9 control txn count=3 last-delta=-9", "raw 00",
	} {
		f.Add("# x\n" + line + "\n----\nvisible none\nnext 0\nuncommitted none\n")
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse("f.txt", text)
		if err != nil {
			require.ErrorContains(t, err, "f.txt")
			return
		}
		require.NotEmpty(t, s.Doc)
		again, err := Parse("f.txt", text)
		require.NoError(t, err)
		require.Equal(t, s.Records, again.Records)
	})
}
