package inproc

import (
	"slices"
	"sync/atomic"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/meta"
)

// argLoc is where an argument or result travels between a slice of words and
// native code.
type argLoc struct {
	// offset is in nativeContext, or in the stack or hidden area if memory.
	offset uint16
	memory bool
	mask   uint64 // of the bits of the type
}

// funcType is a function type, interned in a store: equal types are one pointer
// and one record.
type funcType struct {
	meta.FuncType
	key string // the bytes of the canonical record
	// number is that of the type among those of the process, if it has supertypes or may have subtypes.
	number typeNumber

	// args and results are where the words of arguments and results are: a v128 has two, the low one first.
	args, results []argLoc
	// Sizes of the areas on the stack, multiples of 16.
	argBytes, hiddenBytes uintptr
	entryFlags            uint64 // of nativeContext, for entry
	resumeFlags           uint64 // for resumption after a host call
	argWords, resultWords int
	// plain types have at most four arguments and one result, integers all: CallContext has a
	// short way for them. plainRefs types would be plain but for references among the parameters.
	// plainArgs is the number of arguments, masks are theirs.
	plain, plainRefs bool
	// unsupported: too many words, so no calls between host and native code; args is nil.
	unsupported bool
	// intArgs says that all arguments travel in ints, in order; intResult that the one
	// result does.
	intArgs, intResult bool
	// refsIn and refsOut: there are references among the parameters, the
	// results. refs: calls of host functions of this type have references to care for.
	refsIn, refsOut, refs bool
	plainArgs             uint64
	masks                 [4]uint64

	// refParams and refResults are the indices of the words of type externref, funcParams and
	// funcResults of those of type funcref.
	refParams, refResults   []uint16
	funcParams, funcResults []uint16
	// typed is what typed references need, or nil if nobody has needed it: a type of a module that has such values has it.
	typed atomic.Pointer[typedType]
}

// typedType is the digest of a type, and its parameters and results whose references say more than their class.
type typedType struct {
	digest          abi.Digest
	params, results []typedValue
}

// typedValue is a parameter or result whose type says more than its class: its index, that of its word, and the type.
type typedValue struct {
	index, word uint16
	typ         abi.OwnType
}

// storeType is a type in a store, and the address of its record there.
type storeType struct {
	*funcType
	record uintptr
}

// typeTable has the types of a store: few are looked through, and more are found by their keys.
type typeTable struct {
	all   []storeType
	byKey map[string]storeType // nil while they are few
}

const fewTypes = 12

// find returns the type with a key, or none.
func (t *typeTable) find(key string) storeType {
	if t.byKey != nil {
		return t.byKey[key]
	}
	for _, f := range t.all {
		if f.key == key {
			return f
		}
	}
	return storeType{}
}

func (t *typeTable) add(f storeType) {
	if t.all = append(t.all, f); len(t.all) > fewTypes && t.byKey == nil {
		t.byKey = make(map[string]storeType, 4*fewTypes)
		for _, f := range t.all {
			t.byKey[f.key] = f
		}
	}
	if t.byKey != nil {
		t.byKey[f.key] = f
	}
}

// internType returns the store's one type t, which has no index of a type.
func (s *Store) internType(t *meta.FuncType) (storeType, error) {
	key := string(t.Record(0, nil))
	if f := s.types.find(key); f.funcType != nil {
		return f, nil
	}
	f := newFuncType(t, s.config.CollectAlways)
	f.key = key
	if t.IsTyped() {
		f.setTyped(abi.RecordsOf(abi.Defs([]meta.FuncType{*t}), nil))
	}
	return s.own(f)
}

// setTyped sets what typed references need; records are those of the types of the module, or of t alone.
func (f *funcType) setTyped(records *abi.Records) {
	f.typed.Store(&typedType{abi.DigestOf([]byte(f.key)), typedValues(f.Params, records), typedValues(f.Results, records)})
}

// digestOf returns what stands for type f in types that refer to it.
func (f *funcType) digestOf() abi.Digest {
	t := f.typed.Load()
	if t == nil {
		t = &typedType{digest: abi.DigestOf([]byte(f.key))}
		f.typed.Store(t)
	}
	return t.digest
}

// typedValues returns those of types that say more than their class.
func typedValues(types []meta.ValType, records *abi.Records) (typed []typedValue) {
	word := uint16(0)
	for i, t := range types {
		if t.IsTyped() {
			typed = append(typed, typedValue{uint16(i), word, records.Own(t)})
		}
		word += uint16(t.Words())
	}
	return typed
}

// internModuleType is internType for type n of a module, which remembers what has been found out about it.
func (s *Store) internModuleType(m *Module, n uint32) (storeType, error) {
	if err := s.useTypes(m); err != nil {
		return storeType{}, err
	}
	t := m.types[n].Load()
	if t == nil {
		t = m.newType(n, false)
		m.types[n].Store(t)
	}
	if f := s.types.find(t.key); f.funcType != nil {
		return f, nil
	}
	if s.config.CollectAlways {
		t = m.newType(n, true)
	}
	return s.own(t)
}

// newType makes type n of the module.
func (m *Module) newType(n uint32, collectAlways bool) *funcType {
	t := newFuncType(&m.meta.Types[n], collectAlways)
	t.key = string(m.records.Of(n))
	if int(n) < len(m.numbers) {
		t.number = m.numbers[n]
	}
	if t.IsTyped() {
		t.setTyped(m.records)
	}
	return t
}

// own makes f a type of the store.
func (s *Store) own(f *funcType) (storeType, error) {
	record, err := s.alloc(recordLead + uintptr(len(f.key)))
	if err != nil {
		return storeType{}, err
	}
	record += recordLead
	store64(record-8, uint64(f.number.number)|uint64(f.number.depth)<<32)
	copy(bytesAt(record, uintptr(len(f.key))), f.key)
	s.largeFrames = s.largeFrames || f.argBytes+f.hiddenBytes >= largeFrame
	t := storeType{f, record}
	s.types.add(t)
	return t, nil
}

// maxValues is how many parameters or results a type may have: argLoc.offset has room for the words of as many vectors.
const maxValues = 4000

func newFuncType(t *meta.FuncType, collectAlways bool) *funcType {
	f := &funcType{FuncType: *t}
	kinds := func(ts []meta.ValType) (out []abi.ArgKind, words int, floats bool) {
		for _, v := range ts {
			k := v.ArgKind()
			out = append(out, k)
			words += v.Words()
			floats = floats || k != abi.ArgInt
		}
		return out, words, floats
	}
	params, argWords, floatArgs := kinds(t.Params)
	results, resultWords, floatResults := kinds(t.Results)
	f.argWords, f.resultWords = argWords, resultWords
	if len(params) > maxValues || len(results) > maxValues {
		f.unsupported = true
		return f
	}
	var sig abi.Sig
	convention.Assign(&sig, params, results)
	f.args = locate(sig.Args, t.Params, convention.IntArgs)
	f.results = locate(sig.Results, t.Results, convention.IntResults)
	f.argBytes = uintptr(sig.ArgBytes(convention))
	f.hiddenBytes = alignUp(uintptr(sig.ResultWords)*8, 16)
	f.findRefs(collectAlways)
	f.findShortcuts(floatArgs, floatResults)
	return f
}

// findShortcuts sets what tells cheaper ways to pass arguments and results.
func (f *funcType) findShortcuts(floatArgs, floatResults bool) {
	np, nr := len(f.args), len(f.results)
	f.intArgs = np <= len(nativeContext{}.ints) && !floatArgs && f.argBytes == 0 && f.hiddenBytes == 0
	f.intResult = nr == 1 && !floatResults
	if f.intArgs && np <= len(f.masks) && (nr == 0 || f.intResult) && !f.refsOut {
		f.plain, f.plainRefs = !f.refsIn, f.refsIn
		f.plainArgs = uint64(np)
		for i := range f.args {
			f.masks[i] = f.args[i].mask
		}
	}
	if np > 4 || f.hiddenBytes != 0 {
		f.entryFlags |= flagManyArgs
	}
	if nr > 1 {
		f.entryFlags |= flagManyResults
	}
	if floatResults {
		f.entryFlags |= flagFloatReturn
		f.resumeFlags |= flagFloatResults
	}
	if floatArgs {
		f.entryFlags |= flagFloatArgs
	}
}

// locate translates locations of the convention to offsets in nativeContext, one for each word.
func locate(locs []abi.Loc, types []meta.ValType, ints []uint8) []argLoc {
	out := make([]argLoc, 0, len(locs))
	for i, l := range locs {
		a := argLoc{mask: ^uint64(0)}
		if types[i].Bits() == 32 {
			a.mask = 1<<32 - 1
		}
		switch {
		case !l.InReg:
			a.memory, a.offset = true, l.Word*8
		case l.Kind != abi.ArgInt:
			a.offset = contextFloats + uint16(l.Reg)*16
		default:
			a.offset = contextInts + uint16(slices.Index(ints, l.Reg))*8
		}
		out = append(out, a)
		if l.Kind == abi.ArgVector {
			a.offset += 8
			out = append(out, a)
		}
	}
	return out
}
