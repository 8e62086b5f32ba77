package backend

import "github.com/waot-project/waot/clif"

// common has the function for each CLIF opcode that all machines lower alike.
var common = [clif.NumOpcodes]LowerFunc{
	clif.OpIconst:     lowerIconst,
	clif.OpRefNull:    lowerRefNull,
	clif.OpFuncAddr:   lowerFuncAddr,
	clif.OpSext8:      lowerSext8,
	clif.OpSext16:     lowerSext16,
	clif.OpSext32:     lowerSext32,
	clif.OpSextend:    lowerSext32,
	clif.OpIreduce:    lowerIreduce,
	clif.OpLoad:       lowerLoad,
	clif.OpMemorySize: lowerMemorySize,
	clif.OpMemoryGrow: lowerMemoryGrow,
	clif.OpMemoryCopy: lowerMemoryCopy,
	clif.OpMemoryFill: lowerMemoryFill,
	clif.OpMemoryInit: lowerMemoryInit,
	clif.OpDataLen:    lowerDataLen,
	clif.OpDataDrop:   lowerDataDrop,
	clif.OpGlobalGet:  lowerGlobalGet,
	clif.OpGlobalSet:  lowerGlobalSet,
	clif.OpTableSize:  lowerTableSize,
	clif.OpTableGet:   lowerTableGet,
	clif.OpTableSet:   lowerTableSet,
	clif.OpTableGrow:  lowerTableGrow,
	clif.OpTableCopy:  lowerTableCopy,
	clif.OpTableFill:  lowerTableFill,
	clif.OpTableInit:  lowerTableInit,
	clif.OpElemLen:    lowerElemLen,
	clif.OpElemDrop:   lowerElemDrop,
	clif.OpElemSet:    lowerElemSet,
	clif.OpTrap:       lowerTrap,
	clif.OpCall:       lowerCall,
	clif.OpCallRef:    lowerCallRef,
	clif.OpJump:       lowerJump,
	clif.OpBranch:     lowerBranch,
	clif.OpBrTable:    lowerBrTable,
	clif.OpReturn:     lowerReturn,
}

// WithCommon is a machine's lowering functions, and, where it has none of its own, those that all machines have.
func WithCommon(own [clif.NumOpcodes]LowerFunc) *[clif.NumOpcodes]LowerFunc {
	for op, f := range common {
		if own[op] == nil {
			own[op] = f
		}
	}
	return &own
}
