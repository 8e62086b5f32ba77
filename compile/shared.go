package compile

import (
	"fmt"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/objfile"
)

// This file bounds the size of a module's adapters by that of its types. The code of an adapter grows with the number of
// parameters and results, and many functions may have the same type. So functions share one adapter if it works
// alike for their types, and each function has a stub of a few instructions. A function has an adapter of its own only
// if both conventions agree, which bounds the number of parameters.

// wayKind is how functions of a signature are called in one direction.
type wayKind uint8

const (
	wayUnknown wayKind = iota // not determined yet
	wayNone                   // not at all
	wayAgreed                 // both conventions agree
	wayShared                 // by way of a shared adapter
)

// way is how functions of a signature are called in one direction.
type way struct {
	kind    wayKind
	agreed  *conventions // of wayAgreed
	adapter uint64       // of wayShared: offset in the section
}

// direction is the calls from C, or those to C.
type direction struct {
	ways []way // by signature
	// adapters are the offsets of the shared adapters by what their code depends on.
	adapters map[string]uint64
}

func newDirection(sigs int) direction {
	return direction{ways: make([]way, sigs), adapters: make(map[string]uint64)}
}

// shape returns what adapters can tell of types: whether a word travels as a float, or two as a vector, and, if cleared, whether the upper
// half of a word has to be cleared.
func shape(ts []clif.Type, cleared bool) []clif.Type {
	out := make([]clif.Type, len(ts))
	for i, t := range ts {
		switch {
		case t == clif.V128:
			out[i] = clif.V128
		case t.IsFloat():
			out[i] = clif.F64
		case t == clif.I32 && cleared:
			out[i] = clif.I32
		default:
			out[i] = clif.I64
		}
	}
	return out
}

// exportShape returns what adapters of exports depend on: a single result is left where it is.
func exportShape(s *clif.Signature) *clif.Signature {
	out := &clif.Signature{Params: shape(s.Params, true)}
	if len(s.Results) > 1 {
		out.Results = shape(s.Results, true)
	}
	return out
}

// importShape returns what adapters of imports depend on: arguments are already clean, and of single results only an i32
// must be cleaned.
func importShape(s *clif.Signature) *clif.Signature {
	out := &clif.Signature{Params: shape(s.Params, false)}
	if len(s.Results) > 1 || len(s.Results) == 1 && s.Results[0] == clif.I32 {
		out.Results = shape(s.Results, true)
	}
	return out
}

// shapeKey distinguishes shapes.
func shapeKey(s *clif.Signature) string {
	b := make([]byte, 0, len(s.Params)+1+len(s.Results))
	for _, t := range s.Params {
		b = append(b, byte(t))
	}
	b = append(b, byte(clif.NumTypes))
	for _, t := range s.Results {
		b = append(b, byte(t))
	}
	return string(b)
}

// exportWay returns how C calls functions of signature i, which is sig.
func (a *adapterSection) exportWay(i clif.SigIndex, sig *clif.Signature) *way {
	w := &a.exports.ways[i]
	if w.kind == wayUnknown {
		*w = a.newWay(&a.exports, sig, exportShape, a.exportAdapter, "from_c")
	}
	return w
}

// importWay returns how functions of signature i, which is sig, are called in C.
func (a *adapterSection) importWay(i clif.SigIndex, sig *clif.Signature) *way {
	w := &a.imports.ways[i]
	if w.kind == wayUnknown {
		*w = a.newWay(&a.imports, sig, importShape, a.importAdapter, "to_c")
	}
	return w
}

// newWay decides how functions of sig are called, and makes the adapter for it if there is none. The code depends
// on nothing but the shape, since that is all it is given.
func (a *adapterSection) newWay(d *direction, sig *clif.Signature, reduce func(*clif.Signature) *clif.Signature,
	adapter func(*conventions), name string) way {
	if len(a.code) > a.most() {
		return way{kind: wayNone}
	}
	s := reduce(sig)
	key := shapeKey(s)
	if at, ok := d.adapters[key]; ok {
		return way{kind: wayShared, adapter: at}
	}
	v := a.m.conventionsOf(s)
	if v.same() {
		return way{kind: wayAgreed, agreed: v}
	}
	at := a.begin()
	adapter(v)
	a.symbols = append(a.symbols, objfile.Symbol{Name: fmt.Sprint(name, len(d.adapters)), Section: secAdapters,
		Value: at, Size: a.end(at), Kind: objfile.Func})
	d.adapters[key] = at
	return way{kind: wayShared, adapter: at}
}

// addExport adds the C function for a function of this object in the waot convention, and returns its offset and size.
func (a *adapterSection) addExport(w *way, target objfile.SymbolIndex, addend int64) (at, size uint64) {
	at = a.begin()
	a.land()
	if w.kind == wayShared {
		a.address(a.m.through, target, addend)
		a.jumpBack(w.adapter)
		return at, a.end(at)
	}
	if a.exits {
		a.enter(int(a.fixed))
		a.entry()
	}
	for n, t := range w.agreed.sig.Params {
		if t == clif.I32 {
			a.move(pregOf(w.agreed.c[n]), pregOf(w.agreed.c[n]), 4)
		}
	}
	if !a.exits {
		a.jump(ours, target, addend)
		return at, a.end(at)
	}
	a.call(ours, target, addend)
	a.back()
	a.leave(0)
	return at, a.end(at)
}

// addImport adds the function in the waot convention for a C function, and returns its offset and size.
func (a *adapterSection) addImport(w *way, target objfile.SymbolIndex) (at, size uint64) {
	at = a.begin()
	a.land()
	switch {
	case w.kind == wayShared: // the C function may be anywhere: the adapter calls a jump to it
		a.behindJump(a.m.through)
		a.jumpBack(w.adapter)
		a.land()
		a.jump(foreign, target, 0)
	case w.agreed.clean() || a.kept != nil || a.exits:
		frame := 0
		if a.kept != nil || a.exits {
			frame = int(a.fixed) + a.keepBytes()
		}
		a.enter(frame)
		a.keep()
		a.exit()
		a.call(foreign, target, 0)
		a.back()
		if w.agreed.clean() {
			a.cleanResult()
		}
		a.leave(0)
	default:
		a.jump(foreign, target, 0)
	}
	return at, a.end(at)
}

// most returns how many bytes of adapters can be addressed, and reached from each other.
func (a *adapterSection) most() int {
	if reach := int(a.target.callReach); reach != 0 {
		return min(abi.MaxSectionBytes, reach)
	}
	return abi.MaxSectionBytes
}

// check refuses more than that; newWay has made no more adapters then.
func (a *adapterSection) check() error {
	if len(a.code) > a.most() {
		return fmt.Errorf("%w: more than %d bytes of adapters", backend.ErrUnsupported, a.most())
	}
	return nil
}
