package machbuffer

import (
	"encoding/binary"

	"github.com/waot-project/waot/internal/stop"
)

// Label is a place in the code, known or not yet: an index into one Buffer's tables.
type Label uint32

// NoLabel is no label.
const NoLabel Label = ^Label(0)

const (
	// MaxSize is the largest code a Buffer accepts, in bytes. Offsets up to it fit in an int32.
	MaxSize = 1<<31 - 1
	// maxTailLabels caps the labels one edit visits, see "Work" in the package comment.
	maxTailLabels = 100

	unbound    = ^uint32(0)
	noDeadline = ^uint32(0)
)

// Label flags.
const (
	flagIsland uint8 = 1 << iota // a constant or deferred trap: bound by an island or Finish
	flagBound                    // Bind was called
)

// pending is a label use to be patched.
type pending struct {
	off   uint32
	label Label
}

// queue holds the pending uses of one kind, ascending by offset (I1). Those before head are done.
type queue struct {
	uses []pending
	head int
}

// branch is a declared branch at the tail.
type branch struct {
	start, end, use uint32
	target          Label
	labels          uint32 // where its labels start in Buffer.stack
	kind            UseKind
	cond            bool
	flipped         bool // the senses of the forms are inverted
	forms           CondForms
}

// Buffer takes one function's code at a time. The zero value is not usable; see New. Not for concurrent use.
//
// The slices of a Result alias the Buffer's memory until Reset.
type Buffer struct {
	// Stop is polled by Finish, and ends it; nil never does.
	Stop *stop.Flag

	buf    []byte
	target *Target
	limit  int
	err    error

	// Labels, indexed by Label.
	pos    []uint32 // position, or unbound
	alias  []Label  // alias or NoLabel; for detached labels with detached ones on the way skipped
	parent []Label  // alias forest with paths halved; itself at a root
	narrow []uint32 // number of narrow uses; with any it must keep its position (I6)
	flags  []uint8

	// The tail: branches, and the labels in front of and after them (I2, I3).
	branches []branch
	stack    []Label
	curStart uint32 // where the labels at tailOff start in stack
	tailOff  uint32
	deadAt   uint32 // control does not fall through to this offset

	// Pending uses, per kind; of island labels apart, as those have deadlines even without veneers.
	queues     [2][MaxKinds]queue
	deadline   uint32 // I8
	veneerCost uint64 // I9
	shrink     uint32

	// For Move: the labels of BindAligned and its like, and whether some use is patched; what Move says, where the code may begin then, and the array that the code was in.
	aligned    []aligned
	patched    bool
	moves      Moves
	moveStarts Starts
	spare      []byte

	consts     []constant
	constData  []byte
	constCost  uint64
	constTable []uint32
	deferred   []deferredTrap
	align      uint32
	starts     Starts

	relocs    []Reloc
	traps     []Trap
	stackMaps []StackMap
	calls     []CallSite
	veneers   []Veneer

	result     Result
	checkBinds bool
}

// New returns an empty Buffer for machine t.
func New(t *Target) *Buffer {
	b := &Buffer{target: t, limit: MaxSize, shrink: 1}
	b.Reset()
	return b
}

// Reset empties the Buffer for the next function and keeps its memory. It ends the life of the last Result.
func (b *Buffer) Reset() {
	b.buf = b.buf[:0]
	b.err = nil
	b.pos, b.alias, b.parent = b.pos[:0], b.alias[:0], b.parent[:0]
	b.narrow, b.flags = b.narrow[:0], b.flags[:0]
	b.branches, b.stack, b.curStart, b.tailOff = b.branches[:0], b.stack[:0], 0, 0
	b.deadAt = unbound
	for c := range b.queues {
		for k := range b.target.kinds {
			q := &b.queues[c][k]
			q.uses, q.head = q.uses[:0], 0
		}
	}
	b.deadline, b.veneerCost = noDeadline, 0
	b.aligned, b.patched = b.aligned[:0], false
	b.deferred = b.deferred[:0]
	b.clearConstants()
	b.align, b.starts = b.target.codeAlign, AnyStart
	b.relocs, b.traps, b.stackMaps, b.calls = b.relocs[:0], b.traps[:0], b.stackMaps[:0], b.calls[:0]
	b.veneers = b.veneers[:0]
	b.result = Result{}
}

// ShrinkRanges makes deadlines come factor times earlier, to exercise islands: for tests. Only where a veneer or an
// island can help; what a use can really reach, and so correctness, stays as it is. It outlives Reset.
func (b *Buffer) ShrinkRanges(factor uint32) { b.shrink = max(factor, 1) }

// Code returns the bytes so far. They are not final, and change with the next call.
func (b *Buffer) Code() []byte { return b.buf }

// Offset returns the current offset: the number of bytes so far.
func (b *Buffer) Offset() uint32 { return uint32(len(b.buf)) }

// Reserve returns n bytes of space at the current offset to write into. They count only after Advance.
func (b *Buffer) Reserve(n int) []byte {
	if cap(b.buf)-len(b.buf) < n {
		b.grow(n)
	}
	return b.buf[len(b.buf) : len(b.buf)+n]
}

// Expect makes room for a function of about n bytes, so that code is not copied while the buffer grows.
func (b *Buffer) Expect(n int) {
	if n = min(n, b.limit); cap(b.buf) < n {
		b.buf = stop.Grow(b.Stop, b.buf, n-len(b.buf))
	}
}

// Advance takes over the first n bytes of the space last reserved.
func (b *Buffer) Advance(n int) { b.buf = b.buf[:len(b.buf)+n] }

// grow makes room. Capacity never exceeds the limit by more than one request, so code beyond it comes through here:
// the Buffer then drops what it has and only remembers the error, so that no offset can wrap.
func (b *Buffer) grow(n int) {
	if len(b.buf)+n > b.limit {
		b.fail(&Error{Err: ErrTooLarge, Use: b.Offset(), Label: NoLabel})
		b.buf = b.buf[:0]
		b.seal()
		if n <= cap(b.buf) {
			return
		}
	}
	size := max(min(2*cap(b.buf), b.limit), len(b.buf)+n, min(1024, b.limit))
	grown := make([]byte, len(b.buf), size)
	copy(grown, b.buf)
	b.buf = grown
}

// PutU8 appends a byte.
func (b *Buffer) PutU8(v uint8) {
	b.Reserve(1)[0] = v
	b.Advance(1)
}

// PutU32 appends v, low byte first.
func (b *Buffer) PutU32(v uint32) {
	binary.LittleEndian.PutUint32(b.Reserve(4), v)
	b.Advance(4)
}

// PutU64 appends v, low byte first.
func (b *Buffer) PutU64(v uint64) {
	binary.LittleEndian.PutUint64(b.Reserve(8), v)
	b.Advance(8)
}

// PutBytes appends p.
func (b *Buffer) PutBytes(p []byte) {
	copy(b.Reserve(len(p)), p)
	b.Advance(len(p))
}

// pad appends unreachable filler up to a multiple of align.
func (b *Buffer) pad(align uint32) {
	for n := alignUp(b.Offset(), align) - b.Offset(); n > 0; n-- {
		b.PutU8(b.target.fill)
	}
}

// NewLabel returns a new unbound label.
func (b *Buffer) NewLabel() Label { return b.NewLabels(1) }

// NewLabels returns the first of n new unbound labels with consecutive numbers, for instance one per block. In an
// empty Buffer the first is 0.
func (b *Buffer) NewLabels(n int) Label {
	first := len(b.pos)
	b.pos = stop.Grow(b.Stop, b.pos, n)[:first+n]
	b.alias = stop.Grow(b.Stop, b.alias, n)[:first+n]
	b.parent = stop.Grow(b.Stop, b.parent, n)[:first+n]
	b.narrow = stop.Grow(b.Stop, b.narrow, n)[:first+n]
	b.flags = stop.Grow(b.Stop, b.flags, n)[:first+n]
	for i := first; i < first+n; i++ {
		b.pos[i], b.alias[i], b.parent[i] = unbound, NoLabel, Label(i)
		b.narrow[i], b.flags[i] = 0, 0
	}
	return Label(first)
}

// root returns the end of l's alias chain and halves the chain. Ends because of I4.
func (b *Buffer) root(l Label) Label {
	for {
		p := b.parent[l]
		if p == l {
			return l
		}
		b.parent[l] = b.parent[p]
		l = p
	}
}

// landing returns the first label on l's alias chain that is not detached: where l's code stands if it is bound.
// Detached for once is detached for ever, so such stretches are halved too.
func (b *Buffer) landing(l Label) Label {
	for b.pos[l] == unbound && b.alias[l] != NoLabel {
		p := b.alias[l]
		if b.pos[p] == unbound && b.alias[p] != NoLabel {
			b.alias[l] = b.alias[p]
		}
		l = p
	}
	return l
}

// Bind places l at the current offset and edits the tail in the light of it. A label is bound once; binding it
// again, or binding a constant's or deferred trap's label, panics. The offset may become smaller.
func (b *Buffer) Bind(l Label) {
	if b.flags[l]&(flagBound|flagIsland) != 0 {
		panic("machbuffer: label bound twice, or not the caller's to bind")
	}
	b.flags[l] |= flagBound
	if b.err != nil {
		return
	}
	off := b.Offset()
	if b.tailOff != off {
		b.seal()
	}
	b.pos[l] = off // I3: at tailOff, and pushed on its group
	b.stack = append(b.stack, l)
	b.optimise()
	if b.checkBinds {
		if err := b.CheckInvariants(); err != nil {
			panic(err)
		}
	}
}

// BindAligned is Bind at the next multiple of align, a power of two and at least CodeAlign: for loop headers. The
// tail is edited first; then no-ops fill up, which control may run through, and all labels at the tail move behind
// them. A caller that proves distances must count align-1 bytes for the padding.
func (b *Buffer) BindAligned(l Label, align uint32) {
	b.bindAt(l, spot{align: align})
}

// fillUp appends n bytes of no-ops to the tail, which is sealed, and moves the labels there behind them.
func (b *Buffer) fillUp(n uint32) {
	if n == 0 || b.err != nil {
		return
	}
	live := append(b.stack[:0], b.stack[b.curStart:]...)
	b.target.nop(b.Reserve(int(n)))
	b.Advance(int(n))
	b.seal()
	if b.err != nil {
		return
	}
	// I3: exactly these labels are at the new tail. I5: those with an alias stood beside it and still do. I7 is the
	// caller's: the padding is part of what it emits.
	b.stack = live
	for _, l := range live {
		b.pos[l] = b.tailOff
	}
}

// seal makes all code so far final: no later edit reaches it. The tail is empty and starts here (I2, I3).
func (b *Buffer) seal() {
	b.branches, b.stack, b.curStart, b.tailOff = b.branches[:0], b.stack[:0], 0, b.Offset()
}

// base returns the offset below which nothing is edited any more.
func (b *Buffer) base() uint32 {
	if b.tailOff == b.Offset() && len(b.branches) > 0 {
		return b.branches[0].start
	}
	return b.Offset()
}

// NoFallThrough declares that control does not run from the bytes before the current offset to it: after a return,
// an indirect jump or a trap. Islands then need no jump around.
func (b *Buffer) NoFallThrough() { b.deadAt = b.Offset() }

// UseLabel declares a use of l of kind k at offset off, whose bytes are already emitted, or are before the next Bind.
// For branches that may be edited use UncondBranch and CondBranch instead.
func (b *Buffer) UseLabel(off uint32, k UseKind, l Label) {
	if b.err != nil {
		return
	}
	kd := &b.target.kinds[k]
	class := 0
	if b.flags[l]&flagIsland != 0 {
		class = 1
	}
	q := &b.queues[class][k]
	q.uses = stop.Append(b.Stop, q.uses, pending{off, l})
	for i := len(q.uses) - 1; i > q.head && q.uses[i-1].off > off; i-- { // I1
		q.uses[i-1], q.uses[i] = q.uses[i], q.uses[i-1]
	}
	b.veneerCost += uint64(kd.chainCost)               // I9
	b.deadline = min(b.deadline, b.due(k, class, off)) // I8
	if kd.narrow {
		b.narrow[b.landing(l)]++ // keeps a place that the use can be patched with (I6, I7)
	}
}

// unuse takes back the newest use of kind k, at off, with the bytes it is in. By I2 it is still pending, and it is
// the last of its queue as all offsets before are smaller. If it is narrow, l's landing has not changed since: I6
// kept it attached.
func (b *Buffer) unuse(k UseKind, l Label, off uint32) {
	class := 0
	if b.flags[l]&flagIsland != 0 {
		class = 1
	}
	q := &b.queues[class][k]
	n := len(q.uses) - 1
	if n < q.head || q.uses[n].off != off {
		panic("machbuffer: branch without its use")
	}
	q.uses = q.uses[:n]
	b.veneerCost -= uint64(b.target.kinds[k].chainCost)
	if b.target.kinds[k].narrow {
		b.narrow[b.landing(l)]--
	}
}

// due returns the deadline of a use: where the furthest thing it reaches may start.
func (b *Buffer) due(k UseKind, class int, off uint32) uint32 {
	kd := &b.target.kinds[k]
	if kd.VeneerSize == 0 && class == 0 {
		return noDeadline
	}
	return uint32(min(uint64(off)+uint64(kd.MaxPos/b.shrink), uint64(noDeadline-1)))
}

// CanReach reports whether a use of kind k at offset use can surely hold l: l is bound and in range now. It is how a
// backend chooses a short form for a backward branch. A use declared next relies on it and keeps it true.
func (b *Buffer) CanReach(k UseKind, use uint32, l Label) bool {
	if b.err != nil {
		return false
	}
	p := b.pos[b.landing(l)]
	return p != unbound && b.target.kinds[k].reaches(use, p)
}
