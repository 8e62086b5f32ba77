package printer

import "github.com/waot-project/waot/wasmfront"

// types writes the types. A recursion group of one is written alone.
func (p *printer) types() {
	depth := 1
	for i := range p.m.Types {
		last := i+1 == len(p.m.Types) || p.m.Types[i+1].Place == 0
		if p.m.Types[i].Place == 0 && !last {
			p.newline(depth)
			p.text("(rec")
			depth++
		}
		p.newline(depth)
		p.typeDef(uint32(i))
		if last && depth > 1 {
			p.text(")")
			depth--
		}
	}
}

// typeDef writes a type.
func (p *printer) typeDef(i uint32) {
	t := &p.m.Types[i]
	p.open("type", wasmfront.SpaceType, i)
	sub := t.Open || t.HasSuper
	if sub {
		p.text(" (sub")
		if !t.Open {
			p.text(" final")
		}
		if t.HasSuper {
			p.text(" ")
			p.ref(wasmfront.SpaceType, t.Super)
		}
	}
	p.text(" (" + t.Kind.String())
	switch t.Kind {
	case wasmfront.KindFunc:
		p.signature(&t.FuncType, nil)
	case wasmfront.KindStruct:
		p.structFields(t.Fields, p.fields[i])
	case wasmfront.KindArray:
		p.text(" ")
		p.fieldType(&t.Fields[0])
	}
	if sub {
		p.text(")")
	}
	p.text("))")
}

// structFields writes the fields of a structure.
func (p *printer) structFields(fields []wasmfront.FieldType, syms []symbol) {
	for i := range fields {
		s := symbolAt(syms, uint32(i))
		p.text(" (field")
		p.identifier(s)
		p.annotation(s)
		p.text(" ")
		p.fieldType(&fields[i])
		p.text(")")
	}
}

// fieldType writes the type of a field, or of the elements of an array.
func (p *printer) fieldType(f *wasmfront.FieldType) {
	if f.Mutable {
		p.text("(mut ")
	}
	switch f.Packed {
	case 8:
		p.text("i8")
	case 16:
		p.text("i16")
	default:
		p.valType(f.Type)
	}
	if f.Mutable {
		p.text(")")
	}
}
