package x64

import (
	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/clif"
)

// lowerings are the functions for opcodes that machines lower in different ways; vectorLowerings has those of vectors. They run where no rule of TermInst
// applies.
var lowerings = [clif.NumOpcodes]backend.LowerFunc{
	clif.OpFconst: lowerFconst,
	clif.OpIadd:   lowerAlu, clif.OpIsub: lowerAlu, clif.OpImul: lowerImul, clif.OpBand: lowerAlu, clif.OpBor: lowerAlu, clif.OpBxor: lowerAlu,
	clif.OpIshl: lowerShift, clif.OpUshr: lowerShift, clif.OpSshr: lowerShift, clif.OpRotr: lowerShift, clif.OpRotl: lowerShift,
	clif.OpUmulhi: lowerUmulhi, clif.OpSmulhi: lowerSmulhi,
	clif.OpUdiv: lowerUdiv, clif.OpSdiv: lowerSdiv, clif.OpUrem: lowerUrem, clif.OpSrem: lowerSrem,
	clif.OpClz: lowerClz, clif.OpCtz: lowerCtz, clif.OpPopcnt: lowerPopcnt,
	clif.OpIcmp: lowerCompare, clif.OpFcmp: lowerCompare, clif.OpRefIsNull: lowerCompare, clif.OpRefEq: lowerCompare, clif.OpHeapFull: lowerCompare,
	clif.OpRefI31: lowerRefI31, clif.OpI31GetS: lowerI31GetS, clif.OpI31GetU: lowerI31GetU,
	clif.OpFadd: lowerFloat, clif.OpFsub: lowerFloat, clif.OpFmul: lowerFloat, clif.OpFdiv: lowerFloat, clif.OpFceil: lowerFloatUnary,
	clif.OpFfloor: lowerFloatUnary, clif.OpFtrunc: lowerFloatUnary, clif.OpFnearest: lowerFloatUnary, clif.OpFpromote: lowerFloatUnary,
	clif.OpFdemote: lowerFloatUnary, clif.OpFsqrt: lowerFloatUnary,
	clif.OpFmin: lowerFmin, clif.OpFmax: lowerFmax, clif.OpFcopysign: lowerFcopysign, clif.OpFabs: lowerFabs, clif.OpFneg: lowerFneg,
	clif.OpFcvtFromSint: lowerFcvtFromSint, clif.OpFcvtFromUint: lowerFcvtFromUint,
	clif.OpFcvtToSint: lowerFcvtToSint, clif.OpFcvtToUint: lowerFcvtToUint,
	clif.OpFcvtToSintSat: lowerFcvtToSintSat, clif.OpFcvtToUintSat: lowerFcvtToUintSat,
	clif.OpBitcast: lowerBitcast, clif.OpSelect: lowerSelect, clif.OpStore: lowerStore,
	clif.OpTrapIf: lowerTrapIf, clif.OpBound: lowerBound, clif.OpSigCheck: lowerSigCheck,
	clif.OpBranch: lowerBranch,
}
