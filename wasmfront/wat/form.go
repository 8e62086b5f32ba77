package wat

import "strings"

// FormKind is how a module is written.
type FormKind uint8

// The kinds of forms.
const (
	FormText     FormKind = iota // (module $id? field...)
	FormBinary                   // (module $id? binary "bytes"...)
	FormQuote                    // (module $id? quote "text"...)
	FormInstance                 // (module instance $id? $definition?)
)

// Form is a (module ...), which a cursor has walked over but not translated.
// What is wrong inside of it is found by Assemble.
type Form struct {
	Kind       FormKind
	Definition bool   // written (module definition ...): to be compiled only
	ID         string // of the module or instance, without the dollar; empty if it has none
	Of         string // FormInstance: the ID of the definition; empty if it is not said
	Offset     int    // of the opening parenthesis in the text
	// Bytes are the strings put together: the module for FormBinary, the text
	// for FormQuote.
	Bytes []byte

	text  []byte // FormText: the text up to the end of the form
	head  int    // FormText: the offset behind the words at its start
	place Place  // of Offset
	lines lines  // as it was there, so that places in one of many modules are not counted from the start of the text
}

// Form takes a (module ...), or fails.
func (c *Cursor) Form() *Form {
	start := *c
	f := c.formHead()
	switch f.Kind {
	case FormText:
		if c.Err == nil {
			*c = start
			c.Skip()
			f.text = c.scan.text[:c.end]
		}
		return f
	case FormBinary, FormQuote:
		f.Bytes = c.AppendStrings(nil)
	}
	c.Close()
	return f
}

// formHead takes the words and identifiers at the start of a (module ...), or fails.
func (c *Cursor) formHead() *Form {
	f := &Form{Offset: c.tok.Offset, place: c.Place(c.tok.Offset)}
	f.lines = c.lines
	if !c.Open("module") {
		c.Unexpected("(module")
		return f
	}
	if c.Accept("instance") {
		f.Kind = FormInstance
		f.ID, _ = c.ID()
		f.Of, _ = c.ID()
		return f
	}
	f.Definition = c.Accept("definition")
	f.head = c.tok.Offset
	f.ID, _ = c.ID()
	switch {
	case c.Accept("binary"):
		f.Kind = FormBinary
	case c.Accept("quote"):
		f.Kind = FormQuote
	}
	return f
}

// Pattern is a constant of a script: an argument, or what a result must match.
type Pattern struct {
	Offset int // in the text
	// Op is the keyword: t.const for a number or a vector; ref.null, ref.func,
	// ref.extern and other words that begin with "ref."; either.
	Op     string
	Shape  string    // v128.const: i8x16 and so on
	Lanes  []Lane    // t.const: the number, or the lanes of the vector, lane 0 first
	Heap   string    // ref.null: the heap type as written, empty if it is not said
	HasRef bool      // whether Ref is said
	Ref    uint32    // ref.extern, ref.host: the number of the reference
	Either []Pattern // either: one of which must match
}

// Lane is a number of a pattern.
type Lane struct {
	Bits uint64 // i8 to i64, f32, f64; zero-extended
	NaN  NaN
}

// NaN says which NaNs a lane matches instead of its bits.
type NaN uint8

// The patterns of NaNs, of either sign.
const (
	NaNExact      NaN = iota // no pattern: the bits match
	NaNCanonical             // only the top bit of the payload is set
	NaNArithmetic            // the top bit of the payload is set
)

// shape is the form of a number or a vector in a constant.
type shape struct {
	name  string
	lanes int
	bits  int // of a lane
	float bool
}

var shapes = [...]shape{
	{"i8x16", 16, 8, false},
	{"i16x8", 8, 16, false},
	{"i32x4", 4, 32, false},
	{"i64x2", 2, 64, false},
	{"f32x4", 4, 32, true},
	{"f64x2", 2, 64, true},
}

// scalars are the shapes of constants that are one number.
var scalars = [...]shape{
	{"i32.const", 1, 32, false},
	{"i64.const", 1, 64, false},
	{"f32.const", 1, 32, true},
	{"f64.const", 1, 64, true},
}

// Pattern takes a constant of a script, or fails.
func (c *Cursor) Pattern() Pattern {
	if !c.At("either") {
		return c.constant()
	}
	p := Pattern{Offset: c.tok.Offset, Op: "either"}
	c.Open("either")
	for c.More() {
		p.Either = append(p.Either, c.constant())
	}
	c.Close()
	return p
}

// constant is Pattern without alternatives.
func (c *Cursor) constant() Pattern {
	p := Pattern{Offset: c.tok.Offset}
	c.take(Open, "a constant")
	p.Op = string(c.tok.Text)
	for i := range scalars {
		if c.Accept(scalars[i].name) {
			p.Lanes = []Lane{c.lane(&scalars[i])}
			c.Close()
			return p
		}
	}
	switch {
	case c.Accept("v128.const"):
		c.vector(&p)
	case c.tok.Kind == Keyword && strings.HasPrefix(p.Op, "ref."):
		c.Next()
		if c.tok.Kind == Keyword || c.tok.Kind == ID {
			t := c.Next()
			p.Heap = string(t.Text)
		}
		if p.HasRef = c.tok.Kind == Nat; p.HasRef {
			p.Ref = c.U32("a number")
		}
	default:
		c.Unexpected("a constant")
	}
	c.Close()
	return p
}

// vector takes the shape and the lanes of a vector.
func (c *Cursor) vector(p *Pattern) {
	s := c.shape()
	if s == nil {
		return
	}
	p.Shape = s.name
	for range s.lanes {
		p.Lanes = append(p.Lanes, c.lane(s))
	}
}

// shape takes the name of the shape of a vector. It is nil, and the cursor has
// failed, if there is none.
func (c *Cursor) shape() *shape {
	for i := range shapes {
		if c.Accept(shapes[i].name) {
			return &shapes[i]
		}
	}
	c.Unexpected("the shape of a vector")
	return nil
}

// lane takes a number, or a pattern of NaNs.
func (c *Cursor) lane(s *shape) Lane {
	switch {
	case s.float && c.Accept("nan:canonical"):
		return Lane{NaN: NaNCanonical}
	case s.float && c.Accept("nan:arithmetic"):
		return Lane{NaN: NaNArithmetic}
	}
	return Lane{Bits: c.number(s)}
}

// number takes a number that fits a lane of the shape.
func (c *Cursor) number(s *shape) uint64 {
	if s.float {
		return c.Float(s.bits)
	}
	return c.Integer(s.bits)
}
