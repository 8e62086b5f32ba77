//go:build linux && (amd64 || arm64)

package inproc

import (
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/proof/testenv"
)

func typesOf(defs []abi.TypeDef) *moduleTypes {
	return &moduleTypes{defs: defs, records: abi.RecordsOf(defs, nil)}
}

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
	if err := process.start(); err != nil {
		t.Fatal(err)
	}
	var rows typeRows
	fields := []abi.ValType{abi.I32, abi.I64, abi.F32, abi.F64, abi.V128, abi.EqRef, abi.FuncRef, abi.ExternRef}
	var all [2][8][]typeNumber
	var work sync.WaitGroup
	for turn := range all {
		for k, f := range fields {
			work.Go(func() {
				defs := family(f)
				n, err := rows.take(typesOf(defs))
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
	rows.word(rows.places.next + abi.MaxTypeDepth) // readable
	full, free := rows.places.next, rows.free()
	rows.places.limit = full + 1
	var limit *LimitError
	defs := []abi.TypeDef{{Open: true}, {Kind: abi.KindArray, Fields: []abi.FieldType{{Type: abi.I32, Mutable: true}}}}
	if _, err := rows.take(typesOf(defs)); !errors.As(err, &limit) {
		t.Errorf("a full table: %v", err)
	}
	if rows.places.next != full || rows.free() != free {
		t.Errorf("what fails ends at word %d, want %d", rows.places.next, full)
	}
	for turn, numbers := range all {
		for k, f := range fields {
			defs := family(f)
			rows.give(typesOf(defs), numbers[k])
		}
		if empty := len(rows.rows) == 0; empty != (turn == 1) {
			t.Errorf("%d rows are left", len(rows.rows))
		}
	}
	rows.close()
}

// close ends the use of a table that is not the process's.
func (t *typeRows) close() {
	munmap(t.base, rowsSize)
	process.giveMappings(otherMappings)
}

// free returns how many places there are that wait for rows.
func (t *typeRows) free() (n int) {
	for _, list := range t.places.free {
		n += len(list)
	}
	return n
}

// chain is the types of a module: a structure, and subtypes one above the other, which are like those of no other module with another mark. Some marks have functions in the place of structures.
func chain(mark, length int) []abi.TypeDef {
	defs := make([]abi.TypeDef, length)
	for i := range defs {
		defs[i] = abi.TypeDef{Open: true, HasSuper: i > 0, Super: uint32(max(i, 1) - 1), Depth: uint8(i)}
		for k := range 16 {
			typ := abi.I32 + abi.ValType(mark>>k&1)
			if hasFuncs(mark) {
				defs[i].Params = append(defs[i].Params, typ)
			} else {
				defs[i].Kind, defs[i].Fields = abi.KindStruct, append(defs[i].Fields, abi.FieldType{Type: typ})
			}
		}
	}
	return defs
}

// hasFuncs reports whether the chain with a mark has functions.
func hasFuncs(mark int) bool { return mark%3 == 0 }

// TestTypeRowsRandom: modules come and go in a small table, so that places are used again, divided and joined. What is a subtype of what stays right for all types in use, no two types have one
// number, and the table holds nothing else.
func TestTypeRowsRandom(t *testing.T) {
	if os.Getenv("WAOT_EMULATOR") != "" {
		t.Skip("nothing of it depends on the machine: not in an emulator")
	}
	if err := process.start(); err != nil {
		t.Fatal(err)
	}
	for _, seed := range []uint64{1, 2, 3, 4} {
		r := rand.New(rand.NewPCG(seed, 0))
		rows := typeRows{places: typePlaces{limit: 6000}}
		type user struct {
			mark    int
			types   *moduleTypes
			numbers []typeNumber
		}
		var users []user
		used := func() (words int) {
			seen := map[int]int{}
			for _, u := range users {
				seen[u.mark] = max(seen[u.mark], len(u.numbers))
			}
			for _, n := range seen {
				words += n * (n + 3) / 2
			}
			return words
		}
		leave := func() {
			i := r.IntN(len(users))
			rows.give(users[i].types, users[i].numbers)
			users = slices.Delete(users, i, i+1)
		}
		full, joined := 0, 0
		for step := range testenv.Cases(2000, 3000, 30_000) {
			for len(users) > 0 && r.IntN(3) == 0 {
				leave()
			}
			// One time of the test has modules with many small rows, another one some with large ones: the places of one are of little use to the other.
			length := 1 + r.IntN(4)
			if step/200%2 == 1 {
				length = 1 + r.IntN(abi.MaxTypeDepth)
			}
			mark := r.IntN(400)
			u := user{mark: mark, types: typesOf(chain(mark, length))}
			freed := rows.places.freed
			var err error
			if u.numbers, err = rows.take(u.types); err != nil {
				var limit *LimitError
				if !errors.As(err, &limit) || limit.Want <= limit.Limit {
					t.Fatal(err)
				}
				if full++; used() < 6000/4 {
					t.Errorf("seed %d: no room beside %d words", seed, used())
				}
				for range len(users) / 2 {
					leave()
				}
				continue
			}
			if rows.places.freed < freed {
				joined++
			}
			users = append(users, u)
			if step%50 == 0 {
				rows.check(t, func(yield func(int, []typeNumber) bool) {
					for _, u := range users {
						if !yield(u.mark, u.numbers) {
							return
						}
					}
				})
			}
			if t.Failed() {
				t.Fatalf("seed %d, step %d", seed, step)
			}
		}
		if full == 0 || joined == 0 {
			t.Errorf("seed %d: the table was full %d times, places were joined %d times", seed, full, joined)
		}
		for len(users) > 0 {
			leave()
		}
		rows.places.limit = maxTypeWords
		for mark := 0; rows.places.next <= rowsStep/4; mark++ {
			u := user{mark: mark, types: typesOf(chain(mark, abi.MaxTypeDepth))}
			var err error
			if u.numbers, err = rows.take(u.types); err != nil {
				t.Fatal(err)
			}
			users = append(users, u)
		}
		for len(users) > 0 {
			leave()
		}
		if len(rows.rows) != 0 || rows.places.next != abi.FirstTypeNumber {
			t.Errorf("seed %d: %d rows are left, and end at word %d", seed, len(rows.rows), rows.places.next)
		}
		for n := uint32(0); 4*uintptr(n) < rows.committed; n++ {
			if w := rows.word(n); w != 0 {
				t.Fatalf("seed %d: word %d is %d in an empty table", seed, n, w)
			}
		}
		rows.close()
	}
}

// check checks the rows of chains.
func (t *typeRows) check(tt *testing.T, chains func(yield func(mark int, numbers []typeNumber) bool)) {
	type place struct{ mark, i int }
	is := map[typeNumber]place{}
	for mark, numbers := range chains {
		for i, n := range numbers {
			if have, ok := is[n]; ok && have != (place{mark, i}) {
				tt.Errorf("type %d of chain %d has number %d of another one", i, mark, n.number)
			}
			is[n] = place{mark, i}
		}
	}
	words, objects := uint32(0), map[uint32]bool{}
	for a, x := range is {
		words += a.size()
		switch i := t.objects.Index[a.number]; {
		case hasFuncs(x.mark):
			words-- // of which the first one is 0
			if i != 0 {
				tt.Errorf("type %d of functions is one of objects for heaps", a.number)
			}
		case i == 0 || objects[i] || t.objects.List[i].Fixed < 16*4:
			tt.Errorf("heaps do not know type %d", a.number)
		default:
			objects[i] = true
		}
		for b, y := range is {
			if got, want := t.isWithin(a.number, b), x.mark == y.mark && y.i <= x.i; got != want {
				tt.Errorf("type %d of chain %d is within type %d of chain %d: %v", x.i, x.mark, y.i, y.mark, got)
			}
		}
		if t.word(abi.TypeOfNull+a.depth) == a.number {
			tt.Errorf("null is of type %d", a.number)
		}
	}
	filled := uint32(0)
	for n := uint32(0); n < t.places.next; n++ {
		if t.word(n) != 0 {
			filled++
		}
	}
	if filled != words {
		tt.Errorf("%d words of the table have something, want %d", filled, words)
	}
}
