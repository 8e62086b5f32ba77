package printer

import "github.com/waot-project/waot/wasmfront"

// symbol is the name of an entity, which may stand for its index if it is an
// identifier. The zero value is no name.
type symbol struct {
	name  string
	named bool // name is meant, even if it is empty
	id    bool
}

// symbols returns the symbols of an index space of that size, by index. Of several
// equal names, the first is the identifier.
func symbols(names []wasmfront.NameAssoc, size int) []symbol {
	syms := labelSymbols(names, size)
	taken := make(map[string]bool, len(names))
	for i := range syms {
		s := &syms[i]
		s.id = s.id && !taken[s.name]
		taken[s.name] = true
	}
	return syms
}

// labelSymbols is symbols where equal names may all be identifiers, as those of labels.
func labelSymbols(names []wasmfront.NameAssoc, size int) []symbol {
	for len(names) > 0 && int64(names[len(names)-1].Index) >= int64(size) {
		names = names[:len(names)-1]
	}
	if len(names) == 0 {
		return nil
	}
	syms := make([]symbol, names[len(names)-1].Index+1)
	for _, a := range names {
		syms[a.Index] = symbol{name: a.Name, named: true, id: isIdentifier(a.Name)}
	}
	return syms
}

// symbolAt returns the symbol of an index that may have none.
func symbolAt(syms []symbol, i uint32) symbol {
	if int64(i) < int64(len(syms)) {
		return syms[i]
	}
	return symbol{}
}

// isIdentifier reports whether a name can follow the dollar sign.
func isIdentifier(name string) bool {
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c > '~' || notInIdentifiers[c] {
			return false
		}
	}
	return name != ""
}

// notInIdentifiers are the printable characters that no identifier has.
var notInIdentifiers = [128]bool{'"': true, '(': true, ')': true, ',': true, ';': true, '[': true, ']': true, '{': true, '}': true}

// innerNames goes through lists of what functions or types have inside, in increasing order of
// these.
type innerNames []wasmfront.InnerNames

// next returns the names inside of i, which is above those asked for before.
func (n *innerNames) next(i uint32) []wasmfront.NameAssoc {
	for len(*n) > 0 && (*n)[0].Of < i {
		*n = (*n)[1:]
	}
	if len(*n) == 0 || (*n)[0].Of != i {
		return nil
	}
	return (*n)[0].Names
}
