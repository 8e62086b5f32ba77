package knownbugs

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/waot-project/waot/wasmfront"
)

// node is an atom, a string or a list of the text format.
type node struct {
	atom string // empty for lists and strings
	str  []byte
	list []node
	kind byte // 'a', 's', 'l'
}

func (n *node) head() string {
	if n.kind == 'l' && len(n.list) > 0 {
		return n.list[0].atom
	}
	return ""
}

// syntax is what the assembler panics with; assemble gives it back as an error.
type syntax string

func bad(format string, args ...any) { panic(syntax(fmt.Sprintf(format, args...))) }

// reader splits text into nodes.
type reader struct {
	s string
	i int
}

func (r *reader) nodes() (out []node) {
	for r.i < len(r.s) {
		switch c := r.s[r.i]; {
		case c == ' ' || c == '\n' || c == '\t':
			r.i++
		case c == ')':
			r.i++
			return out
		case c == '(':
			r.i++
			out = append(out, node{list: r.nodes(), kind: 'l'})
		case c == '"':
			out = append(out, node{str: r.quoted(), kind: 's'})
		case c == ';':
			for r.i < len(r.s) && r.s[r.i] != '\n' {
				r.i++
			}
		default:
			from := r.i
			for r.i < len(r.s) && !strings.ContainsRune(" \n\t()\"", rune(r.s[r.i])) {
				r.i++
			}
			out = append(out, node{atom: r.s[from:r.i], kind: 'a'})
		}
	}
	return out
}

func (r *reader) quoted() []byte {
	b := []byte{}
	for r.i++; r.s[r.i] != '"'; r.i++ {
		if r.s[r.i] != '\\' {
			b = append(b, r.s[r.i])
			continue
		}
		x, err := strconv.ParseUint(r.s[r.i+1:r.i+3], 16, 8)
		if err != nil {
			bad("string: %v", err)
		}
		b = append(b, byte(x))
		r.i += 2
	}
	r.i++
	return b
}

// space is an index space: names and how many entries there are.
type space struct {
	names map[string]uint32
	n     uint32
}

func (s *space) add(fields *[]node) uint32 {
	if len(*fields) > 0 && strings.HasPrefix((*fields)[0].atom, "$") {
		if s.names == nil {
			s.names = map[string]uint32{}
		}
		s.names[(*fields)[0].atom] = s.n
		*fields = (*fields)[1:]
	}
	s.n++
	return s.n - 1
}

func (s *space) index(atom string) uint32 {
	if i, ok := s.names[atom]; ok {
		return i
	}
	x, err := strconv.ParseUint(atom, 0, 32)
	if err != nil {
		bad("unknown index %q", atom)
	}
	return uint32(x)
}

var valTypeBytes = map[string]byte{"i32": 0x7F, "i64": 0x7E, "f32": 0x7D, "f64": 0x7C, "v128": 0x7B, "funcref": 0x70, "externref": 0x6F,
	"func": 0x70, "extern": 0x6F}

// assembler translates one module.
type assembler struct {
	types                                        []string // encoded
	typeNames, funcs, tables, mems, globals      space
	elems, datas                                 space
	imports, funcTypes, tableDefs, memDefs       [][]byte
	globalDefs, exports, elemDefs, codes, dataDs [][]byte
	start                                        []byte
	labels                                       []string
	locals                                       space
}

// ops are the operators by their names.
func opsByName() map[string]wasmfront.Opcode {
	m := map[string]wasmfront.Opcode{}
	for _, op := range wasmfront.Opcodes() {
		m[op.String()] = op
	}
	return m
}

var ops = opsByName()

// assemble translates the text of a module: folded and plain operators, blocks only folded.
func assemble(wat string) (wasm []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			s, ok := p.(syntax)
			if !ok {
				panic(p)
			}
			err = fmt.Errorf("text: %s", string(s))
		}
	}()
	top := (&reader{s: wat}).nodes()
	if len(top) != 1 || top[0].head() != "module" {
		bad("not one module")
	}
	fields := top[0].list[1:]
	a := &assembler{}
	for _, f := range fields {
		if f.head() == "type" {
			rest := f.list[1:]
			a.typeNames.add(&rest)
			a.types = append(a.types, encodeType(rest[0].list[1:]))
		}
	}
	var bodies []func()
	for _, f := range fields {
		if body := a.field(f.head(), f.list[1:]); body != nil {
			bodies = append(bodies, body)
		}
	}
	for _, body := range bodies {
		body()
	}
	return a.module(), nil
}

func (a *assembler) module() []byte {
	out := []byte{0, 'a', 's', 'm', 1, 0, 0, 0}
	section := func(id byte, items [][]byte) {
		if len(items) == 0 {
			return
		}
		body := vec(items)
		out = append(append(append(out, id), uleb(uint64(len(body)))...), body...)
	}
	types := make([][]byte, len(a.types))
	for i, t := range a.types {
		types[i] = []byte(t)
	}
	section(1, types)
	section(2, a.imports)
	section(3, a.funcTypes)
	section(4, a.tableDefs)
	section(5, a.memDefs)
	section(6, a.globalDefs)
	section(7, a.exports)
	if a.start != nil {
		out = append(append(out, 8, byte(len(a.start))), a.start...)
	}
	section(9, a.elemDefs)
	if len(a.dataDs) > 0 {
		n := uleb(uint64(len(a.dataDs)))
		out = append(append(out, 12, byte(len(n))), n...)
	}
	section(10, a.codes)
	section(11, a.dataDs)
	return out
}

func vec(items [][]byte) []byte {
	b := uleb(uint64(len(items)))
	for _, i := range items {
		b = append(b, i...)
	}
	return b
}

func uleb(x uint64) (b []byte) { return binary.AppendUvarint(nil, x) }

func sleb(x int64) (b []byte) {
	for {
		c := byte(x & 0x7F)
		if x >>= 7; x == 0 && c&0x40 == 0 || x == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

func name(s []byte) []byte { return append(uleb(uint64(len(s))), s...) }

// encodeType translates (param ...) and (result ...) fields.
func encodeType(fields []node) string {
	params, results := split(fields)
	return string(append(append([]byte{0x60}, name(params)...), name(results)...))
}

// split gives the types of leading (param) and (result) fields.
func split(fields []node) (params, results []byte) {
	for _, f := range fields {
		for _, t := range f.list[1:] {
			if strings.HasPrefix(t.atom, "$") {
				continue
			}
			b, ok := valTypeBytes[t.atom]
			if !ok {
				bad("type %q", t.atom)
			}
			if f.head() == "param" {
				params = append(params, b)
			} else {
				results = append(results, b)
			}
		}
	}
	return params, results
}

// typeUse takes (type), (param) and (result) fields from the front and gives the type's index.
func (a *assembler) typeUse(fields *[]node) (index uint32, params []node) {
	n, named := 0, int64(-1)
	for n < len(*fields) && ((*fields)[n].head() == "param" || (*fields)[n].head() == "result" || (*fields)[n].head() == "type") {
		n++
	}
	used := (*fields)[:n]
	*fields = (*fields)[n:]
	if len(used) > 0 && used[0].head() == "type" {
		named = int64(a.typeNames.index(used[0].list[1].atom))
		used = used[1:]
	}
	for _, f := range used {
		if f.head() == "param" {
			params = append(params, f)
		}
	}
	if named >= 0 {
		return uint32(named), params
	}
	t := encodeType(used)
	for i := range a.types {
		if a.types[i] == t {
			return uint32(i), params
		}
	}
	a.types = append(a.types, t)
	a.typeNames.n++
	return uint32(len(a.types) - 1), params
}

// field declares a field of the module; what needs all names is done by the function given back.
func (a *assembler) field(kind string, f []node) func() {
	switch kind {
	case "type":
	case "import":
		a.importField(f)
	case "func":
		return a.function(f)
	case "memory":
		a.export(2, a.mems.add(&f), &f)
		a.memDefs = append(a.memDefs, limits(f))
	case "table":
		a.export(1, a.tables.add(&f), &f)
		a.tableDefs = append(a.tableDefs, tableType(f))
	case "global":
		a.export(3, a.globals.add(&f), &f)
		i := len(a.globalDefs)
		a.globalDefs = append(a.globalDefs, nil)
		return func() { a.globalDefs[i] = append(globalType(f[0]), a.constExpr(f[1:])...) }
	case "export":
		kinds := map[string]byte{"func": 0, "table": 1, "memory": 2, "global": 3}
		return func() {
			k := kinds[f[1].head()]
			i := []*space{&a.funcs, &a.tables, &a.mems, &a.globals}[k].index(f[1].list[1].atom)
			a.exports = append(a.exports, append(append(name(f[0].str), k), uleb(uint64(i))...))
		}
	case "start":
		return func() { a.start = uleb(uint64(a.funcs.index(f[0].atom))) }
	case "elem":
		a.elems.add(&f)
		return func() { a.elemDefs = append(a.elemDefs, a.elem(f)) }
	case "data":
		a.datas.add(&f)
		return func() { a.dataDs = append(a.dataDs, a.data(f)) }
	default:
		bad("field %q", kind)
	}
	return nil
}

// export takes (export "name") fields from the front.
func (a *assembler) export(kind byte, index uint32, fields *[]node) {
	for len(*fields) > 0 && (*fields)[0].head() == "export" {
		a.exports = append(a.exports, append(append(name((*fields)[0].list[1].str), kind), uleb(uint64(index))...))
		*fields = (*fields)[1:]
	}
}

// limits translates a minimum, and a maximum if there is one.
func limits(f []node) []byte {
	b := []byte{0}
	for _, n := range f {
		x, err := strconv.ParseUint(n.atom, 0, 64)
		if err != nil {
			break
		}
		if len(b) > 1 {
			b[0] = 1
		}
		b = append(b, uleb(x)...)
	}
	return b
}

func tableType(f []node) []byte {
	return append([]byte{valTypeBytes[f[len(f)-1].atom]}, limits(f[:len(f)-1])...)
}

func globalType(n node) []byte {
	if n.head() == "mut" {
		return []byte{valTypeBytes[n.list[1].atom], 1}
	}
	return []byte{valTypeBytes[n.atom], 0}
}

func (a *assembler) importField(f []node) {
	b := append(name(f[0].str), name(f[1].str)...)
	d := f[2].list[1:]
	switch f[2].head() {
	case "func":
		a.funcs.add(&d)
		i, _ := a.typeUse(&d)
		b = append(append(b, 0), uleb(uint64(i))...)
	case "table":
		a.tables.add(&d)
		b = append(append(b, 1), tableType(d)...)
	case "memory":
		a.mems.add(&d)
		b = append(append(b, 2), limits(d)...)
	case "global":
		a.globals.add(&d)
		b = append(append(b, 3), globalType(d[0])...)
	default:
		bad("import of %q", f[2].head())
	}
	a.imports = append(a.imports, b)
}

// offset takes (offset e) or an expression from the front, if there is one.
func (a *assembler) offset(f *[]node) ([]byte, bool) {
	if len(*f) == 0 || (*f)[0].kind != 'l' || (*f)[0].head() == "ref.func" || (*f)[0].head() == "ref.null" || (*f)[0].head() == "item" {
		return nil, false
	}
	e := (*f)[:1]
	if e[0].head() == "offset" {
		e = e[0].list[1:]
	}
	*f = (*f)[1:]
	return a.constExpr(e), true
}

func (a *assembler) elem(f []node) []byte {
	table := uint32(0)
	if len(f) > 0 && f[0].head() == "table" {
		table = a.tables.index(f[0].list[1].atom)
		f = f[1:]
	}
	var b []byte
	at, active := a.offset(&f)
	declare := len(f) > 0 && f[0].atom == "declare"
	if declare {
		f = f[1:]
	}
	elemType := ""
	if len(f) > 0 && (f[0].atom == "func" || f[0].atom == "funcref" || f[0].atom == "externref") {
		elemType = f[0].atom
		f = f[1:]
	}
	exprs := elemType == "funcref" || elemType == "externref"
	flag := byte(1)
	if active {
		flag = 2
	} else if declare {
		flag = 3
	}
	if exprs {
		flag |= 4
	}
	b = append(b, flag)
	if active {
		b = append(append(b, uleb(uint64(table))...), at...)
	}
	if exprs {
		b = append(b, valTypeBytes[elemType])
	} else {
		b = append(b, 0)
	}
	b = append(b, uleb(uint64(len(f)))...)
	for i := range f {
		if exprs {
			b = append(b, a.constExpr(f[i:i+1])...)
		} else {
			b = append(b, uleb(uint64(a.funcs.index(f[i].atom)))...)
		}
	}
	return b
}

func (a *assembler) data(f []node) []byte {
	at, active := a.offset(&f)
	b := []byte{1}
	if active {
		b = append([]byte{0}, at...)
	}
	var content []byte
	for _, s := range f {
		content = append(content, s.str...)
	}
	return append(b, name(content)...)
}

func (a *assembler) constExpr(e []node) []byte {
	var b []byte
	a.instrs(&b, e)
	return append(b, 0x0B)
}

func (a *assembler) function(f []node) func() {
	a.export(0, a.funcs.add(&f), &f)
	t, params := a.typeUse(&f)
	a.funcTypes = append(a.funcTypes, uleb(uint64(t)))
	return func() {
		a.locals, a.labels = space{}, nil
		declare := func(d node) []byte {
			rest := d.list[1:]
			var ts []byte
			for len(rest) > 0 {
				a.locals.add(&rest)
				ts = append(ts, valTypeBytes[rest[0].atom])
				rest = rest[1:]
			}
			return ts
		}
		for _, p := range params {
			declare(p)
		}
		if len(params) == 0 { // of a named type
			n, _ := binary.Uvarint([]byte(a.types[t][1:]))
			a.locals.n = uint32(n)
		}
		var locals []byte
		for len(f) > 0 && f[0].head() == "local" {
			locals = append(locals, declare(f[0])...)
			f = f[1:]
		}
		var groups [][]byte
		for i := 0; i < len(locals); {
			k := i
			for k < len(locals) && locals[k] == locals[i] {
				k++
			}
			groups = append(groups, append(uleb(uint64(k-i)), locals[i]))
			i = k
		}
		code := vec(groups)
		a.instrs(&code, f)
		code = append(code, 0x0B)
		a.codes = append(a.codes, append(uleb(uint64(len(code))), code...))
	}
}

// instrs appends operators, plain or folded.
func (a *assembler) instrs(b *[]byte, list []node) {
	for len(list) > 0 {
		n := list[0]
		list = list[1:]
		if n.kind == 'a' {
			// A plain operator: its immediates follow, up to the next operator.
			k := 0
			for k < len(list) && !a.startsOperator(&list[k]) {
				k++
			}
			rest := list[:k]
			list = list[k:]
			a.instr(b, n.atom, &rest)
			if len(rest) > 0 {
				bad("%s: immediates left", n.atom)
			}
			continue
		}
		a.folded(b, n.head(), n.list[1:])
	}
}

func (a *assembler) startsOperator(n *node) bool {
	if n.kind == 'l' {
		h := n.head()
		return h != "type" && h != "param" && h != "result"
	}
	_, ok := ops[n.atom]
	return ok
}

func (a *assembler) folded(b *[]byte, op string, rest []node) {
	switch op {
	case "block", "loop", "if":
		label := ""
		if len(rest) > 0 && strings.HasPrefix(rest[0].atom, "$") {
			label = rest[0].atom
			rest = rest[1:]
		}
		bt := a.blockType(&rest)
		if op == "if" {
			for len(rest) > 0 && rest[0].head() != "then" {
				a.instrs(b, rest[:1])
				rest = rest[1:]
			}
		}
		*b = append(append(*b, byte(ops[op])), bt...)
		a.labels = append(a.labels, label)
		if op == "if" {
			if len(rest) == 0 {
				bad("if without then")
			}
			a.instrs(b, rest[0].list[1:])
			if len(rest) > 1 {
				*b = append(*b, 0x05)
				a.instrs(b, rest[1].list[1:])
			}
		} else {
			a.instrs(b, rest)
		}
		a.labels = a.labels[:len(a.labels)-1]
		*b = append(*b, 0x0B)
		return
	}
	var code []byte
	a.instr(&code, op, &rest)
	a.instrs(b, rest)
	*b = append(*b, code...)
}

func (a *assembler) blockType(rest *[]node) []byte {
	from := *rest
	n := 0
	for n < len(from) && (from[n].head() == "param" || from[n].head() == "result" || from[n].head() == "type") {
		n++
	}
	params, results := split(typeFields(from[:n]))
	if n == 0 || from[0].head() != "type" && len(params) == 0 && len(results) <= 1 {
		*rest = from[n:]
		if len(results) == 0 {
			return []byte{0x40}
		}
		return results
	}
	i, _ := a.typeUse(rest)
	return sleb(int64(i))
}

func typeFields(f []node) (out []node) {
	for _, n := range f {
		if n.head() != "type" {
			out = append(out, n)
		}
	}
	return out
}

func (a *assembler) label(atom string) uint32 {
	for i := len(a.labels) - 1; i >= 0; i-- {
		if a.labels[i] == atom {
			return uint32(len(a.labels) - 1 - i)
		}
	}
	return (&space{}).index(atom)
}

// instr appends an operator with its immediates, which it takes from the front of rest.
func (a *assembler) instr(b *[]byte, text string, rest *[]node) {
	op, ok := ops[text]
	if !ok {
		bad("operator %q", text)
	}
	isAtom := func() bool { return len(*rest) > 0 && (*rest)[0].kind == 'a' && !a.startsOperator(&(*rest)[0]) }
	next := func() string {
		if !isAtom() {
			bad("%s: immediate missing", text)
		}
		s := (*rest)[0].atom
		*rest = (*rest)[1:]
		return s
	}
	u32 := func(x uint32) { *b = append(*b, uleb(uint64(x))...) }
	optional := func(s *space) uint32 {
		if isAtom() {
			return s.index(next())
		}
		return 0
	}
	if text == "select" && len(*rest) > 0 && (*rest)[0].head() == "result" {
		_, t := split((*rest)[:1])
		*rest = (*rest)[1:]
		*b = append(append(*b, 0x1C, 1), t...)
		return
	}
	if op < 0x100 {
		*b = append(*b, byte(op))
	} else {
		*b = append(append(*b, byte(op>>8)), uleb(uint64(op&0xFF))...)
	}
	switch op.Info().Imm {
	case wasmfront.ImmNone:
	case wasmfront.ImmLabel:
		u32(a.label(next()))
	case wasmfront.ImmBrTable:
		var labels []uint32
		for isAtom() {
			labels = append(labels, a.label(next()))
		}
		u32(uint32(len(labels) - 1))
		for _, l := range labels {
			u32(l)
		}
	case wasmfront.ImmFunc:
		u32(a.funcs.index(next()))
	case wasmfront.ImmCallIndirect:
		t := optional(&a.tables)
		i, _ := a.typeUse(rest)
		u32(i)
		u32(t)
	case wasmfront.ImmLocal:
		u32(a.locals.index(next()))
	case wasmfront.ImmGlobal:
		u32(a.globals.index(next()))
	case wasmfront.ImmTable:
		u32(optional(&a.tables))
	case wasmfront.ImmTable2:
		to := optional(&a.tables)
		u32(to)
		u32(optional(&a.tables))
	case wasmfront.ImmElem:
		u32(a.elems.index(next()))
	case wasmfront.ImmElemTable:
		first := next()
		if isAtom() {
			t := a.tables.index(first)
			u32(a.elems.index(next()))
			u32(t)
		} else {
			u32(a.elems.index(first))
			u32(0)
		}
	case wasmfront.ImmData:
		u32(a.datas.index(next()))
	case wasmfront.ImmDataMem:
		u32(a.datas.index(next()))
		u32(0)
	case wasmfront.ImmMem:
		u32(0)
	case wasmfront.ImmMem2:
		u32(0)
		u32(0)
	case wasmfront.ImmMemArg:
		a.memArg(b, op, next, isAtom)
	case wasmfront.ImmI32:
		*b = append(*b, sleb(int64(int32(integer(next()))))...)
	case wasmfront.ImmI64:
		*b = append(*b, sleb(int64(integer(next())))...)
	case wasmfront.ImmF32:
		*b = binary.LittleEndian.AppendUint32(*b, uint32(float(next(), 32)))
	case wasmfront.ImmF64:
		*b = binary.LittleEndian.AppendUint64(*b, float(next(), 64))
	case wasmfront.ImmRefType:
		*b = append(*b, valTypeBytes[next()])
	default:
		bad("%s: immediates are not known here", text)
	}
}

func (a *assembler) memArg(b *[]byte, op wasmfront.Opcode, next func() string, isAtom func() bool) {
	offset, align := uint64(0), uint64(0)
	for isAtom() {
		k, v, _ := strings.Cut(next(), "=")
		x := integer(v)
		switch k {
		case "offset":
			offset = x
		case "align":
			for x > 1 {
				align++
				x >>= 1
			}
		default:
			bad("%v %s", op, k)
		}
	}
	*b = append(append(*b, uleb(align)...), uleb(offset)...)
}

func integer(s string) uint64 {
	s = strings.ReplaceAll(s, "_", "")
	if x, err := strconv.ParseUint(s, 0, 64); err == nil {
		return x
	}
	x, err := strconv.ParseInt(s, 0, 64)
	if err != nil {
		bad("%v", err)
	}
	return uint64(x)
}

func float(s string, size int) uint64 {
	abs, negative := strings.CutPrefix(s, "-")
	var bits uint64
	if payload, ok := strings.CutPrefix(abs, "nan"); ok {
		bits = 0x7FF8 << 48
		if size == 32 {
			bits = 0x7FC00000
		}
		if p, ok := strings.CutPrefix(payload, ":"); ok {
			bits = 0x7FF<<52 | integer(p)
			if size == 32 {
				bits = 0x7F800000 | integer(p)
			}
		}
	} else {
		x, err := strconv.ParseFloat(abs, size)
		if err != nil && !math.IsInf(x, 0) {
			bad("%v", err)
		}
		bits = math.Float64bits(x)
		if size == 32 {
			bits = uint64(math.Float32bits(float32(x)))
		}
	}
	if negative {
		bits |= 1 << (size - 1)
	}
	return bits
}
