package inproc

import (
	"sync"
	"sync/atomic"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/gcheap"
)

// typeRows are the types of objects that the process knows, and those of functions that have supertypes or may have subtypes: a number for each, and the table of rows that compiled code reads
// (package abi). Types are never forgotten, so that a number has one meaning.
type typeRows struct {
	mu sync.RWMutex
	// base is the address of the table, which does not change, next the number of the next type, and committed how many bytes are accessible.
	base      uintptr
	next      uint32
	committed uintptr
	numbers   map[abi.Digest]typeNumber
	// objects is what heaps know of the types. Its slices only grow, so that a copy stays valid.
	objects gcheap.Types
	// described is what Go code can know of those in the list of objects, in the same places.
	described []*ObjectType
}

// typeNumber is the number of a type, 0 for none, and its depth: 1 without a supertype.
type typeNumber struct{ number, depth uint32 }

const (
	rowsSize = 64 << 20
	rowsStep = 64 << 10
	// rowOfFunc is word 0 of rows of functions.
	rowOfFunc = 0
)

// maxTypeNumber is the first number that there is no room for: all numbers have abi.MaxTypeDepth words behind them, and some more of which the table ends.
const maxTypeNumber = rowsSize/4 - 2*(abi.MaxTypeDepth+1)

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
	t.next, t.numbers = abi.FirstTypeNumber, map[abi.Digest]typeNumber{}
	t.objects = gcheap.Types{Index: make([]uint32, t.next), List: make([]gcheap.Type, 1)}
	t.described = make([]*ObjectType, 1)
	return nil
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

// intern returns the numbers of the types of a module; those of functions that are plain have none. The error is a *LimitError or *SystemError.
func (t *typeRows) intern(defs []abi.TypeDef, records *abi.Records) ([]typeNumber, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.open(); err != nil {
		return nil, err
	}
	numbers, layouts := make([]typeNumber, len(defs)), make([]*abi.ObjectLayout, len(defs))
	for i := range defs {
		d := &defs[i]
		if d.Kind == abi.KindFunc && !d.Open && !d.HasSuper {
			continue
		}
		var super typeNumber
		if d.HasSuper {
			super = numbers[d.Super]
		}
		if d.Kind != abi.KindFunc {
			var above *abi.ObjectLayout
			if d.HasSuper {
				above = layouts[d.Super]
			}
			layouts[i] = d.ObjectLayout(above)
		}
		digest := records.Digest(uint32(i))
		n, ok := t.numbers[digest]
		if !ok {
			var err error
			if n, err = t.add(d, super, layouts[i]); err != nil {
				return nil, err
			}
			t.numbers[digest] = n
			if d.Kind != abi.KindFunc {
				t.described = append(t.described, &ObjectType{defs: defs, records: records, index: uint32(i), number: n, layout: layouts[i]})
			}
		}
		numbers[i] = n
	}
	return numbers, nil
}

// add makes a row.
func (t *typeRows) add(d *abi.TypeDef, super typeNumber, l *abi.ObjectLayout) (typeNumber, error) {
	n := typeNumber{t.next, super.depth + 1}
	end := t.next + n.depth + 1
	if t.next > maxTypeNumber {
		return typeNumber{}, &LimitError{What: "words of types in the process", Want: uint64(end), Limit: maxTypeNumber}
	}
	if err := t.grow(end); err != nil {
		return typeNumber{}, err
	}
	t.put(n.number, [...]uint32{abi.KindFunc: rowOfFunc, abi.KindStruct: abi.TypeOfStructs, abi.KindArray: abi.TypeOfArrays}[d.Kind])
	for k := uint32(1); k <= super.depth; k++ {
		t.put(n.number+k, t.word(super.number+k))
	}
	t.put(n.number+n.depth, n.number)
	t.objects.Index = append(t.objects.Index, make([]uint32, end-t.next)...)
	if l != nil {
		t.objects.Index[n.number] = uint32(len(t.objects.List))
		t.objects.List = append(t.objects.List, gcheap.TypeOf(d, l))
	}
	t.next = end
	return n, nil
}

// known returns what heaps know of the types.
func (t *typeRows) known() gcheap.Types {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.objects
}

// numberOf returns the number of the type that a digest stands for.
func (t *typeRows) numberOf(d abi.Digest) typeNumber {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.numbers[d]
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

// of returns the type of objects with a number, nil if there is none.
func (t *typeRows) of(number uint32) *ObjectType {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if uint64(number) >= uint64(len(t.objects.Index)) {
		return nil
	}
	return t.described[t.objects.Index[number]]
}
