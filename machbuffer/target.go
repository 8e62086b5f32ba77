package machbuffer

import (
	"fmt"
	"slices"
)

// MaxKinds is the largest number of label-use kinds a Target may have.
const MaxKinds = 16

// UseKind names a way in which code refers to a label: an index into Target's kinds.
type UseKind uint8

// KindDesc describes one kind of label use. Distances are label offset minus use offset, in bytes, where the use
// offset is that of the first patched byte.
type KindDesc struct {
	Name string
	// MaxPos and MaxNeg bound the distance: -MaxNeg <= distance <= MaxPos.
	MaxPos, MaxNeg uint32
	// PatchSize is the number of bytes patched, 1 to 8.
	PatchSize uint8
	// Align is the power of two that a label of such a use is a multiple of (1: any).
	Align uint8
	// Patch resolves the use. p is the PatchSize bytes at the use; it may add to what the encoder left there
	// (an addend in place), because it is called exactly once. The distance is already known to be in range.
	Patch func(p []byte, use, label uint32)
	// VeneerSize is the size of this kind's veneer in bytes, 0 for none. A veneer is an unconditional branch with
	// a use of kind Veneer, which must reach further than this one, at VeneerUse bytes from its start.
	VeneerSize uint32
	Veneer     UseKind
	VeneerUse  uint32
	// EmitVeneer writes the veneer's VeneerSize bytes, its use unresolved.
	EmitVeneer func(dst []byte)
}

// Form is a branch instruction as bytes: at most 8, with one label use of kind Kind at byte Use.
type Form struct {
	Kind  UseKind
	Use   uint8
	Len   uint8
	Bytes [8]byte
}

// MakeForm returns the Form with the given bytes (1 to 8 of them; more is a bug of the caller and panics).
func MakeForm(kind UseKind, use uint8, code []byte) Form {
	if len(code) > 8 {
		panic("machbuffer: form of more than 8 bytes")
	}
	f := Form{Kind: kind, Use: use, Len: uint8(len(code))}
	copy(f.Bytes[:], code)
	return f
}

// CondForms holds a conditional branch in up to two encodings (N of them), best first, each in both senses: Same[i]
// branches when the declared branch does, Inverted[i] when it does not.
type CondForms struct {
	Same, Inverted [2]Form
	N              uint8
}

// TargetDesc describes a machine to NewTarget.
type TargetDesc struct {
	Kinds []KindDesc
	// Jump is the unconditional branch that leads around an island put where control arrives.
	Jump Form
	// Trap is the trapping instruction of a deferred trap.
	Trap []byte
	// TrapCode writes the code of a deferred trap into p, a copy of Trap; nil if the instruction has no room for it.
	TrapCode func(p []byte, code uint8)
	// Resumes: deferred traps may have a jump back behind them (Resume).
	Resumes bool
	// Fill is the byte in unreachable padding.
	Fill byte
	// Nop fills dst, of a multiple of CodeAlign bytes, with instructions that do nothing.
	Nop func(dst []byte)
	// CodeAlign is the alignment of instructions in bytes, a power of two.
	CodeAlign uint32
	// MinUseInst is the size in bytes of the smallest instruction with a label use. It bounds how many uses a
	// given number of code bytes can add.
	MinUseInst uint32
}

// kind is a KindDesc with what is derived from it.
type kind struct {
	KindDesc
	// narrow: neither a veneer nor the longest reach of the machine can save a use of this kind.
	narrow bool
	// chainCost bounds the bytes of all veneers that one use can need, the veneers' own included.
	chainCost uint32
}

// Target is a checked machine description. It is immutable and shared by any number of Buffers.
type Target struct {
	kinds      []kind
	order      []UseKind // by ascending MaxPos: a kind comes before the kind of its veneer
	jump       Form
	trap       []byte
	trapCode   func(p []byte, code uint8)
	nop        func(dst []byte)
	codeAlign  uint32
	minUseInst uint32
	perUse     uint32 // bound of island bytes one more use can cost
	jumpCost   uint32
	stubBytes  uint32 // the longest stub of a deferred trap
	resumes    bool
	fill       byte
}

// TrapBytes is the size of the instruction of a deferred trap, with the jump behind it if it is resumed.
func (t *Target) TrapBytes(resumed bool) uint32 {
	if resumed {
		return t.stubBytes
	}
	return uint32(len(t.trap))
}

// NewTarget checks d and derives a Target. The error names the first inconsistency.
func NewTarget(d TargetDesc) (*Target, error) {
	if n := len(d.Kinds); n == 0 || n > MaxKinds {
		return nil, fmt.Errorf("machbuffer: %d label-use kinds, want 1 to %d", n, MaxKinds)
	}
	if !powerOfTwo(d.CodeAlign) || d.MinUseInst == 0 || len(d.Trap) == 0 || d.Nop == nil {
		return nil, fmt.Errorf("machbuffer: CodeAlign must be a power of two, MinUseInst, Trap and Nop be given")
	}
	t := &Target{
		jump: d.Jump, trap: slices.Clone(d.Trap), trapCode: d.TrapCode, nop: d.Nop, fill: d.Fill,
		codeAlign: d.CodeAlign, minUseInst: d.MinUseInst, resumes: d.Resumes, stubBytes: uint32(len(d.Trap)),
	}
	if d.Resumes {
		t.stubBytes += uint32(d.Jump.Len)
	}
	var widest uint32
	for i := range d.Kinds {
		k := &d.Kinds[i]
		if err := checkKind(k, d.Kinds); err != nil {
			return nil, err
		}
		widest = max(widest, k.MaxPos)
		t.kinds = append(t.kinds, kind{KindDesc: *k})
		t.order = append(t.order, UseKind(i))
	}
	slices.SortStableFunc(t.order, func(a, b UseKind) int {
		return int(int64(t.kinds[a].MaxPos) - int64(t.kinds[b].MaxPos))
	})
	var maxChain uint32
	for i := len(t.order) - 1; i >= 0; i-- { // widest first: a veneer's own cost is known before its user's
		k := &t.kinds[t.order[i]]
		if k.VeneerSize == 0 {
			k.narrow = k.MaxPos < widest
			continue
		}
		k.chainCost = k.VeneerSize + d.CodeAlign - 1 + t.kinds[k.Veneer].chainCost
		maxChain = max(maxChain, k.chainCost)
	}
	if err := t.checkForm(&d.Jump); err != nil {
		return nil, fmt.Errorf("machbuffer: Jump: %w", err)
	}
	t.perUse = maxChain + t.stubBytes + d.CodeAlign - 1
	t.jumpCost = uint32(d.Jump.Len) + 2*(d.CodeAlign-1)
	return t, nil
}

func checkKind(k *KindDesc, all []KindDesc) error {
	switch {
	case k.Patch == nil:
		return fmt.Errorf("machbuffer: kind %q: no Patch", k.Name)
	case k.PatchSize == 0 || k.PatchSize > 8:
		return fmt.Errorf("machbuffer: kind %q: PatchSize %d, want 1 to 8", k.Name, k.PatchSize)
	case !powerOfTwo(uint32(k.Align)):
		return fmt.Errorf("machbuffer: kind %q: Align %d is not a power of two", k.Name, k.Align)
	case k.VeneerSize == 0:
		return nil
	case k.EmitVeneer == nil || int(k.Veneer) >= len(all):
		return fmt.Errorf("machbuffer: kind %q: incomplete veneer", k.Name)
	case all[k.Veneer].MaxPos <= k.MaxPos:
		return fmt.Errorf("machbuffer: kind %q: its veneer reaches no further", k.Name)
	case k.VeneerUse+uint32(all[k.Veneer].PatchSize) > k.VeneerSize:
		return fmt.Errorf("machbuffer: kind %q: the veneer's use lies outside it", k.Name)
	}
	return nil
}

func (t *Target) checkForm(f *Form) error {
	if f.Len == 0 || f.Len > 8 || int(f.Kind) >= len(t.kinds) || f.Use+t.kinds[f.Kind].PatchSize > f.Len {
		return fmt.Errorf("bad form: %d bytes, kind %d, use at %d", f.Len, f.Kind, f.Use)
	}
	return nil
}

// Kind returns the description of kind k.
func (t *Target) Kind(k UseKind) *KindDesc { return &t.kinds[k].KindDesc }

// reaches reports whether a use at offset use can hold the label offset label.
func (k *kind) reaches(use, label uint32) bool {
	d := int64(label) - int64(use)
	return d >= -int64(k.MaxNeg) && d <= int64(k.MaxPos) && label&(uint32(k.Align)-1) == 0
}

func powerOfTwo(n uint32) bool { return n != 0 && n&(n-1) == 0 }

func alignUp(n, align uint32) uint32 { return (n + align - 1) &^ (align - 1) }
