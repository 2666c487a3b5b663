package picture

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// AppendPrintable appends s to dst so that a terminal shows it and does
// nothing else: control characters, C1 controls, bidirectional overrides and
// other unprintable runes become Go escapes, bytes that are no UTF-8 become
// \xNN. Runes in keep stay as they are. Printable text, backslashes too, is
// not changed, so the result is for eyes and cannot be read back.
func AppendPrintable(dst, s []byte, keep string) []byte {
	for len(s) > 0 {
		r, size := utf8.DecodeRune(s)
		switch {
		case r == utf8.RuneError && size == 1:
			dst = fmt.Appendf(dst, `\x%02x`, s[0])
		case unicode.IsPrint(r) || contains(keep, r):
			dst = append(dst, s[:size]...)
		default:
			dst = appendEscape(dst, r)
		}
		s = s[size:]
	}
	return dst
}

// Printable is [AppendPrintable] for strings, keeping nothing.
func Printable(s string) string {
	return string(AppendPrintable(nil, []byte(s), ""))
}

func appendEscape(dst []byte, r rune) []byte {
	switch {
	case r == '\n':
		return append(dst, `\n`...)
	case r == '\r':
		return append(dst, `\r`...)
	case r == '\t':
		return append(dst, `\t`...)
	case r < 0x80:
		return fmt.Appendf(dst, `\x%02x`, r)
	case r <= 0xffff:
		return fmt.Appendf(dst, `\u%04x`, r)
	default:
		return fmt.Appendf(dst, `\U%08x`, r)
	}
}

func contains(s string, r rune) bool {
	for _, have := range s {
		if have == r {
			return true
		}
	}
	return false
}
