package compile_test

import (
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/interp"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/clif/text"
	"github.com/waot-project/waot/clif/verify"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/host/load"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/effect"
	"github.com/waot-project/waot/internal/proof/entropy"
	"github.com/waot-project/waot/internal/proof/filetest"
	"github.com/waot-project/waot/spectest"
	"github.com/waot-project/waot/spectest/nativeengine"
)

// around is the module of generated functions; their bodies come behind it. "sum" is of what they may have written.
const around = `sig0 = (i32, i64) -> (i64)
sig1 = (i64, f64, i32) -> (i32, f64)
sig2 = () -> ()
sig3 = (i32, i64, f32, f64, ref, i64, i64, i64, i64, i64, i32, i64, f64, f32, f64, f64, f64, f64, f64, f64) -> (i32, i64, f32, f64)
sig4 = () -> (i64)
sig5 = (i64) -> (i32, i64, f32, f64)
sig6 = (i32, i64, f64, i64, i64, f32, i32, i64, i64, i64, v128, i64, i32, i64, f64, i64, f64, f32, f64, f64, f32, f64, f64, f64, i64) -> (i32, i64, f32, f64)
sig7 = (i64, i64, i64, i64, i64, i64, i64, i64, i64, i64) -> (i32, i64, f32, f64)
import fn0 "env" "one" "one" sig0
import fn1 "env" "two" "two" sig1 addressed
fn2 "leaf" sig0 addressed
fn3 "f" sig3 addressed
fn4 "sum" sig4
fn5 "init" sig2
fn6 "few" sig5 addressed
fn7 "many" sig6 addressed
fn8 "some" sig7 addressed
mem0 1 2
global0 i32 mut = 5
global1 i64 mut = -7
global2 f32 mut = 0x3f800000
global3 f64 mut
global4 ref mut
global5 funcref mut
global6 i64 = 12345678901234
global7 i32 mut = 30
table0 funcref 4 8
table1 ref 4 8
data0 "abcdefgh"
elem0 funcref [fn2, null]
elem1 ref []
export "f" fn3
export "sum" fn4

function fn2 "leaf" (i32, i64) -> (i64) {
block0(v0: i32, v1: i64):
    v2 = uextend.i64 v0
    v3 = imul.i64 v1, v2
    global_set.i64 global1, v3
    return v3
}

function fn4 "sum" () -> (i64) {
block0:
    v0 = iconst.i32 0
    v1 = global_get.i64 global1
    v2 = global_get.i32 global0
    v3 = uextend.i64 v2
    v4 = iadd.i64 v1, v3
    jump block1(v0, v4)
block1(v5: i32, v6: i64):
    v7 = load.i64 mem0 v5+0
    v8 = iconst.i64 7
    v9 = rotl.i64 v6, v8
    v10 = bxor.i64 v9, v7
    v11 = iconst.i32 8
    v12 = iadd.i32 v5, v11
    v13 = iconst.i32 1024
    v14 = icmp.i32 ult, v12, v13
    br v14, block1(v12, v10), block2(v10)
block2(v15: i64):
    v16 = memory_size mem0
    v17 = iadd.i64 v15, v16
    return v17
}

function fn5 "init" () -> () {
block0:
    return
}

function fn6 "few" (i64) -> (i32, i64, f32, f64) {
block0(v0: i64):
    v1 = ireduce.i32 v0
    v2 = fcvt_from_sint.f32 v0
    v3 = fcvt_from_sint.f64 v1
    return v1, v0, v2, v3
}

function fn7 "many" (i32, i64, f64, i64, i64, f32, i32, i64, i64, i64, v128, i64, i32, i64, f64, i64, f64, f32, f64, f64, f32, f64, f64, f64, i64) -> (i32, i64, f32, f64) {
block0(v0: i32, v1: i64, v2: f64, v3: i64, v4: i64, v5: f32, v6: i32, v7: i64, v8: i64, v9: i64, v10: v128, v11: i64, v12: i32, v13: i64, v14: f64, v15: i64, v16: f64, v17: f32, v18: f64, v19: f64, v20: f32, v21: f64, v22: f64, v23: f64, v24: i64):
    v25 = iconst.i64 7
    v26 = uextend.i64 v0
    v27 = rotl.i64 v25, v25
    v28 = bxor.i64 v27, v26
    v29 = rotl.i64 v28, v25
    v30 = bxor.i64 v29, v1
    v31 = bitcast.i64 v2
    v32 = rotl.i64 v30, v25
    v33 = bxor.i64 v32, v31
    v34 = rotl.i64 v33, v25
    v35 = bxor.i64 v34, v3
    v36 = rotl.i64 v35, v25
    v37 = bxor.i64 v36, v4
    v38 = bitcast.i32 v5
    v39 = uextend.i64 v38
    v40 = rotl.i64 v37, v25
    v41 = bxor.i64 v40, v39
    v42 = uextend.i64 v6
    v43 = rotl.i64 v41, v25
    v44 = bxor.i64 v43, v42
    v45 = rotl.i64 v44, v25
    v46 = bxor.i64 v45, v7
    v47 = rotl.i64 v46, v25
    v48 = bxor.i64 v47, v8
    v49 = rotl.i64 v48, v25
    v50 = bxor.i64 v49, v9
    v51 = vextract.i64x2 v10, 0
    v52 = vextract.i64x2 v10, 1
    v53 = rotl.i64 v50, v25
    v54 = bxor.i64 v53, v51
    v55 = rotl.i64 v54, v25
    v56 = bxor.i64 v55, v52
    v57 = rotl.i64 v56, v25
    v58 = bxor.i64 v57, v11
    v59 = uextend.i64 v12
    v60 = rotl.i64 v58, v25
    v61 = bxor.i64 v60, v59
    v62 = rotl.i64 v61, v25
    v63 = bxor.i64 v62, v13
    v64 = bitcast.i64 v14
    v65 = rotl.i64 v63, v25
    v66 = bxor.i64 v65, v64
    v67 = rotl.i64 v66, v25
    v68 = bxor.i64 v67, v15
    v69 = bitcast.i64 v16
    v70 = rotl.i64 v68, v25
    v71 = bxor.i64 v70, v69
    v72 = bitcast.i32 v17
    v73 = uextend.i64 v72
    v74 = rotl.i64 v71, v25
    v75 = bxor.i64 v74, v73
    v76 = bitcast.i64 v18
    v77 = rotl.i64 v75, v25
    v78 = bxor.i64 v77, v76
    v79 = bitcast.i64 v19
    v80 = rotl.i64 v78, v25
    v81 = bxor.i64 v80, v79
    v82 = bitcast.i32 v20
    v83 = uextend.i64 v82
    v84 = rotl.i64 v81, v25
    v85 = bxor.i64 v84, v83
    v86 = bitcast.i64 v21
    v87 = rotl.i64 v85, v25
    v88 = bxor.i64 v87, v86
    v89 = bitcast.i64 v22
    v90 = rotl.i64 v88, v25
    v91 = bxor.i64 v90, v89
    v92 = bitcast.i64 v23
    v93 = rotl.i64 v91, v25
    v94 = bxor.i64 v93, v92
    v95 = rotl.i64 v94, v25
    v96 = bxor.i64 v95, v24
    br v0, block1, block2
block1:
    return_call fn6(v96)
block2:
    return v12, v96, v20, v16
}

function fn8 "some" (i64, i64, i64, i64, i64, i64, i64, i64, i64, i64) -> (i32, i64, f32, f64) {
block0(v0: i64, v1: i64, v2: i64, v3: i64, v4: i64, v5: i64, v6: i64, v7: i64, v8: i64, v9: i64):
    v10 = iconst.i64 7
    v11 = rotl.i64 v10, v10
    v12 = bxor.i64 v11, v0
    v13 = rotl.i64 v12, v10
    v14 = bxor.i64 v13, v1
    v15 = rotl.i64 v14, v10
    v16 = bxor.i64 v15, v2
    v17 = rotl.i64 v16, v10
    v18 = bxor.i64 v17, v3
    v19 = rotl.i64 v18, v10
    v20 = bxor.i64 v19, v4
    v21 = rotl.i64 v20, v10
    v22 = bxor.i64 v21, v5
    v23 = rotl.i64 v22, v10
    v24 = bxor.i64 v23, v6
    v25 = rotl.i64 v24, v10
    v26 = bxor.i64 v25, v7
    v27 = rotl.i64 v26, v10
    v28 = bxor.i64 v27, v8
    v29 = rotl.i64 v28, v10
    v30 = bxor.i64 v29, v9
    return_call fn6(v30)
}
`

// The functions of around.
const (
	fnOne clif.FuncIndex = iota
	fnTwo
	fnLeaf
	fnF
	fnSum
	fnInit
	fnFew
	fnMany
	fnSome
)

// The globals that are not like others: one that does not change, and the rounds that are left.
const (
	globalConst = 6
	globalFuel  = 7
)

// funcGen makes a function of choices: any control flow, and all instructions but those that only the init function has.
// Without unsafe, those that rely on checks before them are left out, and no integer depends on which NaN a NaN is: what
// executes the function must agree.
type funcGen struct {
	*entropy.Source
	clif.Builder
	unsafe bool
	blocks []genBlock
	at     int // index of the block being filled
}

// genBlock is a block with its values.
type genBlock struct {
	params  []clif.Type
	targets []int
	doms    uint64 // set of blocks that dominate it, itself included
	values  [clif.NumTypes][]clif.Value
}

var fuzzTypes = []clif.Type{clif.I32, clif.I64, clif.F32, clif.F64, clif.Ref, clif.FuncRef}

// pureTypes are the types of pure instructions.
var pureTypes = append([]clif.Type{clif.V128, clif.I8x16, clif.I16x8, clif.I32x4, clif.I64x2, clif.F32x4, clif.F64x2}, fuzzTypes...)

// generate makes fnF of m.
func (g *funcGen) generate(m *clif.Module) *clif.Func {
	g.F = &clif.Func{Mod: m, Name: "f", Index: fnF, Sig: m.Funcs[fnF].Sig}
	g.graph()
	for i := range g.blocks {
		b := &g.blocks[i]
		g.NewBlock()
		for _, t := range b.params {
			b.values[t] = append(b.values[t], g.AddParam(clif.Block(i), t))
		}
	}
	for _, i := range g.order() {
		g.at = i
		g.SwitchTo(clif.Block(i))
		if i > 0 && g.IntN(4) != 0 {
			g.burn()
		}
		for range g.IntN(12) {
			g.instruction()
		}
		g.terminator()
	}
	if l := g.F.Layout; len(l) > 2 { // the order in the text is not that of control
		i, k := 1+g.IntN(len(l)-1), 1+g.IntN(len(l)-1)
		l[i], l[k] = l[k], l[i]
	}
	return g.F
}

// graph chooses parameters and successors of the blocks, and finds out which dominate which.
func (g *funcGen) graph() {
	n := 1 + g.IntN(8)
	g.blocks = make([]genBlock, n)
	for i := range g.blocks {
		b := &g.blocks[i]
		b.params = g.F.Signature().Params
		if i > 0 {
			b.params = nil
			for range g.IntN(4) {
				b.params = append(b.params, fuzzTypes[g.IntN(len(fuzzTypes))])
			}
		}
		for range []int{0, 1, 1, 2, 2, 2, 2, 4}[g.IntN(8)] {
			if n == 1 {
				break // the entry is no target
			}
			to := min(n-1, i+1+g.IntN(2)) // mostly forward
			if g.IntN(4) == 0 {
				to = 1 + g.IntN(n-1)
			}
			b.targets = append(b.targets, to)
		}
		b.doms = 1<<n - 1
	}
	g.blocks[0].doms = 1
	for changed := true; changed; {
		changed = false
		for i := 1; i < n; i++ {
			doms := uint64(1<<n - 1)
			for p := range g.blocks {
				for _, to := range g.blocks[p].targets {
					if to == i {
						doms &= g.blocks[p].doms
					}
				}
			}
			doms |= 1 << i
			changed = changed || doms != g.blocks[i].doms
			g.blocks[i].doms = doms
		}
	}
}

// order is the blocks, each behind those that dominate it. A block that nothing reaches has its own values only.
func (g *funcGen) order() (list []int) {
	n := len(g.blocks)
	for size := 1; size <= n; size++ {
		for i := range g.blocks {
			if bits.OnesCount64(g.blocks[i].doms) == size {
				list = append(list, i)
			}
		}
	}
	reached, todo := uint64(1), []int{0}
	for len(todo) > 0 {
		b := &g.blocks[todo[0]]
		todo = todo[1:]
		for _, to := range b.targets {
			if reached>>to&1 == 0 {
				reached |= 1 << to
				todo = append(todo, to)
			}
		}
	}
	for i := range g.blocks {
		if reached>>i&1 == 0 {
			g.blocks[i].doms = 1 << i
		}
	}
	return list
}

// def notes a value of the block.
func (g *funcGen) def(v clif.Value) {
	t := g.F.Values[v].Type
	g.blocks[g.at].values[t] = append(g.blocks[g.at].values[t], v)
}

// use is a value of type t that dominates: mostly one of those there are, else a constant.
func (g *funcGen) use(t clif.Type) clif.Value {
	var all []clif.Value
	for i := range g.blocks {
		if g.blocks[g.at].doms>>i&1 != 0 {
			all = append(all, g.blocks[i].values[t]...)
		}
	}
	if n := len(all); n > 0 && g.IntN(5) != 0 {
		if g.IntN(2) == 0 {
			return all[n-1-g.IntN(min(n, 4))] // a late one
		}
		return all[g.IntN(n)]
	}
	v := g.constant(t)
	g.def(v)
	return v
}

// burn makes loops end.
func (g *funcGen) burn() {
	n := g.Binary(clif.OpIsub, clif.I32, g.Entity(clif.OpGlobalGet, clif.I32, globalFuel), g.Iconst(clif.I32, 1))
	g.EntityEffect(clif.OpGlobalSet, clif.I32, globalFuel, 0, n)
	g.TrapIf(g.Icmp(clif.Slt, clif.I32, n, g.Iconst(clif.I32, 0)), abi.TrapUnreachable)
}

func (g *funcGen) constant(t clif.Type) clif.Value {
	switch {
	case t == clif.FuncRef && g.IntN(2) == 0:
		return g.FuncAddr([]clif.FuncIndex{fnTwo, fnLeaf}[g.IntN(2)])
	case t.IsRef():
		return g.RefNull(t)
	case t == clif.V128:
		return g.Vconst(g.Uint64()>>g.IntN(64), g.Uint64()>>g.IntN(64))
	case t.IsFloat():
		shift := t.Bits() - 16
		return g.Fconst(t, []uint64{0, 0x8000, 0x3f80, 0x3ff0, 0x7ff0, 0x7f80, 0xffff, 0xcf00, 0xc1e0, uint64(uint16(g.Uint32()))}[g.IntN(10)]<<shift)
	}
	x := uint64(g.IntN(256))
	switch g.IntN(4) {
	case 1:
		x = -x
	case 2:
		x = 1<<g.IntN(64) - x%3
	case 3:
		x = g.Uint64()
	}
	return g.Iconst(t, x)
}

// exact is an operand that shows the bits of x: if it must not, a NaN becomes another number.
func (g *funcGen) exact(t clif.Type, x clif.Value) clif.Value {
	if !t.IsFloat() || g.unsafe {
		return x
	}
	return g.Select(t, g.Fcmp(clif.FEq, t, x, x), x, g.Fconst(t, 0))
}

// exactLanes is x, the result of op, with other numbers in place of lanes that are NaNs: everything shows their bits.
func (g *funcGen) exactLanes(op clif.Opcode, t clif.Type, x clif.Value) clif.Value {
	if g.unsafe || g.F.TypeOf(x) != clif.V128 || !t.IsFloatShape() || op == clif.OpVcvtToSintSat || op == clif.OpVcvtToUintSat || op == clif.OpVcvtToSintInd {
		return x
	}
	return g.Binary(clif.OpVand, clif.V128, x, g.Vfcmp(clif.FEq, t, x, x))
}

// typeOf is one of the types of an instruction.
func (g *funcGen) typeOf(s clif.TypeSet) clif.Type {
	var ts []clif.Type
	for _, t := range pureTypes {
		if s.Has(t) {
			ts = append(ts, t)
		}
	}
	if len(ts) == 0 {
		return clif.Invalid
	}
	return ts[g.IntN(len(ts))]
}

// operandType is the type for a letter of clif.OpInfo.Sig.
func (g *funcGen) operandType(letter byte, t clif.Type) clif.Type {
	other := map[clif.Type]clif.Type{clif.I32: clif.F32, clif.F32: clif.I32, clif.I64: clif.F64, clif.F64: clif.I64}
	switch letter {
	case 'i', 'p':
		return clif.I32
	case 'l':
		return clif.I64
	case 'f':
		return []clif.Type{clif.F32, clif.F64}[g.IntN(2)]
	case 'n':
		return []clif.Type{clif.I32, clif.I64}[g.IntN(2)]
	case 'b':
		return other[t]
	case 's':
		return clif.F32 + clif.F64 - t
	case 'F':
		return clif.FuncRef
	case 'V':
		return clif.V128
	case 'e':
		return t.LaneType()
	}
	return t
}

// checked are the instructions on entities that need no check before them.
var checked = []clif.Opcode{clif.OpMemorySize, clif.OpMemoryGrow, clif.OpGlobalGet, clif.OpGlobalSet, clif.OpTableSize, clif.OpTableGrow,
	clif.OpDataLen, clif.OpDataDrop, clif.OpElemLen, clif.OpElemDrop, clif.OpSigCheck}

var unchecked = []clif.Opcode{clif.OpMemoryCopy, clif.OpMemoryFill, clif.OpMemoryInit, clif.OpTableGet, clif.OpTableSet, clif.OpTableCopy,
	clif.OpTableFill, clif.OpTableInit}

// instruction adds one, with what it needs.
func (g *funcGen) instruction() {
	switch n := g.IntN(32); {
	case n < 4:
		g.access()
	case n < 8:
		ops := checked
		if g.unsafe {
			ops = append(ops[:len(ops):len(ops)], unchecked...)
		}
		g.entity(ops[g.IntN(len(ops))])
	case n == 8:
		g.trap()
	case n < 11:
		g.call()
	case n < 14:
		t := append(fuzzTypes, clif.V128)[g.IntN(len(fuzzTypes)+1)]
		g.def(g.Select(t, g.use(clif.I32), g.use(t), g.use(t)))
	default:
		g.pure(clif.OpIadd + clif.Opcode(g.IntN(int(clif.OpRefIsNull-clif.OpIadd)+1)))
	}
}

// trap adds what traps if something holds, which mostly does not.
func (g *funcGen) trap() {
	x, bound := g.use(clif.I64), g.use(clif.I64)
	switch g.IntN(8) {
	case 0:
	case 1, 2:
		x, bound = g.Binary(clif.OpBand, clif.I64, x, g.Iconst(clif.I64, 1)), g.Entity(clif.OpTableSize, clif.Invalid, 0)
	case 3, 4:
		k := g.IntN(40)
		x, bound = g.Binary(clif.OpBand, clif.I64, x, g.Iconst(clif.I64, 1<<k-1)), g.Iconst(clif.I64, 1<<k)
	default:
		g.TrapIf(g.rare(), abi.TrapUnreachable)
		return
	}
	g.def(g.Bound(x, bound, abi.TrapTableOutOfBounds))
}

// rare is mostly 0.
func (g *funcGen) rare() clif.Value {
	return g.Icmp(clif.Eq, clif.I32, g.use(clif.I32), g.Iconst(clif.I32, g.Uint64()))
}

// pure adds an instruction whose operands are in the table of opcodes. Most of those that may trap do not.
func (g *funcGen) pure(op clif.Opcode) {
	calm := op.Has(effect.Traps) && g.IntN(8) != 0
	if calm && (op == clif.OpFcvtToSint || op == clif.OpFcvtToUint) {
		op += clif.OpFcvtToSintSat - clif.OpFcvtToSint
	}
	if op == clif.OpVfma || op == clif.OpVfnma { // not on all processors
		op = clif.OpVbitselect
	}
	info := op.Info()
	t := g.typeOf(info.Types)
	in, _, _ := strings.Cut(info.Sig, ":")
	var args []clif.Value
	for i, letter := range []byte(in) {
		ty := g.operandType(letter, t)
		x := g.use(ty)
		if op == clif.OpBitcast || op == clif.OpVsplat || op == clif.OpFcopysign && i == 1 {
			x = g.exact(ty, x)
		}
		if calm && ty.IsInt() && i == 1 { // a divisor
			x = g.Binary(clif.OpBor, ty, x, g.Iconst(ty, 1))
		}
		args = append(args, x)
	}
	switch info.Format {
	case clif.FormatVconst:
		g.def(g.constant(t))
	case clif.FormatUnary:
		g.def(g.exactLanes(op, t, g.Unary(op, t, args[0])))
	case clif.FormatBinary:
		g.def(g.exactLanes(op, t, g.Binary(op, t, args[0], args[1])))
	case clif.FormatTernary:
		g.def(g.Ternary(op, t, args[0], args[1], args[2]))
	case clif.FormatExtract:
		g.def(g.Extract(op, t, args[0], uint8(g.IntN(t.Lanes()))))
	case clif.FormatInsert:
		g.def(g.Insert(t, args[0], g.exact(t.LaneType(), args[1]), uint8(g.IntN(t.Lanes()))))
	case clif.FormatShuffle:
		var lanes [16]uint8
		for i := range lanes {
			lanes[i] = uint8(g.IntN(32))
		}
		g.def(g.Builder.Shuffle(args[0], args[1], lanes))
	case clif.FormatIntCmp:
		if op == clif.OpVicmp {
			g.def(g.Vicmp(clif.IntCC(g.IntN(int(clif.NumIntCCs))), t, args[0], args[1]))
			return
		}
		g.def(g.Icmp(clif.IntCC(g.IntN(int(clif.NumIntCCs))), t, args[0], args[1]))
	case clif.FormatFloatCmp:
		if op == clif.OpVfcmp {
			g.def(g.Vfcmp(clif.FloatCC(g.IntN(int(clif.NumFloatCCs))), t, args[0], args[1]))
			return
		}
		g.def(g.Fcmp(clif.FloatCC(g.IntN(int(clif.NumFloatCCs))), t, args[0], args[1]))
	}
}

// access loads or stores, mostly in bounds.
func (g *funcGen) access() {
	t := fuzzTypes[g.IntN(4)]
	a := clif.Full
	if t.IsInt() {
		if a = clif.Access(g.IntN(int(clif.NumAccesses))); a.Bytes(t) >= t.Bits()/8 {
			a = clif.Full
		}
	}
	address := g.use(clif.I32)
	if g.IntN(12) != 0 {
		address = g.Binary(clif.OpBand, clif.I32, address, g.Iconst(clif.I32, []uint64{0x3ff, 0x3f8, 0xffff}[g.IntN(3)]))
		g.def(address)
	}
	offset := []uint64{0, 0, 1, 8, 65528, 65535, 1 << 20, 1<<31 - 1, 1 << 31, 1<<32 - 1}[g.IntN(10)]
	if g.IntN(12) != 0 {
		offset &= 15
	}
	if g.IntN(2) == 0 {
		g.def(g.Load(t, a, 0, address, offset))
		return
	}
	if a.Signed() {
		a--
	}
	g.Store(t, a, 0, address, g.exact(t, g.use(t)), offset)
}

// entity adds an instruction on an entity, of the type that the entity has.
func (g *funcGen) entity(op clif.Opcode) {
	info, m := op.Info(), g.F.Mod
	t := clif.Invalid
	if op == clif.OpSigCheck && g.IntN(8) != 0 {
		g.call()
		return
	}
	pick := func(e clif.Entity) (i int) {
		switch e {
		case clif.EntGlobal:
			i = g.IntN(globalFuel)
			if op == clif.OpGlobalSet {
				i = g.IntN(globalConst)
			}
			t = m.Globals[i].Type
		case clif.EntTable:
			i = g.IntN(len(m.Tables))
			if op == clif.OpTableCopy || op == clif.OpTableInit {
				i = 0
			} else if info.Types.Has(clif.Ref) {
				t = m.Tables[i].Elem
			}
		case clif.EntSig:
			i = g.IntN(2)
		}
		return i
	}
	aux := pick(info.Entity)
	in, out, _ := strings.Cut(info.Sig, ":")
	var args []clif.Value
	for _, letter := range []byte(in) {
		ty := g.operandType(letter, t)
		x := g.use(ty)
		if op == clif.OpGlobalSet {
			x = g.exact(ty, x)
		}
		args = append(args, x)
	}
	if out != "." {
		g.def(g.Entity(op, t, uint32(aux), args...))
		return
	}
	g.EntityEffect(op, t, uint32(aux), 0, args...)
}

// call calls one of the functions, directly or by a reference that is checked.
func (g *funcGen) call() {
	fn := clif.FuncIndex(g.IntN(3))
	indirect := g.IntN(2) == 0
	if indirect && fn == fnOne {
		fn = fnLeaf
	}
	sig := g.F.Mod.Funcs[fn].Sig
	var callee clif.Value
	if indirect {
		if callee = g.use(clif.FuncRef); g.IntN(8) != 0 {
			callee = g.Select(clif.FuncRef, g.use(clif.I32), g.FuncAddr(fn), g.FuncAddr(fn))
		}
		g.SigCheck(sig, callee)
	}
	var args []clif.Value
	for _, t := range g.F.Mod.Sigs[sig].Params {
		args = append(args, g.exact(t, g.use(t)))
	}
	var first clif.Value
	if indirect {
		first = g.CallRef(sig, callee, args)
	} else {
		first = g.Call(fn, args)
	}
	for i := range g.F.Mod.Sigs[sig].Results {
		g.def(first + clif.Value(i))
	}
}

func (g *funcGen) uses(ts []clif.Type) (list []clif.Value) {
	for _, t := range ts {
		list = append(list, g.use(t))
	}
	return list
}

// terminator ends the block.
func (g *funcGen) terminator() {
	var to []clif.Target
	for _, b := range g.blocks[g.at].targets {
		to = append(to, g.Target(clif.Block(b), g.uses(g.blocks[b].params)))
	}
	switch len(to) {
	case 0:
		switch g.IntN(8) {
		case 0:
			g.Trap(abi.TrapUnreachable)
			return
		case 1, 2, 3:
			g.tailCall()
			return
		}
		g.Return(g.uses(g.F.Signature().Results))
	case 1:
		g.Jump(to[0])
	case 2:
		g.Branch(g.use(clif.I32), to[0], to[1])
	default:
		g.BrTable(g.use(clif.I32), to)
	}
}

// tailCall ends the block with a tail call of a function with more parameters, or fewer, or of the function itself, which ends some time, directly or by a reference that is
// checked.
func (g *funcGen) tailCall() {
	fn := []clif.FuncIndex{fnF, fnFew, fnMany, fnSome}[g.IntN(4)]
	sig := g.F.Mod.Funcs[fn].Sig
	if fn == fnF {
		g.burn()
	}
	var callee clif.Value
	indirect := g.IntN(2) == 0
	if indirect {
		other := []clif.FuncIndex{fn, fn, fn, fnLeaf}[g.IntN(4)]
		callee = g.Select(clif.FuncRef, g.use(clif.I32), g.FuncAddr(fn), g.FuncAddr(other))
		g.SigCheck(sig, callee)
	}
	var args []clif.Value
	for _, t := range g.F.Mod.Sigs[sig].Params {
		args = append(args, g.exact(t, g.use(t)))
	}
	if indirect {
		g.ReturnCallRef(sig, callee, args)
		return
	}
	g.ReturnCall(fn, args)
}

// invoke is how an engine calls a function.
type invoke func(fn clif.FuncIndex, name string, args []uint64) ([]uint64, error)

var errEndless = errors.New("it does not end soon")

// outcome is what calls of fnF do.
func outcome(m *clif.Module, args [][]uint64, call invoke) ([]string, error) {
	var all []string
	for _, a := range args {
		results, err := call(fnF, "f", a)
		var trap interface{ TrapCode() abi.TrapCode }
		switch {
		case errors.As(err, &trap):
			all = append(all, trap.TrapCode().String())
		case errors.Is(err, interp.ErrSteps):
			return nil, errEndless
		case err != nil:
			return nil, err
		}
		for i, r := range results {
			switch t := m.FuncSig(fnF).Results[i]; {
			case t == clif.F32 && r<<33 > 0xff<<56, t == clif.F64 && r<<1 > 0x7ff<<53:
				all = append(all, "a NaN")
			default:
				all = append(all, fmt.Sprintf("%#x", r))
			}
		}
		sum, err := call(fnSum, "sum", nil)
		if err != nil {
			return nil, err
		}
		all = append(all, fmt.Sprintf("sum %#x", sum))
	}
	return all, nil
}

// interpret executes a file.
func interpret(file *text.File, args [][]uint64, steps int64, rewrite func(*clif.Func) error) ([]string, error) {
	p, err := filetest.Interp{Options: interp.Options{MaxSteps: steps}, Rewrite: rewrite}.Load(file)
	if err != nil {
		return nil, err
	}
	in, err := p.Start()
	if err != nil {
		return nil, err
	}
	return outcome(file.Mod, args, func(fn clif.FuncIndex, _ string, args []uint64) ([]uint64, error) { return in.Call(fn, args) })
}

// native executes an image.
func native(m *clif.Module, img *inproc.Image, args [][]uint64) ([]string, error) {
	e := &nativeengine.Engine{Image: func([]byte) (*inproc.Image, error) { return img, nil }}
	s, err := e.NewStore()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	imports := map[string]spectest.Extern{}
	for i := range m.NumImportedFuncs {
		sig := m.FuncSig(clif.FuncIndex(i))
		if imports[m.Funcs[i].Name], err = s.NewFunc(*sig, func(args, results []uint64) { filetest.Echo(sig, args, results) }); err != nil {
			return nil, err
		}
	}
	mod, err := s.Compile(nil)
	if err != nil {
		return nil, err
	}
	in, err := s.Instantiate(mod, func(_, name string) (spectest.Extern, bool) { x, ok := imports[name]; return x, ok })
	if err != nil {
		return nil, err
	}
	return outcome(m, args, func(_ clif.FuncIndex, name string, args []uint64) (results []uint64, err error) {
		values, err := in.Invoke(name, args)
		for _, v := range values {
			results = append(results, v.Bits)
		}
		return results, err
	})
}

// FuzzFunction: a function that the bytes choose is one for the verifier, and stays so; it is compiled for each target, and
// does, after the mid-end and as machine code, what the interpreter says it does.
func FuzzFunction(f *testing.F) {
	r := rand.NewChaCha8([32]byte{1: 'f'})
	for i := range 40 {
		b := make([]byte, 10*i)
		r.Read(b)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) { fuzzFunction(t, b) })
}

var (
	functionsFlag = flag.Uint64("functions", 300, "number of random functions")
	firstFlag     = flag.Uint64("first", 1, "number of the first random function")
)

// TestFunctions does what FuzzFunction does for random strings, which runs in an emulator, too.
func TestFunctions(t *testing.T) {
	executed, tails := 0, 0
	for n := *firstFlag; n < *firstFlag+*functionsFlag && !t.Failed(); n++ {
		var seed [32]byte
		binary.LittleEndian.PutUint64(seed[:], n)
		r := rand.NewChaCha8(seed)
		b := make([]byte, r.Uint64()%1500)
		r.Read(b)
		ok, tail := fuzzFunction(t, b)
		if ok {
			executed++
		}
		if ok && tail {
			tails++
		}
		if t.Failed() {
			t.Errorf("number %d", n)
		}
	}
	t.Logf("%d of %d functions executed, %d with tail calls", executed, *functionsFlag, tails)
	if executed < int(*functionsFlag)/2 || tails < int(*functionsFlag)/10 {
		t.Error("too few")
	}
}

// fuzzFunction does it for one string. It reports whether the function was executed: some rely on checks that they lack, some do not end soon; and whether it has tail calls.
func fuzzFunction(t *testing.T, b []byte) (executed, tails bool) {
	if len(b) > 2<<10 {
		t.Skip("more than the largest function takes")
	}
	h := fnv.New32a()
	h.Write(b)
	pick := h.Sum32() >> 5
	parse := func(src string) *text.File {
		file, err := text.Parse(src)
		if err != nil {
			t.Fatalf("%v\n%s", err, src)
		}
		return file
	}
	g := &funcGen{Source: entropy.New(b)}
	g.unsafe = g.IntN(4) == 0
	fn := g.generate(parse(around).Mod)
	if err := verify.Func(fn); err != nil {
		t.Fatalf("%v\n%v", err, fn)
	}
	src := around + "\n" + fn.String()
	level := opt.Level(pick % 3)
	var img *inproc.Image
	for _, target := range compile.Targets() {
		file := parse(src)
		o := compile.Options{Target: target, OptLevel: level, Regalloc: compile.Allocators()[int(pick>>4)%len(compile.Allocators())], Fixpoint: pick%5 == 0, Verify: true, Jobs: 1}
		r, err := compile.CLIF(file.Mod, file.Body, o)
		if errors.Is(err, backend.ErrUnsupported) {
			return false, false
		}
		if err != nil {
			t.Fatalf("%s -O%d: %v\n%s", target, level, err, src)
		}
		image, err := load.Image(r.Object, r.Meta)
		if err != nil {
			t.Fatal(err)
		}
		if target == compile.HostTarget() {
			img = image
		}
	}
	if g.unsafe {
		return false, false
	}
	var some []uint64
	for _, ty := range fn.Signature().Params {
		x := uint64(0)
		if ty != clif.Ref {
			x = g.Uint64() >> (64 - ty.Bits())
		}
		some = append(some, x)
	}
	args := [][]uint64{make([]uint64, len(some)), some}
	file := parse(src)
	want, err := interpret(file, args, 2000, nil)
	if err == errEndless {
		return false, false
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, src)
	}
	check := func(what string, got []string, err error) {
		if err != nil || strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%s -O%d: %v %v, want %v; %#x\n%s", what, level, err, got, want, args, src)
		}
	}
	o := opt.Optimizer{}
	got, err := interpret(file, args, 20_000, func(f *clif.Func) error { return o.Run(f, opt.O1) })
	check("after the mid-end", got, err)
	if got, err = native(file.Mod, img, args); errors.Is(err, inproc.ErrUnsupported) {
		t.Skip(err)
	}
	check("native", got, err)
	return true, strings.Contains(fn.String(), "return_call")
}
