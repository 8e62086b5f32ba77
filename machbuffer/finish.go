package machbuffer

import (
	"errors"
	"fmt"
)

// What Finish may return, wrapped in an *Error.
var (
	ErrUnboundLabel = errors.New("label used but never bound")
	ErrOutOfRange   = errors.New("label out of range or misaligned")
	ErrTooLarge     = errors.New("code too large")
)

// Error says which use of which label failed. If several fail, the one at the lowest offset is reported.
type Error struct {
	Err    error  // one of the Err values
	Kind   string // name of the use's kind
	Label  Label  // NoLabel for the buffer's own
	Use    uint32 // offset of the use, in bytes
	Target uint32 // offset of the label, for ErrOutOfRange
}

// Error implements error.
func (e *Error) Error() string {
	switch e.Err {
	case ErrTooLarge:
		return fmt.Sprintf("machbuffer: %v (at offset %d)", e.Err, e.Use)
	case ErrUnboundLabel:
		return fmt.Sprintf("machbuffer: %v: label %d, %s use at offset %d", e.Err, e.Label, e.Kind, e.Use)
	}
	return fmt.Sprintf("machbuffer: %v: label %d at offset %d, %s use at offset %d", e.Err, e.Label, e.Target, e.Kind, e.Use)
}

// Unwrap returns e.Err.
func (e *Error) Unwrap() error { return e.Err }

// Result is finished code. All slices alias the Buffer's memory until its Reset. Records ascend by offset.
type Result struct {
	Code []byte
	// Align is the alignment in bytes that the code's start needs for its constants and aligned labels.
	Align uint32
	// Starts is where in a line it may begin for its small loops.
	Starts    Starts
	Relocs    []Reloc
	Traps     []Trap
	StackMaps []StackMap
	Calls     []CallSite
	Veneers   []Veneer
}

// fail remembers an error for Finish. Code that is too large outranks the others, as nothing else is known then.
func (b *Buffer) fail(e *Error) {
	if old, ok := b.err.(*Error); ok && (old.Err == ErrTooLarge || e.Err != ErrTooLarge && old.Use <= e.Use) {
		return
	}
	b.err = e
}

// Err returns the error that Finish would return now, if one is already certain.
func (b *Buffer) Err() error { return b.err }

// Finish edits the tail a last time, places constants, deferred traps and remaining veneers, patches all uses and
// returns the result, or an *Error. The last code must not run on past its end. After Finish only LabelOffset and
// Reset are meaningful.
func (b *Buffer) Finish() (*Result, error) {
	if b.err != nil {
		return nil, b.err
	}
	if b.tailOff == b.Offset() {
		b.optimise()
	}
	b.seal()
	for _, k := range b.target.order { // in the order of EmitIsland
		b.finishKind(k, 0)
	}
	b.placePool()
	for _, k := range b.target.order {
		b.finishKind(k, 1)
	}
	if b.err != nil {
		return nil, b.err
	}
	b.result = Result{
		Code: b.buf, Align: b.align, Starts: b.starts, Relocs: b.relocs, Traps: b.traps,
		StackMaps: b.stackMaps, Calls: b.calls, Veneers: b.veneers,
	}
	return &b.result, nil
}

// finishKind patches all pending uses of kind k and class. Every label of correct input is bound by now, and those
// out of range get a veneer, whose own use is of a kind still to come.
func (b *Buffer) finishKind(k UseKind, class int) {
	kd := &b.target.kinds[k]
	q := &b.queues[class][k]
	for q.head < len(q.uses) {
		b.Stop.Poll()
		u := q.uses[q.head]
		b.pop(q, k)
		p := b.pos[b.root(u.label)]
		if p == unbound {
			b.fail(&Error{Err: ErrUnboundLabel, Use: u.off, Label: u.label, Kind: kd.Name})
			continue
		}
		if !kd.reaches(u.off, p) {
			if at := b.pos[b.landing(u.label)]; kd.reaches(u.off, at) {
				p = at
			} else if kd.VeneerSize != 0 {
				b.veneer(k, u)
				continue
			}
		}
		b.patch(k, u.off, p, u.label)
	}
}

// LabelOffset returns where l's code stands, and whether that is known. It is final after Finish.
func (b *Buffer) LabelOffset(l Label) (uint32, bool) {
	p := b.pos[b.landing(l)]
	return p, p != unbound
}
