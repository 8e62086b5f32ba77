package wat

// The subsections of the name section.
const (
	namesModule = iota
	namesFuncs
	namesLocals
	namesLabels
	namesTypes
	namesTables
	namesMemories
	namesGlobals
	namesElems
	namesData
)

// indirect are the names inside a function: of its locals or its labels.
type indirect struct {
	fn    uint32
	names []named
}

// nameLabel names the block that begins.
func (a *assembler) nameLabel(name string) {
	a.labels.names = append(a.labels.names, named{a.labels.begun, name})
}

// nameBody keeps the names inside the function that has been translated.
func (a *assembler) nameBody(fn uint32) {
	if len(a.locals.names) > 0 {
		a.localNames = append(a.localNames, indirect{fn, a.locals.names})
	}
	if len(a.labels.names) > 0 {
		a.labelNames = append(a.labelNames, indirect{fn, a.labels.names})
	}
}

// nameSection returns the contents of the name section, without its own name;
// empty if nothing has a name.
func (a *assembler) nameSection() []byte {
	var b []byte
	subsection := func(id byte, contents []byte) {
		if len(contents) > 0 {
			b = appendSized(append(b, id), contents)
		}
	}
	if a.hasName {
		subsection(namesModule, appendSized(nil, a.name))
	}
	subsection(namesFuncs, appendNames(nil, a.spaces[spaceFunc].names))
	subsection(namesLocals, appendIndirect(a.localNames))
	subsection(namesLabels, appendIndirect(a.labelNames))
	for _, row := range [...]struct {
		id    byte
		space int
	}{
		{namesTypes, spaceType}, {namesTables, spaceTable}, {namesMemories, spaceMemory},
		{namesGlobals, spaceGlobal}, {namesElems, spaceElem}, {namesData, spaceData},
	} {
		subsection(row.id, appendNames(nil, a.spaces[row.space].names))
	}
	return b
}

// appendNames appends names with their indices, nothing if there are none.
func appendNames(b []byte, names []named) []byte {
	if len(names) == 0 {
		return b
	}
	b = appendIndex(b, uint32(len(names)))
	for _, n := range names {
		b = appendSized(appendIndex(b, n.index), n.name)
	}
	return b
}

// appendIndirect returns the names of functions' locals or labels, nothing if there are none.
func appendIndirect(list []indirect) []byte {
	if len(list) == 0 {
		return nil
	}
	b := appendIndex(nil, uint32(len(list)))
	for _, f := range list {
		b = appendNames(appendIndex(b, f.fn), f.names)
	}
	return b
}
