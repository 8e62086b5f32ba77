package inproc

import (
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/meta"
)

// A reference has two forms. Compiled code has the address of a descriptor for a function, and a
// handle for a host value. Go code has a handle for either: the tag of a host handle (package abi), a bit
// that says what it is of, and above that a serial number. A serial number is used once in a process, by
// one store. So a word that comes back from Go is a reference that the store gave out and that is still
// valid, or it is refused: no number is ever followed, and none means one thing now and
// another one later, or in another store.
const (
	refOfFunc   = 1 << abi.RefTagBits
	refKindMask = abi.RefTagMask | refOfFunc
	refExtern   = refTagHost             // of a host value
	refFunc     = refTagHost | refOfFunc // of a function
	refShift    = abi.RefTagBits + 1
	// firstSerial is the first serial number: no zero-extended i32 is a handle, and none is
	// null.
	firstSerial = 1 << 32
)

// takeSerials returns the first of n serial numbers in a row that nobody has. There are 2^61: a store
// takes at least 16, but then at most a few for each handle.
func (p *processState) takeSerials(n uint64) uint64 { return firstSerial + p.serials.Add(n) - n }

// funcRun is functions with serial numbers in a row.
type funcRun struct {
	first uint64
	funcs []*Func // at most as many as there is room for
}

// minFuncRun is the room of a store's first funcRun; each next one has twice that of the last.
const minFuncRun = 16

// addFunc gives a function its word. It keeps it as long as the store lives, as the function.
func (s *Store) addFunc(f *Func) {
	last := len(s.funcs) - 1
	if last < 0 || len(s.funcs[last].funcs) == cap(s.funcs[last].funcs) {
		last++
		room := minFuncRun << last
		list := s.first.funcs[:0]
		if last > 0 {
			list = make([]*Func, 0, room)
		}
		s.funcs = append(s.funcs, funcRun{process.takeSerials(uint64(room)), list})
	}
	run := &s.funcs[last]
	f.ref = (run.first+uint64(len(run.funcs)))<<refShift | refFunc
	run.funcs = append(run.funcs, f)
}

// FuncOf returns the function that a word stands for; nil for null and for what is not a
// reference to a function of this store.
func (s *Store) FuncOf(ref uint64) *Func {
	if ref&refKindMask != refFunc {
		return nil
	}
	for n := len(s.funcs) - 1; n >= 0; n-- {
		run := &s.funcs[n]
		if at := ref>>refShift - run.first; at < uint64(len(run.funcs)) {
			return run.funcs[at]
		}
	}
	return nil
}

// toNative returns the word that compiled code uses for v, a word of Go code of type t. Types other than
// references are unchanged. ok is false if v is no valid reference of that type
// of this store, and not null or may not be null.
func (s *Store) toNative(t abi.OwnType, v uint64) (w uint64, ok bool) {
	switch t.Type.Base() {
	case meta.FuncRef:
		if v == 0 {
			return 0, !t.Type.IsNotNull()
		}
		f := s.FuncOf(v)
		if f == nil || !f.isOf(&t) {
			return 0, false
		}
		return uint64(f.desc), true
	case meta.ExternRef:
		if v == 0 {
			return 0, !t.Type.IsNotNull()
		}
		return s.objectToNative(v), s.isRefTo(&t, v)
	}
	return v, true
}

// isOf reports whether a reference to f is one of type t.
func (f *Func) isOf(t *abi.OwnType) bool {
	if _, exact := t.Type.TypeIndex(); !exact {
		return !t.Type.IsBottom()
	}
	return f.typ.digestOf() == t.To || process.rows.isWithin(f.typ.number.number, process.rows.numberOf(t.To))
}

// fromNative returns the reverse, for words that compiled code has.
func (s *Store) fromNative(t meta.ValType, w uint64) uint64 {
	switch {
	case w == 0:
		return 0
	case t.Base() == meta.ExternRef:
		return s.readObject(w)
	case t.Base() != meta.FuncRef:
		return w
	}
	f := s.describedBy(uintptr(w))
	if f == nil {
		return 0 // no compiled code has this
	}
	return f.ref
}

// admit checks the references among arguments from Go, and gives the arguments as compiled code
// has them.
func (s *Store) admit(t *funcType, args []uint64) ([]uint64, error) {
	if err := s.checkArgs(t, args); err != nil || len(t.funcParams) == 0 && s.heap == nil {
		return args, err
	}
	native, _ := s.takeScratch(t)
	copy(native, args)
	s.funcsToNative(native, t.funcParams)
	s.objectsToNative(native, t.refParams)
	return native, nil
}

// checkArgs returns a *ReferenceError if there is an argument from Go that is no valid reference of this
// store but should be; checkResults the same for results.
func (s *Store) checkArgs(t *funcType, args []uint64) error {
	if err := s.checkWords("argument", t.Params, args, t.refParams, t.funcParams); err != nil {
		return err
	}
	if typed := t.typed.Load(); typed != nil {
		return s.checkTyped("argument", t.Params, args, typed.params)
	}
	return nil
}

func (s *Store) checkResults(t *funcType, results []uint64) error {
	if err := s.checkWords("result", t.Results, results, t.refResults, t.funcResults); err != nil {
		return err
	}
	if typed := t.typed.Load(); typed != nil {
		return s.checkTyped("result", t.Results, results, typed.results)
	}
	return nil
}

// checkTyped checks, of words that checkWords has checked, what their types say beyond classes.
func (s *Store) checkTyped(what string, types []meta.ValType, words []uint64, typed []typedValue) error {
	for i := range typed {
		v := &typed[i]
		if w := words[v.word]; !s.isTyped(&v.typ, w) {
			return &ReferenceError{What: what, Index: int(v.index), Type: types[v.index].String(), Word: w}
		}
	}
	return nil
}

// isTyped reports whether w, which checkWords has checked, is of a type that says more than its class.
func (s *Store) isTyped(t *abi.OwnType, w uint64) bool {
	switch {
	case w == 0:
		return !t.Type.IsNotNull()
	case t.Type.Base() == meta.ExternRef:
		return s.isRefTo(t, w)
	}
	f := s.FuncOf(w)
	return f != nil && f.isOf(t)
}

// checkWords does, for the words whose indices are in externs and funcs, of values of the types.
func (s *Store) checkWords(what string, types []meta.ValType, words []uint64, externs, funcs []uint16) error {
	for _, n := range externs {
		if w := words[n]; w != 0 {
			if i := valueWith(types, n); !s.isRefTo(&abi.OwnType{Type: types[i].Top()}, w) {
				return &ReferenceError{What: what, Index: i, Type: types[i].String(), Word: w}
			}
		}
	}
	for _, n := range funcs {
		if w := words[n]; w != 0 && s.FuncOf(w) == nil {
			return &ReferenceError{What: what, Index: valueWith(types, n), Type: "funcref", Word: w}
		}
	}
	return nil
}

// valueWith returns the index of the value of the types that begins with a word.
func valueWith(types []meta.ValType, word uint16) (i int) {
	for at := 0; at < int(word); i++ {
		at += types[i].Words()
	}
	return i
}

// funcsToNative replaces words that have been checked by those of compiled code, for
// those of funcrefs; funcsFromNative is the reverse.
func (s *Store) funcsToNative(words []uint64, funcs []uint16) {
	for _, n := range funcs {
		if f := s.FuncOf(words[n]); f != nil {
			words[n] = uint64(f.desc)
		}
	}
}

func (s *Store) funcsFromNative(words []uint64, funcs []uint16) {
	for _, n := range funcs {
		words[n] = s.fromNative(meta.FuncRef, words[n])
	}
}

// describedBy returns the function whose descriptor is at address desc, nil if there is none.
func (s *Store) describedBy(desc uintptr) *Func {
	f, ok := s.described[desc]
	if !ok {
		if f = s.findDescribed(desc); f != nil {
			if s.described == nil {
				s.described = map[uintptr]*Func{}
			}
			s.described[desc] = f
		}
	}
	return f
}

// findDescribed is describedBy for the first time: compiled code has descriptors of functions that no Go
// code has asked for.
func (s *Store) findDescribed(desc uintptr) *Func {
	if !s.isDescriptor(desc) {
		return nil
	}
	code := uintptr(load64(desc + descCode))
	i := s.instanceAt(code)
	if i == nil {
		n, ok := process.stubNumber(code)
		if !ok || n >= len(s.bindings) || s.bindings[n].fn == nil || s.bindings[n].fn.desc != desc {
			return nil
		}
		return s.bindings[n].fn
	}
	n, ok := i.module.funcAt(uint32(code - i.base))
	if !ok || i.base+uintptr(i.module.meta.Funcs[n].Text) != code {
		return nil
	}
	f, err := i.function(n)
	if err != nil || f.desc != desc {
		return nil
	}
	return f
}

// isDescriptor reports whether a descriptor could be at address a: aligned, in
// the store's own memory or an instance's data.
func (s *Store) isDescriptor(a uintptr) bool {
	if a == 0 || a%8 != 0 {
		return false
	}
	for _, e := range s.slabs {
		if a-e.low < e.size && e.size-(a-e.low) >= descSize {
			return true
		}
	}
	i := s.instanceIn(a)
	return i != nil && a-i.data < i.module.length[Data] && i.module.length[Data]-(a-i.data) >= descSize
}
