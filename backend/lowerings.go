package backend

import (
	"fmt"

	"github.com/waot-project/waot/clif"
)

// sharedLowerings are the functions for the opcodes that all machines lower alike.
var sharedLowerings = [clif.NumOpcodes]LowerFunc{
	clif.OpIconst:        lowerIconst,
	clif.OpFuncBits:      lowerFuncBits,
	clif.OpRefNull:       lowerRefNull,
	clif.OpFuncAddr:      lowerFuncAddr,
	clif.OpSext8:         lowerSext8,
	clif.OpSext16:        lowerSext16,
	clif.OpSext32:        lowerSext32,
	clif.OpSextend:       lowerSext32,
	clif.OpIreduce:       lowerIreduce,
	clif.OpLoad:          lowerLoad,
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
	clif.OpCharge:        lowerCharge,
	clif.OpChargeBy:      lowerChargeBy,
	clif.OpCall:          lowerCall,
	clif.OpCallRef:       lowerCallRef,
	clif.OpJump:          lowerJump,
	clif.OpBrTable:       lowerBrTable,
	clif.OpReturn:        lowerReturn,
	clif.OpCatch:         lowerCatch,
	clif.OpRaise:         lowerRaise,
	clif.OpExnSet:        lowerExnSet,
	clif.OpExnOpen:       lowerExnOpen,
	clif.OpExnTag:        lowerExnTag,
	clif.OpTagAddr:       lowerTagAddr,
	clif.OpExnArgs:       lowerExnArgs,
	clif.OpExnRef:        lowerExnRef,
	clif.OpReturnCall:    lowerReturnCall,
	clif.OpReturnCallRef: lowerReturnCallRef,
	clif.OpRefTest:       lowerRefTest,
	clif.OpStructNew:     lowerStructNew,
	clif.OpHeapNext:      lowerHeapNext,
	clif.OpHeapClaim:     lowerHeapClaim,
	clif.OpStructGet:     lowerStructGet,
	clif.OpStructGetS:    lowerStructGet,
	clif.OpStructGetU:    lowerStructGet,
	clif.OpStructSet:     lowerStructSet,
	clif.OpArrayNew:      lowerArrayNew,
	clif.OpArrayLen:      lowerArrayLen,
	clif.OpArrayGet:      lowerArrayGet,
	clif.OpArrayGetS:     lowerArrayGet,
	clif.OpArrayGetU:     lowerArrayGet,
	clif.OpArraySet:      lowerArraySet,
	clif.OpArrayFill:     lowerArrayFill,
	clif.OpArrayCopy:     lowerArrayCopy,
	clif.OpArrayInitData: lowerArrayInitData,
	clif.OpArrayInitElem: lowerArrayInitElem,
}

// notLowered reports whether no function lowers an opcode: nop, which is skipped, uextend, which needs no code, and those on vectors, which rules lower.
func notLowered(op clif.Opcode) bool {
	return op == clif.OpNop || op == clif.OpUextend || op >= clif.OpVconst && op <= clif.OpVdemote
}

// Lowerings returns the function for each CLIF opcode that is lowered: those that all machines share, and
// those of the machine's own tables. It panics if one is missing, or if there are two.
func Lowerings(own ...*[clif.NumOpcodes]LowerFunc) *[clif.NumOpcodes]LowerFunc {
	table := sharedLowerings
	for op := clif.Opcode(0); op < clif.NumOpcodes; op++ {
		for _, t := range own {
			switch {
			case t[op] == nil:
			case table[op] != nil:
				panic(fmt.Sprintf("two functions lower %v", op))
			default:
				table[op] = t[op]
			}
		}
		if table[op] == nil && !notLowered(op) {
			panic(fmt.Sprintf("nothing lowers %v", op))
		}
	}
	return &table
}
