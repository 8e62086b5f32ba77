package validate

import (
	"sync"

	"github.com/waot-project/waot/wasmfront"
)

// sig is an operator's signature in the operator table, taken apart.
type sig struct {
	npop, npush uint8
	pop         [4]wasmfront.ValType
	push        [2]wasmfront.ValType
}

func parseSig(s string) (g sig) {
	popping := true
	for i := range len(s) {
		switch t := wasmfront.SigType(s[i]); {
		case s[i] == ':':
			popping = false
		case popping:
			g.pop[g.npop] = t
			g.npop++
		default:
			g.push[g.npush] = t
			g.npush++
		}
	}
	return g
}

// runFunc decodes the immediates of an operator, whose code and offset are in
// op already, and validates it.
type runFunc func(v *Func, op *wasmfront.Operator, r *rule)

// rule is the operator table's row for an operator in the form in which Next
// needs it.
type rule struct {
	run      runFunc
	features wasmfront.Features // needed; neverAccepted if there is no such operator
	sig      sig
	align    uint8
}

// neverAccepted is in no set of features to accept.
const neverAccepted wasmfront.Features = 1 << 31

// ruleTable has the operators of one byte in page 0, then a page for each prefix.
type ruleTable [wasmfront.NumOpPages][256]rule

// rules makes the table once: not at the start of the process, which may not need it.
var rules = sync.OnceValue(buildRules)

func buildRules() *ruleTable {
	pages := new(ruleTable)
	for p := range pages {
		for i := range pages[p] {
			pages[p][i].features = neverAccepted
		}
	}
	for _, op := range wasmfront.Opcodes() {
		info := op.Info()
		r := &pages[op.Page()][op&0xFF]
		*r = rule{features: info.Feature, sig: parseSig(info.Sig), align: info.Align}
		if info.Sig != "" {
			r.run = regular[info.Imm]
		}
	}
	for _, row := range irregular {
		pages[row.op.Page()][row.op&0xFF].run = row.run
	}
	for p := range pages {
		for i := range pages[p] {
			// An operator without a rule belongs to a feature that cannot be decoded.
			if r := &pages[p][i]; r.run == nil {
				r.features |= neverAccepted
			}
		}
	}
	return pages
}

// regular is for operators whose signature is in the operator table: what is
// left to do depends only on their immediates.
var regular = [wasmfront.NumImmKinds]runFunc{
	wasmfront.ImmNone:       runSig,
	wasmfront.ImmMemArg:     runMemArg,
	wasmfront.ImmMemArgLane: runMemArgLane,
	wasmfront.ImmI32:        runI32Const,
	wasmfront.ImmI64:        runI64Const,
	wasmfront.ImmF32:        runF32Const,
	wasmfront.ImmF64:        runF64Const,
	wasmfront.ImmV128:       runV128Const,
	wasmfront.ImmShuffle:    runShuffle,
	wasmfront.ImmLane:       runLane,
	wasmfront.ImmMem:        runMem,
	wasmfront.ImmMem2:       runMem2,
	wasmfront.ImmDataMem:    runDataMem,
	wasmfront.ImmData:       runData,
	wasmfront.ImmElem:       runElem,
	wasmfront.ImmElemTable:  runElemTable,
	wasmfront.ImmTable2:     runTable2,
	wasmfront.ImmTable:      runTable,
}

// irregular is for operators whose types depend on the context.
var irregular = [...]struct {
	op  wasmfront.Opcode
	run runFunc
}{
	{wasmfront.OpUnreachable, runUnreachable},
	{wasmfront.OpTryTable, runTryTable},
	{wasmfront.OpTry, runTry},
	{wasmfront.OpCatch, runCatch},
	{wasmfront.OpCatchAll, runCatchAll},
	{wasmfront.OpDelegate, runDelegate},
	{wasmfront.OpThrow, runThrow},
	{wasmfront.OpThrowRef, runThrowRef},
	{wasmfront.OpRethrow, runRethrow},
	{wasmfront.OpBlock, runBlock},
	{wasmfront.OpLoop, runLoop},
	{wasmfront.OpIf, runIf},
	{wasmfront.OpElse, runElse},
	{wasmfront.OpEnd, runEnd},
	{wasmfront.OpBr, runBr},
	{wasmfront.OpBrIf, runBrIf},
	{wasmfront.OpBrTable, runBrTable},
	{wasmfront.OpReturn, runReturn},
	{wasmfront.OpCall, runCall},
	{wasmfront.OpCallIndirect, runCallIndirect},
	{wasmfront.OpReturnCall, runReturnCall},
	{wasmfront.OpReturnCallIndirect, runReturnCallIndirect},
	{wasmfront.OpDrop, runDrop},
	{wasmfront.OpSelect, runSelect},
	{wasmfront.OpSelectT, runSelectT},
	{wasmfront.OpLocalGet, runLocalGet},
	{wasmfront.OpLocalSet, runLocalSet},
	{wasmfront.OpLocalTee, runLocalTee},
	{wasmfront.OpGlobalGet, runGlobalGet},
	{wasmfront.OpGlobalSet, runGlobalSet},
	{wasmfront.OpTableGet, runTableGet},
	{wasmfront.OpTableSet, runTableSet},
	{wasmfront.OpTableGrow, runTableGrow},
	{wasmfront.OpTableFill, runTableFill},
	{wasmfront.OpRefNull, runRefNull},
	{wasmfront.OpRefIsNull, runRefIsNull},
	{wasmfront.OpRefFunc, runRefFunc},
	{wasmfront.OpRefAsNonNull, runRefAsNonNull},
	{wasmfront.OpBrOnNull, runBrOnNull},
	{wasmfront.OpBrOnNonNull, runBrOnNonNull},
	{wasmfront.OpCallRef, runCallRef},
	{wasmfront.OpReturnCallRef, runReturnCallRef},
	{wasmfront.OpRefEq, runRefEq},
	{wasmfront.OpStructNew, runStructNew},
	{wasmfront.OpStructNewDefault, runStructNewDefault},
	{wasmfront.OpStructGet, runStructGet},
	{wasmfront.OpStructGetS, runStructGet},
	{wasmfront.OpStructGetU, runStructGet},
	{wasmfront.OpStructSet, runStructSet},
	{wasmfront.OpArrayNew, runArrayNew},
	{wasmfront.OpArrayNewDefault, runArrayNewDefault},
	{wasmfront.OpArrayNewFixed, runArrayNewFixed},
	{wasmfront.OpArrayNewData, runArrayNewSegment},
	{wasmfront.OpArrayNewElem, runArrayNewSegment},
	{wasmfront.OpArrayGet, runArrayGet},
	{wasmfront.OpArrayGetS, runArrayGet},
	{wasmfront.OpArrayGetU, runArrayGet},
	{wasmfront.OpArraySet, runArraySet},
	{wasmfront.OpArrayLen, runArrayLen},
	{wasmfront.OpArrayFill, runArrayFill},
	{wasmfront.OpArrayCopy, runArrayCopy},
	{wasmfront.OpArrayInitData, runArrayInitSegment},
	{wasmfront.OpArrayInitElem, runArrayInitSegment},
	{wasmfront.OpRefTest, runRefTest},
	{wasmfront.OpRefTestNull, runRefTest},
	{wasmfront.OpRefCast, runRefCast},
	{wasmfront.OpRefCastNull, runRefCast},
	{wasmfront.OpBrOnCast, runBrOnCast},
	{wasmfront.OpBrOnCastFail, runBrOnCast},
	{wasmfront.OpAnyConvertExtern, runConvert},
	{wasmfront.OpExternConvertAny, runConvert},
	{wasmfront.OpRefI31, runRefI31},
	{wasmfront.OpI31GetS, runI31Get},
	{wasmfront.OpI31GetU, runI31Get},
}
