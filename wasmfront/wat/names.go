package wat

import (
	"encoding/binary"

	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/encode"
)

// nameLabel names the block that begins.
func (a *assembler) nameLabel(name string) {
	a.labels.names = appendOne(a.scan.stop, a.labels.names, wasmfront.NameAssoc{Index: a.labels.begun, Name: name})
}

// nameBody keeps the names inside the function that has been translated.
func (a *assembler) nameBody(fn uint32) {
	if names := a.spaces[wasmfront.SpaceLocal].names; len(names) > 0 {
		a.localNames = appendOne(a.scan.stop, a.localNames, wasmfront.InnerNames{Of: fn, Names: names})
	}
	if names := a.labels.names; len(names) > 0 {
		a.labelNames = appendOne(a.scan.stop, a.labelNames, wasmfront.InnerNames{Of: fn, Names: names})
	}
}

// keepFields keeps the identifiers and names of the fields of a structure.
func (a *assembler) keepFields(of uint32, fields *space) {
	if len(fields.ids) > 0 {
		a.fields[of] = fields.ids
	}
	if len(fields.names) > 0 {
		a.fieldNames = appendOne(a.scan.stop, a.fieldNames, wasmfront.InnerNames{Of: of, Names: fields.names})
	}
}

// nameSection returns the contents of the name section, without its own name;
// empty if nothing has a name.
func (a *assembler) nameSection() []byte {
	f := a.scan.stop
	var b []byte
	subsection := func(id wasmfront.IndexSpace, contents []byte) {
		if len(contents) > 0 {
			b = encode.Index(append(b, byte(id)), uint32(len(contents)))
			b = appendAll(f, b, contents)
		}
	}
	if a.hasName {
		const module = 0 // the others have the numbers of index spaces
		subsection(module, encode.Sized(nil, a.name))
	}
	for space := range wasmfront.IndexSpace(wasmfront.NumSpaces) {
		switch space {
		case wasmfront.SpaceLocal:
			subsection(space, appendInnerNames(f, a.localNames))
		case wasmfront.SpaceLabel:
			subsection(space, appendInnerNames(f, a.labelNames))
		case wasmfront.SpaceField:
			subsection(space, appendInnerNames(f, a.fieldNames))
		default:
			subsection(space, appendNames(f, nil, a.spaces[space].names))
		}
	}
	return b
}

// appendNames appends names with their indices, nothing if there are none.
func appendNames(f *stop.Flag, b []byte, names []wasmfront.NameAssoc) []byte {
	if len(names) == 0 {
		return b
	}
	b = encode.Index(b, uint32(len(names)))
	for i := range names {
		f.PollAt(i)
		n := &names[i]
		b = grown(f, b, 2*binary.MaxVarintLen32+len(n.Name))
		b = encode.Sized(encode.Index(b, n.Index), n.Name)
	}
	return b
}

// appendInnerNames returns the names of what functions or types have inside, nothing if there are none.
func appendInnerNames(f *stop.Flag, list []wasmfront.InnerNames) []byte {
	if len(list) == 0 {
		return nil
	}
	b := encode.Index(nil, uint32(len(list)))
	for i := range list {
		f.PollAt(i)
		b = encode.Index(grown(f, b, binary.MaxVarintLen32), list[i].Of)
		b = appendNames(f, b, list[i].Names)
	}
	return b
}
