package clientconf

import (
	"fmt"
	"strings"
)

// parseJaas reads the one entry of a sasl.jaas.config: a login module, a flag,
// and options that end with a semicolon. What is wrong is said without a word
// of the text.
func parseJaas(text, mechanism string) (c credentials, problem string) {
	t := tokens{rest: text}
	module, flag := t.next(), t.next()
	if problem := checkModule(module, mechanism); problem != "" {
		return c, problem
	}
	if !isFlag(flag) {
		return c, "want a flag such as required behind the login module"
	}
	options := make(map[string]string)
	for {
		name := t.next()
		if name.kind == semicolon {
			break
		}
		equals, value := t.next(), t.next()
		if name.kind != word || equals.kind != equalsSign || value.kind != word && value.kind != quoted {
			return c, `want options such as username="..." password="..." and a semicolon at the end`
		}
		options[name.text] = value.text
	}
	if t.next().kind != end {
		return c, "want one login module, and nothing behind its semicolon"
	}
	c = credentials{user: options["username"], password: options["password"], token: strings.EqualFold(options["tokenauth"], "true")}
	switch {
	case c.user == "":
		return c, "the login module has no username"
	case c.password == "":
		return c, "the login module has no password"
	}
	return c, ""
}

// checkModule compares the login module, however it was repackaged, with the
// mechanism.
func checkModule(module token, mechanism string) string {
	if module.kind != word {
		return "want a login module, such as org.apache.kafka.common.security.plain.PlainLoginModule"
	}
	want := "ScramLoginModule"
	if mechanism == "PLAIN" {
		want = "PlainLoginModule"
	}
	name := module.text[strings.LastIndexByte(module.text, '.')+1:]
	switch name {
	case want:
		return ""
	case "PlainLoginModule", "ScramLoginModule", "OAuthBearerLoginModule", "Krb5LoginModule", "IAMLoginModule":
		return fmt.Sprintf("%s does not go with sasl.mechanism %s", name, mechanism)
	}
	return fmt.Sprintf("want %s for sasl.mechanism %s", want, mechanism)
}

func isFlag(t token) bool {
	switch strings.ToLower(t.text) {
	case "required", "requisite", "sufficient", "optional":
		return t.kind == word
	}
	return false
}

type tokenKind int

const (
	end tokenKind = iota
	word
	quoted
	equalsSign
	semicolon
	broken // a quote that is never closed
)

type token struct {
	kind tokenKind
	text string
}

// tokens cuts a JAAS entry into words.
type tokens struct{ rest string }

func (t *tokens) next() token {
	t.rest = strings.TrimLeft(t.rest, " \t\r\n\f")
	if t.rest == "" {
		return token{kind: end}
	}
	switch c := t.rest[0]; c {
	case '=':
		t.rest = t.rest[1:]
		return token{kind: equalsSign}
	case ';':
		t.rest = t.rest[1:]
		return token{kind: semicolon}
	case '"', '\'':
		return t.quote(c)
	}
	n := strings.IndexAny(t.rest, " \t\r\n\f=;\"'")
	if n < 0 {
		n = len(t.rest)
	}
	text := t.rest[:n]
	t.rest = t.rest[n:]
	return token{word, text}
}

// quote reads up to the closing quote. A backslash makes the next character an
// ordinary one.
func (t *tokens) quote(mark byte) token {
	var b strings.Builder
	for i := 1; i < len(t.rest); i++ {
		switch c := t.rest[i]; c {
		case mark:
			t.rest = t.rest[i+1:]
			return token{quoted, b.String()}
		case '\\':
			if i++; i < len(t.rest) {
				b.WriteByte(escaped(t.rest[i]))
			}
		default:
			b.WriteByte(c)
		}
	}
	t.rest = ""
	return token{kind: broken}
}

func escaped(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 't':
		return '\t'
	case 'r':
		return '\r'
	}
	return c
}
