package inproc

import (
	"cmp"
	"iter"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/gcheap"
)

// typeRows are the types of objects that stores in the process use, and those of functions that have supertypes or may have subtypes: a number for each, and the table of rows that compiled code reads
// (package abi). A number means its type as long as a store that is open has an instance of a module with the type. Then nothing has the number any more: neither an object, whose heap is gone, nor code, nor
// another row, since whoever has a type has its supertypes.
type typeRows struct {
	mu sync.RWMutex
	// base is the address of the table, which does not change, and committed how many bytes are accessible. What no row has is zero there.
	base      uintptr
	committed uintptr
	places    typePlaces
	rows      map[abi.Digest]typeRow
	// objects is what heaps know of the types. A copy stays valid for the types that its holder uses: their elements do not change.
	objects gcheap.Types
	unused  []uint32 // elements of objects.List
	// defined says where the types in the list of objects are defined, in the same places, and described has what Go code knows of types.
	defined   []definedType
	described map[abi.Digest]weak.Pointer[ObjectType]
}

// definedType is a type of a module, which may be closed.
type definedType struct {
	types *moduleTypes
	index uint32
}

// typeNumber is the number of a type, 0 for none, and its depth: 1 without a supertype.
type typeNumber struct{ number, depth uint32 }

// size returns how many words a row has.
func (n typeNumber) size() uint32 { return n.depth + 1 }

// typeRow is a row, and how many types of modules that are in use have it.
type typeRow struct {
	typeNumber
	users int
}

const (
	rowsSize = 64 << 20
	rowsStep = 64 << 10
	// rowOfFunc is word 0 of rows of functions.
	rowOfFunc = 0
)

// maxTypeWords is the end of the last row there can be: all numbers have abi.MaxTypeDepth words behind them.
const maxTypeWords = rowsSize/4 - 2*(abi.MaxTypeDepth+1)

// word returns a word of the table, and put sets one. Others may read words behind the end of a row while they are written.
func (t *typeRows) word(n uint32) uint32 {
	return atomic.LoadUint32((*uint32)(ptr(t.base + 4*uintptr(n))))
}

func (t *typeRows) put(n, w uint32) { atomic.StoreUint32((*uint32)(ptr(t.base+4*uintptr(n))), w) }

// open reserves the table. t.mu is held.
func (t *typeRows) open() (err error) {
	if t.base != 0 {
		return nil
	}
	if err := process.takeMappings(otherMappings); err != nil {
		return err
	}
	if t.base, err = reserve(rowsSize, protNone); err != nil {
		process.giveMappings(otherMappings)
		return err
	}
	t.places.limit = cmp.Or(t.places.limit, maxTypeWords)
	t.clear()
	return nil
}

// clear makes the table a new one, if there are no rows any more.
func (t *typeRows) clear() {
	t.rows = map[abi.Digest]typeRow{}
	if t.committed > rowsStep {
		madvise(t.base+rowsStep, t.committed-rowsStep, madvDontNeed)
	}
	t.places = typePlaces{next: abi.FirstTypeNumber, limit: t.places.limit}
	t.objects, t.unused = gcheap.Types{Index: make([]uint32, abi.FirstTypeNumber), List: make([]gcheap.Type, 1)}, nil
	t.defined = make([]definedType, 1)
}

// grow makes the table accessible up to a word, and abi.MaxTypeDepth behind it.
func (t *typeRows) grow(end uint32) error {
	need := alignUp(4*uintptr(end+abi.MaxTypeDepth+1), rowsStep)
	if need <= t.committed {
		return nil
	}
	if err := mprotect(t.base+t.committed, need-t.committed, protRW); err != nil {
		return err
	}
	t.committed = need
	return nil
}

// moduleTypes are the types of a module.
type moduleTypes struct {
	defs    []abi.TypeDef
	records *abi.Records
	// objects is what heaps know of them, nil before it is asked for, and layouts where fields are.
	objects []gcheap.Type
	layouts []*abi.ObjectLayout
}

// describe makes objects.
func (m *moduleTypes) describe() {
	m.layouts, m.objects = make([]*abi.ObjectLayout, len(m.defs)), make([]gcheap.Type, len(m.defs))
	for i := range m.defs {
		if d := &m.defs[i]; d.Kind != abi.KindFunc {
			var above *abi.ObjectLayout
			if d.HasSuper {
				above = m.layouts[d.Super]
			}
			m.layouts[i] = d.ObjectLayout(above)
			m.objects[i] = gcheap.TypeOf(d, m.layouts[i])
		}
	}
}

// take returns the numbers of the types of a module, which has them until it gives them back; those of functions that are plain have none. The error is a *LimitError or *SystemError.
func (t *typeRows) take(m *moduleTypes) ([]typeNumber, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.open(); err != nil {
		return nil, err
	}
	numbers := make([]typeNumber, len(m.defs))
	for i := range m.defs {
		d := &m.defs[i]
		if d.Kind == abi.KindFunc && !d.Open && !d.HasSuper {
			continue
		}
		var super typeNumber
		if d.HasSuper {
			super = numbers[d.Super]
		}
		var err error
		if numbers[i], err = t.enterType(m, i, super); err != nil {
			t.leave(m, numbers[:i])
			return nil, err
		}
	}
	return numbers, nil
}

// enterType counts a use of type i of a module, of which the supertype has a number already. The error is only for what is not in use yet.
func (t *typeRows) enterType(m *moduleTypes, i int, super typeNumber) (typeNumber, error) {
	digest := m.records.Digest(uint32(i))
	row, ok := t.rows[digest]
	if !ok {
		n, err := t.add(m, i, super)
		if err != nil {
			return typeNumber{}, err
		}
		row.typeNumber = n
	}
	row.users++
	t.rows[digest] = row
	return row.typeNumber, nil
}

// give ends the use of what take has returned.
func (t *typeRows) give(m *moduleTypes, numbers []typeNumber) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.leave(m, numbers)
}

// leave is give; t.mu is held.
func (t *typeRows) leave(m *moduleTypes, numbers []typeNumber) {
	for i, n := range numbers {
		if n.number != 0 {
			t.leaveType(m, i, n)
		}
	}
	t.clearUnused()
}

// leaveType ends a use of a type with a number, behind which clearUnused comes.
func (t *typeRows) leaveType(m *moduleTypes, i int, n typeNumber) {
	digest := m.records.Digest(uint32(i))
	row := t.rows[digest]
	if row.users--; row.users > 0 {
		t.rows[digest] = row
		return
	}
	delete(t.rows, digest)
	t.remove(n)
}

// clearUnused makes the table a new one if there are no rows any more.
func (t *typeRows) clearUnused() {
	if len(t.rows) == 0 && t.places.next > rowsStep/4 { // less is not worth it
		t.clear()
	}
}

// add makes a row for a type of a module.
func (t *typeRows) add(m *moduleTypes, i int, super typeNumber) (typeNumber, error) {
	n := typeNumber{depth: super.depth + 1}
	var ok bool
	if n.number, ok = t.places.take(n.size()); !ok && t.places.worthJoining() {
		t.places.join(slices.Collect(t.numbers()))
		n.number, ok = t.places.take(n.size())
	}
	if !ok {
		return typeNumber{}, &LimitError{What: "words of types in the process", Want: uint64(t.places.next + n.size()), Limit: uint64(t.places.limit)}
	}
	end := n.number + n.size()
	if err := t.grow(end); err != nil {
		t.places.give(n)
		return typeNumber{}, err
	}
	t.put(n.number, [...]uint32{abi.KindFunc: rowOfFunc, abi.KindStruct: abi.TypeOfStructs, abi.KindArray: abi.TypeOfArrays}[m.defs[i].Kind])
	for k := uint32(1); k <= super.depth; k++ {
		t.put(n.number+k, t.word(super.number+k))
	}
	t.put(n.number+n.depth, n.number)
	if need := int(end) - len(t.objects.Index); need > 0 {
		t.objects.Index = append(t.objects.Index, make([]uint32, need)...)
	}
	if m.defs[i].Kind != abi.KindFunc {
		if m.objects == nil {
			m.describe()
		}
		t.objects.Index[n.number] = t.list(m.objects[i], definedType{m, uint32(i)})
	}
	return n, nil
}

// list makes heaps know a type, and returns where.
func (t *typeRows) list(x gcheap.Type, d definedType) uint32 {
	if n := len(t.unused) - 1; n >= 0 {
		i := t.unused[n]
		t.unused = t.unused[:n]
		t.objects.List[i], t.defined[i] = x, d
		return i
	}
	t.objects.List, t.defined = append(t.objects.List, x), append(t.defined, d)
	return uint32(len(t.objects.List) - 1)
}

// remove clears a row, which nobody uses: a number is nowhere but in rows of its subtypes, which are removed with it.
func (t *typeRows) remove(n typeNumber) {
	for k := range n.size() {
		t.put(n.number+k, 0)
	}
	if i := &t.objects.Index[n.number]; *i != 0 {
		t.objects.List[*i], t.defined[*i] = gcheap.Type{}, definedType{}
		t.unused, *i = append(t.unused, *i), 0
	}
	t.places.give(n)
}

// numbers are those of all rows.
func (t *typeRows) numbers() iter.Seq[typeNumber] {
	return func(yield func(typeNumber) bool) {
		for _, row := range t.rows {
			if !yield(row.typeNumber) {
				return
			}
		}
	}
}

// known returns what heaps know of the types.
func (t *typeRows) known() gcheap.Types {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.objects
}

// numberOf returns the number of the type that a digest stands for, which is in use, or none.
func (t *typeRows) numberOf(d abi.Digest) typeNumber {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.rows[d].typeNumber
}

// isWithin reports whether the type with a number, 0 for none, is another one or a subtype of it.
func (t *typeRows) isWithin(number uint32, super typeNumber) bool {
	return super.number != 0 && t.word(number+super.depth) == super.number
}

// isSubtype is isWithin for what digests stand for.
func (t *typeRows) isSubtype(a, b abi.Digest) bool {
	return a == b || t.isWithin(t.numberOf(a).number, t.numberOf(b))
}

// kindOf returns what kind of objects have the type with a number.
func (t *typeRows) kindOf(number uint32) abi.TypeKind {
	if t.word(number) == abi.TypeOfArrays {
		return abi.KindArray
	}
	return abi.KindStruct
}

// of returns the type of objects with a number, which is in use; nil if there is none.
func (t *typeRows) of(number uint32) *ObjectType {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ofNumber(number)
}

// ofDigest is of for what a digest stands for.
func (t *typeRows) ofDigest(d abi.Digest) *ObjectType {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ofNumber(t.rows[d].number)
}

// ofNumber is of; t.mu is held.
func (t *typeRows) ofNumber(number uint32) *ObjectType {
	if uint64(number) >= uint64(len(t.objects.Index)) {
		return nil
	}
	d := t.defined[t.objects.Index[number]]
	if d.types == nil {
		return nil
	}
	x, _ := t.describe(d) // it is in use, with its supertypes, so it needs no place
	return x
}

// ofDefined is of for a type that a module defines, whether it is in use or not. It is nil if it is one of functions. The error is a *LimitError or *SystemError.
func (t *typeRows) ofDefined(d definedType) (*ObjectType, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if d.types.defs[d.index].Kind == abi.KindFunc {
		return nil, nil
	}
	return t.describe(d)
}

// describe returns the one there is for equal types. As long as Go code has it, the type and its supertypes are in use. t.mu is held.
func (t *typeRows) describe(d definedType) (*ObjectType, error) {
	digest := d.types.records.Digest(d.index)
	if x := t.described[digest].Value(); x != nil {
		return x, nil
	}
	use, err := t.enterChain(d)
	if err != nil {
		return nil, err
	}
	if d.types.layouts == nil {
		d.types.describe()
	}
	x := &ObjectType{types: d.types, index: d.index, number: use.numbers[len(use.numbers)-1], layout: d.types.layouts[d.index]}
	runtime.AddCleanup(x, t.giveChain, use)
	if t.described == nil {
		t.described = map[abi.Digest]weak.Pointer[ObjectType]{}
	}
	t.described[digest] = weak.Make(x)
	runtime.AddCleanup(x, t.forget, digest)
	return x, nil
}

// typeChain is a use of a type of a module and of its supertypes, the furthest first.
type typeChain struct {
	types   *moduleTypes
	indices []int
	numbers []typeNumber
}

// enterChain counts a use of a type and its supertypes.
func (t *typeRows) enterChain(d definedType) (typeChain, error) {
	use := typeChain{types: d.types}
	if err := t.open(); err != nil {
		return use, err
	}
	for i := int(d.index); ; i = int(d.types.defs[i].Super) {
		use.indices = append(use.indices, i)
		if !d.types.defs[i].HasSuper {
			break
		}
	}
	slices.Reverse(use.indices)
	var n typeNumber
	for _, i := range use.indices {
		var err error
		if n, err = t.enterType(d.types, i, n); err != nil {
			t.leaveChain(use)
			return use, err
		}
		use.numbers = append(use.numbers, n)
	}
	return use, nil
}

// giveChain ends the use that enterChain began, and leaveChain does so while t.mu is held.
func (t *typeRows) giveChain(use typeChain) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.leaveChain(use)
}

func (t *typeRows) leaveChain(use typeChain) {
	for k, n := range use.numbers {
		t.leaveType(use.types, use.indices[k], n)
	}
	t.clearUnused()
}

// forget notes that Go code does not have a type any more, unless it has asked for it again.
func (t *typeRows) forget(digest abi.Digest) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if x, ok := t.described[digest]; ok && x.Value() == nil {
		delete(t.described, digest)
	}
}
