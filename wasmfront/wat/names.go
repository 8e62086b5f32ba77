package wat

import "github.com/waot-project/waot/wasmfront"

// nameLabel names the block that begins.
func (a *assembler) nameLabel(name string) {
	a.labels.names = append(a.labels.names, wasmfront.NameAssoc{Index: a.labels.begun, Name: name})
}

// nameBody keeps the names inside the function that has been translated.
func (a *assembler) nameBody(fn uint32) {
	if names := a.spaces[wasmfront.SpaceLocal].names; len(names) > 0 {
		a.localNames = append(a.localNames, wasmfront.FuncNames{Func: fn, Names: names})
	}
	if names := a.labels.names; len(names) > 0 {
		a.labelNames = append(a.labelNames, wasmfront.FuncNames{Func: fn, Names: names})
	}
}

// nameSection returns the contents of the name section, without its own name;
// empty if nothing has a name.
func (a *assembler) nameSection() []byte {
	var b []byte
	subsection := func(id wasmfront.IndexSpace, contents []byte) {
		if len(contents) > 0 {
			b = appendSized(append(b, byte(id)), contents)
		}
	}
	if a.hasName {
		const module = 0 // the others have the numbers of index spaces
		subsection(module, appendSized(nil, a.name))
	}
	for space := range wasmfront.IndexSpace(wasmfront.NumSpaces) {
		switch space {
		case wasmfront.SpaceLocal:
			subsection(space, appendFuncNames(a.localNames))
		case wasmfront.SpaceLabel:
			subsection(space, appendFuncNames(a.labelNames))
		default:
			subsection(space, appendNames(nil, a.spaces[space].names))
		}
	}
	return b
}

// appendNames appends names with their indices, nothing if there are none.
func appendNames(b []byte, names []wasmfront.NameAssoc) []byte {
	if len(names) == 0 {
		return b
	}
	b = appendIndex(b, uint32(len(names)))
	for _, n := range names {
		b = appendSized(appendIndex(b, n.Index), n.Name)
	}
	return b
}

// appendFuncNames returns the names of functions' locals or labels, nothing if there are none.
func appendFuncNames(list []wasmfront.FuncNames) []byte {
	if len(list) == 0 {
		return nil
	}
	b := appendIndex(nil, uint32(len(list)))
	for _, f := range list {
		b = appendNames(appendIndex(b, f.Func), f.Names)
	}
	return b
}
