package conformance

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/readcommitted/conformance/internal/model"
	"example.com/readcommitted/internal/batchtest"
)

func TestListsThatAreWanted(t *testing.T) {
	log := batchtest.Log{
		batchtest.Data(0, 1).Txn(7), batchtest.Data(2, 2).Txn(8), batchtest.Data(3, 3),
		batchtest.Abort(4, 8), batchtest.Data(5, 5).Txn(8), batchtest.Commit(6, 8), batchtest.Abort(7, 7),
	}
	seven, eight := model.Entry{ProducerID: 7, FirstOffset: 0}, model.Entry{ProducerID: 8, FirstOffset: 2}
	for _, c := range []struct {
		name     string
		from, to int // batches that the answer has
		list     []model.Entry
		want     []model.Entry
		ok       bool
	}{
		{"exact", 0, 7, []model.Entry{seven, eight}, []model.Entry{seven, eight}, true},
		{"another order", 0, 7, []model.Entry{eight, seven}, []model.Entry{seven, eight}, true},
		{"one missing", 0, 7, []model.Entry{seven}, []model.Entry{seven, eight}, false},
		{"all missing", 0, 7, nil, []model.Entry{seven, eight}, false},
		{"one twice", 0, 7, []model.Entry{seven, eight, seven}, []model.Entry{seven, eight}, false},
		{"one too many", 0, 7, []model.Entry{seven, eight}, []model.Entry{seven}, false},
		{"one too many, of none", 5, 7, []model.Entry{eight}, nil, false},
		{"none", 5, 7, nil, nil, true},
		{"beyond the data, listed", 0, 1, []model.Entry{seven, eight}, []model.Entry{seven, eight}, true},
		{"beyond the data, trimmed", 0, 1, []model.Entry{seven}, []model.Entry{seven, eight}, true},
		{"only its marker in the answer, trimmed", 3, 7, nil, []model.Entry{eight}, true},
		{"only its marker in the answer, listed", 3, 7, []model.Entry{eight}, []model.Entry{eight}, true},
		{"shifted", 0, 7, []model.Entry{seven, {ProducerID: 8, FirstOffset: 3}}, []model.Entry{seven, eight}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			batches, _, problem := model.Parse(log.Bytes())
			require.Nil(t, problem)
			tr := bare()
			a := answer{View: &model.View{Partition: p0, List: c.list, Batches: batches[c.from:c.to]}}
			require.Equal(t, c.ok, tr.wantEntries(a, c.want...))
			require.Equal(t, c.ok, len(tr.result.Findings) == 0)
		})
	}
}
