package x64

import "github.com/waot-project/waot/backend"

// lowerings are the functions for opcodes that machines lower in different ways. They run where no rule of TermInst
// applies. Package backend has the table by opcode.
var lowerings = backend.MachineLowerings{
	Fconst: lowerFconst,
	Sum:    lowerAlu, Imul: lowerImul, Logic: lowerAlu, Shift: lowerShift, Rotl: lowerShift,
	Umulhi: lowerUmulhi, Smulhi: lowerSmulhi,
	Udiv: lowerUdiv, Sdiv: lowerSdiv, Urem: lowerUrem, Srem: lowerSrem,
	Clz: lowerClz, Ctz: lowerCtz, Popcnt: lowerPopcnt,
	Compare: lowerCompare,
	Float:   lowerFloat, FloatUnary: lowerFloatUnary,
	Fmin: lowerFmin, Fmax: lowerFmax, Fcopysign: lowerFcopysign, Fabs: lowerFabs, Fneg: lowerFneg,
	FcvtFromSint: lowerFcvtFromSint, FcvtFromUint: lowerFcvtFromUint,
	FcvtToSint: lowerFcvtToSint, FcvtToUint: lowerFcvtToUint,
	FcvtToSintSat: lowerFcvtToSintSat, FcvtToUintSat: lowerFcvtToUintSat,
	Bitcast: lowerBitcast, Select: lowerSelect, Store: lowerStore,
	TrapIf: lowerTrapIf, Bound: lowerBound, SigCheck: lowerSigCheck,
	Vectors: &vectorLowerings,
}
