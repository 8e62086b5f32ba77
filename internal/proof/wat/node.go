package wat

import (
	"fmt"
	"strconv"
	"strings"
)

// node is an atom, a string or a list of the text format.
type node struct {
	kind byte   // 'a', 's', 'l'
	atom string // empty for lists and strings
	str  []byte
	list []node
}

// head returns the atom that a list begins with, or "".
func (n *node) head() string {
	if n.kind == 'l' && len(n.list) > 0 {
		return n.list[0].atom
	}
	return ""
}

// headIs reports whether n is a list that begins with one of the atoms.
func (n *node) headIs(atoms ...string) bool {
	head := n.head()
	for _, a := range atoms {
		if head == a {
			return true
		}
	}
	return false
}

// takeAtom takes the atom at the front of nodes, if there is one that may be there.
func takeAtom(nodes *[]node, atoms ...string) (atom string, ok bool) {
	if len(*nodes) == 0 {
		return "", false
	}
	for _, a := range atoms {
		if (*nodes)[0].atom == a {
			*nodes = (*nodes)[1:]
			return a, true
		}
	}
	return "", false
}

// syntaxError is what the assembler panics with; Assemble returns it.
type syntaxError string

func (e syntaxError) Error() string { return "text: " + string(e) }

func fail(format string, args ...any) { panic(syntaxError(fmt.Sprintf(format, args...))) }

// reader splits text into nodes.
type reader struct {
	text  string
	pos   int
	depth int // of lists
}

// nodes reads up to the end of the list, or of the text.
func (r *reader) nodes() (out []node) {
	for r.pos < len(r.text) {
		switch c := r.text[r.pos]; {
		case c == ' ' || c == '\n' || c == '\t':
			r.pos++
		case c == ')':
			if r.depth == 0 {
				fail("a parenthesis closes nothing")
			}
			r.depth--
			r.pos++
			return out
		case c == '(':
			r.pos++
			r.depth++
			out = append(out, node{kind: 'l', list: r.nodes()})
		case c == '"':
			out = append(out, node{kind: 's', str: r.quoted()})
		case c == ';':
			for r.pos < len(r.text) && r.text[r.pos] != '\n' {
				r.pos++
			}
		default:
			from := r.pos
			for r.pos < len(r.text) && !strings.ContainsRune(" \n\t()\"", rune(r.text[r.pos])) {
				r.pos++
			}
			out = append(out, node{kind: 'a', atom: r.text[from:r.pos]})
		}
	}
	if r.depth > 0 {
		fail("%d parentheses are not closed", r.depth)
	}
	return out
}

// quoted reads a string, whose escapes are two hexadecimal digits each.
func (r *reader) quoted() []byte {
	b := []byte{}
	for r.pos++; r.pos < len(r.text); r.pos++ {
		switch r.text[r.pos] {
		case '"':
			r.pos++
			return b
		case '\\':
			digits := r.text[r.pos+1 : min(r.pos+3, len(r.text))]
			x, err := strconv.ParseUint(digits, 16, 8)
			if err != nil || len(digits) != 2 {
				fail("string: \\%s is no escape", digits)
			}
			b = append(b, byte(x))
			r.pos += 2
		default:
			b = append(b, r.text[r.pos])
		}
	}
	fail("a string is not closed")
	return nil
}

// space is an index space: names, and how many entries there are.
type space struct {
	names map[string]uint32
	n     uint32
}

// add adds an entry, whose name it takes from the front of fields if there is one, and gives its index.
func (s *space) add(fields *[]node) uint32 {
	if name, ok := takeName(fields); ok {
		if s.names == nil {
			s.names = map[string]uint32{}
		}
		if _, twice := s.names[name]; twice {
			fail("%s is defined twice", name)
		}
		s.names[name] = s.n
	}
	s.n++
	return s.n - 1
}

// takeName takes a name, which begins with a dollar, from the front of fields.
func takeName(fields *[]node) (name string, ok bool) {
	if len(*fields) == 0 || !strings.HasPrefix((*fields)[0].atom, "$") {
		return "", false
	}
	name = (*fields)[0].atom
	*fields = (*fields)[1:]
	return name, true
}

// index returns the index that an atom names or is. Numbers may be out of range: that is the validator's affair.
func (s *space) index(atom string) uint32 {
	if i, ok := s.names[atom]; ok {
		return i
	}
	x, err := strconv.ParseUint(atom, 0, 32)
	if err != nil {
		fail("unknown index %q", atom)
	}
	return uint32(x)
}
