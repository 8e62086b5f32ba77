package clif

import "strings"

// layout says where the operands and targets of an opcode are. It follows from the format, so an opcode of a format that is there needs no code in passes that go
// through operands or targets.
type layout struct {
	operands   uint8 // how many of Args are values, from the first on
	list       uint8 // what the list in the pool holds, which Args[1] and Args[2] tell
	target     uint8 // the first of Args that is a target
	numTargets uint8 // how many of them are
}

// What a list holds.
const (
	noList = iota
	listOfValues
	listOfTargets
)

// layouts are those of the formats that have operands or targets. Entities have as many operands as the signature of the opcode.
var layouts = [...]layout{
	FormatUnary:    {operands: 1},
	FormatBinary:   {operands: 2},
	FormatTernary:  {operands: 3},
	FormatIntCmp:   {operands: 2},
	FormatFloatCmp: {operands: 2},
	FormatExtract:  {operands: 1},
	FormatInsert:   {operands: 2},
	FormatShuffle:  {operands: 2},
	FormatLoad:     {operands: 1},
	FormatStore:    {operands: 2},
	FormatTrapIf:   {operands: 1},
	FormatBound:    {operands: 2},
	FormatChargeBy: {operands: 1},
	FormatJump:     {target: 1, numTargets: 1},
	FormatBranch:   {operands: 1, target: 1, numTargets: 2},
	FormatCatch:    {target: 1, numTargets: 2},
	FormatList:     {list: listOfValues},
	FormatRefTest:  {operands: 1},
	FormatBrTable:  {operands: 1, list: listOfTargets},
	FormatReturn:   {list: listOfValues},
	FormatCall:     {list: listOfValues},
	FormatCallRef:  {operands: 1, list: listOfValues},
}

var layoutOf = func() (of [NumOpcodes]layout) {
	for op := range of {
		info := Opcode(op).Info()
		of[op] = layouts[info.Format]
		if info.Format == FormatEntity || info.Format == FormatEntity2 {
			args, _, _ := strings.Cut(info.Sig, ":")
			of[op].operands = uint8(len(args))
		}
	}
	return of
}()

// NumArgs returns how many of Args are values.
func (d *InstData) NumArgs() int { return int(layoutOf[d.Op].operands) }

// Operands returns the values among Args, by number. They may be written.
func (d *InstData) Operands() []uint32 { return d.Args[:layoutOf[d.Op].operands] }

// ListOperands returns the values of a call, return, exn_set or operation on arrays that are in the pool, by number. They may be written.
func (f *Func) ListOperands(d *InstData) []uint32 {
	if layoutOf[d.Op].list == listOfValues {
		return f.listOf(d)
	}
	return nil
}

// TargetsOf returns the numbers of the Targets of d, in order of edges; the last one of a br_table is the default. They may be written.
func (f *Func) TargetsOf(d *InstData) []uint32 {
	switch l := &layoutOf[d.Op]; {
	case l.numTargets > 0:
		return d.Args[l.target : l.target+l.numTargets]
	case l.list == listOfTargets:
		return f.listOf(d)
	}
	return nil
}

// HasList reports whether d has a list in the pool, which begins at Args[1] and has Args[2] words.
func (d *InstData) HasList() bool { return layoutOf[d.Op].list != noList }

// CopyOperands gives d, a copy of an instruction of from, a list of its own in the pool of f, if it has one, and replaces its operands and targets by what value and
// target return.
func (f *Func) CopyOperands(d *InstData, from *Func, value, target func(uint32) uint32) {
	if d.HasList() {
		off := uint32(len(f.Pool))
		for _, x := range from.listOf(d) {
			f.Pool = append(f.Pool, x)
		}
		d.Args[1] = off
	}
	for k, v := range d.Operands() {
		d.Args[k] = value(v)
	}
	// The functions may move the pool.
	for k := range f.ListOperands(d) {
		f.Stop.PollAt(k)
		x := value(f.ListOperands(d)[k])
		f.ListOperands(d)[k] = x
	}
	for k := range f.TargetsOf(d) {
		f.Stop.PollAt(k)
		x := target(f.TargetsOf(d)[k])
		f.TargetsOf(d)[k] = x
	}
}

func (f *Func) listOf(d *InstData) []uint32 {
	return f.Pool[d.Args[1] : d.Args[1]+d.Args[2] : d.Args[1]+d.Args[2]]
}
