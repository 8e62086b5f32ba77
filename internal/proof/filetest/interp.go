package filetest

import (
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/interp"
	"github.com/waot-project/waot/clif/text"
	"github.com/waot-project/waot/clif/verify"
)

// Interp is the interpreter as an engine.
type Interp struct {
	Options interp.Options
	// Rewrite, if not nil, changes each function before it is verified again and run.
	Rewrite func(*clif.Func) error
	Label   string // added to the name
}

// Name is "interp", and the label.
func (e Interp) Name() string { return "interp" + e.Label }

// Load rewrites a copy of the functions, if there is something to do.
func (e Interp) Load(file *text.File) (Program, error) {
	if e.Rewrite == nil {
		return interpProgram{e, file}, nil
	}
	file, err := text.Parse(file.String())
	if err != nil {
		return nil, err
	}
	for i := range file.Funcs {
		f := file.Funcs[i].Func
		if err := e.Rewrite(f); err != nil {
			return nil, err
		}
		if err := verify.Func(f); err != nil {
			return nil, err
		}
	}
	return interpProgram{e, file}, nil
}

// Fuel is how much fuel an instance has, on engines whose code counts it.
const Fuel = 1_000_000_000

type interpProgram struct {
	Interp
	file *text.File
}

func (p interpProgram) Start() (Instance, error) {
	o := p.Options
	o.Fuel = Fuel
	s := interp.NewStore(o)
	m := p.file.Mod
	externs := map[clif.ImportName]interp.Extern{}
	for i := range m.Funcs {
		if d := &m.Funcs[i]; d.Import != nil {
			sig := *m.FuncSig(clif.FuncIndex(i))
			externs[*d.Import] = s.NewHostFunc(d.Name, sig, func(_ *interp.HostCall, args, results []uint64) error {
				Echo(&sig, args, results)
				return nil
			})
		}
	}
	for i := range m.Memories {
		if d := &m.Memories[i]; d.Import != nil {
			externs[*d.Import] = interp.NewMemory(d.Min, d.Max, d.HasMax)
		}
	}
	for i := range m.Tables {
		if d := &m.Tables[i]; d.Import != nil {
			externs[*d.Import] = interp.NewTable(d.Elem, d.Min, d.Max, d.HasMax)
		}
	}
	for i := range m.Globals {
		if d := &m.Globals[i]; d.Import != nil {
			externs[*d.Import] = &interp.Global{Type: d.Type, Mutable: d.Mutable}
		}
	}
	inst, err := s.Instantiate(m, p.file.Body, func(module, name string) (interp.Extern, bool) {
		e, ok := externs[clif.ImportName{Module: module, Name: name}]
		return e, ok
	})
	if err != nil {
		return nil, err
	}
	return interpInstance{inst}, nil
}

func (interpProgram) Close() error { return nil }

type interpInstance struct{ *interp.Instance }

func (i interpInstance) Call(fn clif.FuncIndex, args []uint64) ([]uint64, error) {
	return i.Func(fn).Call(args)
}

func (interpInstance) Close() error { return nil }
