package wasmfront

// NoIndex stands for an index that is not there.
const NoIndex = 1<<32 - 1

// Operator reads an operator with its immediates, and nothing of the module
// that it is in: for tools that show what the validator may refuse. Of the
// fields that Operator's list names, those that the context decides stay as they
// were. For ImmBlock and ImmTryTable, Index is the type, and NoIndex if the type is written as
// Results. Targets and Catches are only valid until the next operator that has them.
func (r *Reader) Operator(op *Operator, accept Features) {
	at := r.Pos
	code := r.operatorCode()
	op.Op, op.Offset = code, at
	info := code.Info()
	switch {
	case r.Err != nil:
	case info.Name == "":
		r.Fail(at, "illegal opcode %s", code.hex())
	case !accept.Has(info.Feature):
		r.FailFeature(at, info.Feature, "unsupported operator %s", info.Name)
	default:
		if read := immReaders[info.Imm]; read != nil {
			read(r, op, accept)
		}
	}
}

// operatorCode reads an opcode. It fails for a number that no opcode can have.
func (r *Reader) operatorCode() Opcode {
	at := r.Pos
	b := r.Byte()
	if !IsPrefix(b) {
		return Opcode(b)
	}
	n := r.U32()
	code, ok := PrefixedOpcode(b, n)
	if !ok {
		r.Fail(at, "illegal opcode %02x %x", b, n)
	}
	return code
}

// immReaders read the immediates of each form. Forms that are missing have none,
// or belong to features that are not decodable.
var immReaders = [NumImmKinds]func(*Reader, *Operator, Features){
	ImmBlock:        readBlockType,
	ImmTryTable:     func(r *Reader, o *Operator, f Features) { readBlockType(r, o, f); o.Catches = r.Catches(o.Catches[:0]) },
	ImmLabel:        readIndex,
	ImmBrTable:      readTargets,
	ImmFunc:         readIndex,
	ImmType:         readIndex,
	ImmTag:          readIndex,
	ImmCallIndirect: readTwo,
	ImmLocal:        readIndex,
	ImmGlobal:       readIndex,
	ImmTable:        readIndex,
	ImmTable2:       readTwo,
	ImmElem:         readIndex,
	ImmElemTable:    readTwo,
	ImmData:         readIndex,
	ImmDataMem:      readTwo,
	ImmMem:          readIndex,
	ImmMem2:         readTwo,
	ImmMemArg:       readMemArg,
	ImmMemArgLane:   func(r *Reader, o *Operator, f Features) { readMemArg(r, o, f); o.Lane = r.Byte() },
	ImmI32:          func(r *Reader, o *Operator, _ Features) { o.I64 = uint64(uint32(r.S32())) },
	ImmI64:          func(r *Reader, o *Operator, _ Features) { o.I64 = uint64(r.S64()) },
	ImmF32:          func(r *Reader, o *Operator, _ Features) { o.I64 = uint64(r.Fixed32()) },
	ImmF64:          func(r *Reader, o *Operator, _ Features) { o.I64 = r.Fixed64() },
	ImmV128:         readVector,
	ImmShuffle:      readVector,
	ImmLane:         func(r *Reader, o *Operator, _ Features) { o.Lane = r.Byte() },
	ImmRefType:      func(r *Reader, o *Operator, f Features) { o.Type = r.HeapType(f) },
	ImmCast:         func(r *Reader, o *Operator, f Features) { o.ReadCast(r, f) },
	ImmBrOnCast:     func(r *Reader, o *Operator, f Features) { o.ReadBrOnCast(r, f) },
	ImmField:        readTwo,
	ImmTypeCount:    readTwo,
	ImmType2:        readTwo,
	ImmTypeData:     readTwo,
	ImmTypeElem:     readTwo,
	ImmSelect:       readSelect,
}

func readIndex(r *Reader, o *Operator, _ Features) { o.Index = r.U32() }

func readTwo(r *Reader, o *Operator, _ Features) { o.Index, o.Index2 = r.U32(), r.U32() }

func readVector(r *Reader, o *Operator, _ Features) { o.I64, o.High = r.Fixed64(), r.Fixed64() }

// ReadCast reads the type that a cast or test asks for. Whether it has null is in the code of the operator.
func (o *Operator) ReadCast(r *Reader, accept Features) {
	o.Type = r.HeapType(accept)
	if o.Op == OpRefTest || o.Op == OpRefCast {
		o.Type = o.Type.NotNull()
	}
}

// The flags of br_on_cast and br_on_cast_fail.
const (
	castNullBefore = 1 << iota // the type before the cast has null
	castNullAfter              // the type that is asked for has null
	castFlagsEnd
)

// CastFlags returns the flags for two types.
func CastFlags(before, after ValType) (flags byte) {
	if !before.IsNotNull() {
		flags |= castNullBefore
	}
	if !after.IsNotNull() {
		flags |= castNullAfter
	}
	return flags
}

// ReadBrOnCast reads the immediates of br_on_cast or br_on_cast_fail.
func (o *Operator) ReadBrOnCast(r *Reader, accept Features) {
	at := r.Pos
	flags := r.Byte()
	if flags >= castFlagsEnd {
		r.Fail(at, "malformed br_on_cast flags 0x%02x", flags)
	}
	o.Index = r.U32()
	o.From, o.Type = r.HeapType(accept), r.HeapType(accept)
	if flags&castNullBefore == 0 {
		o.From = o.From.NotNull()
	}
	if flags&castNullAfter == 0 {
		o.Type = o.Type.NotNull()
	}
}

func readBlockType(r *Reader, o *Operator, accept Features) {
	o.Index, o.Params, o.Results = NoIndex, nil, nil
	at := r.Pos
	if at >= r.End || isIndex(r.Buf[at]) {
		n := r.S33()
		if o.Index = uint32(n); n < 0 {
			r.Fail(at, "malformed block type")
		}
		return
	}
	const empty = 0x40
	if r.Buf[at] == empty {
		r.Pos++
		return
	}
	o.Results = r.ValType(accept).Slice()
}

func readTargets(r *Reader, o *Operator, _ Features) {
	at := r.Pos
	n := r.U32()
	if n > MaxBrTable {
		r.FailLimit(at, LimitError{"br_table targets", uint64(n), MaxBrTable}, "br_table of %d targets", n)
	}
	o.Targets = o.Targets[:0]
	for ; n > 0 && r.Err == nil; n-- {
		o.Targets = append(o.Targets, r.U32())
	}
	o.Index = r.U32()
}

// Catches reads the clauses of a try_table, and appends them to list.
func (r *Reader) Catches(list []Catch) []Catch {
	at := r.Pos
	n := r.U32()
	if n > MaxCatches {
		r.FailLimit(at, LimitError{"catch clauses", uint64(n), MaxCatches}, "try_table of %d catch clauses", n)
	}
	for ; n > 0 && r.Err == nil; n-- {
		at := r.Pos
		c := Catch{Kind: CatchKind(r.Byte())}
		if c.Kind >= numCatchKinds {
			r.Fail(at, "malformed catch clause 0x%02x", uint8(c.Kind))
		}
		if c.Kind.HasTag() {
			c.Tag = r.U32()
		}
		c.Label = r.U32()
		list = append(list, c)
	}
	return list
}

// WithMemory is the flag of a memory access, beside the alignment, that says that the index of a memory follows. Without it, it is memory 0.
const WithMemory = 0x40

func readMemArg(r *Reader, o *Operator, accept Features) {
	flags, memory := r.MemFlags(accept)
	o.Index, o.Align, o.I64 = memory, uint8(flags), r.U64()
}

// MemFlags reads the alignment of a memory access, as a power of two, and the index of the memory.
func (r *Reader) MemFlags(accept Features) (align, memory uint32) {
	at := r.Pos
	flags := r.U32()
	switch {
	case flags < WithMemory:
		return flags, 0
	case flags >= 2*WithMemory:
		r.Fail(at, "malformed memop flags 0x%x", flags)
	case !accept.Has(FeatureMultiMemory):
		r.FailFeature(at, FeatureMultiMemory, "malformed memop flags 0x%x", flags)
	default:
		return flags &^ WithMemory, r.U32()
	}
	return 0, 0
}

func readSelect(r *Reader, o *Operator, accept Features) {
	at := r.Pos
	if n := r.U32(); n != 1 {
		r.Fail(at, "invalid result arity: select of %d types", n)
	}
	o.Type = r.ValType(accept)
}
