package clientconf

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFileForms(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []setting // without file
	}{
		{"nothing", "", nil},
		{"comments and blank lines", "# a=b\n  ! c=d\n\n \t\n#", nil},
		{"equals", "client.id=me", []setting{{key: "client.id", value: "me", line: 1}}},
		{"space around", "  client.id =\t me and you  ", []setting{{key: "client.id", value: "me and you", line: 1}}},
		{"colon", "client.id: me", []setting{{key: "client.id", value: "me", line: 1}}},
		{"space only", "client.id me", []setting{{key: "client.id", value: "me", line: 1}}},
		{"second separator belongs to the value", "sasl.password==a:b=", []setting{{key: "sasl.password", value: "=a:b=", line: 1}}},
		{"empty value", "client.id=\nclient.rack = ", []setting{{key: "client.id", line: 1}, {key: "client.rack", line: 2}}},
		{"comment signs in a value", "sasl.password=a#b!c # d", []setting{{key: "sasl.password", value: "a#b!c # d", line: 1}}},
		{"line ends", "a=1\r\nb=2\rc=3\n", []setting{{key: "a", value: "1", line: 1}, {key: "b", value: "2", line: 2}, {key: "c", value: "3", line: 3}}},
		{"byte order mark", "\ufeffclient.id=me", []setting{{key: "client.id", value: "me", line: 1}}},
		{
			"continuation", "a=1, \\\n   2,\\\r\n\t3\nb=4",
			[]setting{{key: "a", value: "1, 2,3", line: 1}, {key: "b", value: "4", line: 4}},
		},
		{"a comment sign in a continuation", "a=1\\\n#2", []setting{{key: "a", value: "1#2", line: 1}}},
		{"an escaped backslash continues nothing", "a=1\\\\\nb=2", []setting{{key: "a", value: `1\`, line: 1}, {key: "b", value: "2", line: 2}}},
		{"escapes", `a=\t\n\r\f\\\=\:\#\!\"\'`, []setting{{key: "a", value: "\t\n\r\f\\=:#!\"'", line: 1}}},
		{"escapes in a key", `a\=b\:c\ d=e`, []setting{{key: "a=b:c d", value: "e", line: 1}}},
		{"unicode", `a=\u00e4\u20AC`, []setting{{key: "a", value: "ä€", line: 1}}},
		{"a pair", `a=\uD83D\uDE00.`, []setting{{key: "a", value: "😀.", line: 1}}},
		{"half a pair", `a=\uD83D.`, []setting{{key: "a", value: "\uFFFD.", line: 1}}},
		{"other backslashes are kept", `a=C:\certs\ca.pem\d`, []setting{{key: "a", value: `C:\certs\ca.pem\d`, line: 1}}},
		{"space that is escaped is kept", `a=\ b\ `, []setting{{key: "a", value: " b ", line: 1}}},
		{"utf-8", "a=pässwörd", []setting{{key: "a", value: "pässwörd", line: 1}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var r report
			got := parseFile("f", 0, []byte(tt.text), &r)
			for i := range tt.want {
				tt.want[i].file = "f"
			}
			require.NoError(t, r.err())
			require.Equal(t, tt.want, got)
		})
	}
}

func TestMalformedLines(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"no separator", "hunter2", "f:1: no value, want key=value"},
		{"no separator behind a known key", "\nsasl.password", "f:2: sasl.password: no value, want key=value"},
		{"no separator behind a name", "hunter.two", "f:1: no value, want key=value"},
		{"no key", "=hunter2", "f:1: no key, want key=value"},
		{"bad escape", `sasl.password=hunter2\u12`, `f:1: sasl.password: \u needs four hexadecimal digits`},
		{"bad escape in the key", `a\uhunt=2`, `f:1: \u needs four hexadecimal digits`},
		{"a backslash at the end", "a=1\nsasl.password=hunter2\\", `f:2: ends in a backslash, and no line follows; write \\ for a backslash`},
		{"latin-1", "sasl.password=hunter\xe4", "f:1: not text in UTF-8"},
		{"utf-16", "\xff\xfea\x00=\x00b\x00", "f:1: not text in UTF-8"},
		{
			"all of them, by line", "hunter2\na=b\n=hunter2\nhunter2",
			"f:1: no value, want key=value\nf:3: no key, want key=value\nf:4: no value, want key=value",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var r report
			parseFile("f", 0, []byte(tt.text), &r)
			require.EqualError(t, r.err(), tt.want)
		})
	}
}

func TestArgumentForms(t *testing.T) {
	var r report
	s, ok := parseArgument(` sasl.password =a\tb=c `, 0, &r)
	require.True(t, ok)
	require.Equal(t, "sasl.password", s.key)
	require.Equal(t, `a\tb=c `, s.value, "an argument has no escapes and keeps its space")

	for _, argument := range []string{"hunter2", "=hunter2", ""} {
		_, ok := parseArgument(argument, 0, &r)
		require.False(t, ok)
	}
	require.EqualError(t, r.err(), "-X: no value, want key=value\n-X: no key, want key=value\n-X: no value, want key=value")
}
