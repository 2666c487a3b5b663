package rckgo_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/rcconsumer"
	"example.com/readcommitted/rckgo"
)

// options are all of kgo's.
func options() map[string]option {
	all := maps.Clone(consumerOptions)
	maps.Copy(all, clientOptions)
	return all
}

// function is the name of an option's function: one value of it may have a fate
// of its own.
func function(name string) string {
	name, _, _ = strings.Cut(name, "(")
	return name
}

// list is an option with what it needs.
func (o option) list(more ...kgo.Opt) []kgo.Opt {
	return append(append([]kgo.Opt{kgo.SeedBrokers("127.0.0.1:1")}, o.with...), more...)
}

func TestEveryOptionIsClassified(t *testing.T) {
	want := optionFunctions(t)
	require.Greater(t, len(want), 90)
	got := make(map[string]bool)
	for name := range options() {
		got[function(name)] = true
	}
	for name := range want {
		require.True(t, got[name], "%s is new in kgo: decide what becomes of it", name)
	}
	require.Equal(t, want, got, "an option that is classified is gone")
}

// optionFunctions are the functions of kgo that return an option.
func optionFunctions(t *testing.T) map[string]bool {
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Dir}}", "github.com/twmb/franz-go/pkg/kgo").Output()
	require.NoError(t, err)
	names := make(map[string]bool)
	eachFile(t, strings.TrimSpace(string(dir)), func(file *ast.File) {
		for _, decl := range file.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || fn.Recv != nil || !fn.Name.IsExported() || fn.Type.Results.NumFields() != 1 {
				continue
			}
			result, ok := fn.Type.Results.List[0].Type.(*ast.Ident)
			if ok && ast.IsExported(result.Name) && strings.HasSuffix(result.Name, "Opt") {
				names[fn.Name.Name] = true
			}
		}
	})
	return names
}

// eachFile parses the files of a package, without its tests.
func eachFile(t *testing.T, dir string, fn func(*ast.File)) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		fn(file)
	}
}

// An option is honoured if the consumer reads it, and read if it is honoured,
// refused or replaced.
func TestHonouredIsWhatTheConsumerReads(t *testing.T) {
	want := make(map[string]bool)
	for name, o := range options() {
		if o.fate != leftToKgo {
			want[function(name)] = true
		}
	}
	got := make(map[string]bool)
	eachFile(t, "../rcconsumer", func(file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			if name := readOption(n); name != "" {
				got[name] = true
			}
			return true
		})
	})
	require.Equal(t, slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got)))
}

// readOption is the name of the option of kgo that is read by a call of
// rcconsumer's value[T](client, kgo.Name).
func readOption(n ast.Node) string {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) != 2 {
		return ""
	}
	generic, ok := call.Fun.(*ast.IndexExpr)
	if !ok {
		return ""
	}
	fn, ok := generic.X.(*ast.Ident)
	if !ok || fn.Name != "value" {
		return ""
	}
	option, ok := call.Args[1].(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	return option.Sel.Name
}

func TestOptionsReachTheConsumerAndTheClientUnderneath(t *testing.T) {
	for name, o := range options() {
		if o.fate != honoured && o.fate != leftToKgo {
			continue
		}
		t.Run(name, func(t *testing.T) {
			plain, err := kgo.NewClient(o.list(o.opt)...)
			require.NoError(t, err)
			defer plain.Close()
			c, err := rckgo.NewClient(o.list(o.opt)...)
			require.NoError(t, err)
			defer c.Close()
			want := plain.OptValues(name)
			require.NotEmpty(t, want)
			if name == "WithContext" { // each makes one of its own
				require.Equal(t, 3, c.Context().Value(noPool{}))
				return
			}
			requireSame(t, want, c.OptValues(name))
			if o.fate == leftToKgo {
				requireSame(t, want, c.Kgo().OptValues(name))
			}
			if name != "RequireStableFetchOffsets" && name != "FetchIsolationLevel" { // always on, and kgo's default
				unset, err := kgo.NewClient(o.list()...)
				require.NoError(t, err)
				defer unset.Close()
				require.NotEqual(t, fmt.Sprint(unset.OptValues(name)), fmt.Sprint(want), "the value here is no default")
			}
		})
	}
}

// requireSame compares values of options; functions by where they are.
func requireSame(t *testing.T, want, got []any) {
	t.Helper()
	require.Len(t, got, len(want))
	for i := range want {
		w, g := reflect.ValueOf(want[i]), reflect.ValueOf(got[i])
		if w.Kind() == reflect.Func {
			require.Equal(t, w.Type(), g.Type())
			require.Equal(t, w.Pointer(), g.Pointer())
			continue
		}
		require.IsType(t, want[i], got[i])
		require.Equal(t, fmt.Sprintf("%#v", want[i]), fmt.Sprintf("%#v", got[i])) // some have functions inside
	}
}

func TestRefusedOptionsAreNamedWithWhatToUseInstead(t *testing.T) {
	for name, o := range options() {
		if o.fate != refused && o.fate != replaced {
			continue
		}
		t.Run(name, func(t *testing.T) {
			c, err := rckgo.NewClient(o.list(o.opt)...)
			if c != nil {
				c.Close()
			}
			require.ErrorContains(t, err, name+":")
			require.NotEmpty(t, o.instead)
			require.ErrorContains(t, err, o.instead)
			if o.fate == replaced {
				require.ErrorContains(t, err, o.instead+name)
				c, err := rckgo.NewClient(o.list(o.ours)...)
				require.NoError(t, err)
				c.Close()
			}
		})
	}
}

// kgo itself says what the options of share groups are for.
func TestOptionsOfShareGroupsAreRefusedWithoutOneToo(t *testing.T) {
	for name, opt := range map[string]kgo.Opt{
		"ShareMaxRecords": kgo.ShareMaxRecords(3), "ShareMaxRecordsStrict": kgo.ShareMaxRecordsStrict(),
		"ShareAckCallback": rckgo.ShareAckCallback(func(*rckgo.Client, kgo.ShareAckResults) {}),
	} {
		_, err := rckgo.NewClient(opt)
		require.ErrorContains(t, err, name)
	}
	c, err := rckgo.NewClient(rckgo.ShareAckCallback(nil))
	require.NoError(t, err, "none is none, as with kgo")
	c.Close()
}

// A program may ask before it makes a client.
func TestOptionsAreValidAsTheClientTakesThem(t *testing.T) {
	for name, o := range options() {
		err := rckgo.ValidateOpts(o.list(o.opt)...)
		if o.fate == honoured || o.fate == leftToKgo {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorContains(t, err, name+":")
	}
	for name, opts := range map[string][]kgo.Opt{
		"kgo's own":          {rckgo.FetchMaxBytes(-1), rckgo.BrokerMaxReadBytes(1)},
		"ours":               {rcconsumer.BufferBytes(0)},
		"callback, no group": {rckgo.OnPartitionsRevoked(partitions[*rckgo.Client])},
	} {
		_, err := rckgo.NewClient(opts...)
		require.Error(t, err, name)
		require.Equal(t, err, rckgo.ValidateOpts(opts...), name)
	}
}
