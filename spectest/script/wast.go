package script

import (
	"fmt"
	"strings"

	"github.com/waot-project/waot/wasmfront/wat"
)

// textReader reads the commands of a script from its text.
type textReader struct {
	*wat.Cursor
	s       *Script
	modules int // read so far
	threads int // that the next command is in, one in the other
}

// maxThreads bounds threads in threads.
const maxThreads = 100

// parseText reads a script from its text. The error is a *wat.Error.
func parseText(name string, text []byte) (*Script, error) {
	s := &Script{Name: name, Source: name + textExt, forms: map[string]*wat.Form{}}
	r := &textReader{Cursor: wat.NewCursor(text), s: s}
	if r.Token().Kind == wat.Open && !r.atCommand() {
		// The script is a module without the parentheses around it.
		s.Commands = []Command{{Type: Module, Line: r.line()}}
		r.keep(&s.Commands[0], &wat.Form{Kind: wat.FormQuote, Bytes: text})
		return s, nil
	}
	s.Commands = r.commands()
	if r.Err != nil {
		r.Err.File = s.Source
		return nil, r.Err
	}
	if err := s.normalize(s.Commands); err != nil {
		return nil, err
	}
	return s, nil
}

// textCommands read what follows the keyword of a command, but for modules and threads.
var textCommands = map[string]func(*textReader, *Command){
	"register":                    (*textReader).register,
	"invoke":                      (*textReader).invoke,
	"get":                         (*textReader).get,
	string(AssertReturn):          (*textReader).assertReturn,
	string(AssertTrap):            (*textReader).assertTrap,
	string(AssertExhaustion):      (*textReader).assertTrap,
	string(AssertException):       (*textReader).action,
	string(AssertSuspension):      (*textReader).assertTrap,
	string(AssertInvalid):         (*textReader).assertModule,
	string(AssertMalformed):       (*textReader).assertModule,
	string(AssertUnlinkable):      (*textReader).assertModule,
	string(AssertInvalidCustom):   (*textReader).assertModule,
	string(AssertMalformedCustom): (*textReader).assertModule,
	string(Wait):                  (*textReader).wait,
}

// line returns the line of the next token.
func (r *textReader) line() int { return r.Place(r.Token().Offset).Line }

// commands reads commands up to the end of the list, or of the text.
func (r *textReader) commands() []Command {
	var list []Command
	for r.Token().Kind != wat.EOF && (r.More() || r.threads == 0) {
		list = append(list, r.command())
	}
	return list
}

// atCommand reports whether a command comes next.
func (r *textReader) atCommand() bool {
	keyword := r.Ahead()
	return r.At("module") || r.At(string(Thread)) || r.Token().Kind == wat.Open && textCommands[string(keyword.Text)] != nil
}

func (r *textReader) command() Command {
	c := Command{Line: r.line()}
	keyword := string(r.Ahead().Text)
	switch {
	case r.threads > maxThreads:
		r.Fail(r.Token().Offset, "too many threads in threads")
		return c
	case !r.atCommand():
		if r.Token().Kind == wat.Open {
			r.Next()
		}
		r.Unexpected("a command")
		return c
	case keyword == "module":
		r.module(&c)
		return c
	}
	c.Type = CommandType(keyword)
	r.Open(keyword)
	if c.Type == Thread {
		r.thread(&c)
	} else {
		textCommands[keyword](r, &c)
	}
	r.Close()
	return c
}

// module reads a module, its definition, or an instance of one.
func (r *textReader) module(c *Command) {
	switch f := r.Form(); {
	case f.Kind == wat.FormInstance:
		c.Type, c.Instance, c.Of = ModuleInstance, written(f.ID), written(f.Of)
	default:
		c.Type, c.Name = Module, written(f.ID)
		if f.Definition {
			c.Type = ModuleDefinition
		}
		r.keep(c, f)
	}
}

// keep makes f the module of c. It is named as the tools do that assemble the modules of a
// script: these leave texts that are malformed as they are.
func (r *textReader) keep(c *Command, f *wat.Form) {
	c.ModuleType, c.Filename = binaryModule, fmt.Sprintf("%s.%d.wasm", r.s.Name, r.modules)
	if (c.Type == AssertMalformed || c.Type == AssertMalformedCustom) && f.Kind != wat.FormBinary {
		c.ModuleType, c.Filename = textModule, fmt.Sprintf("%s.%d.wat", r.s.Name, r.modules)
	}
	r.modules++
	r.s.forms[c.Filename] = f
}

// written returns a name with the dollar that commands have.
func written(id string) string {
	if id == "" {
		return ""
	}
	return "$" + id
}

func (r *textReader) id() string {
	id, _ := r.ID()
	return written(id)
}

func (r *textReader) register(c *Command) {
	c.As = r.Name("the name to import from")
	c.Name = r.id()
}

func (r *textReader) invoke(c *Command) { c.Type, c.Action = ActionCommand, r.actionOf(Invoke) }

func (r *textReader) get(c *Command) { c.Type, c.Action = ActionCommand, r.actionOf(Get) }

// actionOf reads what follows the keyword of an action.
func (r *textReader) actionOf(t ActionType) *Action {
	a := &Action{Type: t, Module: r.id(), Field: r.Name("the name of an export")}
	if t == Invoke {
		a.Args = r.values()
	}
	return a
}

// action reads the action of an assertion, whose line is that of the action.
func (r *textReader) action(c *Command) {
	c.Line = r.line()
	for _, t := range [...]ActionType{Invoke, Get} {
		if r.Open(string(t)) {
			c.Action = r.actionOf(t)
			r.Close()
			return
		}
	}
	r.Unexpected("(invoke or (get")
}

func (r *textReader) assertReturn(c *Command) {
	r.action(c)
	c.Expected = r.values()
}

// assertTrap reads what an action traps with, or the instantiation of a module.
func (r *textReader) assertTrap(c *Command) {
	if c.Type == AssertTrap && r.At("module") {
		c.Type = AssertUninstantiable
		r.assertModule(c)
		return
	}
	r.action(c)
	c.Text = r.Name("the message")
}

func (r *textReader) assertModule(c *Command) {
	c.Line = r.line()
	r.keep(c, r.Form())
	c.Text = r.Name("the message")
}

func (r *textReader) thread(c *Command) {
	c.Name = r.id()
	if r.Open("shared") {
		if r.Open("module") {
			c.SharedModule = r.id()
			r.Close()
		}
		r.Close()
	}
	r.threads++
	c.Commands = r.commands()
	r.threads--
}

func (r *textReader) wait(c *Command) { c.Thread = r.id() }

// values reads the constants that come next.
func (r *textReader) values() []Value {
	var list []Value
	for r.More() {
		p := r.Pattern()
		list = append(list, r.value(&p))
	}
	return list
}

// value translates a constant.
func (r *textReader) value(p *wat.Pattern) Value {
	typ, isNumber := strings.CutSuffix(p.Op, ".const")
	switch {
	case p.Op == "either":
		v := Value{Type: p.Op, Match: MatchEither}
		for i := range p.Either {
			v.Either = append(v.Either, r.value(&p.Either[i]))
		}
		return v
	case typ == "v128":
		lane, _, _ := strings.Cut(p.Shape, "x")
		v := Value{Type: typ, Match: MatchVector, Lane: lane}
		for _, l := range p.Lanes {
			v.Lanes = append(v.Lanes, number(lane, l))
		}
		return v
	case isNumber && len(p.Lanes) == 1:
		return number(typ, p.Lanes[0])
	}
	return r.reference(p)
}

// number translates a number or a lane.
func number(typ string, l wat.Lane) Value {
	return Value{Type: typ, Bits: l.Bits, Match: [...]Match{
		wat.NaNExact: MatchBits, wat.NaNCanonical: MatchNaNCanonical, wat.NaNArithmetic: MatchNaNArithmetic,
	}[l.NaN]}
}

// heapTypes are the types of references by their heap types, where these are not
// just without "ref" at the end.
var heapTypes = map[string]string{
	"none": "nullref", "nofunc": "nullfuncref", "noextern": "nullexternref", "noexn": "nullexnref",
	"host": "anyref", // made by the host
}

func (r *textReader) reference(p *wat.Pattern) Value {
	heap := strings.TrimPrefix(p.Op, "ref.")
	v := Value{Match: MatchNonNull}
	switch {
	case heap == "null" && p.Heap == "":
		return Value{Type: "refnull", Match: MatchNull}
	case heap == "null":
		heap, v.Match = p.Heap, MatchNull
	case p.HasRef && heap != "func": // of a function, the number is not compared: engines do not tell it
		v.Match, v.Bits = MatchHost, uint64(p.Ref)
	}
	if v.Type = heapTypes[heap]; v.Type == "" {
		v.Type = heap + "ref"
	}
	return v
}
