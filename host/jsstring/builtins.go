package jsstring

import (
	"slices"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/waot-project/waot/host"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/internal/abi"
)

// builtin is a function of "wasm:js-string".
type builtin struct {
	name   string
	params []host.ValType
	result host.ValType
	run    func(*call) (uint64, error)
}

var builtins = [...]builtin{
	{"cast", []host.ValType{typeAny}, typeSome, (*call).cast},
	{"test", []host.ValType{typeAny}, typeInt, (*call).test},
	{"fromCharCodeArray", []host.ValType{typeArray, typeInt, typeInt}, typeSome, (*call).fromCharCodeArray},
	{"intoCharCodeArray", []host.ValType{typeAny, typeArray, typeInt}, typeInt, (*call).intoCharCodeArray},
	{"fromCharCode", []host.ValType{typeInt}, typeSome, (*call).fromCharCode},
	{"fromCodePoint", []host.ValType{typeInt}, typeSome, (*call).fromCodePoint},
	{"charCodeAt", []host.ValType{typeAny, typeInt}, typeInt, (*call).charCodeAt},
	{"codePointAt", []host.ValType{typeAny, typeInt}, typeInt, (*call).codePointAt},
	{"length", []host.ValType{typeAny}, typeInt, (*call).length},
	{"concat", []host.ValType{typeAny, typeAny}, typeSome, (*call).concat},
	{"substring", []host.ValType{typeAny, typeInt, typeInt}, typeSome, (*call).substring},
	{"equals", []host.ValType{typeAny, typeAny}, typeInt, (*call).equals},
	{"compare", []host.ValType{typeAny, typeAny}, typeInt, (*call).compare},
}

// call is a call of a builtin.
type call struct {
	store *inproc.Store
	args  []uint64
	texts *texts
	limit uint64
	// arrays is the type of arrays of code units, for the functions that take one.
	arrays *inproc.ObjectType
}

// trap is what the proposal calls one, as an error.
type trap host.TrapCode

func (t trap) Error() string { return host.TrapCode(t).String() }

const (
	notString   = trap(abi.TrapCastFailure)
	noArray     = trap(abi.TrapCastFailure)
	nullArray   = trap(abi.TrapNullArray)
	outOfBounds = trap(abi.TrapArrayOutOfBounds)
	noCodePoint = trap(abi.TrapUnreachable)
)

// number returns an argument that is an integer.
func (c *call) number(i int) uint32 { return uint32(c.args[i]) }

// units returns the code units of an argument, which must be a string.
func (c *call) units(i int) ([]uint16, error) {
	switch s := c.store.Extern(c.args[i]).(type) {
	case *String:
		if s != nil {
			return s.units, nil
		}
	case string:
		return c.texts.units(c.args[i], s), nil
	}
	return nil, notString
}

// both returns the code units of the first two arguments.
func (c *call) both() (a, b []uint16, err error) {
	if a, err = c.units(0); err == nil {
		b, err = c.units(1)
	}
	return a, b, err
}

// array returns an argument that is an array of code units. That the import has the right type does not say so: another module may import the function by a type that has all references.
func (c *call) array(i int) (*inproc.Object, error) {
	switch o := c.store.Extern(c.args[i]).(type) {
	case nil:
		return nil, nullArray
	case *inproc.Object:
		if o.Is(c.arrays) {
			return o, nil
		}
	}
	return nil, noArray
}

// maxUnits is the most code units that a string may have.
const maxUnits = 1 << 30

// weigh returns an error if there may be no string of n code units more. It may collect: nothing of an array is known across it.
func (c *call) weigh(n int) error {
	if n > maxUnits {
		return &host.LimitError{What: "code units of a string", Want: uint64(n), Limit: maxUnits}
	}
	return c.store.Weigh(weight(n), c.limit, "bytes of strings")
}

// make returns a reference to a new string of n code units, which fill puts there.
func (c *call) make(n int, fill func(units []uint16)) (uint64, error) {
	if err := c.weigh(n); err != nil {
		return 0, err
	}
	s := &String{make([]uint16, n)}
	fill(s.units)
	return c.store.ExternRef(s), nil
}

// copyOf is make of units that there are.
func (c *call) copyOf(units ...uint16) (uint64, error) {
	if err := c.weigh(len(units)); err != nil {
		return 0, err
	}
	return c.store.ExternRef(FromUTF16(units)), nil
}

func truth(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func (c *call) cast() (uint64, error) {
	_, err := c.units(0)
	return c.args[0], err
}

func (c *call) test() (uint64, error) {
	_, err := c.units(0)
	return truth(err == nil), nil
}

func (c *call) fromCharCodeArray() (uint64, error) {
	a, err := c.array(0)
	if err != nil {
		return 0, err
	}
	start, end := c.number(1), c.number(2)
	if start > end || end > a.Len() {
		return 0, outOfBounds
	}
	return c.make(int(end-start), func(to []uint16) { copy(to, inproc.Elements[uint16](a, start, end-start)) })
}

func (c *call) intoCharCodeArray() (uint64, error) {
	a, err := c.array(1)
	if err != nil {
		return 0, err
	}
	s, err := c.units(0)
	if err != nil {
		return 0, err
	}
	start := c.number(2)
	if uint64(start)+uint64(len(s)) > uint64(a.Len()) {
		return 0, outOfBounds
	}
	copy(inproc.Elements[uint16](a, start, uint32(len(s))), s)
	return uint64(len(s)), nil
}

func (c *call) fromCharCode() (uint64, error) { return c.copyOf(uint16(c.number(0))) }

func (c *call) fromCodePoint() (uint64, error) {
	p := c.number(0)
	switch {
	case p > utf8.MaxRune:
		return 0, noCodePoint
	case p < 1<<16: // also a surrogate
		return c.copyOf(uint16(p))
	}
	high, low := utf16.EncodeRune(rune(p))
	return c.copyOf(uint16(high), uint16(low))
}

// at returns the first argument and the second, which must be an index of it.
func (c *call) at() (s []uint16, i uint32, err error) {
	if s, err = c.units(0); err != nil {
		return nil, 0, err
	}
	if i = c.number(1); uint64(i) >= uint64(len(s)) {
		return nil, 0, outOfBounds
	}
	return s, i, nil
}

func (c *call) charCodeAt() (uint64, error) {
	s, i, err := c.at()
	if err != nil {
		return 0, err
	}
	return uint64(s[i]), nil
}

func (c *call) codePointAt() (uint64, error) {
	s, i, err := c.at()
	if err != nil {
		return 0, err
	}
	if int(i)+1 < len(s) {
		if p := utf16.DecodeRune(rune(s[i]), rune(s[i+1])); p != utf8.RuneError {
			return uint64(p), nil
		}
	}
	return uint64(s[i]), nil
}

func (c *call) length() (uint64, error) {
	s, err := c.units(0)
	return uint64(len(s)), err
}

func (c *call) concat() (uint64, error) {
	a, b, err := c.both()
	if err != nil {
		return 0, err
	}
	return c.make(len(a)+len(b), func(to []uint16) { copy(to[copy(to, a):], b) })
}

func (c *call) substring() (uint64, error) {
	s, err := c.units(0)
	if err != nil {
		return 0, err
	}
	start, end := uint64(c.number(1)), uint64(c.number(2))
	if n := uint64(len(s)); start > end || start > n {
		start, end = 0, 0
	} else {
		end = min(end, n)
	}
	return c.copyOf(s[start:end]...)
}

func (c *call) equals() (uint64, error) {
	var of [2][]uint16
	for i := range of {
		if c.args[i] == 0 {
			continue
		}
		var err error
		if of[i], err = c.units(i); err != nil {
			return 0, err
		}
	}
	return truth((c.args[0] == 0) == (c.args[1] == 0) && slices.Equal(of[0], of[1])), nil
}

func (c *call) compare() (uint64, error) {
	a, b, err := c.both()
	return uint64(uint32(slices.Compare(a, b))), err
}
