package wasirun

import (
	"errors"
	"fmt"

	"github.com/waot-project/waot/host/inproc"
)

// ExitError says that the program ended itself.
type ExitError struct {
	// Status is the exit status the program gave.
	Status uint32
}

// Error implements error.
func (e *ExitError) Error() string { return fmt.Sprintf("exit status %d", e.Status) }

// Run runs a program from load to exit and gives its exit status. See New and
// Program.Run for errors.
func Run(img *inproc.Image, cfg Config) (status uint32, err error) {
	p, err := New(img, cfg)
	var exit *ExitError
	if errors.As(err, &exit) {
		return exit.Status, nil
	}
	if err != nil {
		return 0, err
	}
	status, err = p.Run()
	return status, errors.Join(err, p.Close())
}
