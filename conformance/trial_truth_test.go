package conformance

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/readcommitted/conformance/internal/model"
)

// truthOf is 0 plain | 1 p7 aborted | 2 plain | 3 abort p7 | 4 plain, and open
// data from 5 on.
func truthOf(t *testing.T) truth {
	t.Helper()
	var batches []model.Batch
	offset := int64(0)
	for _, w := range []model.Write{
		{ProducerID: -1}, {ProducerID: 7, Transactional: true}, {ProducerID: -1}, {}, {ProducerID: -1}, {ProducerID: 8, Transactional: true},
	} {
		w.Values = [][]byte{{byte('a' + offset)}}
		raw, err := w.Encode()
		require.NoError(t, err)
		parsed, _, problem := model.Parse(raw)
		require.Nil(t, problem)
		b := parsed[0]
		b.Base, b.Last = offset, offset
		if offset == 3 {
			b.ProducerID, b.Attributes, b.Kind = 7, 1<<4|1<<5, model.AbortMarker
		}
		batches = append(batches, b)
		offset++
	}
	l := model.NewLog(model.Partition{Topic: "t"}, 0, offset, batches)
	w := truth{log: l, isolation: model.ReadCommitted, end: l.LSO()}
	offsets, err := l.Visible(0, w.end)
	require.NoError(t, err)
	w.records, err = recordsAt(l.Batches, offsets)
	require.NoError(t, err)
	return w
}

func TestDifferencesFromTheTruth(t *testing.T) {
	w := truthOf(t)
	record := func(offset int64) Delivered { return Delivered{Offset: offset, Value: []byte{byte('a' + offset)}} }
	for _, test := range []struct {
		name   string
		from   int64
		got    []Delivered
		offset int64
		what   string
		kind   kind
		short  bool
	}{
		{"an aborted record", 0, []Delivered{record(0), record(1), record(2), record(4)}, 1, "offset 1, aborted, is handed out", tooMuch, false},
		{"a marker", 0, []Delivered{record(0), record(2), record(3), record(4)}, 3, "offset 3, control, is handed out", tooMuch, false},
		{"an open record", 0, []Delivered{record(0), record(2), record(4), record(5)}, 5, "offset 5, open and at or above the bound 5, is handed out", tooMuch, false},
		{"an offset the log has not", 0, []Delivered{record(0), record(2), record(4), record(9)}, 9, "offset 9, where the log has nothing, is handed out", tooMuch, false},
		{"a record before the start", 1, []Delivered{record(0), record(2), record(4)}, 0, "offset 0, before the offset asked for, is handed out", tooMuch, false},
		{"a lost record", 0, []Delivered{record(0), record(4)}, 2, "offset 2, plain, is missing", tooLittle, false},
		{"an early end", 0, []Delivered{record(0), record(2)}, 4, "offset 4, plain, is missing", tooLittle, true},
		{"nothing", 0, nil, 0, "offset 0, plain, is missing", tooLittle, true},
		{"a record twice", 0, []Delivered{record(0), record(0), record(2), record(4)}, 0, "offset 0 comes after offset 0", otherwise, false},
		{"records out of order", 0, []Delivered{record(0), record(2), record(0)}, 0, "offset 0 comes after offset 2", otherwise, false},
		{"another value", 0, []Delivered{{Offset: 0, Value: []byte("z")}, record(2), record(4)}, 0, "offset 0 has another key or value", otherwise, false},
		{"no key for null", 0, []Delivered{{Offset: 0, Key: []byte{}, Value: []byte("a")}, record(2), record(4)}, 0, "offset 0 has another key or value", otherwise, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, &difference{test.offset, test.what, test.kind, test.short}, w.from(test.from).differs(test.got))
		})
	}
	require.Nil(t, w.differs([]Delivered{record(0), record(2), record(4)}))
	require.Nil(t, w.from(3).differs([]Delivered{record(4)}))
	require.Nil(t, w.from(5).differs(nil))
	require.False(t, w.closed())
}
