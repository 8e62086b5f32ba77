package script

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/waot-project/waot/wasmfront/wat"
)

// Script is a test script.
type Script struct {
	Name     string // without extension
	Source   string // name of the original .wast file
	Commands []Command

	files fs.FS
	forms map[string]*wat.Form // of a script in text, its modules by the names that commands have for them
}

// Module returns the bytes of a module that a command names. The error of a text
// that is malformed or not supported is a *wat.Error.
func (s *Script) Module(filename string) ([]byte, error) {
	m, err := s.module(filename)
	if err != nil {
		return nil, err
	}
	return m.Wasm, nil
}

func (s *Script) module(filename string) (*wat.Module, error) {
	if f := s.forms[filename]; f != nil {
		return f.Assemble()
	}
	b, err := readFile(s.files, filename)
	if err == nil && path.Ext(filename) == ".wat" {
		return wat.Assemble(b)
	}
	return &wat.Module{Wasm: b}, err
}

// The values of Command.ModuleType.
const (
	binaryModule = "binary"
	textModule   = "text"
)

// CommandType is the type of a command, as written.
type CommandType string

// The types of commands.
const (
	Module                CommandType = "module"
	ModuleDefinition      CommandType = "module_definition"
	ModuleInstance        CommandType = "module_instance"
	Register              CommandType = "register"
	ActionCommand         CommandType = "action"
	AssertReturn          CommandType = "assert_return"
	AssertTrap            CommandType = "assert_trap"
	AssertExhaustion      CommandType = "assert_exhaustion"
	AssertException       CommandType = "assert_exception"
	AssertSuspension      CommandType = "assert_suspension"
	AssertInvalid         CommandType = "assert_invalid"
	AssertMalformed       CommandType = "assert_malformed"
	AssertUnlinkable      CommandType = "assert_unlinkable"
	AssertUninstantiable  CommandType = "assert_uninstantiable"
	AssertInvalidCustom   CommandType = "assert_invalid_custom"
	AssertMalformedCustom CommandType = "assert_malformed_custom"
	Thread                CommandType = "thread"
	Wait                  CommandType = "wait"
)

// commandTypes are the types that exist.
var commandTypes = [...]CommandType{
	Module, ModuleDefinition, ModuleInstance, Register, ActionCommand, AssertReturn, AssertTrap,
	AssertExhaustion, AssertException, AssertSuspension, AssertInvalid, AssertMalformed, AssertUnlinkable,
	AssertUninstantiable, AssertInvalidCustom, AssertMalformedCustom, Thread, Wait,
}

// Command is a command of a script. Fields that its type does not have are
// zero.
type Command struct {
	Type CommandType `json:"type"`
	Line int         `json:"line"` // in the original

	Filename   string   `json:"filename"`    // of the module
	ModuleType string   `json:"module_type"` // binary or text
	Text       string   `json:"text"`        // how the expected message begins
	Features   []string `json:"features"`    // that the module needs; see Script.Needs

	Name     string `json:"name"`     // of the instance or thread
	As       string `json:"as"`       // register: the name to import from
	Instance string `json:"instance"` // module_instance: its name
	Of       string `json:"module"`   // module_instance: name of the definition

	Action   *Action `json:"action"`
	Expected []Value `json:"expected"`

	SharedModule string    `json:"shared_module"` // thread
	Commands     []Command `json:"commands"`      // thread
	Thread       string    `json:"thread"`        // wait
}

// IsText reports whether the command's module exists in the text format only.
func (c *Command) IsText() bool { return c.ModuleType == textModule }

// HasModule reports whether the command has a module.
func (c *Command) HasModule() bool { return c.Filename != "" }

// ActionType is the type of an action, as written.
type ActionType string

// The types of actions.
const (
	Invoke ActionType = "invoke" // call an exported function
	Get    ActionType = "get"    // read an exported global
)

// Action is what a command does to an instance.
type Action struct {
	Type   ActionType `json:"type"`
	Module string     `json:"module"` // name of the instance; the current if empty
	Field  string     `json:"field"`  // name of the export, any Unicode
	Args   []Value    `json:"args"`
}

// parse reads a script from its JSON.
func parse(files fs.FS, name string) (*Script, error) {
	b, err := readFile(files, name+jsonExt)
	if err != nil {
		return nil, err
	}
	var j struct {
		Source   string    `json:"source_filename"`
		Commands []Command `json:"commands"`
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields() // their content would be lost
	err = d.Decode(&j)
	if _, more := d.Token(); err == nil && more != io.EOF {
		err = errors.New("something follows the script")
	}
	if err == nil && j.Commands == nil {
		err = errors.New("no commands")
	}
	if err != nil {
		return nil, fmt.Errorf("script %s: %w", name, err)
	}
	s := &Script{Name: name, Source: path.Base(j.Source), Commands: j.Commands, files: files}
	if err := s.normalize(s.Commands); err != nil {
		return nil, err
	}
	return s, nil
}

// normalize checks the types of commands and fills in what wabt leaves out.
func (s *Script) normalize(commands []Command) error {
	for i := range commands {
		c := &commands[i]
		if !isCommandType(c.Type) {
			return fmt.Errorf("script %s: line %d: unknown type of command %q", s.Name, c.Line, c.Type)
		}
		if err := checkAction(c); err != nil {
			return fmt.Errorf("script %s: line %d: %w", s.Name, c.Line, err)
		}
		if c.HasModule() && c.ModuleType == "" {
			c.ModuleType = binaryModule
			if strings.HasSuffix(c.Filename, ".wat") {
				c.ModuleType = textModule
			}
		}
		if err := s.normalize(c.Commands); err != nil {
			return err
		}
	}
	return nil
}

// checkAction checks that a command has the action that its type needs, and none of a type
// that does not exist.
func checkAction(c *Command) error {
	switch c.Type {
	case ActionCommand, AssertReturn, AssertTrap, AssertExhaustion, AssertException, AssertSuspension:
		if c.Action == nil {
			return fmt.Errorf("%s without an action", c.Type)
		}
	}
	if c.Type == AssertReturn && hasMatch(c.Expected, MatchAny) {
		return fmt.Errorf("%s of a number without a value", c.Type) // any would pass
	}
	if c.Action == nil {
		return nil
	}
	if c.Action.Type != Invoke && c.Action.Type != Get {
		return fmt.Errorf("unknown type of action %q", c.Action.Type)
	}
	if hasMatch(c.Action.Args, MatchAny, MatchNonNull, MatchEither, MatchNaNCanonical, MatchNaNArithmetic) {
		return errors.New("an argument is no value")
	}
	return nil
}

// hasMatch reports whether one of the values is matched in one of the ways.
func hasMatch(values []Value, ways ...Match) bool {
	return slices.ContainsFunc(values, func(v Value) bool {
		return slices.Contains(ways, v.Match) || hasMatch(v.Either, ways...)
	})
}

func isCommandType(t CommandType) bool {
	for _, k := range commandTypes {
		if k == t {
			return true
		}
	}
	return false
}

// Needs returns for each command the features it needs: its own and those of
// the module that it defines, instantiates or acts on. To register an instance checks
// nothing, so that needs no features, even if the instance was left out. Imports from
// a module that needs features are not followed.
func (s *Script) Needs() [][]string {
	needs := make([][]string, len(s.Commands))
	instances := map[string][]string{} // "" is the current one
	definitions := map[string][]string{}
	set := func(m map[string][]string, name string, f []string) {
		m[name], m[""] = f, f
	}
	for i := range s.Commands {
		c := &s.Commands[i]
		f := c.Features
		switch c.Type {
		case Module:
			set(instances, c.Name, f)
			set(definitions, c.Name, f)
		case ModuleDefinition:
			set(definitions, c.Name, f)
		case ModuleInstance:
			f = union(f, definitions[c.Of])
			set(instances, c.Instance, f)
		case Thread:
			f = union(f, instances[c.SharedModule])
		default:
			if c.Action != nil {
				f = union(f, instances[c.Action.Module])
			}
		}
		needs[i] = f
	}
	return needs
}

// union returns the members of a and b.
func union(a, b []string) []string {
	u := append([]string(nil), a...)
	for _, f := range b {
		found := false
		for _, g := range a {
			found = found || f == g
		}
		if !found {
			u = append(u, f)
		}
	}
	return u
}

// The extensions of scripts in JSON and in text.
const (
	jsonExt = ".json"
	textExt = ".wast"
)

// IsScript reports whether a file is a script by its name.
func IsScript(file string) bool {
	ext := filepath.Ext(file)
	return ext == jsonExt || ext == textExt
}

// Open reads the script in a file NAME.json, with its modules beside it, or
// NAME.wast.
func Open(file string) (*Script, error) {
	dir, base := filepath.Split(file)
	if dir == "" {
		dir = "."
	}
	if name, ok := strings.CutSuffix(base, textExt); ok {
		return openText(os.DirFS(dir), name)
	}
	return parse(os.DirFS(dir), strings.TrimSuffix(base, jsonExt))
}

// openText reads the script in a file NAME.wast.
func openText(files fs.FS, name string) (*Script, error) {
	text, err := readFile(files, name+textExt)
	if err != nil {
		return nil, err
	}
	return parseText(name, text)
}
