package capture_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/readcommitted/internal/kafkatest/capture"
)

const dir = "../../../testdata/captures"

// What stands below the dashes is what kmsg reads from the bytes above them,
// and the files are as Format writes them.
func TestFilesSayWhatTheirBytesHold(t *testing.T) {
	captures, err := capture.Load(os.DirFS(dir))
	require.NoError(t, err)
	for _, c := range captures {
		t.Run(c.Name, func(t *testing.T) {
			batches, tail, err := capture.Decode(c.Bytes)
			require.NoError(t, err)
			require.Equal(t, c.Batches, batches)
			require.Equal(t, c.Tail, tail)
			require.NotEmpty(t, c.Doc)
			text, err := os.ReadFile(filepath.Join(dir, c.Name+".hex"))
			require.NoError(t, err)
			require.Equal(t, string(text), string(c.Format()))
		})
	}
}

func TestParseNamesTheLineThatIsWrong(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"no dashes", "00\n", "no ---- line"},
		{"bad hex", "# doc\n0g\n----\n", "line 2"},
		{"unknown word", "00\n----\nfetched 0\n", `line 3: unknown word "fetched"`},
		{"bad number", "00\n----\nhw x\n", "line 3"},
		{"no number", "00\n----\nhw\n", "line 3"},
		{"record without batch", "----\nrecord 0\n", "line 2"},
		{"bad string", "----\nbatch 0-0 size=0 leader-epoch=0 producer=0 epoch=0 sequence=0 base-time=0 max-time=0\nrecord 0 time-delta=0 key=\"a value=null\n", "line 3"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := capture.Parse("file", []byte(test.text))
			require.ErrorContains(t, err, test.want)
		})
	}
}

func TestDecodeStopsAtWhatIsNotWhole(t *testing.T) {
	captures, err := capture.Load(os.DirFS(dir))
	require.NoError(t, err)
	whole := captures[0].Bytes
	for n := range whole {
		batches, tail, err := capture.Decode(whole[:n])
		require.NoError(t, err)
		size := tail
		for _, b := range batches {
			size += b.Size
		}
		require.Equal(t, n, size, "of the first %d bytes", n)
	}
}
