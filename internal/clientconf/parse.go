package clientconf

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// setting is one property as it was given.
type setting struct {
	key, value string
	file       string // "" for an argument
	line       int    // of the key, from 1
	rank       int    // of the source, see [Problem]
}

// space is what separates a key from its value and is dropped around both.
const space = " \t\f"

// parseFile reads the lines of a file into settings. What is wrong with a line
// goes to r, without the line's text: it may be part of a secret.
func parseFile(file string, rank int, text []byte, r *report) []setting {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	var settings []setting
	lines := splitLines(string(text))
	for i := 0; i < len(lines); i++ {
		s := setting{file: file, line: i + 1, rank: rank}
		line := strings.TrimLeft(lines[i], space)
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		for continued(line) && i+1 < len(lines) {
			i++
			line = line[:len(line)-1] + strings.TrimLeft(lines[i], space)
		}
		if problem := s.parse(line); problem != "" {
			r.add(s, "", "%s", problem)
			continue
		}
		settings = append(settings, s)
	}
	return settings
}

// splitLines cuts at \n, \r\n and \r. What follows the last one is no line if
// it is empty.
func splitLines(text string) []string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// continued reports whether a line ends in a backslash that is not escaped.
func continued(line string) bool { return trailingBackslashes(line)%2 == 1 }

func trailingBackslashes(s string) int {
	return len(s) - len(strings.TrimRight(s, `\`))
}

// parse fills in key and value, or says what is wrong with the line.
func (s *setting) parse(line string) string {
	switch {
	case !utf8.ValidString(line) || strings.ContainsRune(line, 0):
		return "not text in UTF-8"
	case continued(line):
		return `ends in a backslash, and no line follows; write \\ for a backslash`
	}
	key, value, separated := cutKey(line)
	key, ok := unescape(key)
	if !ok {
		return badEscape
	}
	if !separated {
		s.key = knownKey(key)
		return "no value, want key=value"
	}
	if key == "" {
		return "no key, want key=value"
	}
	s.key = shownKey(key)
	if s.value, ok = unescape(trimRight(value)); !ok {
		return badEscape
	}
	s.key = key
	return ""
}

// cutKey cuts a line at the first separator that is not escaped.
func cutKey(line string) (key, value string, separated bool) {
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '=', ':', ' ', '\t', '\f':
			value = strings.TrimLeft(line[i:], space)
			if value != "" && (value[0] == '=' || value[0] == ':') {
				return line[:i], strings.TrimLeft(value[1:], space), true
			}
			return line[:i], value, value != ""
		}
	}
	return line, "", false
}

// trimRight drops space behind a value, but not one that is escaped.
func trimRight(value string) string {
	trimmed := strings.TrimRight(value, space)
	if trimmed != value && continued(trimmed) {
		return value[:len(trimmed)+1]
	}
	return trimmed
}

// parseArgument reads a key=value from a command line, where no escapes are
// needed: the value is taken as it stands.
func parseArgument(argument string, rank int, r *report) (setting, bool) {
	key, value, separated := strings.Cut(argument, "=")
	s := setting{key: strings.Trim(key, space), value: value, rank: rank}
	switch {
	case !separated:
		s.key = knownKey(s.key)
		r.add(s, "", "no value, want key=value")
		return s, false
	case s.key == "":
		r.add(s, "", "no key, want key=value")
		return s, false
	}
	return s, true
}
