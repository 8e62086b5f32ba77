package wasirun

import (
	"context"
	"errors"

	"github.com/waot-project/waot/host"
)

// Start runs the _start of an instance that imports the system, and gives its exit
// status. A module without one gives ErrNoStart; the other errors are those of a
// call. When ctx ends, the program does, also where it waits for input or sleeps.
//
// A program may call exit in its module's start function already: then Store.Instantiate
// gives an *ExitError.
func (s *System) Start(ctx context.Context, inst *host.Instance) (status uint32, err error) {
	f, err := inst.Func("_start")
	if errors.Is(err, host.ErrNotExported) {
		err = ErrNoStart
	}
	if err == nil {
		err = f.CallRaw(ctx, nil)
	}
	return exitStatus(err)
}

// Initialize runs the _initialize of an instance, if it exports one: that is what libraries
// need before their other functions can be called. If the program exits meanwhile the error
// is an *ExitError.
func (s *System) Initialize(ctx context.Context, inst *host.Instance) error {
	f, err := inst.Func("_initialize")
	if errors.Is(err, host.ErrNotExported) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.CallRaw(ctx, nil)
}

// exitStatus makes a status of an *ExitError.
func exitStatus(err error) (uint32, error) {
	var exit *ExitError
	if errors.As(err, &exit) {
		return exit.Code, nil
	}
	return 0, err
}
