package stop

import "context"

// Until runs work with a flag for it to poll, which is set when ctx ends; it is nil if ctx is nil or never ends. If that ends work, the error is
// Stopped. Nothing of it runs any more when Until returns, if work has seen to that for its own part.
func Until(ctx context.Context, work func(*Flag) error) error {
	if ctx == nil || ctx.Done() == nil {
		return work(nil)
	}
	flag := new(Flag)
	set := make(chan struct{})
	release := context.AfterFunc(ctx, func() {
		flag.Set()
		close(set)
	})
	if ctx.Err() != nil {
		flag.Set() // the function may not run before work does
	}
	err := recovering(flag, work)
	if !release() {
		<-set
	}
	return err
}

func recovering(flag *Flag, work func(*Flag) error) (err error) {
	defer Recover(&err)
	return work(flag)
}
