package filetest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/text"
	"github.com/waot-project/waot/clif/verify"
	"github.com/waot-project/waot/internal/abi"
)

// Engine executes functions.
type Engine interface {
	// Name is for messages.
	Name() string
	// Load prepares a file, whose functions are verified and must not be changed.
	Load(file *text.File) (Program, error)
}

// Lacker is an engine that cannot execute some files, which is no failure.
type Lacker interface {
	Lacks(file *text.File) bool
}

// Program is a file that an engine has loaded.
type Program interface {
	// Start makes a new instance: imported memories, tables and globals are fresh ones
	// of their declared types, imported functions do Echo.
	Start() (Instance, error)
	Close() error
}

// Instance is an instance of a program.
type Instance interface {
	// Call calls a function with raw bits, i32 and f32 zero-extended, two words for a v128, the low half first. A
	// trap is an error with a method TrapCode.
	Call(fn clif.FuncIndex, args []uint64) ([]uint64, error)
	Close() error
}

// Trapper is an error that is a trap.
type Trapper interface {
	error
	TrapCode() abi.TrapCode
}

// Echo is what imported functions do: each result is the last argument of the
// same type, or zero.
func Echo(sig *clif.Signature, args, results []uint64) {
	for _, t := range sig.Results {
		n := clif.Words([]clif.Type{t})
		clear(results[:n])
		rest := args
		for _, p := range sig.Params {
			if p == t {
				copy(results[:n], rest)
			}
			rest = rest[clif.Words([]clif.Type{p}):]
		}
		results = results[n:]
	}
}

// HostRef returns the reference to the host's object number n, as engines get it.
func HostRef(n uint64) uint64 { return n<<abi.RefTagBits | abi.RefTagHost }

// The beginnings of directives.
const (
	runMark  = "run:"
	trapMark = "trap:"
)

func isDirective(line string) bool {
	_, comment := splitComment(line)
	comment = strings.TrimSpace(comment)
	return strings.HasPrefix(comment, runMark) || strings.HasPrefix(comment, trapMark)
}

// directive is a call with its expected result.
type directive struct {
	line    int
	fn      clif.FuncIndex
	sig     *clif.Signature
	args    []uint64
	results []expected
	trap    abi.TrapCode // TrapNone if it must return
	text    string
}

// expected is one result.
type expected struct {
	words []uint64
	match func(t clif.Type, bits uint64) bool // nil: equals words
}

// run executes the directives on each engine: of the file, and of the file as
// `test opt` changes it.
func (j *job) run(t test) {
	file := j.parse()
	for i := range file.Funcs {
		if err := verify.Func(file.Funcs[i].Func); err != nil {
			j.fail(file.Funcs[i].Line, "%v", err)
			return
		}
	}
	var calls []directive
	for i, line := range j.lines {
		if strings.HasPrefix(strings.TrimSpace(line), ";") && isDirective(line) {
			d, err := parseDirective(file, line)
			if err != nil {
				j.fail(i+1, "%v", err)
				continue
			}
			d.line = i + 1
			calls = append(calls, d)
		}
	}
	if len(calls) == 0 {
		j.fail(t.line, "no calls to run")
	}
	j.execute(file, calls, "")
	for _, o := range j.tests {
		if o.name != "opt" {
			continue
		}
		file := j.parse()
		for i := range file.Funcs {
			if _, err := j.opt(file, file.Funcs[i].Func, o.options); err != nil {
				return // test opt says so
			}
		}
		j.execute(file, calls, " after opt")
	}
}

func (j *job) execute(file *text.File, calls []directive, label string) {
	for _, e := range j.Engines {
		if l, ok := e.(Lacker); ok && l.Lacks(file) {
			j.Lacking[e.Name()] = true
			continue
		}
		p, err := e.Load(file)
		if err != nil {
			j.fail(1, "%s%s: %v", e.Name(), label, err)
			continue
		}
		for i := range calls {
			if msg := calls[i].check(p); msg != "" {
				j.fail(calls[i].line, "%s%s: %s: %s", e.Name(), label, calls[i].text, msg)
			}
			j.Runs++
			if label == "" {
				j.Called[e.Name()]++
			}
		}
		if err := p.Close(); err != nil {
			j.fail(1, "%s: %v", e.Name(), err)
		}
	}
}

// check makes the call in a new instance and says what is wrong.
func (d *directive) check(p Program) string {
	inst, err := p.Start()
	if err != nil {
		return err.Error()
	}
	defer inst.Close()
	got, err := inst.Call(d.fn, d.args)
	if d.trap != abi.TrapNone {
		var t Trapper
		switch {
		case err == nil:
			return fmt.Sprintf("no trap, results %s", d.describe(got))
		case !errors.As(err, &t):
			return err.Error()
		case t.TrapCode() != d.trap:
			return fmt.Sprintf("trap %v", t.TrapCode())
		}
		return ""
	}
	if err != nil {
		return err.Error()
	}
	words := got
	for i, e := range d.results {
		t := d.sig.Results[i]
		n := clif.Words([]clif.Type{t})
		if e.match == nil && !slices.Equal(words[:n], e.words) || e.match != nil && !e.match(t, words[0]) {
			return "got " + d.describe(got)
		}
		words = words[n:]
	}
	return ""
}

// describe returns the results that have these words.
func (d *directive) describe(words []uint64) string {
	s := make([]string, len(d.sig.Results))
	for i, t := range d.sig.Results {
		switch t {
		case clif.I32:
			s[i] = strconv.Itoa(int(int32(words[0])))
		case clif.I64:
			s[i] = strconv.FormatInt(int64(words[0]), 10)
		case clif.V128:
			s[i] = fmt.Sprintf("0x%016x%016x", words[1], words[0])
		default:
			s[i] = fmt.Sprintf("0x%x", words[0])
		}
		words = words[clif.Words([]clif.Type{t}):]
	}
	return strings.Join(s, ", ")
}

// parseDirective reads: run: %f(1, 2) == 3, 4 and trap: %f(0) == code.
func parseDirective(file *text.File, line string) (directive, error) {
	_, comment := splitComment(line)
	d := directive{text: strings.TrimSpace(comment)}
	mark, rest, _ := strings.Cut(d.text, ":")
	call, want, hasWant := strings.Cut(rest, "==")
	call, want = strings.TrimSpace(call), strings.TrimSpace(want)
	open := strings.LastIndexByte(call, '(')
	if !strings.HasPrefix(call, "%") || !strings.HasSuffix(call, ")") {
		return d, fmt.Errorf("want %%name(arguments), not %q", call)
	}
	name := call[1:open]
	if unquoted, err := strconv.Unquote(name); err == nil {
		name = unquoted
	}
	found := false
	for i := range file.Mod.Funcs {
		if file.Mod.Funcs[i].Name == name {
			d.fn, found = clif.FuncIndex(i), true
			d.sig = file.Mod.FuncSig(d.fn)
			break
		}
	}
	if !found {
		return d, fmt.Errorf("no function %q", name)
	}
	args := fields(call[open+1 : len(call)-1])
	if len(args) != len(d.sig.Params) {
		return d, fmt.Errorf("%d arguments for a function of type %v", len(args), d.sig)
	}
	for i, a := range args {
		words, err := parseValue(d.sig.Params[i], a)
		if err != nil {
			return d, err
		}
		d.args = append(d.args, words...)
	}
	if mark+":" == trapMark {
		code, ok := abi.TrapByName(want)
		if !ok || code == abi.TrapNone {
			return d, fmt.Errorf("%q is not a trap code", want)
		}
		d.trap = code
		return d, nil
	}
	results := fields(want)
	if hasWant == (len(results) == 0) || len(results) != len(d.sig.Results) {
		return d, fmt.Errorf("%d results of a function of type %v", len(results), d.sig)
	}
	for i, r := range results {
		e, err := parseExpected(d.sig.Results[i], r)
		if err != nil {
			return d, err
		}
		d.results = append(d.results, e)
	}
	return d, nil
}

// fields splits at commas.
func fields(s string) []string {
	if strings.TrimSpace(s) == "" {
		return nil
	}
	parts := strings.Split(s, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts
}

// parseValue reads the words of a constant of a type: for references null or host:N.
func parseValue(t clif.Type, s string) ([]uint64, error) {
	switch {
	case t == clif.V128:
		low, high, err := text.ParseV128(s)
		return []uint64{low, high}, err
	case !t.IsRef():
		bits, err := text.ParseNumber(t, s)
		return []uint64{bits}, err
	case s == "null":
		return []uint64{0}, nil
	}
	if n, ok := strings.CutPrefix(s, "host:"); ok && t == clif.Ref {
		if n, err := strconv.ParseUint(n, 10, 32); err == nil {
			return []uint64{HostRef(n)}, nil
		}
	}
	return nil, fmt.Errorf("%q is not a value of type %v", s, t)
}

// quiet returns the bits that every quiet NaN of the type has.
func quiet(t clif.Type) uint64 {
	if t == clif.F32 {
		return 0x7fc00000
	}
	return 0x7ff8000000000000
}

// patterns are expected results that are not one value.
var patterns = map[string]func(t clif.Type, bits uint64) bool{
	"nan:canonical":  func(t clif.Type, bits uint64) bool { return t.IsFloat() && bits&^(1<<(t.Bits()-1)) == quiet(t) },
	"nan:arithmetic": func(t clif.Type, bits uint64) bool { return t.IsFloat() && bits&quiet(t) == quiet(t) },
	"nonnull":        func(t clif.Type, bits uint64) bool { return t.IsRef() && bits != 0 },
}

func parseExpected(t clif.Type, s string) (expected, error) {
	if m := patterns[s]; m != nil {
		return expected{match: m}, nil
	}
	words, err := parseValue(t, s)
	return expected{words: words}, err
}
