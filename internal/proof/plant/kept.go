//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/waot-project/waot/internal/proof/bugcases"
)

// keptFault is a fault of a file that a test is known to notice. Unlike those of find it was chosen by hand, and may be in several lines.
type keptFault struct {
	file string
	// old, which occurs once in the file, becomes text.
	old, text string
	by        run
}

// Tests that notice some of them.
var (
	savedWays  = run{pkg: "regalloc/linear", pattern: "QuickWay|TestManyNeeds|TestAskedRegisters|TestRareCode|TestPressure|TestCarriedValue|TestManyRuns"}
	quickWays  = run{pkg: "backend/isa/x64", pattern: "TestMachine/QuickWays"}
	rareSides  = run{pkg: "backend", pattern: "TestRareSide"}
	optFiles   = run{pkg: "clif/opt", pattern: "TestFiles"}
	byteLoops  = run{pkg: "clif/opt", pattern: "TestByteLoops"}
	byteMisses = run{pkg: "clif/opt", pattern: "TestByteMisses"}

	shapes     = run{pkg: "clif/opt", pattern: "TestShapes"}
	exitLoops  = run{pkg: "clif/opt", pattern: "TestExitLoops"}
	resumables = run{pkg: "clif/opt", pattern: "TestResumable"}

	eachRow     = run{pkg: "clif/opt", pattern: "TestRows"}
	otherMiddle = run{pkg: "clif/opt", pattern: "TestWideOtherMiddle"}

	allEffects  = run{pkg: "clif/opt", pattern: "TestEffects|TestRegions"}
	unwinding   = run{pkg: "clif/opt", pattern: "TestUnwinding"}
	closedRules = run{pkg: "clif/opt", pattern: "TestClosed"}
	checkedX64  = run{pkg: "backend/isa/x64", pattern: "TestFiles/checked"}
	checkedA64  = run{pkg: "backend/isa/a64", pattern: "TestFiles/checked"}
	movedMemory = run{pkg: "host", pattern: "TestMovingMemory"}
	boundsEdges = run{pkg: "host", pattern: "TestBoundsEdges"}
	spareParts  = run{pkg: "host/inproc", pattern: "TestSpares$|TestRegionsZero|TestStacksGivenBack"}
	resets      = run{pkg: "host", pattern: "TestReset"}
	resetsInC   = run{pkg: "internal/cruntime", pattern: "TestReset$"}
	thrownInC   = run{pkg: "internal/cruntime", pattern: "TestExceptions/^gcc$"}
	heapInC     = run{pkg: "internal/cruntime", pattern: "TestHeap$/^gcc$"}
	hiddenInC   = run{pkg: "internal/cruntime", pattern: "TestHidden$/^gcc$"}
	mergedInC   = run{pkg: "internal/cruntime", pattern: "TestMerged$/^gcc$"}
	fieldsInC   = run{pkg: "internal/cruntime", pattern: "TestFields$/^gcc$"}
	heapCAlone  = run{pkg: "internal/cruntime", pattern: "TestHeapScript"}
	fuelCounts  = run{pkg: "internal/proof/difftest", pattern: "TestFuel"}
	fuelIdioms  = run{pkg: "internal/proof/difftest", pattern: "TestFuelIdioms"}
	snapshots   = run{pkg: "internal/proof/difftest", pattern: "TestSnapshotRandom"}
	frozen      = run{pkg: "internal/initialize"}
	frozenHosts = run{pkg: "host", pattern: "TestInstanceSnapshot"}
	fuelHosts   = run{pkg: "host/inproc", pattern: "TestFuel"}
	sequences   = run{pkg: "internal/proof/knownbugs", pattern: "TestAccessSequences"}
	trapSites   = run{pkg: "backend/isa/x64", pattern: "TestMachine/AccessesInBounds"}
	unknownOps  = run{pkg: "wasmfront/translate", pattern: "TestUnknownOperators"}
	surveys     = run{pkg: "wasmfront/translate", pattern: "TestSurvey"}

	typeRules   = run{pkg: "internal/abi", pattern: "TestMatchesHierarchies|TestRecordsOfGroups"}
	validGC     = run{pkg: "wasmfront/validate", pattern: "TestGC|TestTypes$"}
	heapGC      = run{pkg: "spectest/interpengine", pattern: "TestHeap$"}
	heapScript  = run{pkg: "spectest/nativeengine", pattern: "TestHeap$"}
	randomGC    = run{pkg: "internal/proof/difftest", pattern: "TestRandomGC$"}
	heldTest    = run{pkg: "clif/opt", pattern: "TestHeld"}
	surveyHeld  = run{pkg: "wasmfront/translate", pattern: "TestSurvey(Held|Closed)"}
	heapFile    = run{pkg: "internal/proof/filetest", pattern: "TestOptimized/heap"}
	heapAlone   = run{pkg: "internal/gcheap", pattern: "Test"}
	heapMeta    = run{pkg: "internal/meta", pattern: "TestRoundTrip|TestInvalidHeap"}
	typedRefs   = run{pkg: "spectest/nativeengine", pattern: "TestTypedRefs"}
	heaps       = run{pkg: "host/inproc", pattern: "TestHeap|TestTypeRows"}
	objectsOfGo = run{pkg: ".", pattern: "TestObject"}
	jsStrings   = run{pkg: "host/jsstring", pattern: "TestBuiltins|TestImports|TestMemory"}
	typedHosts  = run{pkg: ".", pattern: "TestTyped"}

	throwScript  = run{pkg: "spectest/nativeengine", pattern: "TestExceptions"}
	throwRandom  = run{pkg: "internal/proof/difftest", pattern: "TestRandomExceptions"}
	throwFuel    = run{pkg: "internal/proof/difftest", pattern: "TestFuelExceptions"}
	throwObjects = run{pkg: "compile", pattern: "TestExceptionTables"}

	pending = run{pkg: "internal/proof/knownbugs", pattern: "TestThrowsBehindTails|TestCaughtExceptions|TestPendingExceptions|TestHostThrowsNothing"}

	exceptions = run{pkg: ".", pattern: "TestException|TestThrowingHost|TestExnRefs"}

	validExceptions  = run{pkg: "wasmfront/validate", pattern: "Exception"}
	readExceptions   = run{pkg: "wasmfront/wat", pattern: "TestShort|TestBytes|TestErrors"}
	writeExceptions  = run{pkg: "wasmfront/printer", pattern: "TestForms|TestRefused"}
	editedExceptions = run{pkg: "internal/reduce", pattern: "TestExceptions|TestUnwrapped"}

	manyConstants = run{pkg: "compile", pattern: "TestConstantsEverywhere"}
	constantsX64  = run{pkg: "backend/isa/x64", pattern: "TestFiles/(hoist|constants)"}
	hoistedA64    = run{pkg: "backend/isa/a64", pattern: "TestFiles/(hoist|place)"}
	allocators    = run{pkg: "regalloc/linear", pattern: "TestRandom"}
	parallel      = run{pkg: "regalloc/parmove", pattern: "TestFew|TestExhaustive"}
	overlaps      = run{pkg: "regalloc/parmove", pattern: "TestOverlaps"}
	ends          = run{pkg: "checker", pattern: "TestTailCalls|TestThrowing"}
	endsLinear    = run{pkg: "regalloc/linear", pattern: "TestEnds"}
	endsSSA       = run{pkg: "regalloc/ssa", pattern: "TestEnds"}
	endsLocal     = run{pkg: "regalloc/local", pattern: "TestEnds"}
	slotOrder     = run{pkg: "backend", pattern: "TestSlotOrder"}
	moves         = run{pkg: "backend/isa/x64/asm", pattern: "TestAppendMove"}
	halves        = run{pkg: "checker", pattern: "TestRules"}
	frames        = run{pkg: "backend/isa/x64", pattern: "TestMachine/Entries"}
	weights       = run{pkg: "clif/inline", pattern: "TestWeight"}
	inlined       = run{pkg: "clif/inline", pattern: "TestText|TestBounded|TestRecursion|TestPolicy"}
	inlinedOnes   = run{pkg: "clif/inline", pattern: "TestResults"}
	inlinedRuns   = run{pkg: "internal/proof/difftest", pattern: "TestInlinedInterpreted"}
	inlinedCatch  = run{pkg: "internal/proof/filetest", pattern: "TestFiles/inline_catch"}
	inlinedTails  = run{pkg: "clif/inline", pattern: "TestTails"}
	tailArguments = run{pkg: "internal/proof/knownbugs", pattern: "TestTailArguments|TestTailModules"}
	tailCallers   = run{pkg: "internal/proof/knownbugs", pattern: "TestTailCaller"}
	tailOverflow  = run{pkg: "internal/proof/knownbugs", pattern: "TestTailOverflow"}
	caughtX64     = run{pkg: "backend/isa/x64", pattern: "TestMachine/Caught$"}
	caughtA64     = run{pkg: "backend/isa/a64", pattern: "TestMachine/Caught$"}
	landingsX64   = run{pkg: "backend/isa/x64", pattern: "TestMachine/^Landings$"}
	landingsA64   = run{pkg: "backend/isa/a64", pattern: "TestMachine/^Landings$"}
	tailStack     = run{pkg: "internal/proof/knownbugs", pattern: "TestTailStack"}
	tailsX64      = run{pkg: "backend/isa/x64", pattern: "TestMachine/TailEntries"}
	tailsA64      = run{pkg: "backend/isa/a64", pattern: "TestMachine/TailEntries"}
)

// kept are such faults in files whose code runs in few programs, so that tests could stop noticing them without anybody noticing that.
var kept = []keptFault{
	{"wasmfront/translate/control.go", "if op.Index < t.m.NumImportedFuncs {", "if false {", tailCallers},
	{"wasmfront/translate/control.go", "if !own {", "if false {", tailCallers},
	{"wasmfront/translate/control.go", "\tt.b.ReturnCall(fn, args)\n\tt.ssa.endBlock()\n", "\tt.pushCalled(t.b.Call(fn, args), len(op.Results))\n\tt.doReturn(len(op.Results))\n", tailStack},
	{"wasmfront/translate/survey.go", "f == clif.ElemComputed || uint32(f) < s.m.NumImportedFuncs", "f == clif.ElemComputed", tailCallers},
	{"host/inproc/store.go", "return d + descHost, nil", "writeDescriptor(d, code, t)\n\treturn d, nil", tailCallers},
	{"clif/opt/tails.go", "clif.FuncIndex(d.Aux) != f.Index || ", "", run{pkg: "clif/opt", pattern: "TestTails"}},
	{"clif/inline/inline.go", "\treturn abi.Ended\n", "\treturn src\n", inlinedTails},
	{"clif/inline/inline.go", "n.emit(f, e, src)\n\treturn jumpTo", "n.emit(f, e, 0)\n\treturn jumpTo", inlinedTails},
	{"clif/inline/body.go", "if p.Caller == abi.Ended {", "if false {", inlinedTails},
	{"clif/inline/result.go", "\t\tcase d.Op.IsTailCall():\n\t\t\tall = false\n", "", inlinedOnes},
	{"clif/interp/machine.go", "\tm.frames = m.frames[:last]\n", "", inlinedTails},
	{"backend/call.go", "l.code.In.ArgWords-pop/8+int(loc.Word)", "int(loc.Word)", tailArguments},
	{"backend/call.go", "regalloc.StackArgDef(v, l.code.GrowBytes/8+int(loc.Word))", "regalloc.StackArgDef(v, int(loc.Word))", tailArguments},
	{"backend/call.go", "if l.BytesOfVReg(r) >= 8 {", "if true {", tailArguments},
	{"backend/isa/x64/abi.go", "Disp: int32(up - 8)}, asm.RSP)", "Disp: int32(up)}, asm.RSP)", tailsX64},
	{"backend/isa/x64/abi.go", "touchBelow(e, below)", "touchBelow(e, 8)", tailOverflow},
	{"backend/isa/a64/abi.go", "\ttouchBelow(e, 16)\n", "", tailsA64},
	{"backend/isa/a64/emit.go", "leave(e, e.Frame.Pop-in.Popped())", "leave(e, e.Frame.Pop)", tailsA64},
	{"compile/islands.go", " || rel.Kind == reloc.Jump26", "", run{pkg: "compile", pattern: "TestIslands$"}},
	{"objfile/ehframe.go", "e.info.RedZone && c.Kind != abi.ReturnMoved", "e.info.RedZone", run{pkg: "objfile", pattern: "TestFrameChanges"}},
	{"host/inproc/machine_linux_amd64.go", "uintptr(len(insnTouchFar))))) == insnTouchFar", "uintptr(len(insnTouchFar))))) == \"\"", tailOverflow},
	{"host/inproc/machine_linux_amd64.go", "min(left, uintptr(len(insnTouchFar)))", "uintptr(len(insnTouchFar))+left*0", run{pkg: "host/inproc", pattern: "TestEntryAtEnd"}},
	{"host/inproc/exceptions.go", "u.saved[k] = load64(at)", "_ = load64(at)", exceptions},
	{"host/inproc/exceptions.go", "saves.Registers != 0 && saves.At(offset-f.Text)", "saves.Registers != 0", caughtX64},
	{"internal/abi/sites.go", "saved = !saved", "saved = true", landingsA64},
	{"compile/link.go", "c.Kind == abi.RegistersSaved; now != saved", "true; now != saved", caughtA64},
	{"objfile/ehframe.go", "\t\tif saved {\n\t\t\te.b = appendRules(e.b, e.f.Saved)\n\t\t} else {", "\t\tif saved || !wanted {\n\t\t\te.b = appendRules(e.b, e.f.Saved)\n\t\t} else {", landingsX64},
	{"backend/emit.go", "e.setSaved(!e.Out", "e.setSaved(e.saved || !e.Out", landingsX64},
	{"host/inproc/exceptions.go", "n += copy(args[abi.ExceptionWord(params, i):], x.args[n:n+p.Words()])", "n += p.Words() + 0*i", exceptions},
	{"host/inproc/exceptions.go", "from.inst != u.inst", "false", exceptions},
	{"host/inproc/exceptions.go", "u.inst.base+uintptr(landing), u.fp-uintptr(f.Frame)", "u.inst.base+uintptr(landing), u.fp-uintptr(f.Frame)+32", exceptions},
	{"host/inproc/exceptions.go", "\t\tabove = u.fp + 16\n\t\tu.pc, u.fp =", "\t\tabove = u.fp + 16\n\t\tu.pc, _ =", exceptions},
	{"host/inproc/exceptions.go", "x.args[n] = s.valid(v, x.args[n])", "_ = s.valid(v, x.args[n])", exceptions},
	{"host/inproc/exceptions.go", "\t\tword = s.refTo(x)\n", "\t\tword = s.refTo(x)\n\t\ts.Retain(word)\n", pending},
	{"host/inproc/exceptions.go", "\tx.by = nil\n", "", exceptions},
	{"host/inproc/exceptions.go", "word = s.valid(x, word)", "_ = s.valid", pending},
	{"host/inproc/exceptions.go", "u.inst.base+uintptr(landing), u.fp-uintptr(f.Frame)", "u.inst.base+uintptr(landing), above", pending},
	{"host/inproc/exceptions.go", "if s.cancelled.Load() != 0 || c.cancel.hasEnded() {", "if false {", exceptions},
	{"host/inproc/exceptions.go", "word == 0 && (known || ", "word == 0 && (", exceptions},
	{"host/inproc/exceptions.go", "abi.ExceptionWord(params, len(params)) > int(to.inst.module.meta.Exceptions.Words)", "len(params) > 1<<20", exceptions},
	{"host/inproc/exceptions.go", "want > limit/2 {", "want > 1<<40 {", exceptions},
	{"host/inproc/exceptions.go", "for _, v := range x.values {\n\t\t\t\tadd(v)", "for _, v := range x.values {\n\t\t\t\t_ = v", exceptions},
	{"host/inproc/exceptions.go", " && x.weighed != r.weighings {", " {", exceptions},
	{"host/inproc/exceptions.go", "x.tag.store == s {", "true {", exceptions},
	{"host/inproc/refs.go", "r.scanned += r.weighExceptions()", "_ = r.weighExceptions", exceptions},
	{"host/inproc/refs.go", "r.weight += e.weight", "_ = e", exceptions},
	{"host/inproc/store_heap.go", "return t.Type.OrNull() == meta.ExnRef", "return true", exceptions},
	{"compile/worker.go", "r.exceptions, r.heap = c.HasExceptions, c.HasHeap", "r.heap = c.HasHeap", run{pkg: "compile", pattern: "TestExceptionsWithoutTags"}},
	{"internal/snapshot/instrument.go", "wasmfront.FeatureExceptions | wasmfront.FeatureLegacyExceptions", "wasmfront.FeatureExceptions", run{pkg: "cmd/waot", pattern: "TestSnapshotOfExceptions"}},
	{"wasmfront/translate/exceptions.go", "t.tryAround(n-int(op.Index))", "t.tryAround(n)", throwScript},
	{"wasmfront/translate/exceptions.go", "t.cm.Tags[c.Tag].Import != nil && t.cm.Tags[tag].Import != nil", "false", throwScript},
	{"wasmfront/translate/exceptions.go", "\tt.leader(false)\n", "", throwFuel},
	{"wasmfront/translate/exceptions.go", "\tif c.Kind.HasRef() {\n\t\tt.b.ExnSet(tag, args)\n\t}\n", "", throwScript},
	{"clif/inline/inline.go", "e.Op == clif.OpRaise && s.unwind != clif.NoTarget", "false", inlinedCatch},
	{"clif/inline/inline.go", "e.Op.Has(effect.Calls) && i != caught", "e.Op.Has(effect.Calls) && false && i != caught", inlinedCatch},
	{"clif/inline/inline.go", " && i != caught", " && (i != caught || true)", inlinedCatch},
	{"clif/inline/inline.go", "\t\t\t\t\tcopied = n.catch(f, copied, s.unwind, src)\n", "", inlinedCatch},
	{"clif/inline/inline.go", "\t\t\t\tn.move(f, at, catch)\n", "", inlinedCatch},
	{"clif/interp/exceptions.go", "\tm.thrown = false\n", "", throwRandom},
	{"backend/lower_exn.go", "\tputZero(l, l.exception(abi.ExceptionRef))\n", "", throwScript},
	{"backend/lower_exn.go", "Disp: 8 * int32(loc.Word)", "Disp: 8 * int32(n)", throwRandom},
	{"backend/blockorder.go", "clif.Target(via), d.Op != clif.OpCatch)", "clif.Target(via), true)", throwRandom},
	{"backend/blockorder.go", "NumResults > minMemoryResults", "NumResults > minMemoryResults+20", throwRandom},
	{"backend/emit.go", "e.Label(e.Succ(1))", "e.Label(e.Succ(0))", throwScript},
	{"compile/link.go", "len(l.cm.Tags) > 0 || l.throws }", "len(l.cm.Tags) > 0 }", throwScript},
	{"internal/meta/encode.go", "e.num32(h.Return - last)", "e.num32(h.Return - last + 1)", throwObjects},
	{"internal/meta/decode.go", "Landing: last + uint32(d.signed32(\"landing\"))", "Landing: uint32(d.signed32(\"landing\"))", throwObjects},
	{"wasmfront/translate/ops.go", "if !from.IsNotNull() {", "if false {", typedRefs},
	{"wasmfront/translate/control.go", "typed && t.m.IsSubType(of, op.Index) {\n\t\tt.trapIfNull(callee, elem, abi.TrapUninitializedElement)", "typed && t.m.IsSubType(of, op.Index) {\n\t\t_ = elem", typedRefs},
	{"wasmfront/translate/control.go", "typed && t.m.IsSubType(of, op.Index)", "typed && of != op.Index+1<<20", typedRefs},
	{"wasmfront/translate/survey.go", "if _, null := constBits(&t.Init); !null {", "if _, null := constBits(&t.Init); null {", typedRefs},
	{"wasmfront/validate/func.go", "v.given[v.sets[len(v.sets)-1]] = 0", "v.given[v.sets[len(v.sets)-1]] = v.number", typedRefs},
	{"wasmfront/validate/irregular.go", "if want := abi.RefTo(op.Index); !v.fits(op.Type, want) {", "if want := abi.RefTo(op.Index); !v.fits(want, op.Type) {", typedRefs},
	{"wasmfront/validate/module.go", "!m.Matches(e.ItemType(), t) && ", "", typedRefs},
	{"wasmfront/validate/module.go", "!m.Matches(e.ItemType(), t)", "e.ItemType().Base() != t.Base()", typedRefs},
	{"wasmfront/validate/regular.go", "!v.m.Matches(src, op.Type)", "src.Base() != op.Type.Base()", typedRefs},
	{"internal/abi/functypes.go", "u.IsNotNull() && !t.IsNotNull()", "t.IsNotNull() && !u.IsNotNull()", typedRefs},
	{"internal/abi/functypes.go", "return sub(i, j)", "return sub(i, j) || true", typedRefs},
	{"internal/abi/functypes.go", "return t.top() == u.top() // also of what has an index", "return true", validExceptions},
	{"internal/abi/functypes.go", "for ; h != u; h = &heapTypes[h.within] {", "for ; h != u && u != &heapTypes[heapExtern]; h = &heapTypes[h.within] {", validExceptions},
	{"internal/abi/functypes.go", "\tcase wanted:\n\t\treturn false\n", "\tcase wanted:\n\t\treturn true\n", typeRules},
	{"internal/abi/functypes.go", "return kindHeaps[t.Kind()].isWithin(u.abstract())", "return kindHeaps[KindStruct].isWithin(u.abstract())", typeRules},
	{"internal/abi/functypes.go", "append(b, recordPlace), place)", "append(b, recordPlace), 0)", typeRules},
	{"internal/abi/functypes.go", "b = r.value(append(b, mutable, f.Packed), f.Type)", "b = r.value(append(b, mutable), f.Type)", typeRules},
	{"internal/abi/functypes.go", "flags |= open", "flags |= final", typeRules},
	{"internal/abi/types.go", "KindStruct + TypeKind(t>>heapBits&1)", "KindStruct", typeRules},
	{"wasmfront/decode_types.go", "\t*t = kind\n", "\t_ = kind\n", validGC},
	{"internal/abi/functypes.go", "!t.HasSuper || t.Depth <= types[j].Depth", "!t.HasSuper || t.Depth <= types[j].Depth+1", validGC},
	{"wasmfront/validate/gc.go", "return !f.Mutable || c.m.Matches(super.Type, f.Type)", "return true", validGC},
	{"wasmfront/validate/gc.go", "c.m.MatchAll(super.Params, t.Params)", "c.m.MatchAll(t.Params, super.Params)", validGC},
	{"wasmfront/validate/gc.go", "!super.Open || !c.isSubtype(t, super)", "!c.isSubtype(t, super)", validGC},
	{"wasmfront/validate/gc.go", "plain != (f.Packed == 0)", "plain && f.Packed != 0 && false", validGC},
	{"wasmfront/validate/gc.go", "\tif !op.Type.IsNotNull() {\n\t\tstays", "\tif op.Type.IsNotNull() {\n\t\tstays", validGC},
	{"wasmfront/validate/gc.go", "f.Packed != to.Packed || ", "", validGC},
	{"wasmfront/translate/gc.go", "t.b.TrapIf(t.b.Icmp(clif.Uge, clif.I32, at, n)", "t.b.TrapIf(t.b.Icmp(clif.Ugt, clif.I32, at, n)", heapScript},
	{"wasmfront/translate/control.go", "} else if t.m.Types[op.Index].Open {", "} else if false {", heapScript},
	{"clif/opt/heap.go", "(e.ArgA() != d.ArgA() || e.Imm == d.Imm)", "e.ArgA() != d.ArgA()", heapFile},
	{"clif/opt/objects.go", "n != 0 && p.fits(d, &p.made[n-1])", "n != 0", optFiles},
	{"clif/opt/objects.go", "\t\tp.seen(f.TargetArgs(t))\n", "\t\t_ = t\n", optFiles},
	{"clif/opt/objects.go", "\tp.seen(operands)\n", "", optFiles},
	{"clif/opt/objects.go", "case d.Op == clif.OpStructGetU || d.Op", "case d.Op != clif.OpStructGetU || d.Op", optFiles},
	{"clif/opt/objects.go", "ok && n <= maxElements", "ok", optFiles},
	{"clif/opt/objects.go", "first = p.made[n-1].first + uint32(from)", "first = p.made[n-1].first + uint32(from&2)", optFiles},
	{"clif/opt/objects.go", "return ok && known &&", "return ok || known ||", optFiles},
	{"clif/opt/objects.go", "n <= uint64(m.fields)-from && p.f.Mod.IsSubType(m.typ, d.Aux)", "n <= uint64(m.fields)-from", optFiles},
	{"clif/opt/closed.go", "field.Kind == clif.ConstGlobal && packed == 0", "field.Kind == clif.ConstGlobal", heldTest},
	{"clif/opt/objects.go", "\tcase bits == 8:", "\tcase bits == 16:", optFiles},
	{"clif/opt/objects.go", "\t\t\t\tp.current[v] = atFirst\n", "", optFiles},
	{"clif/opt/objects.go", "\t\t\tends[v] = atFirst\n", "\t\t\t_ = ends\n", optFiles},
	{"clif/opt/heap.go", "f.imm != d.Imm || !m.IsSubType(f.aux, d.Aux) && !m.IsSubType(d.Aux, f.aux)", "f.imm != d.Imm || f.aux != d.Aux", heapFile},
	{"clif/opt/heap.go", "if !c.f.Mod.Types[d.Aux].Fields[d.Imm].Mutable {", "if d.Imm < 1<<20 {", heapScript},
	{"clif/opt/heap.go", "is = !want.IsNotNull()", "is = want.IsNotNull()", heapFile},
	{"clif/opt/heap.go", "abi.Matches(c.typeMade(in, d.ArgA()), want, c.f.Mod.IsSubType)", "abi.Matches(want, c.typeMade(in, d.ArgA()), c.f.Mod.IsSubType)", heapFile},
	{"clif/opt/heap.go", "null := h.Null && !want.IsNotNull()", "null := h.Null", heldTest},
	{"clif/opt/heap.go", "case !h.Null || is == null:", "default:", heldTest},
	{"clif/opt/closed.go", "m.Types[d.Aux].Fields[d.Imm].Mutable || !m.IsSubType(o.Type, d.Aux)", "!m.IsSubType(o.Type, d.Aux)", heldTest},
	{"clif/opt/closed.go", "\t\treturn c.trunc(clif.I32, uint64(int64(bits<<unused)>>unused))\n", "\t\treturn c.trunc(clif.I32, bits)\n", heldTest},
	{"clif/opt/callees.go", "h.Kind != clif.HeldFunc ||", "h.Kind == clif.HeldNothing ||", heldTest},
	{"wasmfront/translate/held.go", "\t\tif !def.HasSuper {\n", "\t\tif true {\n", surveyHeld},
	{"wasmfront/translate/held.go", "\t\t\telsewhere = cm.Types[t].HasSuper\n", "\t\t\telsewhere = false\n", surveyHeld},
	{"wasmfront/translate/held.go", "\t\tfirst, ok := of[digest]\n", "\t\tfirst, ok := uint32(i), true\n", surveyHeld},
	{"wasmfront/translate/held.go", "\th.Null = h.Null || more.Null\n", "", surveyHeld},
	{"wasmfront/translate/held.go", "made.Kind == clif.ConstMade && !g.Mutable", "made.Kind == clif.ConstMade && (!g.Mutable || i > 0)", heldTest},
	{"wasmfront/translate/held.go", "s.objects.converts || t.Top() != abi.ExternRef", "t.Top() != abi.ExternRef", surveyHeld},
	{"host/inproc/exceptions.go", "i.tags[n].private = private[n]", "_ = private", run{pattern: "TestPrivateTags"}},
	{"backend/lower_heap.go", "int32(l.Mod.Types[typ].Depth)+1", "int32(l.Mod.Types[typ].Depth)", heapScript},
	{"backend/lower_heap.go", "if ok && !l.Mod.Types[typ].Open {", "if ok {", heapScript},
	{"backend/lower_heap.go", "\tif !from.IsObject() {", "\tif from.IsObject() {", heapScript},
	{"backend/lower_heap.go", "\t\tnull = have\n", "\t\t_ = null\n", heapScript},
	{"backend/lower_heap.go", "if signed {", "if signed && f.Packed == 8 {", heapScript},
	{"backend/lower_heap.go", "a.Faulting(NullStructureFaults)", "a.Faulting(NullArrayFaults)", heapScript},
	{"backend/lower_heap.go", "a.Faulting(NullArrayFaults)", "a.Faulting(NullStructureFaults)", heapScript},
	{"backend/lower_heap.go", "case toLog > log:", "case toLog < log:", heapScript},
	{"backend/lower_heap.go", "SumTerm{V: clif.NoValue, K: -1}", "SumTerm{V: clif.NoValue, K: 0}", heapScript},
	{"backend/lower_heap.go", "Fixed)+abi.ObjectAlign-1)", "Fixed))", heapScript},
	{"backend/isa/x64/lower_heap.go", "asm.CmpMem, Size: 4}, asm.B)", "asm.CmpMem, Size: 4}, asm.O)", heaps},
	{"backend/lower_heap.go", "K: int64(l.Layout.Object(d.Aux).Fixed)}", "K: int64(l.Layout.Object(d.Aux).Fixed) - 8}", heapScript},
	{"clif/opt/allocate.go", "uint32(p.target(cold)), uint32(p.target(warm))", "uint32(p.target(warm)), uint32(p.target(cold))", optFiles},
	{"backend/isa/x64/lower_heap.go", "asm.SarImm", "asm.ShrImm", heapScript},
	{"internal/abi/abi.go", "{\"waot_heap_new\", 4, true, true}", "{\"waot_heap_new\", 4, true, false}", heapScript},
	{"internal/abi/objects.go", "copy(l.Offsets, super.Offsets), super.end", "copy(l.Offsets, super.Offsets), 0", heapScript},
	{"internal/abi/objects.go", "t.Kind == KindArray && super != nil {", "t.Kind == KindArray && super != nil && super.Elem == 1 {", heapScript},
	{"host/inproc/refs.go", "c.refs = c.refs || s.isCollectionDue()", "c.refs = c.refs || s.config.CollectAlways", run{pkg: ".", pattern: "TestObjectHandles"}},
	{"internal/meta/decode.go", "t.Depth = defs[t.Super].Depth + 1", "t.Depth = defs[t.Super].Depth", heapMeta},
	{"internal/meta/decode.go", "t.Super >= i || ", "t.Super > i || ", heapMeta},
	{"internal/gcheap/collect.go", "\t*(*uint64)(from) = forwarded | to<<32\n", "", heapAlone},
	{"internal/gcheap/collect.go", "if uint32(begin) == forwarded {\n\t\treturn", "if uint32(begin) == forwarded && at&8 == 0 {\n\t\treturn", heapAlone},
	{"internal/gcheap/collect.go", "if uint32(begin) == forwarded {\n\t\t\t\t*slot", "if uint32(begin) == forwarded && from&8 == 0 {\n\t\t\t\t*slot", heapAlone},
	{"internal/gcheap/collect.go", "if uint32(begin) != number ||", "if", heapAlone},
	{"internal/gcheap/collect.go", "\t\t\t*(*uint64)(old) = forwarded | next<<32\n", "", heapAlone},
	{"internal/gcheap/collect.go", "refs &= refs - 1", "refs &= refs & (refs - 1) >> 1", heapAlone},
	{"internal/gcheap/collect.go", "from-fromStart >= fromSize || from%Align != 0 {\n\t\t\t\tc", "from-fromStart >= fromSize {\n\t\t\t\tc", heapAlone},
	{"internal/gcheap/heap.go", "t.Elem == 0 && len(t.Words) == 0", "t.Elem == 0", heapAlone},
	{"internal/gcheap/heap.go", "h.clean+typeAt, min(end, h.dirty[h.space])", "h.clean+8, min(end, h.dirty[h.space])", heapAlone},
	{"internal/gcheap/heap.go", "min(end, h.dirty[h.space]); from < to {", "min(end, h.dirty[h.space]); from+1<<62 < to {", heapAlone},
	{"wasmfront/translate/gc.go", "t.b.Icmp(clif.Eq, clif.I32, is,", "t.b.Icmp(clif.Ne, clif.I32, is,", heapGC},
	{"wasmfront/translate/gc.go", "\tt.checkEnd(from, n, haveSource, abi.TrapArrayOutOfBounds)\n", "\t_ = haveSource\n", heapGC},
	{"wasmfront/translate/gc.go", "op.Op == wasmfront.OpBrOnCastFail", "op.Op == wasmfront.OpBrOnCast", heapGC},
	{"wasmfront/translate/gc.go", "uint64(t.elementOf(op.Index).Bytes())", "1", heapGC},
	{"clif/interp/gc.go", "if t == u {", "if t == u || t.super != nil && t.super == u.super {", heapGC},
	{"clif/interp/gc.go", "return x & (1<<f.Packed - 1)", "return x", heapGC},
	{"clif/interp/gc.go", "d.Op == clif.OpStructGetS || d.Op == clif.OpArrayGetS", "d.Op == clif.OpStructGetS", heapGC},
	{"clif/interp/gc.go", "uint64(uint32(int32(m.a(d))>>1))", "uint64(uint32(m.a(d))>>1)", heapGC},
	{"clif/interp/gc.go", "o.highs[slot] = m.highs[v]", "o.highs[slot] = 0", heapGC},
	{"clif/interp/gc.go", "slots > s.opt.MaxSlots || ", "", heapGC},
	{"clif/interp/gc.go", "kind := abi.AnyRef //", "kind := abi.EqRef //", heapGC},
	{"clif/opt/closed.go", "of.Import != nil && ", "of.Import == nil && ", heapScript},
	{"clif/module.go", "!m.Types[i].HasSuper", "true", heapScript},
	{"internal/gcheap/collect.go", "c.narrow(at+uint64(t.Refs[0]), n)", "c.narrow(at+uint64(t.Refs[0]), max(n, 1)-1)", randomGC},
	{"host/inproc/refs.go", "scanned = s.eachPlace(visit) + s.refs.markReturned()", "scanned = s.refs.markReturned()", randomGC},
	{"wasmfront/validate/exceptions.go", "wasmfront.ExnRef.NotNull(), takes[last]", "wasmfront.ExnRef, takes[last]", validExceptions},
	{"wasmfront/validate/exceptions.go", "v.label(at, c.Label)", "v.label(at, max(c.Label, 1)-1)", validExceptions},
	{"wasmfront/validate/exceptions.go", "!v.matchAll(brings, takes)", "!v.unreachable && !v.matchAll(brings, takes)", validExceptions},
	{"wasmfront/validate/exceptions.go", "\tv.pass(at, len(takes))\n", "", validExceptions},
	{"wasmfront/validate/exceptions.go", "k != wasmfront.BlockTry && k != wasmfront.BlockCatch {", "k != wasmfront.BlockTry && k != wasmfront.BlockCatch && k != wasmfront.BlockCatchAll {", validExceptions},
	{"wasmfront/validate/exceptions.go", "k != wasmfront.BlockTry {", "k != wasmfront.BlockTry && k != wasmfront.BlockCatch {", validExceptions},
	{"wasmfront/validate/exceptions.go", "\tv.label(op.Offset, op.Index)\n", "", validExceptions},
	{"wasmfront/validate/exceptions.go", "f.Kind != wasmfront.BlockCatch && f.Kind != wasmfront.BlockCatchAll", "f.Kind != wasmfront.BlockCatch && f.Kind != wasmfront.BlockCatchAll && f.Kind != wasmfront.BlockTry", validExceptions},
	{"wasmfront/validate/module.go", "len(c.m.Types[t.Type].Results) > 0", "len(c.m.Types[t.Type].Results) > 1", validExceptions},
	{"wasmfront/decode.go", "attribute != exception", "attribute > 1", validExceptions},
	{"wasmfront/encode/encode.go", "t.OrNull().Code()", "t.Base().Code()", readExceptions},
	{"wasmfront/wat/try.go", "\ta.endLabel(f)\n\ta.immediates(wasmfront.OpDelegate)\n", "\ta.immediates(wasmfront.OpDelegate)\n\ta.endLabel(f)\n", readExceptions},
	{"wasmfront/wat/try.go", "case f.kind == frameDoDone && t.Is(\"delegate\")", "case catches && t.Is(\"delegate\")", readExceptions},
	{"wasmfront/printer/body.go", "\tif kind == wasmfront.BlockTryTable { // whose", "\tb.open(kind, label)\n\tb.close()\n\tif b.open(kind, label); kind == wasmfront.BlockTryTable { // whose", writeExceptions},
	{"wasmfront/names.go", ", SpaceTag: len(m.Tags)", "", writeExceptions},
	{"internal/reduce/code.go", "label(in.Index+1) - 1", "label(in.Index)", editedExceptions},
	{"internal/reduce/code.go", "case wasmfront.ImmLabel, wasmfront.ImmBrOnCast:", "case wasmfront.ImmLabel:", run{pkg: "internal/reduce", pattern: "TestBranchOnCast"}},
	{"internal/wasmedit/encode.go", "\t\tflags |= 2\n\t}\n\treturn flags", "\t\tflags |= 1\n\t}\n\treturn flags", run{pkg: "internal/wasmedit", pattern: "TestCollected"}},
	{"clif/module.go", "s.Typed.Record != t.Typed.Record", "false", typedRefs},
	{"clif/interp/instance.go", "t.own != d.OwnType()", "t.Elem != d.Elem", typedRefs},
	{"host/inproc/instance.go", "have != want && (g.mutable || !have.MatchesBy(want, process.rows.isSubtype))", "!have.MatchesBy(want, process.rows.isSubtype)", typedRefs},
	{"host/inproc/instance.go", "ownType(t.elem, t.own) != ownType(d.Elem, i.module.own(d.Elem))", "t.elem.Base() != d.Elem.Base()", typedRefs},
	{"host/inproc/refs_words.go", "return !t.Type.IsNotNull()\n\tcase", "return true\n\tcase", typedHosts},
	{"host/inproc/refs_words.go", "return f != nil && f.isOf(t)", "return f != nil", typedHosts},
	{"host/inproc/refs.go", "visit(f.place(d))", "w := f.slot(d)\n\t\t\tvisit(&w)", heaps},
	{"host/inproc/exceptions.go", "x.args[n] = o.word", "_ = o.word", heaps},
	{"host/inproc/store_heap.go", "&& !o.escaped && r.isLive(i)", "&& !o.escaped && r.isLive(i) && false", heaps},
	{"host/inproc/object.go", "h.objects = append(h.objects, weak.Make(o))", "_, _ = weak.Make(o), h", heaps},
	{"host/inproc/object.go", "return 0, ErrType\n\t}\n\treturn w, nil", "_ = ok\n\t}\n\treturn w, nil", objectsOfGo},
	{"host/inproc/object.go", "uintptr(t.layout.Elem)*uintptr(i)", "uintptr(t.Def().Fields[0].ObjectBytes())*uintptr(i)", objectsOfGo},
	{"host/inproc/object.go", "is := process.rows.isWithin(t.number.number, u.number)", "is := process.rows.isWithin(u.number.number, t.number)", objectsOfGo},
	{"host/object.go", "uint64(first)+uint64(e.len()) > uint64(n)", "uint64(first) > uint64(n)", objectsOfGo},
	{"host/object.go", "err == nil && !f.Mutable", "err != nil && !f.Mutable", objectsOfGo},
	{"host/inproc/refs_weight.go", "\t\ts.collectRefs()\n", "", jsStrings},
	{"host/inproc/refs_weight.go", "if seen[v] {", "if seen[v] && w == 0 {", jsStrings},
	{"host/jsstring/builtins.go", "start > end || end > a.Len()", "start > end", jsStrings},
	{"host/jsstring/builtins.go", "case p < 1<<16:", "case p < 0xd800:", jsStrings},
	{"host/jsstring/imports.go", "if of.IsType(of.Meta().Funcs[n].Type, b.types()) {", "if of.IsType(of.Meta().Funcs[n].Type, b.types()) || signature(m, &d.Type.Func) == b.String() {", jsStrings},
	{"host/inproc/instance.go", "return isObject(w)", "return false", objectsOfGo},
	{"host/instance.go", "if want.isValue() && isOfStore(v) {", "if want.isValue() && isOfStore(v) && want.Mutable {", typedHosts},
	{"host/inproc/store_heap.go", "left = append(left, w)", "_ = w", heaps},
	{"host/inproc/store_heap.go", "s.heap.objects = left", "_ = left", heaps},
	{"host/inproc/store_heap.go", "s.activations[s.depth-1].keep(i)", "_ = i", heaps},
	{"host/inproc/store_heap.go", "return w&1 != 0 && w < gcheap.Size", "return false", heaps},
	{"host/inproc/store_heap.go", "return process.rows.isWithin(x.number(), process.rows.numberOf(t.To))", "return true", heaps},
	{"host/inproc/store_heap.go", "return inHierarchy(abi.RefToKind(x.Kind(), 0), t)", "return true", heaps},
	{"host/inproc/store_heap.go", "return inHierarchy(abi.I31Ref, t)", "return true", heaps},
	{"host/inproc/store_heap.go", "top == meta.ExternRef || top == abi.AnyRef", "true || top == abi.AnyRef", heaps},
	{"host/inproc/store_heap.go", "if x.store != s {", "if false {", heaps},
	{"host/inproc/store_heap.go", "\t\tmunmap(s.heap.reserved.low, s.heap.reserved.size)\n\t\tprocess.giveMappings(heapMappings)\n", "\t\tmunmap(s.heap.reserved.low, s.heap.reserved.size)\n", heaps},
	{"host/inproc/store_heap.go", "Done: s.sweepRefs", "Done: func() {}", heaps},
	{"host/inproc/store_heap.go", "runtime.GC() // Go", "runtime.KeepAlive(s) // Go", heaps},
	{"host/inproc/reset.go", "return t.IsRef() && t.IsNotNull()", "return t.Base() == meta.FuncRef && t.IsNotNull()", heaps},
	{"host/inproc/process_types.go", "\tt.put(n.number+n.depth, n.number)\n", "", heaps},
	{"host/inproc/process_types.go", "\t\tt.put(n.number+k, t.word(super.number+k))\n", "\t\t_ = k\n", heaps},
	{"host/inproc/process_types.go", "t.put(n.number+k, 0)", "_ = k", heaps},
	{"host/inproc/process_types.go", "\tt.places.give(n)\n}", "\t_ = n\n}", heaps},
	{"host/inproc/process_types.go", "t.leave(m, numbers[:i])", "_ = numbers[:i]", heaps},
	{"host/inproc/process_types.go", "!ok && t.places.worthJoining()", "!ok && t.places.worthJoining() && false", heaps},
	{"host/inproc/process_types.go", "t.unused, *i = append(t.unused, *i), 0", "t.unused = append(t.unused, *i)", heaps},
	{"host/inproc/process_types_places.go", "p.push(number+size, have-size)", "_ = have", heaps},
	{"host/inproc/store_heap.go", "m.types[i].Store(nil)", "_ = i", heaps},
	{"host/inproc/store.go", "\ts.leaveTypes()\n", "\t_ = s.typesOf\n", heaps},
	{"host/inproc/call_func.go", "exit == 0 && s.callEnded()", "exit == 0 && s.callEnded() && false", run{pkg: "host/inproc", pattern: "TestHeapCancelled"}},
	{"host/inproc/call_trap.go", " || s.heap.hasNull(c.faultAddr)", "", heaps},
	{"host/inproc/store_heap.go", "s.heap.SetTypes(process.rows.known())\n\t\treturn nil\n\t}\n\tif err", "return nil\n\t}\n\tif err", heaps},
	{"internal/gcheap/heap.go", "\tif h.Torture {\n\t\th.End = 0\n\t}\n", "", run{pkg: "internal/gcheap", pattern: "TestOpen"}},
	{"host/inproc/refs_words.go", "f == nil || !f.isOf(&t)", "f == nil", typedHosts},
	{"regalloc/flow/wrap.go", "in.ClobberSets[k].Low&saved != 0", "in.ClobberSets[k].Low&saved != 0 && false", savedWays},
	{"regalloc/flow/wrap.go", "live < free", "live <= free", savedWays},
	{"regalloc/flow/wrap.go", "len(list) == maxRuns", "len(list) == maxRuns+1", savedWays},
	{"regalloc/flow/wrap.go", "wr.saved[b] = reach == fromSaved|toSaved", "wr.saved[b] = reach&fromSaved != 0", savedWays},
	{"regalloc/flow/wrap.go", "list = append(list, Span{4 * r.Start, 4 * r.End})", "list = append(list, Span{4*r.Start + 4, 4 * r.End})", run{pkg: "regalloc/linear", pattern: "TestRandom"}},
	{"regalloc/saves.go", "if o.UnsavedIn(b) {\n\t\treturn false\n\t}\n", "", quickWays},
	{"regalloc/saves.go", "len(preds) == 0 || o.UnsavedIn(preds[0])", "len(preds) == 0 || !o.UnsavedIn(preds[0])", quickWays},
	{"regalloc/saves.go", "s.Len() == 1 && o.Unsaved", "s.Len() == 1 && !o.Unsaved", quickWays},
	{"clif/resumable/rareside.go", "unlikely(f, d, k == 0)", "unlikely(f, d, k == 1)", rareSides},
	{"clif/resumable/rareside.go", "c.Type == clif.I64 && ", "", rareSides},
	{"clif/resumable/rareside.go", "atOnce(f, x, clif.OpReturn) && atOnce(f, y, clif.OpTrap)", "atOnce(f, x, clif.OpReturn)", rareSides},
	{"backend/tops.go", "params[c.index] = c.fresh", "params[n] = c.fresh", filesX64},
	{"backend/tops.go", "until = min(until, t.def[arg])", "until = t.def[arg]", filesX64},
	{"backend/tops.go", " || in.VRegs[arg].Remat != regalloc.NoInst", "", filesX64},
	{"clif/opt/repair.go", "\treturn 0\n}", "\treturn 1\n}", run{pkg: "clif/opt", pattern: "TestSharedTarget"}},
	{"clif/opt/wide.go", "p.isProduct(a, false, true) && p.isProduct(b, true, false)", "(p.isProduct(a, false, true) || p.isProduct(b, true, false))", otherMiddle},
	{"clif/opt/wide.go", "p.isProduct(a, true, false) && p.isProduct(b, false, true)", "(p.isProduct(a, true, false) || p.isProduct(b, false, true))", otherMiddle},
	{"clif/opt/bytes.go", "l.b.Binary(clif.OpImul, t, by, l.b.Iconst(t, uint64(step))))\n\t\t}", "by)\n\t\t}", byteLoops},
	{"clif/opt/bytes.go", "2*vector-2)", "2*vector-3)", byteLoops},
	{"clif/opt/bytes.go", "if w.step < 0 {\n\t\tcount", "if w.step > 0 {\n\t\tcount", byteLoops},
	{"clif/opt/bytes.go", "\t\tif !l.simple(l.limit) {\n\t\t\treturn false\n\t\t}\n", "", byteMisses},
	{"clif/opt/bytes.go", "if c.IntCC() != stays {\n\t\t\treturn false\n\t\t}\n", "", byteMisses},
	{"clif/opt/exits.go", "p.o.trunc(t, -x.k)", "p.o.trunc(t, x.k)", exitLoops},
	{"clif/opt/exits.go", "x.used || !p.o.dom.Dominates(x.block, b) || ", "x.used || ", exitLoops},
	{"clif/opt/exits.go", "u.value != before.value || u.exit != before.exit", "u.value != before.value", exitLoops},
	{"clif/operands.go", "\t\tf.TargetsOf(d)[k] = x\n", "\t\tif k == 0 {\n\t\t\tf.TargetsOf(d)[k] = x\n\t\t}\n", resumables},
	{"clif/opt/resume.go", "f.ListAt(to.Args)[k] = p.copied(v)", "_ = v", resumables},
	{"clif/opt/resume.go", "n == 0 {\n\t\t\t\td.Result = v", "n+1 == clif.Value(d.NumResults) {\n\t\t\t\td.Result = v", resumables},
	{"clif/opt/resume.go", "f.Srcs, f.Srcs[i])", "f.Srcs, f.Srcs[f.Blocks[b].Start])", resumables},
	{"clif/operands.go", "\t\td.Args[k] = value(v)\n", "\t\tif k < 2 {\n\t\t\td.Args[k] = value(v)\n\t\t}\n", resumables},
	{"clif/opt/resume.go", " && p.copyOf[p.block] == 0", "", resumables},
	{"clif/opt/dispatch.go", "case x != 0:", "case x == 0:", shapes},
	{"clif/opt/dispatch.go", "p.escaped = p.escaped || w-1 != uint32(b)", "p.escaped = p.escaped && w-1 != uint32(b)", shapes},
	{"clif/opt/dispatch.go", "!entersLoop && ", "(!entersLoop || true) && ", shapes},
	{"clif/opt/dispatch.go", "w == 0 || w-1 == uint32(b) && !edge", "w == 0 || w-1 == uint32(b)", run{pkg: "clif/opt", pattern: "TestShapes|TestResumable|TestSharedTarget"}},
	{"clif/opt/selects.go", "d.Args[0], x[i], y[i]", "d.Args[0], y[i], x[i]", shapes},
	{"clif/opt/selects.go", "def >= f.Blocks[b].Start && def < f.Blocks[b].End", "true", shapes},
	{"clif/opt/selects.go", "choices > maxSelects || ", "", shapes},
	{"clif/opt/selects.go", "toJump(d, uint32(then.to))", "toJump(d, uint32(els.to))", shapes},
	{"clif/opt/decided.go", "clif.Target(d.Args[2]), isZero", "clif.Target(d.Args[2]), isNonzero", shapes},
	{"clif/opt/decided.go", "c.truth.undo(mark)", "_ = mark", shapes},
	{"clif/opt/decided.go", "!isBool[in.Op] || ", "", shapes},
	{"clif/opt/access.go", "end > 0 && d.Imm < end+c.spare()", "d.Imm < end+c.spare()", run{pkg: "clif/opt", pattern: "TestSums"}},
	{"clif/opt/memory.go", "f.state&writes == 0", "f.state&writes == 0 || f.op == clif.OpElemLen", run{pkg: "clif/opt", pattern: "TestWritesForget"}},
	{"clif/opt/memory.go", "if !f.low {", "if !f.low || true {", allEffects},
	{"clif/opt/regions.go", "writes |= r.writes[e.From]; writes&need == need", "writes = r.writes[e.From]; writes&need == need", allEffects},
	{"clif/opt/regions.go", "\t\t\tr.work = append(r.work, e.From)\n", "", allEffects},
	{"clif/opt/regions.go", "e.From == from || r.seen[e.From] == r.walk", "e.From == from || e.From == b || r.seen[e.From] == r.walk", allEffects},
	{"clif/opt/regions.go", "return ^clif.StateSet(0)", "return writes", run{pkg: "clif/opt", pattern: "TestLongRegion"}},
	{"clif/state.go", "d.Import != nil && d.Mutable", "d.Import != nil && !d.Mutable", allEffects},
	{"clif/state.go", "^m.Funcs[d.Aux].Keeps", "m.Funcs[d.Aux].Keeps", allEffects},
	{"clif/opt/ruletable.go", "(vadd~ x (vneg y)) => (vsub x y)", "(vadd~ x (vneg y)) => (vsub y x)", eachRow},
	{"clif/opt/rowmatch.go", "arith.Splat(t, c.shrink, x) != (arith.V128{low, high})", "false", eachRow},
	{"clif/opt/rowmatch.go", "case s.same && in.Type != m.typ:", "case false:", eachRow},
	{"clif/opt/rowwords.go", "m.d.Type == clif.V128 || m.d.Type == m.typ", "m.typ != clif.Invalid", eachRow},
	{"clif/opt/shuffles.go", "x == y || !parts[0] || !parts[1]", "true", eachRow},
	{"clif/opt/rowwords.go", "return m.k[0] < m.k[1]", "return m.k[0] <= m.k[1]", closedRules},
	{"clif/opt/closed.go", "entries[x] == clif.ElemComputed || ", "", closedRules},
	{"clif/opt/closed.go", "\tif !c.immutable {\n\t\treturn nil\n\t}\n", "", closedRules},
	{"clif/opt/closed.go", "m.IsSubSig(m.Tables[in.Aux].Only, clif.SigIndex(d.Aux)) && ", "", closedRules},
	{"clif/opt/closed.go", "c.hasSig(in, d.Aux) && c.may", "c.may", closedRules},
	{"wasmfront/translate/survey.go", "\t\t\t\twork = append(stop.Room(s.stop, work), c)\n", "\t\t\t\tif len(work) > 1<<20 {\n\t\t\t\t\twork = append(stop.Room(s.stop, work), c)\n\t\t\t\t}\n", surveys},
	{"wasmfront/translate/survey.go", "\t\tif t.Import != nil {\n\t\t\treturn\n\t\t}\n", "", surveys},
	{"wasmfront/translate/survey.go", "at+uint64(e.Len()) > t.Min", "at+uint64(e.Len()) > t.Min+1", surveys},
	{"wasmfront/optable.go", "{OpV128Store16Lane, \"v128.store16_lane\", ImmMemArgLane, \"iv:\", 1, effect.Traps | effect.WriteMemory", "{OpV128Store16Lane, \"v128.store16_lane\", ImmMemArgLane, \"iv:\", 1, effect.Traps | effect.ReadMemory", surveys},
	{"wasmfront/translate/survey.go", "globals |= s.globalWritten(cm, b, op, index)", "globals = cm.GlobalState(index)", surveys},
	{"wasmfront/translate/survey.go", "b.refused || more.Has(effect.Calls)", "more.Has(effect.Calls)", unknownOps},
	{"wasmfront/translate/bodies.go", "\tok = ok && b.ops.of(op) != effect.Unknown\n", "", unknownOps},
	{"wasmfront/translate/bodies.go", "e != effect.Unknown && !isNoted(op, e)", "!isNoted(op, e)", unknownOps},
	{"clif/opcodes.go", "\"iC:i\", tRefs, effect.ReadTableSize|effect.WriteTableSize", "\"iC:i\", tRefs, effect.ReadTableSize", allEffects},
	{"clif/opcodes.go", "tNone, effect.ReadMemorySize|effect.WriteMemorySize", "tNone, effect.ReadMemorySize", allEffects},
	{"wasmfront/translate/survey.go", "!g.Exported && !s.refused && !s.globals[i]", "!s.refused && !s.globals[i]", surveys},
	{"wasmfront/translate/nonzero.go", "r.U32() >= nesting", "r.U32() > nesting", surveys},
	{"wasmfront/translate/nonzero.go", "labels = r.U32() + 1", "labels = r.U32()", surveys},
	{"wasmfront/translate/nonzero.go", "t = top{nonzero: op != wasmfront.OpBrIf}", "t = top{nonzero: true}", surveys},
	{"wasmfront/translate/nonzero.go", "nesting, t = nesting-1, top{}", "nesting--", surveys},
	{"wasmfront/translate/nonzero.go", "t.above == 0 && (t.nonzero", "(t.nonzero", surveys},
	{"wasmfront/translate/nonzero.go", "\t\ts.results[i] = mayBeZero\n", "\t\ts.results[i] = neverZero\n", surveys},
	{"clif/opt/returns.go", "toJump(d, d.Args[1])", "toJump(d, d.Args[2])", unwinding},
	{"clif/resumable/resumable.go", "len(preds) != 1 || b", "len(preds) == 0 || b", unwinding},
	{"clif/resumable/resumable.go", "[f.Values[v].Num]", "[0]", unwinding},
	{"clif/resumable/resumable.go", " && f.Mod.Funcs[d.Aux].Nonzero", "", unwinding},
	{"clif/resumable/rareside.go", "alwaysUnwinds(f, d)", "d.Op == clif.OpCall", rareSides},
	{"backend/hoistmade.go", "c.place && c.low == offset && ", "c.place && ", hoistedA64},
	{"backend/hoistmade.go", "if lp.places == maxPlaces || ", "if ", hoistedA64},
	{"backend/isa/a64/lower_mem.go", "Imm: t.K &^ page}", "Imm: t.K&^page + 1<<12}", hoistedA64},
	{"backend/isa/a64/amode.go", "1<<k == access(m.D) {\n\t\tif a, ok := placed", "1<<k >= access(m.D) {\n\t\tif a, ok := placed", hoistedA64},
	{"backend/hoistmade.go", "c.low == low && c.high == high", "c.low == low", hoistedA64},
	{"backend/hoistmade.go", "; !c.place && ", "; ", hoistedA64},
	{"backend/hoist.go", "x.Args[1] == d.Args[1] && x.Args[2] == d.Args[2]", "x.Args[1] == d.Args[1]", hoistedA64},
	{"backend/hoist.go", "\t\tl.vregs[d.Result] = regalloc.NoVReg\n", "", manyConstants},
	{"backend/hoist.go", "if !l.constsStay && (", "if (", manyConstants},
	{"backend/hoist.go", "d == nil || l.sunk[i]", "d == nil", constantsX64},
	{"backend/hoist.go", "if i < here.Start || i >= here.End {\n\t\t\tl.group", "if i >= here.End {\n\t\t\tl.group", constantsX64},
	{"backend/hoist.go", "l.Order.SuccsOf(int(b))) <= 2", "l.Order.SuccsOf(int(b))) <= 3", constantsX64},
	{"backend/frame.go", "unit: align / 8,", "unit: 1,", slotOrder},
	{"backend/frame.go", "place = units - 1 - k", "place = units - k", slotOrder},
	{"backend/frame.go", "out.Edits[i].From, out.Edits[i].To}", "out.Edits[i].From}", slotOrder},
	{"backend/isa/x64/asm/encode.go", "up <= math.MaxInt8", "up <= math.MaxInt8+1", moves},
	{"backend/isa/x64/asm/encode.go", "off + int32(fr.Size); off", "off + int32(fr.Size) - 8; off", moves},
	{"backend/isa/x64/asm/move.go", "	if bytes == 8 {", "	if bytes == 8 || to.IsMem() {", moves},
	{"backend/emit.go", "StoreOf(&e.VC.Insts[ed.Inst], ed.Bytes)", "StoreOf(&e.VC.Insts[ed.Inst], 8)", run{pkg: "backend", pattern: "TestEdits"}},
	{"backend/vcodebuilder.go", "rows.StoreOf(&c.insts[i], v.Bytes)", "rows.StoreOf(&c.insts[i], 4)", filesX64},
	{"regalloc/flow/emit.go", "if em.In.VRegs[x.vreg].Storable {", "if class == regalloc.Int {", allocators},
	{"regalloc/local/walk.go", "if a.in.VRegs[m.v].Storable {", "if true {", run{pkg: "regalloc/local", pattern: "TestRandom"}},
	{"regalloc/parmove/parmove.go", " || !r.env.Swaps.Has(a.Reg())", "", parallel},
	{"regalloc/parmove/parmove.go", "r.env.Swaps == 0 || saved != regalloc.InReg(r.env.Scratch[regalloc.Float])", "r.env.Swaps == 0", parallel},
	{"regalloc/parmove/parmove.go", "\tfor i := range n - 1 {\n\t\tto, from", "\tfor i := range n {\n\t\tto, from", parallel},
	{"backend/isa/x64/emit.go", "e.Distance(to)+behind <= 127", "e.Distance(to) <= 127", run{pkg: "compile", pattern: "TestNearBranches"}},
	{"backend/target.go", "bytes == 8 && imm != int64(int32(imm))", "false", run{pkg: "backend/isa/x64", pattern: "TestStoreConst"}},
	{"backend/isa/x64/asm/encode.go", "scale == 0 && base&7 == 5", "base&7 == 5", run{pkg: "backend/isa/x64/asm", pattern: "TestBoundOfAddresses|TestGolden"}},
	{"backend/address.go", "l.BytesOfVReg(op.VReg) == 4", "false", filesX64},
	{"backend/lower_ctl.go", "from < to", "to == 0", filesX64},
	{"backend/lower.go", "t == clif.I64 && bytes == 8", "t == clif.I64", filesX64},
	{"backend/lower.go", "t == clif.I32 && bytes == 4", "t == clif.I32", filesX64},
	{"backend/match.go", "case l.wholes[v]:\n\t\tt = clif.I64", "case l.wholes[v]:", filesX64},
	{"backend/lower.go", "d.Op == clif.OpIreduce || l.halves[v]", "l.halves[v]", filesX64},
	{"backend/layout.go", " && (size <= maxCallingLoop || !e.calls(bi, int(e.lastOf(p))))", "", filesX64},
	{"backend/loopplace.go", "e.Buf.KeepStarts(starts)", "", run{pkg: "compile", pattern: "TestLoopPlaces"}},
	{"compile/link.go", "r.starts.Next(alignUp(n, align))", "alignUp(n, align)", run{pkg: "compile", pattern: "TestLoopPlaces"}},
	{"backend/address.go", "max(l.BytesOfVReg(r), 8)", "l.BytesOfVReg(r)", run{pkg: "backend/isa/x64", pattern: "TestFiles/words"}},
	{"checker/edit.go", "e.Bytes == 4 && !half || ", "", halves},
	{"checker/edit.go", " || e.Bytes == 8 && half && from >= numRegs", "", halves},
	{"checker/prepare.go", "(typeBits|halfBit)", "typeBits", halves},
	{"checker/prepare.go", "c.env.Swaps&c.regs[regalloc.Int]", "c.writeable", halves},
	{"checker/edit.go", "regs.Len() != 2 || ", "", halves},
	{"checker/edit.go", "regs&^c.swaps != 0 || ", "", halves},
	{"checker/edit.go", " || e.Bytes != 8 {", " {", halves},
	{"checker/edit.go", "c.locs[from], c.locs[to] = c.locs[to], c.locs[from]", "c.locs[to] = c.locs[from]", halves},
	{"checker/edit.go", "\tc.tracked |= regs\n", "", halves},
	{"checker/edit.go", "c.written |= regs", "c.written |= 1 << to", halves},
	{"checker/edit.go", "\tc.eraseRegs(c.scratch.OfClass(regalloc.Int))\n", "", halves},
	{"checker/edit.go", "case !info.Storable || ", "case ", halves},
	{"checker/edit.go", " || e.Bytes != info.Bytes:", ":", halves},
	{"checker/edit.go", "!ok || !e.To.IsSlot() && (!e.To.IsArg() || e.Point != c.outgoing):", "!ok:", halves},
	{"checker/edit.go", "!ok || !e.To.IsSlot() && (!e.To.IsArg() || e.Point != c.outgoing):", "!ok || !e.To.IsSlot():", ends},
	{"checker/edit.go", "regs&^c.writeable != 0 || e.To.IsArg() && e.Point != c.outgoing ||", "regs&^c.writeable != 0 ||", ends},
	{"checker/edit.go", "regs&^c.writeable != 0 || e.To.IsArg() && e.Point != c.outgoing ||", "regs&^c.writeable != 0 || e.To.IsArg() ||", ends},
	{"checker/inst.go", "uint32(op.Arg) >= c.argWords", "uint32(op.Arg) > c.argWords", ends},
	{"checker/inst.go", "c.v[op.VReg].name&halfBit == 0 && c.in.Insts[i]", "c.in.Insts[i]", ends},
	{"checker/inst.go", " && c.isTouched(loc, name)", " && false", ends},
	{"checker/inst.go", " && !c.env.CalleeSaved.Has(op.PReg()):", ":", ends},
	{"checker/inst.go", "(regalloc.Safepoint|leaving) != 0", "regalloc.Safepoint != 0", ends},
	{"checker/inst.go", "return loc, ok && a == regalloc.InArg(int(op.Arg))", "return loc, ok", ends},
	{"checker/prepare.go", " || succs != 0)", ")", ends},
	{"checker/prepare.go", " || succs != 2)", ")", ends},
	{"checker/inst.go", "\tcase info.Flags&regalloc.IsTerminator == 0:\n", "\tcase false:\n", ends},
	{"checker/checker.go", "\t\t\tc.locs[loc] = fact{}\n\t\t\tcontinue\n", "\t\t\tcontinue\n", ends},
	{"checker/checker.go", "w < loc+n; w++ {\n\t\t\tc.setWord(w, fact{})", "w < loc; w++ {\n\t\t\tc.setWord(w, fact{})", ends},
	{"checker/checker.go", "slices.Contains(c.in.ArgsOf(*e), op.VReg)", "slices.Contains(c.in.ArgsOf(*e), ^op.VReg)", ends},
	{"checker/checker.go", "\tif more > 0 {\n\t\tc.fork(normal)", "\tif false {\n\t\tc.fork(normal)", ends},
	{"checker/checker.go", "Flags&regalloc.MayThrow == 0 {", "Flags&regalloc.MayThrow != 1<<7 {", ends},
	{"checker/edge.go", "if k == 1 && c.in.Insts[end]", "if k == 0 && c.in.Insts[end]", ends},
	{"checker/edge.go", "if k == 1 && c.in.Insts[end]", "if k > 1 && c.in.Insts[end]", ends},
	{"regalloc/parmove/parmove.go", "if r.SetAside(moves) > 0 {", "if false {", overlaps},
	{"regalloc/parmove/parmove.go", "first != uint32(m.From.Index())", "first > uint32(m.From.Index())", overlaps},
	{"regalloc/parmove/parmove.go", "w < m.To.Index()+words(m.Bytes); w++", "w < m.To.Index()+1; w++", overlaps},
	{"regalloc/parmove/parmove.go", "\t\tnext += 2\n", "", overlaps},
	{"regalloc/flow/wrap.go", "(regalloc.IsReturn|regalloc.IsTailCall) != 0 {\n\t\t\treturn true", "regalloc.IsReturn != 0 {\n\t\t\treturn true", savedWays},
	{"regalloc/flow/resolve.go", "; g.loc != to {", "; g.loc != to && !to.IsArg() {", endsLinear},
	{"regalloc/flow/emit.go", "em.Out.SlotWords = extra + n", "em.Out.SlotWords = extra + 2", endsLinear},
	{"regalloc/ssa/demand.go", "if o.Constraint >= regalloc.Fixed {", "if o.Constraint == regalloc.Fixed {", endsSSA},
	{"regalloc/local/walk.go", "a.between > 1 || aside > 0", "a.between > 1", endsLocal},
	{"regalloc/local/walk.go", "if a.throwsTo(p, b) {", "if false {", endsLocal},
	{"regalloc/local/walk.go", "[info.Succs.Start].To) != b", "[info.Succs.Start].To) == b", endsLocal},
	{"regalloc/local/walk.go", "extraSlot(max(1, aside))", "extraSlot(1)", endsLocal},
	{"regalloc/local/general.go", "inst.Flags&regalloc.IsTailCall != 0", "inst.Flags&regalloc.IsTailCall == 1<<7", endsLocal},
	{"regalloc/local/scan.go", "\t\tif o.Access.Reads() {\n\t\t\tbreak\n\t\t}\n", "", endsLocal},
	{"regalloc/local/refs.go", "into := a.refsInto(uint32(e.To))", "into := a.refsInto(uint32(a.in.SuccsOf(regalloc.Block(b))[0].To + 0*e.To))", endsLocal},
	{"backend/isa/x64/abi.go", "r := saved.Last()", "r := saved.First()", frames},
	{"backend/isa/x64/abi.go", "n > pageSize-16)", "n > pageSize)", frames},
	{"backend/isa/x64/abi.go", "op(e, backend.Inst{Op: asm.Push}, asm.RAX)\n\t\t\tn -= 8\n", "op(e, backend.Inst{Op: asm.Push}, asm.RAX)\n", frames},
	{"regalloc/flow/wrap.go", "o.Access != regalloc.Use && (o.Constraint != regalloc.Fixed || !lost.Has(o.PReg()))", "false", savedWays},
	{"clif/inline/inline.go", "n.depth = max(n.depth, body.depth+1)", "n.depth = body.depth + 1", inlined},
	{"clif/inline/inline.go", "n.Run(f, bodies); levels++", "n.Run(f, func(clif.FuncIndex) *Body { return body }); levels++", inlinedRuns},
	{"clif/inline/result.go", " || gives(from, f.TargetArgs(t))", "", inlinedOnes},
	{"clif/inline/result.go", "e.Op.Has(effect.Traps | effect.Writes | effect.Calls)", "e.Op.Has(effect.Traps | effect.Calls)", inlinedOnes},
	{"clif/inline/policy.go", "int(body.depth)+levels >= maxDepth", "levels >= maxDepth", inlined},
	{"clif/inline/policy.go", "if n.Objects {", "if !n.Objects {", inlined},
	{"clif/inline/weight.go", "weight += raiseWeight\n\t\t\tcontinue", "weight += raiseWeight", weights},
	{"clif/inline/weight.go", "edges = edges[:1]", "edges = edges[1:]", weights},
	{"clif/inline/weight.go", "k != rare && ", "k != rare-2 && ", weights},
	{"clif/inline/body.go", "n.depth >= maxDepth", "n.depth > maxDepth", inlined},
	{"clif/inline/body.go", "stop.Zeroed(f.Stop, n.memo, ", "stop.Resize(f.Stop, n.memo, ", inlined},
	{"clif/inline/body.go", "p.Caller = n.keepPlace(g, f, p.Caller)", "p.Caller = outside", inlined},
	{"host/inproc/memory_graves.go", "(stays || viewed.Load())", "viewed.Load()", run{pkg: "host/inproc", pattern: "TestGraves"}},
	{"host/inproc/process_spares.go", "\tclear(bytesAt(addr, size))\n", "", spareParts},
	{"host/inproc/process_spares.go", "copy(bytesAt(data, m.length[Data]), m.pristine)", "copy(bytesAt(data, 8), m.pristine)", spareParts},
	{"host/inproc/store.go", "used = s.slabNext - e.low", "used = 16", spareParts},
	{"host/inproc/process_spares.go", "p.zeroWritten(at, x.open, maxSpareMemory/pageSize)", "p.zeroWritten(at, first, maxSpareMemory/pageSize)", spareParts},
	{"host/inproc/process_spares.go", "\tp.spares.lent += x.lent(open)\n", "", run{pkg: "host/inproc", pattern: "TestSparesWarm"}},
	{"wasmfront/translate/charge.go", "t.f.Insts[c.inst].Imm = c.cost", "t.f.Insts[c.inst].Imm = 2 * c.cost", fuelCounts},
	{"wasmfront/translate/charge.go", "if c.cost == 0 && !c.trap {", "if !c.trap {", fuelCounts},
	{"wasmfront/translate/charge.go", "Has(effect.Writes|effect.Calls)", "Has(effect.Calls)", fuelCounts},
	{"wasmfront/translate/charge.go", "Has(effect.Writes|effect.Calls)", "Has(effect.Writes)", fuelIdioms},
	{"wasmfront/translate/charge.go", "trap: loop}", "trap: false}", fuelIdioms},
	{"wasmfront/translate/control.go", "\tt.ssa.enter(b, follows)\n\tt.leader(false)\n", "\tt.leader(false)\n\tt.ssa.enter(b, follows)\n", fuelCounts},
	{"wasmfront/translate/ops.go", "t.chargeBytes(n)\n\tt.checkEnd(from, n, t.memoryBytes(op.Index2), abi.TrapMemoryOutOfBounds)\n\tt.checkEnd(to, n, t.memoryBytes(op.Index), abi.TrapMemoryOutOfBounds)\n", "t.checkEnd(from, n, t.memoryBytes(op.Index2), abi.TrapMemoryOutOfBounds)\n\tt.checkEnd(to, n, t.memoryBytes(op.Index), abi.TrapMemoryOutOfBounds)\n\tt.chargeBytes(n)\n", fuelCounts},
	{"clif/opt/dispatch.go", "if e.cost.units > 0 || e.cost.trap != 0 {", "if false {", fuelCounts},
	{"clif/opt/dispatch.go", "\tp.edgeOf[e.edge] = 0\n", "", fuelCounts},
	{"clif/opt/dispatch.go", "charges{p.cost.units + d.Imm, d.Cond, f.Srcs[i]}", "charges{p.cost.units + d.Imm, 0, f.Srcs[i]}", fuelIdioms},
	{"clif/opt/dispatch.go", "&& p.cost.trap == 0 && p.cost.units", "&& p.cost.units", fuelIdioms},
	{"clif/opt/selects.go", "p.charge(f, at, d.ArgA(), then.cost, els.cost)", "p.charge(f, at, d.ArgA(), els.cost, then.cost)", fuelCounts},
	{"internal/snapshot/freeze.go", "t.Min = uint64(len(z.state.Tables[i]))", "_ = z.state.Tables[i]", frozen},
	{"internal/snapshot/freeze.go", "l.Min = uint64(len(z.state.Memories[i])) / abi.PageSize", "_ = abi.PageSize", frozen},
	{"internal/snapshot/freeze.go", "if g.Mutable {\n\t\t\tc :=", "if g.Mutable && i > 0 {\n\t\t\tc :=", frozen},
	{"internal/snapshot/freeze.go", "SegmentPassive && !z.state.DroppedData[i]", "SegmentPassive", frozen},
	{"internal/snapshot/freeze.go", "SegmentPassive && !z.state.DroppedElems[i]", "SegmentPassive", frozen},
	{"internal/snapshot/freeze.go", "low, high := nextData(mem, 0, gap); low < high; low, high = nextData(mem, high, gap) {\n\t\t\tn++\n\t\t\tconst active", "low, high := nextData(mem, min(len(mem), abi.PageSize), gap); low < high; low, high = nextData(mem, high, gap) {\n\t\t\tn++\n\t\t\tconst active", snapshots},
	{"internal/snapshot/freeze.go", "\t\tfor _, r := range t {\n\t\t\tz.keepRef(r)\n\t\t}", "\t\t_ = t", frozen},
	{"internal/snapshot/freeze.go", "case f > z.marker:\n\t\treturn f - 1", "case f > z.marker:\n\t\treturn f", frozen},
	{"internal/snapshot/freeze.go", "if op.Op == wasmfront.OpRefFunc {\n\t\tz.refs[op.Index] = true\n\t}", "", frozen},
	{"internal/snapshot/resume.go", "v != (Value{Ref: Null})", "v.Bits != 0", frozen},
	{"internal/snapshot/resume.go", "if r.ops[o.end].op == wasmfront.OpElse {", "if false {", frozen},
	{"internal/snapshot/resume.go", "high = r.open[i+1].height", "high = o.height", frozen},
	{"internal/snapshot/resume.go", "return uint32(inside + r.depth - ", "return uint32(r.depth - ", frozen},
	{"internal/snapshot/resume.go", "callee: uint32(first + i + 1)", "callee: uint32(first + i + 2)", frozen},
	{"internal/snapshot/spill.go", "return z.move(code, wasmfront.OpI32Sub, size)", "return code", frozen},
	{"internal/snapshot/spill.go", "p.below[p.ops] = kept\n", "p.below[p.ops] = p.add(below(v, 0)[low:high])\n", frozen},
	{"internal/snapshot/instrument.go", "z.insert(e, v.Pos, z.note(z.data[op.Index]))", "_ = e", frozen},
	{"internal/snapshot/instrument.go", "z.insert(e, v.Pos, z.note(z.elems[op.Index]))", "_ = e", frozen},
	{"internal/snapshot/instrument.go", "\t\t\tat -= x.bytes\n", "", frozen},
	{"internal/initialize/system.go", "s.flags[fd] = uint32(args[1])", "_ = fd", frozen},
	{"internal/initialize/system.go", "if len(s.open) > 0 {", "if false {", frozen},
	{"host/inproc/instance_snapshot.go", "x.Min = t.Len()", "_ = t.Len()", frozenHosts},
	{"host/inproc/instance_snapshot.go", "x.Min = uint64(len(mem)) / abi.PageSize", "_ = abi.PageSize", frozenHosts},
	{"host/inproc/instance_snapshot.go", "\t\tbinary.LittleEndian.PutUint64(first[at:], w)\n", "", frozenHosts},
	{"host/inproc/instance_snapshot.go", "copy(f.img.Data[g.Offset:g.Offset+size], now[g.Offset:])", "copy(f.img.Data[g.Offset:g.Offset+8], now[g.Offset:])", frozenHosts},
	{"host/inproc/instance_snapshot.go", "return e.Name == initializeName", "return false", frozenHosts},
	{"host/inproc/instance_snapshot.go", "\t\t\t\tlist[k] = fn\n", "\t\t\t\tif list[k] = fn; k == 0 {\n\t\t\t\t\tlist[k] = image.NoFunc\n\t\t\t\t}\n", frozenHosts},
	{"host/inproc/memory_images.go", "clear(pages[:zero])", "_ = zero", frozenHosts},
	{"host/inproc/memory_images.go", "n := copy(pages, r.all[at-r.low:])", "n := copy(pages, r.all)", frozenHosts},
	{"host/inproc/fuel.go", "\tif s.fuel > fuelNone {\n\t\t*s.count() = count", "\tif false {\n\t\t*s.count() = count", fuelHosts},
	{"host/inproc/fuel.go", "\tstore64(s.stack+savedCount, *s.count())\n\treturn 0\n", "\treturn 0\n", fuelHosts},
	{"host/inproc/fuel.go", "g := atomic.SwapUintptr(&s.owner, ownerAside)", "g := atomic.LoadUintptr(&s.owner)", fuelHosts},
	{"host/inproc/fuel.go", "if s.fuel <= fuelNone || int64(*s.count()) >= 0 {", "if s.fuel >= fuelUnknown {", fuelHosts},
	{"host/inproc/stack_fiber.go", "\t\t*f.count() = *before.count()\n", "", fuelHosts},
	{"host/inproc/call_cancel.go", "time.Until(deadline) > soon", "time.Until(deadline) > 0", run{pkg: "host/inproc", pattern: "TestCancelPrompt"}},
	{"host/inproc/call_func.go", "\tif c.ctx != nil {\n\t\tc.unwatch()\n\t}\n", "", run{pkg: "host/inproc", pattern: "TestContextOfCall"}},
	{"host/inproc/fuel.go", "*s.count() = uint64(max(0, int64(*s.count())))", "", fuelHosts},
	{"host/inproc/stack_fiber.go", "if s.fuel != fuelNone {", "if true {", run{pkg: "host/inproc", pattern: "TestKeptRegisters"}},
	{"host/inproc/reset.go", "\tif refuel {\n", "\tif false {\n", fuelHosts},
	{"machbuffer/move.go", "*back = b.moves.Begin(*back)", "_ = back", run{pkg: "machbuffer", pattern: "Test"}},
	{"host/inproc/reset.go", "m.clean(least, true)", "m.clean(min(least, 16), true)", resets},
	{"host/inproc/reset.go", "process.zero(t.base, used)", "process.zero(t.base, min(used, 8))", resets},
	{"host/inproc/reset.go", "copy(bytesAt(i.data, m.length[Data]), m.linked[Data])", "", run{pkg: "host/inproc", pattern: "TestTwoInstances"}},
	{"host/inproc/reset.go", "m.filed, m.imaged = false, false // the image", "// the image", run{pkg: "host/inproc", pattern: "TestResetWithoutEmptying"}},
	{"host/inproc/reset.go", "store64(m.desc-sizeBelow, uint64(least))", "", resets},
	{"host/inproc/reset.go", "store64(t.base-sizeBelow, t.limits.Min)", "", resets},
	{"host/inproc/reset.go", "l.state.Load() == locationNew", "l != nil", resets},
	{"host/inproc/reset.go", "m.clean(size, m.views.file < 0)", "m.clean(least, m.views.file < 0)", resets},
	{"host/inproc/reset.go", "if has == m {", "if has == m && x.memories == nil {", resets},
	{"host/inproc/reset.go", "if err := i.mayReset(); err != nil {", "if err := i.mayReset(); err == ErrBusy {", resets},
	{"internal/cruntime/c/core.c", "\t\tcore_take_saved(r, f->registers, r->fp);\n", "", thrownInC},
	{"internal/cruntime/c/core.c", "\tif (saved)\n\t\tcore_take_saved(", "\tif (saved || f->registers)\n\t\tcore_take_saved(", thrownInC},
	{"internal/cruntime/c/core.c", "r->sp = r->fp - f->bytes;", "r->sp = r->fp - f->bytes + 16;", thrownInC},
	{"internal/cruntime/c/core.c", "if (low == u->num_landings || u->landings[low].from != from)", "if (low == u->num_landings)", thrownInC},
	{"internal/cruntime/c/core.c", "\t\t\tcore_mark_instance(i);\n", "\t\t\t;\n", thrownInC},
	{"internal/cruntime/c/core.c", "o->tables[n].flags & 4 ?", "o->tables[n].flags & 64 ?", thrownInC},
	{"internal/cruntime/c/core.c", "\t\tcore_mark_words(x->args, x->args + x->words);\n", "", thrownInC},
	{"internal/cruntime/c/core.c", "\t\t\tif (x->kept)\n", "\t\t\tif (!x->owner)\n", thrownInC},
	{"internal/cruntime/c/core.c", "all && *at;)", "!all && *at;)", thrownInC},
	{"internal/cruntime/c/core.c", "e->serial = (e->serial + 1) % CORE_SERIALS;", "e->serial = 1;", thrownInC},
	{"internal/cruntime/c/core.c", "c->ref = ref;", "c->ref = 0;", thrownInC},
	{"internal/cruntime/c/core.c", "if (!core_same_type(core_find_tag(NULL, (uint64_t)tag).type, s->type))", "if (!core_find_tag(NULL, (uint64_t)tag).type)", thrownInC},
	{"internal/cruntime/c/core.c", "\t\tcore_drop_exceptions(i);\n", "", thrownInC},
	{"internal/cruntime/c/core.c", "bool tags = core_num_tags(gone->object);", "bool tags = false;", thrownInC},
	{"internal/cruntime/c/core.c", "return words <= i->object->exception_words ? c->args", "return words <= i->object->exception_words + 100 ? c->args", thrownInC},
	{"internal/cruntime/c/core.c", "core_mark_by(core_mark_table, base);", "core_mark_table(base);", thrownInC},
	{"internal/cruntime/c/core.c", "core_mark_by(core_mark_global, value);", "core_mark_global(value);", thrownInC},
	{"internal/cruntime/c/core.c", "\t\tcore_put_word(i, copy, o->tags[n].word);\n", "\t\t;\n", thrownInC},
	{"internal/cruntime/c/core.c", "\tif (end)\n\t\tcore_mark_by(core_mark_to,", "\tif (!end)\n\t\tcore_mark_by(core_mark_to,", thrownInC},
	{"internal/cruntime/c/core.c", ".irp n, 1,2,3,4,5,6,7,8\\norq", ".irp n, 1\\norq", thrownInC},
	{"compile/adapters.go", "\ta.keep()\n", "", thrownInC},
	{"compile/shared.go", "\t\ta.keep()\n", "", thrownInC},
	{"internal/cruntime/c/objects.c", "\t\tif (!(noted & CORE_ENTRY))\n", "\t\tif (!noted)\n", heapInC},
	{"internal/cruntime/c/objects.c", "!(noted & CORE_OWN_ENTRY) && core_visit_frames", "!noted && core_visit_frames", hiddenInC},
	{"internal/cruntime/c/objects.c", "if (!in_code || (", "if ((!in_code && !noted) || (", hiddenInC},
	{"internal/cruntime/c/core.c", "\tif (s->heap) {\n", "\tif (s->heap && !s->init) {\n", hiddenInC},
	{"internal/cruntime/c/core.c", "\tif (s.heap)\n\t\tcore_set_exit(s.before);\n", "", hiddenInC},
	{"compile/adapters.go", "\ta.entry()\n", "", hiddenInC},
	{"compile/shared.go", "\t\ta.entry()\n", "", hiddenInC},
	{"internal/cruntime/c/core.c", "!perhaps_in_c || core_leads_on", "perhaps_in_c || core_leads_on", mergedInC},
	{"internal/cruntime/c/core.c", "if (*w == other)", "if (*w == other && w == s->slot + 1)", mergedInC},
	{"internal/cruntime/c/core.c", " || core_leads_on(s->slot[0]))", ")", thrownInC},
	{"internal/cruntime/c/objects.c", "\t\tmemcpy(i->object->heap + CORE_HEAP_BASE", "\t\tmemcpy(part + CORE_HEAP_BASE", mergedInC},
	{"internal/cruntime/c/fields.c", "\tcore_pending.n = n;\n", "\tcore_pending.n = 0;\n", fieldsInC},
	{"internal/cruntime/c/fields.c", "*word++ = values[i].ref;", "word++[0] = values[0].ref;", fieldsInC},
	{"internal/cruntime/c/fields.c", "ref >= heap_start(h->space) + HEAP_LEAD && ref < heap_state(h)->next)", "ref >= HEAP_FIRST && ref < HEAP_LARGE_START)", fieldsInC},
	{"internal/cruntime/c/fields.c", "(uint64_t)t->elem * i", "(uint64_t)core_field_size(core_code(p->field)) * i", fieldsInC},
	{"internal/cruntime/c/fields.c", "case CORE_EQ: return is_i31 || object;", "case CORE_EQ: return true;", fieldsInC},
	{"internal/cruntime/c/fields.c", "(int8_t)bits", "(int32_t)bits", fieldsInC},
	{"internal/meta/record.go", "to = types[index].begin - t.begin", "to = types[index].begin - t.begin + 4", fieldsInC},
	{"internal/meta/record.go", "w |= fieldNotNull", "w |= 0", fieldsInC},
	{"internal/meta/record.go", "PutUint32(key, slots[string(record)])", "PutUint32(key, 0)", fieldsInC},
	{"internal/cruntime/c/core.c", "exit >= from && exit < to)", "exit >= from && exit < to && !exit)", heapInC},
	{"internal/cruntime/c/core.c", "\tcore_forget_exits((uint64_t)frame, r.fp);\n", "", heapInC},
	{"internal/cruntime/c/core.c", "\tcore_forget_exits(u[CORE_SP], (uint64_t)c);\n", "", heapInC},
	{"internal/cruntime/c/objects.c", "\tcore_visit_handles(h);\n", "\tif (!h)\n\t\tcore_visit_handles(h);\n", heapInC},
	{"internal/cruntime/c/objects.c", "\t\tcore_visit_tables(h, i);\n", "\t\tif (!h)\n\t\t\tcore_visit_tables(h, i);\n", heapInC},
	{"internal/cruntime/c/objects.c", "\t\tcore_each_global(i, core_visit_global, h);\n", "\t\tif (!h)\n\t\t\tcore_each_global(i, core_visit_global, h);\n", heapInC},
	{"internal/cruntime/c/objects.c", "\t\tcore_visit_exceptions(h, i);\n", "\t\tif (!h)\n\t\t\tcore_visit_exceptions(h, i);\n", heapInC},
	{"internal/cruntime/c/objects.c", "heap_min(pair[1], most));", "heap_min(pair[1], most) / 2);", heapInC},
	{"internal/cruntime/c/objects.c", "if (!list && x->words)", "if (!list && !x)", heapInC},
	{"internal/cruntime/c/core.c", "\tcore_mark_objects();\n", "\tif (!owner)\n\t\tcore_mark_objects();\n", heapInC},
	{"internal/cruntime/c/objects.c", "error == HEAP_FULL && core_collect_exceptions()", "error == HEAP_FULL && !core_collect_exceptions()", heapInC},
	{"internal/cruntime/c/objects.c", "(core_is_own_table(base) || ", "((core_is_own_table(base) && !base) || ", heapInC},
	{"internal/cruntime/c/objects.c", "core_is_own_global((uint64_t)value) || ", "(core_is_own_global((uint64_t)value) && !value) || ", heapInC},
	{"internal/cruntime/c/core.c", "\tif (o->abi == WAOT_ABI_HEAP) /* to the end", "\tif (!o->abi) /* to the end", heapInC},
	{"internal/cruntime/c/objects.c", "while (fp >= low && fp % 8 == 0)", "while (fp > low && fp % 8 == 0)", heapInC},
	{"internal/cruntime/c/objects.c", "core_types.rows[sub + core_depth(super)] == super", "core_depth(super) && sub == super", heapInC},
	{"objfile/mangle.go", "\tif heap {\n", "\tif false {\n", heapInC},
	{"internal/cruntime/c/heap.c", "\t\tmemset(h->base + from, 0, to - from);\n", "\t\t(void)to;\n", heapCAlone},
	{"internal/cruntime/c/heap.c", "|| h->large[low].at + HEAP_LEAD != at", "|| h->large[low].at + HEAP_LEAD < at", heapCAlone},
	{"internal/cruntime/c/heap.c", "at - h->from_start + size > h->from_size", "at - h->from_start > h->from_size", heapCAlone},
	{"internal/cruntime/c/heap.c", "to + size > h->committed[h->space]", "to > h->committed[h->space]", heapCAlone},
	{"internal/cruntime/c/heap.c", "h->dirty[from] = heap_max(h->dirty[from], s->next);", "", heapCAlone},
	{"internal/cruntime/c/heap.c", "\t\to.marked = false;\n", "", heapCAlone},
	{"internal/cruntime/c/core.c", "core_empty((char *)base, size, i->emptied ? unasked : 0);\n", "core_empty((char *)base, size - 65536, 0);\n", resetsInC},
	{"internal/cruntime/c/core.c", "core_empty((char *)base, size, i->emptied ? unasked : 0);\n", "if (unit == 1)\n\t\t\tcore_empty((char *)base, size, 0);\n", resetsInC},
	{"internal/cruntime/c/core.c", "core_give_up(at + from, size - from);\n", "", resetsInC},
	{"internal/cruntime/c/core.c", "memset(at + n * page, 0, page);", "memset(at + n * page, 0, page / 2);", resetsInC},
	{"internal/cruntime/c/core.c", "dont_need, 0, 0, 0) != 0)", "dont_need, 0, 0, 0) > 0)", resetsInC},
	{"internal/cruntime/c/core.c", "base[-1] = least / unit;", "if (unit > 1)\n\t\t\tbase[-1] = least / unit;", resetsInC},
	{"internal/cruntime/c/core.c", "base[-1] = least / unit;", "if (unit == 1)\n\t\t\tbase[-1] = least / unit;", resetsInC},
	{"internal/cruntime/c/core.c", "core_page_up(size) - core_page_up(least), CORE_PROT_NONE)", "0, CORE_PROT_NONE)", resetsInC},
	{"internal/cruntime/c/core.c", "memcpy(waot_moved(i, o->instance), i->filled, o->instance_size);", "", resetsInC},
	{"internal/cruntime/c/core.c", "core_move_data(o, &m, copy, i->delta);", "", resetsInC},
	{"internal/cruntime/c/core.c", "core_put_word(i, copy, core_slot(o, n)->base);", "", resetsInC},
	{"internal/cruntime/c/core.c", "core_put_word(i, copy, o->instance + g.offset);", "", resetsInC},
	{"internal/cruntime/c/core.c", "if (caller || core_top)", "if (core_top)", resetsInC},
	{"internal/cruntime/c/core.c", "if (caller || core_top)", "if (caller)", resetsInC},
	{"internal/cruntime/c/core.c", "(core_state(i) != CORE_READY && core_state(i) != CORE_FAILED)", "core_state(i) != CORE_READY", resetsInC},
	{"internal/cruntime/c/core.c", "if (core_is_needed(i))", "if (i->object == NULL)", resetsInC},
	{"internal/cruntime/c/core.c", "s.initialize = i->initialize;", "s.initialize = i->filled ? NULL : i->initialize;", resetsInC},
	{"internal/cruntime/c/core.c", "memset(at, 0, size);\n\t\treturn;", "memset(at, 0, size / 2);\n\t\treturn;", resetsInC},
	{"internal/cruntime/c/core.c", "!core_filled(i) || !core_restore(i))", "!core_filled(i))", resetsInC},
	{"internal/cruntime/c/core.c", "*core_base(i, core_slot(o, n)) = NULL;", "", resetsInC},
	{"internal/cruntime/c/core.c", "	if (i->filled)\n\t\tmemcpy(i->filled + ((const char *)linked - i->object->instance), &value, sizeof value);\n", "", resetsInC},
	{"internal/cruntime/c/core.c", "core_set_word(i, s->base, NULL);", "*core_base(i, s) = NULL;", resetsInC},
	{"internal/cruntime/c/core.c", "base ? base : core_kept(i, s)", "base", resetsInC},
	{"internal/cruntime/c/core.c", "core_set_state(i, CORE_SPARE);\n\t\t__atomic_store_n(&i->text_size, 0, __ATOMIC_RELEASE);", "core_set_state(i, CORE_SPARE);", resetsInC},
	{"internal/cruntime/c/core.c", "i->lent || core_is_lent(i)", "i->lent", resetsInC},
	{"internal/cruntime/c/core.c", "i->lent || core_is_lent(i)", "core_is_lent(i)", resetsInC},
	{"internal/cruntime/c/core.c", "core_lend((uint64_t)value);", "", resetsInC},
	{"internal/cruntime/c/core.c", "__atomic_store_n(&base[-5], 1, __ATOMIC_RELAXED);", "", resetsInC},
	{"internal/cruntime/c/core.c", "i->user = i->wasi = NULL;", "i->wasi = NULL;", resetsInC},
	{"internal/cruntime/c/core.c", "count <= CORE_MOST_SPARES && ", "", resetsInC},
	{"internal/cruntime/c/core.c", "count * core_weight(o) <= CORE_MOST_SPARE;", "true;", resetsInC},
	{"internal/cruntime/c/core.c", "bool shown = core_state(i) > CORE_SPARE,", "bool shown = true,", resetsInC},
	{"internal/cruntime/c/core.c", "filled = core_state(i) > CORE_NEW,", "filled = true,", resetsInC},
	{"internal/cruntime/c/core.c", "while (!p && core_free_spares());", "while (false);", resetsInC},
	{"internal/cruntime/c/core.c", "if (!core_is_lent(i))\n", "if (core_is_lent(i))\n", resetsInC},
	{"host/inproc/process.go", "(top-keptStack)&^(leastPage-1)", "at+stackSize-keptStack", run{pkg: "host/inproc", pattern: "TestDeepStacks"}},
	{"host/inproc/process.go", "err == nil && x.top != top", "false", run{pkg: "host/inproc", pattern: "TestDeepStacks"}},
	{"host/inproc/module.go", "f.Frame >= largeFrame", "f.Frame < 0", run{pkg: "host/inproc", pattern: "TestDeepStacks"}},
	{"host/inproc/call_types.go", "f.argBytes+f.hiddenBytes >= largeFrame", "false", run{pkg: "host/inproc", pattern: "TestDeepStacks"}},
	{"host/inproc/process.go", "untouched [2 * largeFrame]byte", "untouched [largeFrame / 2]byte", spareParts},
	{"host/inproc/process.go", "if large {", "if false {", spareParts},
	{"backend/checked.go", "f.Mod.WrittenBy(d)&clif.StateMemorySize != 0", "d.Op.Has(effect.Calls)", movedMemory},
	{"backend/checked.go", "f.Mod.WrittenBy(d)&clif.StateMemorySize != 0", "d.Op == clif.OpMemoryGrow", movedMemory},
	{"backend/checked.go", "case v != 0 && v != at, ", "case ", movedMemory},
	{"backend/checked.go", "abi.MemorySizeOffset), u.size)", "abi.MemorySizeOffset-8), u.size)", movedMemory},
	{"backend/checked.go", "endOf(d)-1\n", "endOf(d)-2\n", boundsEdges},
	{"backend/inbounds.go", "min(d.Imm, 1<<32) + uint64", "d.Imm&0xffff + uint64", boundsEdges},
	{"backend/inbounds.go", "x.end >= end && ", "", boundsEdges},
	{"backend/inbounds.go", " && l.dominates(x.block, b)", "", checkedX64},
	{"backend/inbounds.go", "x+end <= l.surely(d.Aux)", "x <= l.surely(d.Aux)", checkedX64},
	{"backend/inbounds.go", "x.end >= end && ", "", sequences},
	{"backend/inbounds.go", "x.end >= end", "x.end+1 >= end", sequences},
	{"backend/inbounds.go", " && l.dominates(x.block, b)", "", sequences},
	{"backend/inbounds.go", "x+end <= l.surely(d.Aux)", "x+end <= l.surely(d.Aux)+1", sequences},
	{"backend/inbounds.go", "if l.inBounds[i] && d.Op == clif.OpLoad", "if d.Op == clif.OpLoad", sequences},
	{"backend/inbounds.go", "x.memory == d.Aux && ", "", trapSites},
	{"backend/checked.go", "!l.noSpectre {\n\t\treturn i", "!l.noSpectre && false {\n\t\treturn i", checkedX64},
	{"backend/checked.go", "Inst{Op: cmp, Size: 8}", "Inst{Op: cmp, Size: 4}", boundsEdges},
	{"backend/checked.go", "Inst{Op: cmp, Size: 8}", "Inst{Op: cmp, Size: 4}", checkedA64},
	{"host/inproc/memory_movable.go", "store64(m.desc-baseBelow, uint64(m.base))\n\tstore64(m.desc-sizeBelow, uint64(len(b)))", "store64(m.desc-sizeBelow, uint64(len(b)))", movedMemory},
	{"host/inproc/instance.go", "m.Movable() && !d.Checked", "m.Movable() && d.HasMax", run{pkg: "host", pattern: "TestBoundsForms"}},
}

// fault returns the fault as one of the file's text.
func (k *keptFault) fault(root string) (*fault, error) {
	src, err := os.ReadFile(filepath.Join(root, k.file))
	if err != nil {
		return nil, err
	}
	at := bytes.Index(src, []byte(k.old))
	if n := bytes.Count(src, []byte(k.old)); n != 1 {
		return nil, fmt.Errorf("%s: %q is there %d times", k.file, k.old, n)
	}
	return &fault{file: k.file, line: 1 + bytes.Count(src[:at], []byte("\n")), start: at, end: at + len(k.old), text: k.text,
		what: fmt.Sprintf("%q for %q", k.text, k.old)}, nil
}

// plantKept tries the chosen ones of the faults kept, in files whose path begins with in. It is an error if one is not noticed; the error names each of them.
func plantKept(ctx context.Context, lab *laboratory, chosen bugcases.Choice, in string) error {
	var list []keptFault
	var faults []*fault
	for i := range kept {
		k := kept[i]
		if !chosen.Has(i, 1) || !strings.HasPrefix(k.file, in) {
			continue
		}
		f, err := k.fault(lab.root)
		if err != nil {
			return err
		}
		list, faults = append(list, k), append(faults, f)
	}
	if len(list) == 0 {
		return fmt.Errorf("no fault is kept in files that begin with %q", in)
	}
	if err := lab.sleep(faults); err != nil {
		return err
	}
	var missed []string
	for i := range list {
		v, err := lab.try(ctx, faults[i], list[i].by)
		if err != nil {
			return err
		}
		if v.status != killed {
			missed = append(missed, fmt.Sprintf("\n%v\t%v\t%v\t%s", v.status, faults[i], list[i].by, v.by))
		}
		fmt.Printf("%v\t%v\t%v\t%s\n", v.status, faults[i], list[i].by, v.by)
	}
	if len(missed) > 0 {
		return fmt.Errorf("%d of %d faults are not noticed:%s", len(missed), len(list), strings.Join(missed, ""))
	}
	fmt.Printf("%d faults, %d of them in one tree\n", len(list), len(lab.asleep.numbers))
	return nil
}
