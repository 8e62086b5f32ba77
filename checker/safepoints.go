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
