package backend

import (
	"fmt"

	"github.com/waot-project/waot/clif"
)

// MachineLowerings are a machine's functions for the opcodes that machines lower in different ways. None may be nil. Each
// is for the opcode of its name, unless a comment lists opcodes.
type MachineLowerings struct {
	Fconst LowerFunc
	// Sum: iadd, isub. Logic: band, bor, bxor. Shift: ishl, ushr, sshr, rotr.
	Sum, Imul, Logic, Shift, Rotl LowerFunc
	Umulhi, Smulhi                LowerFunc
	Udiv, Sdiv, Urem, Srem        LowerFunc
	Clz, Ctz, Popcnt              LowerFunc
	// Compare: icmp, fcmp, ref_is_null.
	Compare LowerFunc
	// Float: fadd, fsub, fmul, fdiv. FloatUnary: roundings, conversions between floats, square root.
	Float, FloatUnary                 LowerFunc
	Fmin, Fmax, Fcopysign, Fabs, Fneg LowerFunc
	FcvtFromSint, FcvtFromUint        LowerFunc
	FcvtToSint, FcvtToUint            LowerFunc
	FcvtToSintSat, FcvtToUintSat      LowerFunc
	Bitcast, Select, Store            LowerFunc
	TrapIf, Bound, SigCheck           LowerFunc
	// Vectors has the functions for opcodes of vectors, by opcode.
	Vectors *[clif.NumOpcodes]LowerFunc
}

// Table returns the function for each CLIF opcode except nop, which is skipped, and uextend, which needs no code. The
// functions of m are the machine's; all others are shared. It panics if one is missing.
func (m *MachineLowerings) Table() *[clif.NumOpcodes]LowerFunc {
	table := [clif.NumOpcodes]LowerFunc{
		clif.OpIconst:        lowerIconst,
		clif.OpFconst:        m.Fconst,
		clif.OpRefNull:       lowerRefNull,
		clif.OpFuncAddr:      lowerFuncAddr,
		clif.OpIadd:          m.Sum,
		clif.OpIsub:          m.Sum,
		clif.OpImul:          m.Imul,
		clif.OpUmulhi:        m.Umulhi,
		clif.OpSmulhi:        m.Smulhi,
		clif.OpUdiv:          m.Udiv,
		clif.OpSdiv:          m.Sdiv,
		clif.OpUrem:          m.Urem,
		clif.OpSrem:          m.Srem,
		clif.OpBand:          m.Logic,
		clif.OpBor:           m.Logic,
		clif.OpBxor:          m.Logic,
		clif.OpIshl:          m.Shift,
		clif.OpUshr:          m.Shift,
		clif.OpSshr:          m.Shift,
		clif.OpRotl:          m.Rotl,
		clif.OpRotr:          m.Shift,
		clif.OpClz:           m.Clz,
		clif.OpCtz:           m.Ctz,
		clif.OpPopcnt:        m.Popcnt,
		clif.OpIcmp:          m.Compare,
		clif.OpSext8:         lowerSext8,
		clif.OpSext16:        lowerSext16,
		clif.OpSext32:        lowerSext32,
		clif.OpSextend:       lowerSext32,
		clif.OpIreduce:       lowerIreduce,
		clif.OpFadd:          m.Float,
		clif.OpFsub:          m.Float,
		clif.OpFmul:          m.Float,
		clif.OpFdiv:          m.Float,
		clif.OpFmin:          m.Fmin,
		clif.OpFmax:          m.Fmax,
		clif.OpFcopysign:     m.Fcopysign,
		clif.OpFabs:          m.Fabs,
		clif.OpFneg:          m.Fneg,
		clif.OpFsqrt:         m.FloatUnary,
		clif.OpFceil:         m.FloatUnary,
		clif.OpFfloor:        m.FloatUnary,
		clif.OpFtrunc:        m.FloatUnary,
		clif.OpFnearest:      m.FloatUnary,
		clif.OpFcmp:          m.Compare,
		clif.OpFpromote:      m.FloatUnary,
		clif.OpFdemote:       m.FloatUnary,
		clif.OpFcvtFromSint:  m.FcvtFromSint,
		clif.OpFcvtFromUint:  m.FcvtFromUint,
		clif.OpFcvtToSint:    m.FcvtToSint,
		clif.OpFcvtToUint:    m.FcvtToUint,
		clif.OpFcvtToSintSat: m.FcvtToSintSat,
		clif.OpFcvtToUintSat: m.FcvtToUintSat,
		clif.OpBitcast:       m.Bitcast,
		clif.OpSelect:        m.Select,
		clif.OpRefIsNull:     m.Compare,
		clif.OpLoad:          lowerLoad,
		clif.OpStore:         m.Store,
		clif.OpMemorySize:    lowerMemorySize,
		clif.OpMemoryGrow:    lowerMemoryGrow,
		clif.OpMemoryCopy:    lowerMemoryCopy,
		clif.OpMemoryFill:    lowerMemoryFill,
		clif.OpMemoryInit:    lowerMemoryInit,
		clif.OpDataLen:       lowerDataLen,
		clif.OpDataDrop:      lowerDataDrop,
		clif.OpGlobalGet:     lowerGlobalGet,
		clif.OpGlobalSet:     lowerGlobalSet,
		clif.OpTableSize:     lowerTableSize,
		clif.OpTableGet:      lowerTableGet,
		clif.OpTableSet:      lowerTableSet,
		clif.OpTableGrow:     lowerTableGrow,
		clif.OpTableCopy:     lowerTableCopy,
		clif.OpTableFill:     lowerTableFill,
		clif.OpTableInit:     lowerTableInit,
		clif.OpElemLen:       lowerElemLen,
		clif.OpElemDrop:      lowerElemDrop,
		clif.OpElemSet:       lowerElemSet,
		clif.OpTrap:          lowerTrap,
		clif.OpTrapIf:        m.TrapIf,
		clif.OpBound:         m.Bound,
		clif.OpSigCheck:      m.SigCheck,
		clif.OpCall:          lowerCall,
		clif.OpCallRef:       lowerCallRef,
		clif.OpJump:          lowerJump,
		clif.OpBranch:        lowerBranch,
		clif.OpBrTable:       lowerBrTable,
		clif.OpReturn:        lowerReturn,
	}
	for op := clif.OpVconst; op <= clif.OpVdemote; op++ {
		table[op] = m.Vectors[op]
	}
	for op := clif.Opcode(0); op < clif.NumOpcodes; op++ {
		if table[op] == nil && op != clif.OpNop && op != clif.OpUextend && !(op >= clif.OpVconst && op <= clif.OpVdemote) {
			panic(fmt.Sprintf("nothing lowers %v", op))
		}
	}
	return &table
}
