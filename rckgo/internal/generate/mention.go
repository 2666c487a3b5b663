package main

import (
	"fmt"
	"go/types"
)

// clientIn says where a caller meets the package's Client in what an exported
// name declares; "" if nowhere. What other exported names declare is theirs to
// answer for.
func clientIn(obj types.Object) string {
	m := mention{pkg: obj.Pkg(), seen: make(map[types.Type]bool)}
	if t, ok := obj.(*types.TypeName); ok {
		return m.declared(t)
	}
	return m.in(obj.Type(), obj.Name())
}

type mention struct {
	pkg  *types.Package
	seen map[types.Type]bool
}

// declared looks through a type's methods and what it is made of.
func (m mention) declared(t *types.TypeName) string {
	named, ok := t.Type().(*types.Named)
	if !ok { // an alias
		return m.in(types.Unalias(t.Type()), t.Name())
	}
	m.seen[named] = true
	return m.body(named, t.Name())
}

func (m mention) body(named *types.Named, at string) string {
	for method := range named.Methods() {
		if method.Exported() {
			if found := m.in(method.Type(), at+"."+method.Name()); found != "" {
				return found
			}
		}
	}
	return m.in(named.Underlying(), at)
}

func (m mention) in(t types.Type, at string) string {
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		return m.named(t, at)
	case *types.Signature:
		return m.first(at, t.Params(), t.Results())
	case *types.Struct:
		for f := range t.Fields() {
			if !f.Exported() {
				continue
			}
			if found := m.in(f.Type(), at+"."+f.Name()); found != "" {
				return found
			}
		}
	case *types.Interface:
		for method := range t.Methods() {
			if !method.Exported() {
				continue
			}
			if found := m.in(method.Type(), at+"."+method.Name()); found != "" {
				return found
			}
		}
	case *types.Map:
		return m.first(at, types.NewTuple(variable(t.Key()), variable(t.Elem())))
	case interface{ Elem() types.Type }: // pointer, slice, array, channel
		return m.in(t.Elem(), at)
	}
	return ""
}

// named is a type that is mentioned. One that is exported is looked at when its
// own name is; one that is not can be reached only from here.
func (m mention) named(t *types.Named, at string) string {
	obj := t.Obj()
	if obj.Pkg() == m.pkg && obj.Name() == "Client" {
		return at
	}
	for arg := range t.TypeArgs().Types() {
		if found := m.in(arg, at); found != "" {
			return found
		}
	}
	if obj.Pkg() != m.pkg || obj.Exported() || m.seen[t] {
		return ""
	}
	m.seen[t] = true
	return m.body(t, fmt.Sprintf("%s (%s)", at, obj.Name()))
}

func (m mention) first(at string, tuples ...*types.Tuple) string {
	for _, tuple := range tuples {
		for v := range tuple.Variables() {
			if found := m.in(v.Type(), at); found != "" {
				return found
			}
		}
	}
	return ""
}

func variable(t types.Type) *types.Var { return types.NewParam(0, nil, "", t) }
