package main

import (
	"errors"
	"fmt"
	"go/types"
	"strings"
)

// byHand names what package rckgo declares itself. All but WithHooks and
// ValidateOpts are here because kgo's names *kgo.Client.
var byHand = map[string]bool{
	"Client":       true,
	"NewClient":    true,
	"ValidateOpts": true, // of what NewClient takes

	"OnPartitionsAssigned":        true,
	"OnPartitionsRevoked":         true,
	"OnPartitionsLost":            true,
	"OnPartitionsCallbackBlocked": true,
	"OnOffsetsFetched":            true,
	"AutoCommitCallback":          true,
	"ShareAckCallback":            true,

	"HookNewClient":    true,
	"HookClientClosed": true,
	"WithHooks":        true, // takes those two besides kgo's

	"AbortingFirstErrPromise": true,
	"GroupTransactSession":    true,
	"NewGroupTransactSession": true,
}

// name is one exported name and how to write it.
type name struct {
	id         string
	kind       kind
	params     string // type parameters as declared, "" if none
	args       string // and as used
	deprecated bool
}

// kind is what a name declares, in the order in which kinds are written.
type kind int

const (
	aType kind = iota
	aConst
	anError
	aFunc
	kinds
)

// reexported returns the names that are kgo's, sorted. All that cannot be is
// named in one error.
func (a api) reexported() (names []name, err error) {
	var bad []error
	scope := a.pkg.Scope()
	for _, id := range scope.Names() { // sorted
		obj := scope.Lookup(id)
		if !obj.Exported() || byHand[id] {
			continue
		}
		n, err := nameOf(obj)
		if err != nil {
			bad = append(bad, fmt.Errorf("%s: %w", id, err))
			continue
		}
		n.deprecated = a.deprecated[id]
		names = append(names, n)
	}
	for id := range byHand {
		if scope.Lookup(id) == nil {
			bad = append(bad, fmt.Errorf("%s: declared by hand, but kgo has no such name", id))
		}
	}
	return names, errors.Join(bad...)
}

func nameOf(obj types.Object) (name, error) {
	n := name{id: obj.Name()}
	if at := clientIn(obj); at != "" {
		return n, fmt.Errorf("mentions *kgo.Client in %s: declare it by hand", at)
	}
	switch obj := obj.(type) {
	case *types.TypeName:
		n.kind = aType
		return n, n.parametrize(obj)
	case *types.Const:
		n.kind = aConst
	case *types.Var:
		if !types.Identical(obj.Type(), types.Universe.Lookup("error").Type()) {
			return n, errors.New("a variable that is no error would be a copy: declare it by hand")
		}
		n.kind = anError
	case *types.Func:
		if obj.Signature().TypeParams().Len() > 0 {
			return n, errors.New("a variable cannot hold a generic function: declare it by hand")
		}
		n.kind = aFunc
	}
	return n, nil
}

// parametrize notes the type parameters of a generic type.
func (n *name) parametrize(obj *types.TypeName) error {
	generic, ok := obj.Type().(interface{ TypeParams() *types.TypeParamList })
	if !ok || generic.TypeParams().Len() == 0 {
		return nil
	}
	var params, args []string
	var foreign error
	qualify := func(p *types.Package) string {
		if p != obj.Pkg() {
			foreign = fmt.Errorf("its type parameters are constrained by package %s: declare it by hand", p.Path())
		}
		return p.Name()
	}
	for p := range generic.TypeParams().TypeParams() {
		params = append(params, p.Obj().Name()+" "+types.TypeString(p.Constraint(), qualify))
		args = append(args, p.Obj().Name())
	}
	n.params, n.args = "["+strings.Join(params, ", ")+"]", "["+strings.Join(args, ", ")+"]"
	return foreign
}
