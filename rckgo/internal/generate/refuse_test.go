package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"testing"

	"github.com/stretchr/testify/require"
)

// apiOf is what a package of that source exports.
func apiOf(t *testing.T, source string) api {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "kgo.go", "package kgo\n"+source, parser.ParseComments)
	require.NoError(t, err)
	pkg, err := (&types.Config{}).Check("kgo", set, []*ast.File{file}, nil)
	require.NoError(t, err)
	return api{pkg: pkg}
}

const client = `
type Client struct{}
func (*Client) Broker() *Broker { return nil }
type Broker struct { cl *Client }
`

func TestNamesThatMentionTheClientAreFound(t *testing.T) {
	tests := map[string]string{
		"parameter":          "func X(cl *Client) {}",
		"result":             "func X() (cl *Client, err error) { return nil, nil }",
		"callback":           "func X(fn func(int, *Client) error) {}",
		"callback's result":  "func X(fn func() func(*Client)) {}",
		"slice":              "func X(cls ...*Client) {}",
		"map":                "func X(cls map[string]*Client) {}",
		"map's key":          "func X(cls map[*Client]int) {}",
		"array":              "type X [2]*Client",
		"channel":            "type X chan *Client",
		"no pointer":         "type X struct { Client Client }",
		"interface":          "type X interface { OnX(cl *Client) }",
		"field":              "type X struct { OnX func(*Client) }",
		"embedded field":     "type X struct { *Client }",
		"method":             "type X struct{}; func (X) Client() *Client { return nil }",
		"pointer's method":   "type X struct{}; func (*X) Client() *Client { return nil }",
		"function type":      "type X func(*Client)",
		"variable":           "var X func(*Client) error",
		"unexported type":    "type x struct{ Client *Client }; func X() *x { return nil }",
		"unexported method":  "type x struct{}; func (x) Client() *Client { return nil }; func X() x { return x{} }",
		"type argument":      "type Y[T any] struct{}; func X() Y[*Client] { return Y[*Client]{} }",
		"alias":              "type X = func(*Client)",
		"an alias, used":     "type y = func(*Client); func X(y) {}",
		"second way to it":   "type x struct{ Client *Client }; type X struct { a x; B x }",
		"embedded interface": "type y interface { On(*Client) }; type X interface { y }",
	}
	for name, source := range tests {
		t.Run(name, func(t *testing.T) {
			a := apiOf(t, client+source)
			require.NotEmpty(t, clientIn(a.pkg.Scope().Lookup("X")))
			_, err := a.reexported()
			require.ErrorContains(t, err, "X: mentions *kgo.Client")
		})
	}
}

func TestNamesThatDoNotMentionTheClientAreLeftAlone(t *testing.T) {
	tests := map[string]string{
		"unexported field":     "type X struct { cl *Client }",
		"unexported method":    "type X struct{}; func (X) client() *Client { return nil }",
		"another name's":       "type Y struct { Client *Client }; func X(Y) {}",
		"sealed interface":     "type X interface { apply(*Client) }",
		"recursive":            "type X struct { Next *X; Of []X; f func(X) }",
		"recursive unexported": "type x struct { Next *x }; func X() *x { return nil }",
		"no client":            "func X(int, string) (map[string][]byte, error) { return nil, nil }",
	}
	for name, source := range tests {
		t.Run(name, func(t *testing.T) {
			require.Empty(t, clientIn(apiOf(t, client+source).pkg.Scope().Lookup("X")))
		})
	}
}

func TestAllThatCannotBeReexportedIsNamedAtOnce(t *testing.T) {
	_, err := apiOf(t, client+`
		func A(*Client) {}
		var B = 7
		func C[T any](T) {}
		func Fine() {}`).reexported()
	require.ErrorContains(t, err, "A: mentions")
	require.ErrorContains(t, err, "B: a variable that is no error")
	require.ErrorContains(t, err, "C: a variable cannot hold a generic function")
	require.ErrorContains(t, err, "NewClient: declared by hand, but kgo has no such name")
	require.NotContains(t, err.Error(), "Fine")
}

func TestEachKindIsRendered(t *testing.T) {
	a := apiOf(t, `
		type A int
		type B[K comparable, V any] map[K]V
		const C A = 1
		var D error
		func E() {}`)
	byHand := []name{}
	for _, id := range []string{"A", "B", "C", "D", "E"} {
		n, err := nameOf(a.pkg.Scope().Lookup(id))
		require.NoError(t, err)
		n.deprecated = id == "E"
		byHand = append(byHand, n)
	}
	source, err := render(byHand)
	require.NoError(t, err)
	for _, want := range []string{
		"\tA = kgo.A\n", "\tB[K comparable, V any] = kgo.B[K, V]\n", "const (\n\t// C is kgo's own: see [kgo.C].\n\tC = kgo.C\n", "\tD = kgo.D\n",
		"\t// E is kgo's own: see [kgo.E].\n\t//\n\t// Deprecated: kgo says so and why, see [kgo.E].\n\tE = kgo.E\n",
	} {
		require.Contains(t, string(source), want)
	}
}
