package main

import (
	"encoding/json"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"pgregory.net/rapid"

	"example.com/readcommitted/internal/picture"
)

func testRecord(key, value []byte, headers ...kgo.RecordHeader) *kgo.Record {
	return &kgo.Record{
		Topic: "orders", Partition: 3, Offset: 17, Timestamp: time.UnixMilli(1767319445678),
		Key: key, Value: value, Headers: headers,
		ProducerID: 4021, ProducerEpoch: 2, LeaderEpoch: 5,
	}
}

func marker(key []byte) *kgo.Record {
	r := testRecord(key, []byte{0, 0, 0, 0, 0, 1})
	r.Attrs = kgo.NewRecordAttrs(kgo.RecordAttrsOpts{Transactional: true, Control: true})
	return r
}

func TestJSONLine(t *testing.T) {
	const place = `{"topic":"orders","partition":3,"offset":17,"timestamp":"2026-01-02T02:04:05.678Z",`
	const rest = `"producer_id":4021,"producer_epoch":2,"leader_epoch":5,"transactional":`
	noTime := testRecord(nil, nil)
	noTime.Timestamp = time.UnixMilli(-1)
	for _, tt := range []struct {
		name   string
		record *kgo.Record
		want   string
	}{
		{"text", testRecord([]byte("k"), []byte(`say "hi"`)), place + `"key":"k","value":"say \"hi\"","headers":[],` + rest + "false}\n"},
		{"null is not empty", testRecord(nil, []byte{}), place + `"key":null,"value":"","headers":[],` + rest + "false}\n"},
		{"bytes", testRecord([]byte{0xff}, []byte{0xc3, 0x28}), place + `"key":"/w==","key_encoding":"base64","value":"wyg=","value_encoding":"base64","headers":[],` + rest + "false}\n"},
		{
			"headers", testRecord(nil, nil, kgo.RecordHeader{Key: "a", Value: nil}, kgo.RecordHeader{Key: "a", Value: []byte{0x80}}),
			place + `"key":null,"value":null,"headers":[{"key":"a","value":null},{"key":"a","value":"gA==","value_encoding":"base64"}],` + rest + "false}\n",
		},
		{"terminal controls", testRecord([]byte("\x1b[2J"), []byte("\u009b\u202e\U000e0041")), place + `"key":"\u001b[2J","value":"\u009b\u202e\udb40\udc41","headers":[],` + rest + "false}\n"},
		{"abort marker", marker([]byte{0, 0, 0, 0}), place + `"key":"AAAAAA==","key_encoding":"base64","value":"AAAAAAAB","value_encoding":"base64","headers":[],` + rest + `true,"control":"abort"}` + "\n"},
		{"commit marker", marker([]byte{0, 0, 0, 1}), place + `"key":"AAAAAQ==","key_encoding":"base64","value":"AAAAAAAB","value_encoding":"base64","headers":[],` + rest + `true,"control":"commit"}` + "\n"},
		{"no timestamp", noTime, `{"topic":"orders","partition":3,"offset":17,"timestamp":null,"key":null,"value":null,"headers":[],` + rest + "false}\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, string(appendJSON(nil, nil, tt.record)))
		})
	}
}

func TestControlWord(t *testing.T) {
	for want, key := range map[string][]byte{
		"abort": {0, 0, 0, 0}, "commit": {0, 0, 0, 1}, "2": {0, 0, 0, 2}, "-1": {0, 0, 0xff, 0xff}, "unreadable": {0, 0},
	} {
		require.Equal(t, want, controlWord(key))
	}
}

// Whatever a record holds, its line is valid JSON that gives the same strings
// back, and every form of it is one line without control characters.
func TestRecordLinesAreSafe(t *testing.T) {
	text := textAppender(false)
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.SliceOf(rapid.Byte()).Draw(t, "value")
		key := rapid.String().Draw(t, "key")
		record := testRecord([]byte(key), value, kgo.RecordHeader{Key: rapid.String().Draw(t, "header"), Value: value})
		line := appendJSON(nil, nil, record)
		var got struct {
			Key, Value string
			Encoding   string `json:"value_encoding"`
			Headers    []struct{ Key string }
		}
		require.NoError(t, json.Unmarshal(line, &got))
		require.Equal(t, key, got.Key)
		require.Equal(t, record.Headers[0].Key, got.Headers[0].Key)
		require.Equal(t, !utf8.Valid(value), got.Encoding == "base64")
		if got.Encoding == "" {
			require.Equal(t, string(value), got.Value)
		}
		for _, line := range [][]byte{line, text(nil, nil, record)} {
			last := len(line) - 1
			require.Equal(t, byte('\n'), line[last])
			require.Equal(t, string(line[:last]), string(picture.AppendPrintable(nil, line[:last], "\t")))
		}
	})
}

func TestTextLine(t *testing.T) {
	for _, tt := range []struct {
		name   string
		color  bool
		record *kgo.Record
		want   string
	}{
		{"plain", false, testRecord([]byte("k"), []byte("a\tb\n")), "orders/3@17\t2026-01-02T02:04:05.678Z\tk\ta\\tb\\n\n"},
		{"null", false, testRecord(nil, []byte{}), "orders/3@17\t2026-01-02T02:04:05.678Z\tnull\t\n"},
		{"headers", false, testRecord(nil, nil, kgo.RecordHeader{Key: "h", Value: []byte("1")}), "orders/3@17\t2026-01-02T02:04:05.678Z\tnull\tnull\th=1\n"},
		{"marker", false, marker([]byte{0, 0, 0, 1}), "orders/3@17\t2026-01-02T02:04:05.678Z\tcommit marker of producer 4021 epoch 2\n"},
		{"colour", true, marker([]byte{0, 0, 0, 0}), "\x1b[2morders/3@17\t2026-01-02T02:04:05.678Z\t\x1b[0m\x1b[31mabort marker of producer 4021 epoch 2\x1b[0m\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, string(textAppender(tt.color)(nil, nil, tt.record)))
		})
	}
}

func TestFormatEscapesOnlyForTerminals(t *testing.T) {
	partition := &kgo.FetchPartition{LastStableOffset: 20, HighWatermark: 30}
	record := testRecord([]byte("k"), []byte("\x1b[2J\r\n"))
	for terminal, want := range map[bool]string{
		false: "17 20 30\t\x1b[2J\r\n\n",
		true:  "17 20 30\t\\x1b[2J\\r\n\n",
	} {
		form, err := formatAppender(`%o %| %]\t%v\n`, terminal)
		require.NoError(t, err)
		require.Equal(t, want, string(form(nil, partition, record)))
	}
	_, err := formatAppender("%Z", false)
	var usage *usageError
	require.ErrorAs(t, err, &usage)
}
