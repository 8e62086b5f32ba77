// Package fuel says what operators of WebAssembly cost where compiled code counts them.
//
// Place in the pipeline: beside the operator table; the front end charges each basic block with what it says.
//
// Input: the text of a table of costs.
// Output: the cost of each operator, and the text of a table, which objects record.
package fuel

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/waot-project/waot/wasmfront"
)

// Costs are what operators cost, in units of fuel. They are immutable.
type Costs struct {
	pages [wasmfront.NumOpPages]*[256]uint16
	text  string
}

// The default costs of what takes longer than other operators, in units: an operator costs 1.
const (
	costCall  = 5
	costBulk  = 5
	costThrow = 100
	costGrow  = 1000
)

// Max is the most that an operator may cost.
const Max = 1000

// What the operators cost that work on many bytes or elements, besides what the table says.
const (
	// BytesShift: a unit for each 64 bytes of memory.
	BytesShift = 6
	// ElementsShift: a unit for each 8 elements of tables.
	ElementsShift = 3
	// ValuesShift: a unit for each 8 values that a branch, a return or a new exception carries, and, when a function begins, for each 8 of its parameters and other locals.
	ValuesShift = 3
)

// marks are operators that only mark a place in the code: they cost nothing, and no table can change that.
var marks = []wasmfront.Opcode{wasmfront.OpBlock, wasmfront.OpLoop, wasmfront.OpElse, wasmfront.OpEnd,
	wasmfront.OpTryTable, wasmfront.OpTry, wasmfront.OpCatch, wasmfront.OpCatchAll, wasmfront.OpDelegate}

// repeats are operators by which code repeats itself. They must cost something, or a loop would cost nothing.
var repeats = []wasmfront.Opcode{wasmfront.OpBr, wasmfront.OpBrIf, wasmfront.OpBrTable, wasmfront.OpBrOnNull, wasmfront.OpBrOnNonNull,
	wasmfront.OpCall, wasmfront.OpCallIndirect, wasmfront.OpCallRef, wasmfront.OpReturnCall, wasmfront.OpReturnCallIndirect, wasmfront.OpReturnCallRef,
	wasmfront.OpThrow, wasmfront.OpThrowRef, wasmfront.OpRethrow}

// defaults are the default costs that are not 1, by name.
var defaults = map[string]uint16{
	"nop": 0, "drop": 0,
	"call": costCall, "call_indirect": costCall, "call_ref": costCall,
	"return_call": costCall, "return_call_indirect": costCall, "return_call_ref": costCall,
	"memory.copy": costBulk, "memory.fill": costBulk, "memory.init": costBulk,
	"table.copy": costBulk, "table.fill": costBulk, "table.init": costBulk,
	"throw": costThrow, "throw_ref": costThrow, "rethrow": costThrow,
	"memory.grow": costGrow, "table.grow": costGrow,
}

// Error says what is wrong with the text of a table.
type Error struct {
	Line int
	Msg  string
}

func (e *Error) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Msg) }

// Parse reads a table: lines of the name of an operator, as in the text format, and its cost, from 0 to Max. Operators that are not named have their default
// cost. Empty lines do not count, nor what stands behind ";;". An error is an *Error.
func Parse(text string) (*Costs, error) {
	given := map[string]uint16{}
	names := map[string]wasmfront.Opcode{}
	for _, op := range wasmfront.Opcodes() {
		names[op.String()] = op
	}
	for n, line := range strings.Split(strings.TrimPrefix(text, "\ufeff"), "\n") {
		line, _, _ = strings.Cut(line, ";;")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		last := len(words) - 1
		name := strings.Join(words[:last], " ")
		op, known := names[name]
		cost, err := strconv.ParseUint(words[last], 10, 64)
		msg := ""
		switch _, twice := given[name]; {
		case last == 0:
			msg = fmt.Sprintf("%q is no name and cost", words[0])
		case !known:
			msg = fmt.Sprintf("%q is no operator", name)
		case err != nil || cost > Max:
			msg = fmt.Sprintf("%q is no cost from 0 to %d", words[last], Max)
		case twice:
			msg = fmt.Sprintf("%s has a cost already", name)
		case slices.Contains(marks, op):
			msg = fmt.Sprintf("%s only marks a place, and costs nothing", name)
		case cost == 0 && slices.Contains(repeats, op):
			msg = fmt.Sprintf("%s must cost something, or a loop would cost nothing", name)
		}
		if msg != "" {
			return nil, &Error{Line: n + 1, Msg: msg}
		}
		given[name] = uint16(cost)
	}
	return makeCosts(given), nil
}

// Default returns the default costs.
func Default() *Costs { return makeCosts(nil) }

// makeCosts returns the default costs but for those given by name.
func makeCosts(given map[string]uint16) *Costs {
	c := &Costs{}
	var text strings.Builder
	for _, op := range wasmfront.Opcodes() {
		name := op.String()
		cost, other := defaults[name]
		switch {
		case slices.Contains(marks, op):
			cost = 0
		case !other:
			cost = 1
		}
		if x, ok := given[name]; ok && x != cost {
			cost = x
			fmt.Fprintf(&text, "%s %d\n", name, x)
		}
		page := op.Page()
		if c.pages[page] == nil {
			c.pages[page] = new([256]uint16)
		}
		c.pages[page][op&0xFF] = cost
	}
	c.text = text.String()
	return c
}

// Of returns what op costs, without what comes by size.
func (c *Costs) Of(op wasmfront.Opcode) uint32 {
	if p := c.pages[op.Page()]; p != nil {
		return uint32(p[op&0xFF])
	}
	return 1
}

// String returns the text of the costs that are not the default ones, as Parse reads it, in the order of the operators: the same for equal costs.
func (c *Costs) String() string { return c.text }
