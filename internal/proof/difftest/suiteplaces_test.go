package difftest

import (
	"errors"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/spectest"
	"github.com/waot-project/waot/spectest/interpengine"
	"github.com/waot-project/waot/spectest/nativeengine"
	"github.com/waot-project/waot/spectest/script"
)

// noting is an engine that notes the places of traps.
type noting struct {
	spectest.Engine
	places []*spectest.Place
}

func (e *noting) note(err error) {
	var t spectest.Trapper
	if errors.As(err, &t) {
		e.places = append(e.places, spectest.PlaceOf(t))
	}
}

func (e *noting) NewStore() (spectest.Store, error) {
	s, err := e.Engine.NewStore()
	return notingStore{s, e}, err
}

type notingStore struct {
	spectest.Store
	e *noting
}

func (s notingStore) Instantiate(m spectest.Module, imports func(module, name string) (spectest.Extern, bool)) (spectest.Instance, error) {
	i, err := s.Store.Instantiate(m, imports)
	s.e.note(err)
	return notingInstance{i, s.e}, err
}

type notingInstance struct {
	spectest.Instance
	e *noting
}

func (i notingInstance) Invoke(name string, args []uint64) ([]spectest.Value, error) {
	v, err := i.Instance.Invoke(name, args)
	i.e.note(err)
	return v, err
}

// TestSuitePlaces: in the scripts of the official suite, traps arise where they do on the CLIF interpreter.
func TestSuitePlaces(t *testing.T) {
	notEmulated(t)
	s, err := script.OpenWazero()
	if err != nil {
		testenv.Missing(t, err.Error())
	}
	g, err := s.Group("v2")
	if err != nil {
		t.Fatal(err)
	}
	optimised := &interpengine.Engine{Label: "-O1", Rewrite: func(f *clif.Func) error { return new(opt.Optimizer).Run(f, opt.O1) }}
	compared := 0
	step := testenv.Cases(20, 20, 1)
	for i, name := range g.Scripts {
		if i%step != 0 {
			continue
		}
		sc, err := g.Script(name)
		if err != nil {
			t.Fatal(err)
		}
		run := func(e spectest.Engine) []*spectest.Place {
			n := &noting{Engine: e}
			if _, err := spectest.Run(sc, n); err != nil {
				t.Fatal(err)
			}
			return n.places
		}
		want := run(&interpengine.Engine{})
		for _, e := range []spectest.Engine{optimised, nativeengine.New(opt.O0), nativeengine.New(opt.O1)} {
			got := run(e)
			if len(got) != len(want) {
				t.Errorf("%s: %s: %d traps, want %d", name, e.Name(), len(got), len(want))
				continue
			}
			for i, p := range got {
				if p.Differs(want[i]) {
					t.Errorf("%s: %s: trap %d is in %v, want %v", name, e.Name(), i, p, want[i])
				}
				if p != nil && want[i] != nil {
					compared++
				}
			}
		}
	}
	t.Logf("%d places of traps compared", compared)
	if compared == 0 {
		t.Error("none")
	}
}
