package stop

import "sync"

// Group runs parts of a computation on goroutines of their own. A panic there, of a poll or another one, goes on in Wait, so that whoever
// guards the computation guards all of it. The zero value is ready.
type Group struct {
	wg       sync.WaitGroup
	mu       sync.Mutex
	panicked any
}

// Go runs f on a goroutine of its own.
func (g *Group) Go(f func()) {
	g.wg.Go(func() {
		defer func() {
			if r := recover(); r != nil {
				g.mu.Lock()
				g.panicked = r
				g.mu.Unlock()
			}
		}()
		f()
	})
}

// Wait waits for all, and panics with what one of them panicked with. A function that calls Go and may panic itself must defer Wait as well, so that
// no part runs on behind it.
func (g *Group) Wait() {
	g.wg.Wait()
	if g.panicked != nil {
		panic(g.panicked)
	}
}
