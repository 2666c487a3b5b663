package picture_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"example.com/readcommitted/internal/picture"
)

var update = flag.Bool("update", false, "write the golden files anew")

// logs are partitions described as a test reader would: one call per record.
var logs = map[string]func() picture.Timeline{
	"every-state": func() picture.Timeline {
		b := picture.NewBuilder("orders", 3, 0)
		b.Name(7, "billing")
		data(b, -1, 0, 1, 2, 3)
		data(b, 7, 4, 5, 6)
		b.Marker(7, 7, 1)
		data(b, 8, 8)
		data(b, 7, 9, 10)
		data(b, 8, 11)
		b.Marker(12, 8, 0)
		data(b, 7, 13)
		b.Marker(14, 7, 1)
		data(b, 9, 15, 16)
		b.Marker(17, 9, 5)
		data(b, 9, 18)
		data(b, -1, 19)
		return b.Timeline(20, picture.Mark{Name: "LSO", Offset: 15}, picture.Mark{Name: "next", Offset: 15}, picture.Mark{Name: "HW", Offset: 20})
	},
	"scaled": func() picture.Timeline {
		b := picture.NewBuilder("orders", 0, 1003)
		for i := int64(0); i < 30; i++ {
			from := 1003 + i*20
			for o := from; o < from+19; o++ {
				b.Record(o, 7+i%2, true)
			}
			b.Marker(from+19, 7+i%2, int16(i/2%2))
		}
		return b.Timeline(1700, picture.Mark{Name: "LSO", Offset: 1603}, picture.Mark{Name: "HW", Offset: 1700})
	},
	"empty": func() picture.Timeline {
		return picture.NewBuilder("orders", 0, 12).Timeline(12, picture.Mark{Name: "LSO", Offset: 12})
	},
	"hostile-names": func() picture.Timeline {
		b := picture.NewBuilder("orders\x1b[2J", 0, 0)
		b.Name(1, "a\x1b]0;owned\x07\nb")
		b.Name(2, strings.Repeat("long", 30))
		data(b, 1, 0, 1)
		data(b, 2, 2, 3)
		return b.Timeline(4, picture.Mark{Name: strings.Repeat("group", 40), Offset: 2})
	},
	"marker-without-data": func() picture.Timeline {
		b := picture.NewBuilder("orders", 0, 40)
		b.Marker(40, 7, 0)
		data(b, 7, 43)
		b.Marker(44, 7, 1)
		return b.Timeline(45)
	},
}

func data(b *picture.Builder, producer int64, offsets ...int64) {
	for _, o := range offsets {
		b.Record(o, producer, producer >= 0)
	}
}

func TestRenderMatchesGolden(t *testing.T) {
	for name, log := range logs {
		for suffix, opts := range map[string]picture.Options{"": {}, "-color": {Color: true, Width: 60}} {
			t.Run(name+suffix, func(t *testing.T) {
				var b bytes.Buffer
				require.NoError(t, picture.Render(&b, log(), opts))
				file := filepath.Join("testdata", name+suffix+".golden")
				if *update {
					require.NoError(t, os.WriteFile(file, b.Bytes(), 0o644))
				}
				want, err := os.ReadFile(file)
				require.NoError(t, err)
				require.Equal(t, string(want), b.String())
			})
		}
	}
}

func TestTimelineSurvivesJSON(t *testing.T) {
	for name, log := range logs {
		t.Run(name, func(t *testing.T) {
			want := log()
			raw, err := json.Marshal(want)
			require.NoError(t, err)
			var got picture.Timeline
			require.NoError(t, json.Unmarshal(raw, &got))
			require.Equal(t, picture.TimelineSchema, got.Schema)
			var a, b bytes.Buffer
			require.NoError(t, picture.Render(&a, want, picture.Options{}))
			require.NoError(t, picture.Render(&b, got, picture.Options{}))
			require.Equal(t, a.String(), b.String())
		})
	}
}

func TestBuilderKeepsTransactionsApart(t *testing.T) {
	b := picture.NewBuilder("orders", 0, 0)
	data(b, 7, 0, 1)
	data(b, 8, 2)
	data(b, 7, 3)
	b.Marker(4, 7, 0)
	data(b, 7, 5)
	b.Marker(6, 8, 1)
	got := b.Timeline(0).Rows
	require.Equal(t, []picture.Row{
		{Name: "producer 7", ProducerID: 7, Bars: []picture.Bar{
			{State: picture.Aborted, Data: []picture.Span{{First: 0, Last: 1}, {First: 3, Last: 3}}, MarkerOffset: 4},
			{State: picture.Open, Data: []picture.Span{{First: 5, Last: 5}}, MarkerOffset: -1},
		}},
		{Name: "producer 8", ProducerID: 8, Bars: []picture.Bar{
			{State: picture.Committed, Data: []picture.Span{{First: 2, Last: 2}}, MarkerOffset: 6},
		}},
	}, got)
}

// Whatever the log, a drawing fits its width, holds no control character but
// line ends, and never panics.
func TestRenderFitsItsWidth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		offset := rapid.Int64Range(0, 1<<50).Draw(t, "start")
		b := picture.NewBuilder(rapid.StringN(0, 6, -1).Draw(t, "topic"), 0, offset)
		b.Name(1, rapid.String().Draw(t, "name"))
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			offset += rapid.Int64Range(0, 50).Draw(t, "gap")
			producer := rapid.Int64Range(-1, 3).Draw(t, "producer")
			if producer >= 0 && rapid.IntRange(0, 3).Draw(t, "marker") == 0 {
				b.Marker(offset, producer, int16(rapid.IntRange(0, 2).Draw(t, "type")))
			} else {
				b.Record(offset, producer, producer >= 0)
			}
			offset++
		}
		mark := picture.Mark{Name: rapid.String().Draw(t, "mark"), Offset: offset - rapid.Int64Range(-5, 100).Draw(t, "at")}
		width := rapid.IntRange(40, 200).Draw(t, "width")
		var out bytes.Buffer
		require.NoError(t, picture.Render(&out, b.Timeline(offset, mark), picture.Options{Width: width}))
		for i, line := range strings.Split(out.String(), "\n") {
			if i > 0 { // the title is never folded: a topic's name is worth more than the width
				require.LessOrEqual(t, utf8.RuneCountInString(line), width, line)
			}
			require.Equal(t, picture.Printable(line), line)
		}
	})
}

func TestPrintableStopsTerminalControl(t *testing.T) {
	for name, tt := range map[string]struct{ in, want string }{
		"plain":          {"order 7: ü 日本", "order 7: ü 日本"},
		"escape":         {"\x1b[31mred", `\x1b[31mred`},
		"bell and del":   {"\a\x7f", `\x07\x7f`},
		"line ends":      {"a\r\nb\tc", `a\r\nb\tc`},
		"C1 control":     {"\u009b2J", `\u009b2J`},
		"bidi override":  {"\u202eabc", `\u202eabc`},
		"not UTF-8":      {"\xff\xc2", `\xff\xc2`},
		"tag character":  {"\U000e0041", `\U000e0041`},
		"real U+FFFD":    {"\ufffd", "\ufffd"},
		"backslash kept": {`a\b`, `a\b`},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tt.want, picture.Printable(tt.in)) })
	}
	require.Equal(t, "a\nb\\x1b", string(picture.AppendPrintable(nil, []byte("a\nb\x1b"), "\n")))
}
