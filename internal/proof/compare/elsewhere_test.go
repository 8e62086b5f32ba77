package compare

import (
	"io"
	"strings"
	"testing"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host"
	"github.com/waot-project/waot/internal/proof/gobpipe"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/spectest"
)

// TestElsewhere: a process that plays cases is compared with the engines: what it tells otherwise is noticed.
func TestElsewhere(t *testing.T) {
	if err := host.Preemption(); err != nil {
		testenv.Missing(t, err.Error())
	}
	c := Single(`(module (memory (export "memory") 1) (global (export "g") (mut i32) (i32.const 3))
		(func (export "f") (param i32) (result i32) (i32.store (local.get 0) (i32.const 7)) (global.set 0 (local.get 0)) (i32.add (local.get 0) (i32.const 1))))`,
		Call{Func: "f", Args: []uint64{8}}, Call{Func: "f", Args: []uint64{1 << 20}})
	for name, lie := range map[string]struct {
		tell func(*reply)
		want string // in a failure; empty for none
	}{
		"the truth": {func(*reply) {}, ""},
		"value":     {func(a *reply) { a.History.Events[1].Values[0].Bits++ }, "f([0x8])"},
		"place":     {func(a *reply) { a.History.Events[2].Place.Offset++ }, "f([0x100000])"},
		"memory":    {func(a *reply) { a.History.Memories++ }, "memories afterwards"},
		"global":    {func(a *reply) { a.History.Globals[0].Bits++ }, "globals afterwards"},
		"error":     {func(a *reply) { a.Err = "broken" }, "there: broken"},
	} {
		t.Run(name, func(t *testing.T) {
			askReader, askWriter := io.Pipe()
			replyReader, replyWriter := io.Pipe()
			go gobpipe.Serve(askReader, replyWriter, func(q *request) *reply {
				a := q.play()
				lie.tell(a)
				return a
			})
			p := &Process{gobpipe.Connect[request, reply](replyReader, askWriter)}
			defer p.Close()
			there := p.With("there", compile.Options{OptLevel: opt.O1, Target: compile.HostTarget()})
			x := &Harness{Judge: Interpreters()[0], Engines: []spectest.Engine{Natives()[1]}, Elsewhere: []*Elsewhere{there}}
			failures := x.failures(t, c)
			if lie.want == "" && len(failures) > 0 || lie.want != "" && (len(failures) != 1 || !strings.Contains(failures[0], lie.want)) {
				t.Errorf("%q, want %q", failures, lie.want)
			}
		})
	}
}
