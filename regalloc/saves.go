package regalloc

// This file says where a function keeps its caller's values of callee-saved registers, as Output.Unsaved decides: in the registers
// themselves, or in the frame.

// UnsavedIn reports whether the callee-saved registers hold the caller's values throughout block b.
func (o *Output) UnsavedIn(b Block) bool { return len(o.Unsaved) > 0 && o.Unsaved[b] }

// SavesAt reports whether block b, of in, begins with saving the callee-saved registers of Used. The prologue does that for the entry.
func (o *Output) SavesAt(in *Input, b Block) bool {
	if o.UnsavedIn(b) {
		return false
	}
	preds := in.PredsOf(b)
	return len(preds) == 0 || o.UnsavedIn(preds[0])
}

// RestoresAt reports whether block b, of in, restores these registers before the jump that ends it, behind all edits. Returns and tail calls of blocks
// where the registers are saved restore them as well.
func (o *Output) RestoresAt(in *Input, b Block) bool {
	if len(o.Unsaved) == 0 || o.Unsaved[b] {
		return false
	}
	s := in.Blocks[b].Succs
	return s.Len() == 1 && o.Unsaved[in.Edges[s.Start].To]
}
