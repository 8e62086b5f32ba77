package checker

import "github.com/waot-project/waot/regalloc"

// Safepoints reports whether the instructions with stack maps in out, which Check has accepted, are exactly those in list,
// which is ascending: nil, or an *Error of RuleSafepoint. list has the instructions that may run the collector. The caller
// derives it from the machine's instructions, whatever the Input says of them.
func Safepoints(out *regalloc.Output, list []regalloc.Inst) error {
	for k := range max(len(list), len(out.StackMaps)) {
		must, is := regalloc.NoInst, regalloc.NoInst
		if k < len(list) {
			must = list[k]
		}
		if k < len(out.StackMaps) {
			is = out.StackMaps[k].Inst
		}
		switch {
		case must < is:
			return safepointFault(must, "no safepoint, though it may collect")
		case is < must:
			return safepointFault(is, "a safepoint, though it cannot collect")
		}
	}
	return nil
}

func safepointFault(i regalloc.Inst, msg string) *Error {
	e := fault(RuleSafepoint, "%s", msg)
	e.Inst = i
	return e
}

// Calls reports whether each instruction in list, of which the caller derives from the machine's instructions that they are all calls, clobbers at least
// what calls may change, lost: nil, or an *Error of RuleCall.
func Calls(in *regalloc.Input, list []regalloc.Inst, lost regalloc.Clobbers) error {
	right := uint16(0) // the last set that has been compared; 0 is empty
	for k, i := range list {
		in.Stop.PollAt(k)
		set := in.Insts[i].Clobbers
		if set == right && set != 0 {
			continue
		}
		if s := in.ClobberSets[set]; lost.Low&^s.Low|lost.High&^s.High != 0 {
			e := fault(RuleCall, "a call that does not clobber all that calls may change")
			e.Inst = i
			return e
		}
		right = set
	}
	return nil
}
