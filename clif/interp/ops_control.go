package interp

import (
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/arith"
	"github.com/waot-project/waot/internal/abi"
)

// ops executes each opcode. The instruction that follows is current already.
var ops = makeOps()

func makeOps() [clif.NumOpcodes]func(*machine, *clif.InstData) {
	ops := scalarOps
	for op := range clif.NumOpcodes {
		if arith.IsVector(op) {
			ops[op] = opVector
		}
	}
	return ops
}

// scalarOps executes each opcode that is not an operation on vectors.
var scalarOps = [clif.NumOpcodes]func(*machine, *clif.InstData){
	clif.OpNop:           opNop,
	clif.OpIconst:        opConst,
	clif.OpFconst:        opConst,
	clif.OpRefNull:       opConst,
	clif.OpFuncAddr:      opFuncAddr,
	clif.OpIadd:          opIadd,
	clif.OpIsub:          opIsub,
	clif.OpImul:          opImul,
	clif.OpUmulhi:        opUmulhi,
	clif.OpSmulhi:        opSmulhi,
	clif.OpUdiv:          opUdiv,
	clif.OpSdiv:          opSdiv,
	clif.OpUrem:          opUrem,
	clif.OpSrem:          opSrem,
	clif.OpBand:          opBand,
	clif.OpBor:           opBor,
	clif.OpBxor:          opBxor,
	clif.OpIshl:          opIshl,
	clif.OpUshr:          opUshr,
	clif.OpSshr:          opSshr,
	clif.OpRotl:          opRotl,
	clif.OpRotr:          opRotr,
	clif.OpClz:           opClz,
	clif.OpCtz:           opCtz,
	clif.OpPopcnt:        opPopcnt,
	clif.OpIcmp:          opIcmp,
	clif.OpSext8:         opSext8,
	clif.OpSext16:        opSext16,
	clif.OpSext32:        opSext32,
	clif.OpUextend:       opUextend,
	clif.OpSextend:       opSextend,
	clif.OpIreduce:       opIreduce,
	clif.OpFadd:          opFadd,
	clif.OpFsub:          opFsub,
	clif.OpFmul:          opFmul,
	clif.OpFdiv:          opFdiv,
	clif.OpFmin:          opFmin,
	clif.OpFmax:          opFmax,
	clif.OpFcopysign:     opFcopysign,
	clif.OpFabs:          opFabs,
	clif.OpFneg:          opFneg,
	clif.OpFsqrt:         opFsqrt,
	clif.OpFceil:         opFceil,
	clif.OpFfloor:        opFfloor,
	clif.OpFtrunc:        opFtrunc,
	clif.OpFnearest:      opFnearest,
	clif.OpFcmp:          opFcmp,
	clif.OpFpromote:      opFpromote,
	clif.OpFdemote:       opFdemote,
	clif.OpFcvtFromSint:  opFcvtFromSint,
	clif.OpFcvtFromUint:  opFcvtFromUint,
	clif.OpFcvtToSint:    opFcvtToSint,
	clif.OpFcvtToUint:    opFcvtToUint,
	clif.OpFcvtToSintSat: opFcvtToSintSat,
	clif.OpFcvtToUintSat: opFcvtToUintSat,
	clif.OpBitcast:       opBitcast,
	clif.OpSelect:        opSelect,
	clif.OpRefIsNull:     opRefIsNull,
	clif.OpFuncBits:      opFuncBits,
	clif.OpLoad:          opLoad,
	clif.OpStore:         opStore,
	clif.OpMemorySize:    opMemorySize,
	clif.OpMemoryGrow:    opMemoryGrow,
	clif.OpMemoryCopy:    opMemoryCopy,
	clif.OpMemoryFill:    opMemoryFill,
	clif.OpMemoryInit:    opMemoryInit,
	clif.OpDataLen:       opDataLen,
	clif.OpDataDrop:      opDataDrop,
	clif.OpGlobalGet:     opGlobalGet,
	clif.OpGlobalSet:     opGlobalSet,
	clif.OpTableSize:     opTableSize,
	clif.OpTableGet:      opTableGet,
	clif.OpTableSet:      opTableSet,
	clif.OpTableGrow:     opTableGrow,
	clif.OpTableCopy:     opTableCopy,
	clif.OpTableFill:     opTableFill,
	clif.OpTableInit:     opTableInit,
	clif.OpElemLen:       opElemLen,
	clif.OpElemDrop:      opElemDrop,
	clif.OpElemSet:       opElemSet,
	clif.OpTrap:          opTrap,
	clif.OpTrapIf:        opTrapIf,
	clif.OpBound:         opBound,
	clif.OpSigCheck:      opSigCheck,
	clif.OpCharge:        opCharge,
	clif.OpChargeBy:      opChargeBy,
	clif.OpCall:          opCall,
	clif.OpCallRef:       opCallRef,
	clif.OpJump:          opJump,
	clif.OpBranch:        opBranch,
	clif.OpBrTable:       opBrTable,
	clif.OpReturn:        opReturn,
	clif.OpCatch:         opCatch,
	clif.OpRaise:         opRaise,
	clif.OpExnSet:        opExnSet,
	clif.OpExnOpen:       opExnOpen,
	clif.OpExnTag:        opExnTag,
	clif.OpTagAddr:       opTagAddr,
	clif.OpExnArgs:       opExnArgs,
	clif.OpExnRef:        opExnRef,
	clif.OpRefEq:         opRefEq,
	clif.OpRefTest:       opRefTest,
	clif.OpRefI31:        opRefI31,
	clif.OpI31GetS:       opI31GetS,
	clif.OpI31GetU:       opI31GetU,
	clif.OpStructNew:     opStructNew,
	clif.OpHeapNext:      opHeapNext,
	clif.OpHeapFull:      opHeapFull,
	clif.OpHeapClaim:     opHeapClaim,
	clif.OpStructGet:     opStructGet,
	clif.OpStructGetS:    opStructGet,
	clif.OpStructGetU:    opStructGet,
	clif.OpStructSet:     opStructSet,
	clif.OpArrayNew:      opArrayNew,
	clif.OpArrayLen:      opArrayLen,
	clif.OpArrayGet:      opArrayGet,
	clif.OpArrayGetS:     opArrayGet,
	clif.OpArrayGetU:     opArrayGet,
	clif.OpArraySet:      opArraySet,
	clif.OpArrayFill:     opArrayFill,
	clif.OpArrayCopy:     opArrayCopy,
	clif.OpArrayInitData: opArrayInitData,
	clif.OpArrayInitElem: opArrayInitElem,
	clif.OpReturnCall:    opReturnCall,
	clif.OpReturnCallRef: opReturnCallRef,
}

// opVector executes any operation on vectors without effects. Where an operand or the result is a scalar, the other half
// does not count.
func opVector(m *machine, d *clif.InstData) {
	var args [3]arith.V128
	for i, v := range d.Operands() {
		args[i] = arith.V128{m.regs[v], m.highs[v]}
	}
	r := arith.Vector(d, 0, args[0], args[1], args[2])
	m.regs[d.Result], m.highs[d.Result] = r[0], r[1]
}

func opNop(*machine, *clif.InstData) {}

func opTrap(m *machine, d *clif.InstData) { m.trap(d.Trap()) }

func opTrapIf(m *machine, d *clif.InstData) {
	if m.a(d) != 0 {
		m.trap(d.Trap())
	}
}

func opBound(m *machine, d *clif.InstData) {
	if m.a(d) >= m.b(d) {
		m.trap(d.Trap())
		return
	}
	m.set64(d, m.a(d))
}

func opCharge(m *machine, d *clif.InstData) { m.charge(d, d.Imm) }

func opChargeBy(m *machine, d *clif.InstData) { m.charge(d, m.a(d)) }

func (m *machine) charge(d *clif.InstData, n uint64) {
	m.store.Fuel -= int64(n)
	if m.store.Fuel < 0 && d.Trap() != abi.TrapNone {
		m.trap(d.Trap())
	}
}

func opSigCheck(m *machine, d *clif.InstData) {
	ref := m.a(d)
	if ref == 0 {
		m.trap(abi.TrapUninitializedElement)
		return
	}
	f := m.store.funcOf(ref)
	switch {
	case f == nil:
		m.undefined("0x%x is not a function reference", ref)
	case !f.typ.isSub(m.inst.typeOf(clif.SigIndex(d.Aux))):
		m.trap(abi.TrapBadSignature)
	}
}

func opFuncBits(m *machine, d *clif.InstData) {
	bits := uint64(0)
	if f := m.store.funcOf(m.a(d)); f != nil && f.host != nil {
		bits = abi.DescHost
	}
	m.set64(d, bits)
}

func opCall(m *machine, d *clif.InstData) {
	m.invoke(m.inst.funcs[d.Aux], d, m.fn.body.ListOperands(d))
}

func opCallRef(m *machine, d *clif.InstData) {
	if f := m.callee(d); f != nil {
		m.invoke(f, d, m.fn.body.ListOperands(d))
	}
}

func opReturnCall(m *machine, d *clif.InstData) {
	m.tailInvoke(m.inst.funcs[d.Aux], m.fn.body.ListOperands(d))
}

func opReturnCallRef(m *machine, d *clif.InstData) {
	if f := m.callee(d); f != nil {
		m.tailInvoke(f, m.fn.body.ListOperands(d))
	}
}

// callee returns the function that d calls by reference; nil if it is none of the type, which is undefined.
func (m *machine) callee(d *clif.InstData) *Function {
	f := m.store.funcOf(m.a(d))
	if f == nil || !f.typ.isSub(m.inst.typeOf(clif.SigIndex(d.Aux))) {
		m.undefined("0x%x is not a reference to a function of that type", m.a(d))
		return nil
	}
	return f
}

func opJump(m *machine, d *clif.InstData) { m.jump(d.Args[1]) }

func opBranch(m *machine, d *clif.InstData) {
	if m.a(d) != 0 {
		m.jump(d.Args[1])
		return
	}
	m.jump(d.Args[2])
}

func opBrTable(m *machine, d *clif.InstData) {
	targets := m.fn.body.TargetsOf(d)
	m.jump(targets[min(m.a(d), uint64(len(targets)-1))])
}

func opReturn(m *machine, d *clif.InstData) { m.doReturn(m.fn.body.ListOperands(d)) }
