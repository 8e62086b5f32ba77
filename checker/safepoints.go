package checker

import "github.com/waot-project/waot/regalloc"

// Safepoints reports whether exactly the instructions in list, which rises, are safepoints in in: nil,
// or an *Error of RuleSafepoint. list is what may run the collector, as the machine's instructions tell,
// whatever in says of them.
func Safepoints(in *regalloc.Input, list []regalloc.Inst) error {
	for k := range in.Insts {
		i := regalloc.Inst(k)
		must := len(list) > 0 && list[0] == i
		if must {
			list = list[1:]
		}
		if is := in.Insts[k].Flags&regalloc.Safepoint != 0; is != must {
			return safepointFault(i, must)
		}
	}
	if len(list) > 0 {
		return safepointFault(list[0], true)
	}
	return nil
}

func safepointFault(i regalloc.Inst, must bool) *Error {
	e := fault(RuleSafepoint, "a safepoint, though it cannot collect")
	if must {
		e.Msg = "no safepoint, though it may collect"
	}
	e.Inst = i
	return e
}
