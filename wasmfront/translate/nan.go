package translate

import "github.com/waot-project/waot/clif"

// computesNaN are the instructions whose result, if it is a NaN, may have any sign and payload. Those that only
// copy or change signs are not among them.
var computesNaN = [clif.NumOpcodes]bool{
	clif.OpFadd: true, clif.OpFsub: true, clif.OpFmul: true, clif.OpFdiv: true, clif.OpFmin: true, clif.OpFmax: true, clif.OpFsqrt: true,
	clif.OpFceil: true, clif.OpFfloor: true, clif.OpFtrunc: true, clif.OpFnearest: true, clif.OpFpromote: true, clif.OpFdemote: true,
	clif.OpVfadd: true, clif.OpVfsub: true, clif.OpVfmul: true, clif.OpVfdiv: true, clif.OpVfmin: true, clif.OpVfmax: true, clif.OpVfsqrt: true,
	clif.OpVfceil: true, clif.OpVffloor: true, clif.OpVftrunc: true, clif.OpVfnearest: true, clif.OpVpromote: true, clif.OpVdemote: true,
	clif.OpVfma: true, clif.OpVfnma: true,
}

// The canonical NaNs.
const (
	nan32 = 0x7fc00000
	nan64 = 0x7ff8000000000000
)

// pushComputed pushes x, the result of h's instruction.
func (t *Translator) pushComputed(h *handler, x clif.Value) {
	if t.CanonicalNaNs && computesNaN[h.code] {
		x = t.canonical(h.typ, x)
	}
	t.push(x)
}

// canonical returns x, of the given type or shape, with each NaN replaced by the canonical one if CanonicalNaNs is set.
func (t *Translator) canonical(typ clif.Type, x clif.Value) clif.Value {
	if !t.CanonicalNaNs {
		return x
	}
	switch typ {
	case clif.F32:
		return t.b.Select(typ, t.b.Fcmp(clif.FNe, typ, x, x), t.b.Fconst(typ, nan32), x)
	case clif.F64:
		return t.b.Select(typ, t.b.Fcmp(clif.FNe, typ, x, x), t.b.Fconst(typ, nan64), x)
	}
	nan := uint64(nan64)
	if typ == clif.F32x4 {
		nan = nan32<<32 | nan32
	}
	return t.b.Ternary(clif.OpVbitselect, clif.V128, t.b.Vconst(nan, nan), x, t.b.Vfcmp(clif.FNe, typ, x, x))
}
