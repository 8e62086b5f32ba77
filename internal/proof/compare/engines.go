package compare

import (
	"errors"
	"runtime"
	"sync"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/spectest"
	"github.com/waot-project/waot/spectest/interpengine"
	"github.com/waot-project/waot/spectest/nativeengine"
)

// named is a native engine with its own name.
type named struct {
	*nativeengine.Engine
	name string
}

func (n named) Name() string { return n.name }

// Natives are the ways to compile that this machine can run, from the lowest level on.
var Natives = sync.OnceValue(func() []spectest.Engine {
	engine := func(name string, l opt.Level, cpu string) spectest.Engine {
		return named{&nativeengine.Engine{Options: compile.Options{OptLevel: l, Verify: true, Jobs: 1, CPU: cpu}}, name}
	}
	list := []spectest.Engine{engine("native-O0", opt.O0, ""), engine("native-O1", opt.O1, "")}
	if runtime.GOARCH != "amd64" {
		return list
	}
	v3 := engine("native-O1-v3", opt.O1, "v3")
	s, err := v3.NewStore()
	if err != nil {
		return list
	}
	defer s.Close()
	var cpu *inproc.CPUError
	if _, err := s.Compile([]byte("\x00asm\x01\x00\x00\x00")); errors.As(err, &cpu) {
		return list
	}
	return append(list, v3)
})

// Interpreters returns the CLIF interpreter twice: for the output of translation, and for the output of the mid-end.
func Interpreters() []spectest.Engine {
	return []spectest.Engine{&interpengine.Engine{}, &interpengine.Engine{Label: "-O1", Rewrite: func(f *clif.Func) error {
		return new(opt.Optimizer).Run(f, opt.O1)
	}}}
}
