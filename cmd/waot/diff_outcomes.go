package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/meta"
	"github.com/waot-project/waot/spectest"
)

// callOutcome is what a call did.
type callOutcome struct {
	Call    string   `json:"call"`
	Results []string `json:"results,omitempty"`
	Trap    string   `json:"trap,omitempty"`
	// Place is that of the trap, if the engine says it.
	Place *spectest.Place `json:"place,omitempty"`
	Exit  *uint32         `json:"exit,omitempty"`
	// Exception is what nobody has caught, or unknownException if the engine says no more.
	Exception string `json:"exception,omitempty"`
}

// uncaught is the outcome of an instantiation or call that an exception ends. unknownException stands for one of which an engine says nothing else.
const (
	uncaught         = "exception"
	unknownException = "unknown"
)

// exceptionText describes an exception by the index of its tag in the module, or -1, and its arguments.
func exceptionText(tag int, params []meta.ValType, words []uint64) string {
	name := "another module's tag"
	if tag >= 0 {
		name = fmt.Sprintf("tag %d", tag)
	}
	return fmt.Sprintf("%s (%s)", name, strings.Join(formatValues(params, words), ", "))
}

// sameException reports whether two descriptions can be of one exception.
func sameException(a, b string) bool {
	return a == b || a == unknownException || b == unknownException
}

func (o *callOutcome) String() string {
	switch {
	case o.Trap != "":
		return "trap: " + o.Trap
	case o.Exception != "":
		return uncaught
	case o.Exit != nil:
		return fmt.Sprintf("exit %d", *o.Exit)
	}
	return fmt.Sprint(o.Results)
}

// execution is what a run of one engine did.
type execution struct {
	Engine string `json:"engine"`
	Start  string `json:"start,omitempty"` // why instantiation failed
	// StartPlace is that of the trap in Start, if it is one and the engine says it.
	StartPlace *spectest.Place `json:"start_place,omitempty"`

	Calls  []callOutcome `json:"calls"`
	Stdout string        `json:"stdout"` // hash and size
	Stderr string        `json:"stderr"`
	Memory string        `json:"memory,omitempty"`
	// Imports is how many calls of stand-ins there were, and a hash of them; ImportCalls are the first.
	Imports     string   `json:"imports,omitempty"`
	ImportCalls []string `json:"import_calls,omitempty"`
	// Globals are those exported, of numeric type.
	Globals []globalOutcome `json:"globals,omitempty"`
}

// globalOutcome is an exported global at the end.
type globalOutcome struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// difference is something in which two outcomes differ.
type difference struct {
	What   string `json:"what"`
	Waot   string `json:"waot"`
	Engine string `json:"other_engine"`
	Other  string `json:"other"`
}

// agreesWith says with which of two outcomes a judge agrees.
func agreesWith(ours, theirs, judge *execution) string {
	switch {
	case len(compare(ours, judge)) == 0:
		return "waot"
	case len(compare(theirs, judge)) == 0:
		return "wazero"
	}
	return "neither"
}

func hashOf(b []byte) string {
	h := sha256.Sum256(b)
	return fmt.Sprintf("%s (%d bytes)", hex.EncodeToString(h[:8]), len(b))
}

// trapClass returns a trap's words as far as both engines tell them apart: wazero has one
// for all accesses to tables.
func trapClass(code abi.TrapCode) string {
	switch code {
	case abi.TrapTableOutOfBounds, abi.TrapUndefinedElement, abi.TrapUninitializedElement:
		return "invalid table access"
	case abi.TrapStackOverflow:
		return "stack overflow"
	}
	return code.Message()
}

// compare lists the differences of two outcomes.
func compare(a, b *execution) []difference {
	diffs := []difference{}
	add := func(what, x, y string) {
		if x != y {
			diffs = append(diffs, difference{what, x, b.Engine, y})
		}
	}
	add("instantiation", a.Start, b.Start)
	for i := range min(len(a.Calls), len(b.Calls)) {
		x, y := &a.Calls[i], &b.Calls[i]
		add(x.Call, x.String(), y.String())
		if x.Exception != "" && y.Exception != "" && !sameException(x.Exception, y.Exception) {
			add("exception of "+x.Call, x.Exception, y.Exception)
		}
	}
	compareImports(a, b, add)
	add("number of calls", fmt.Sprint(len(a.Calls)), fmt.Sprint(len(b.Calls)))
	add("standard output", a.Stdout, b.Stdout)
	add("standard error", a.Stderr, b.Stderr)
	add("memory", a.Memory, b.Memory)
	for i := range min(len(a.Globals), len(b.Globals)) {
		add("global "+a.Globals[i].Name, a.Globals[i].Value, b.Globals[i].Value)
	}
	return diffs
}
