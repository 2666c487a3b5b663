package clientconf

import (
	"strconv"
	"strings"
	"unicode/utf16"
)

const badEscape = `\u needs four hexadecimal digits`

// plainEscapes are the characters that stand for themselves, or for another
// one, behind a backslash.
var plainEscapes = map[byte]byte{
	't': '\t', 'n': '\n', 'r': '\r', 'f': '\f',
	'\\': '\\', '=': '=', ':': ':', '#': '#', '!': '!', '"': '"', '\'': '\'', ' ': ' ',
}

// unescape replaces escapes. A backslash in front of anything else is kept. It
// reports false for a \u that is none.
func unescape(s string) (string, bool) {
	if !strings.Contains(s, `\`) {
		return s, true
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		next := s[i+1]
		if next == 'u' {
			r, size, ok := unicodeEscape(s[i:])
			if !ok {
				return "", false
			}
			b.WriteRune(r)
			i += size - 1
			continue
		}
		if c, known := plainEscapes[next]; known {
			b.WriteByte(c)
			i++
			continue
		}
		b.WriteByte('\\')
	}
	return b.String(), true
}

// unicodeEscape reads the \uXXXX at the front of s, or two of them that make up
// one character.
func unicodeEscape(s string) (r rune, size int, ok bool) {
	r, ok = codeUnit(s)
	if !ok {
		return 0, 0, false
	}
	if utf16.IsSurrogate(r) && len(s) > 6 {
		if low, isUnit := codeUnit(s[6:]); isUnit {
			if pair := utf16.DecodeRune(r, low); pair != '\uFFFD' {
				return pair, 12, true
			}
		}
	}
	return r, 6, true // half a pair becomes U+FFFD when it is written
}

func codeUnit(s string) (rune, bool) {
	if len(s) < 6 || s[:2] != `\u` {
		return 0, false
	}
	n, err := strconv.ParseUint(s[2:6], 16, 16)
	return rune(n), err == nil
}
