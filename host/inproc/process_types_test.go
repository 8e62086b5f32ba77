//go:build linux && (amd64 || arm64)

package inproc

import (
	"errors"
	"sync"
	"testing"

	"github.com/waot-project/waot/internal/abi"
)

// family is the types of a module: a structure with two levels of subtypes, another structure, an array, and a function with a subtype.
func family(field abi.ValType) []abi.TypeDef {
	fields := []abi.FieldType{{Type: field}}
	return []abi.TypeDef{
		{Kind: abi.KindStruct, Fields: fields, Open: true},
		{Kind: abi.KindStruct, Fields: fields, Open: true, HasSuper: true, Super: 0, Depth: 1},
		{Kind: abi.KindStruct, Fields: append(fields[:1:1], fields...), HasSuper: true, Super: 1, Depth: 2},
		{Kind: abi.KindStruct, Fields: fields},
		{Kind: abi.KindArray, Fields: fields},
		{Open: true},
		{HasSuper: true, Super: 5, Depth: 1},
		{},
	}
}

// supers is what type is a subtype of what in a family.
func supers(i, j int) bool {
	return i == j || j == 0 && i < 3 || j == 1 && i == 2 || j == 5 && i == 6
}

// TestTypeRows: equal types have one number, also if many modules bring them at once, and rows say what is a subtype of what, in Go and as compiled code reads them.
func TestTypeRows(t *testing.T) {
	var rows typeRows
	fields := []abi.ValType{abi.I32, abi.I64, abi.F32, abi.F64, abi.V128, abi.EqRef, abi.FuncRef, abi.ExternRef}
	var all [2][8][]typeNumber
	var work sync.WaitGroup
	for turn := range all {
		for k, f := range fields {
			work.Go(func() {
				defs := family(f)
				n, err := rows.intern(defs, abi.RecordsOf(defs, nil))
				if err != nil {
					t.Error(err)
				}
				all[turn][k] = n
			})
		}
	}
	work.Wait()
	type member struct {
		family, i int
		typeNumber
	}
	var list []member
	for k := range fields {
		for i, n := range all[0][k] {
			if n != all[1][k][i] || (n.number == 0) != (i == 7) {
				t.Errorf("type %d of family %d has the numbers %v and %v", i, k, n, all[1][k][i])
			}
			if n.number != 0 && (i < 5 || k == 0) { // types of functions are the same in all families
				list = append(list, member{k, i, n})
			}
		}
	}
	known := rows.known()
	for _, a := range list {
		if isObject := known.Index[a.number] != 0; isObject != (a.i < 5) {
			t.Errorf("type %d: an object for the heap: %v", a.i, isObject)
		}
		for _, b := range list {
			want := a.family == b.family && supers(a.i, b.i)
			if got := rows.isWithin(a.number, b.typeNumber); got != want {
				t.Errorf("type %d of family %d is within type %d of family %d: %v", a.i, a.family, b.i, b.family, got)
			}
		}
	}
	for _, a := range list {
		if rows.word(abi.TypeOfNull+a.depth) == a.number {
			t.Errorf("null is of type %d", a.i)
		}
	}
	rows.word(rows.next + abi.MaxTypeDepth) // readable
	rows.next = maxTypeNumber + 1
	var limit *LimitError
	defs := []abi.TypeDef{{Kind: abi.KindArray, Fields: []abi.FieldType{{Type: abi.I32, Mutable: true}}}}
	if _, err := rows.intern(defs, abi.RecordsOf(defs, nil)); !errors.As(err, &limit) {
		t.Errorf("a full table: %v", err)
	}
	munmap(rows.base, rowsSize)
	process.giveMappings(otherMappings)
}
