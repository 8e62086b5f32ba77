package guestfuzz

import (
	"fmt"
	"sync"

	"github.com/waot-project/waot"
	"github.com/waot-project/waot/host"
)

// pool is compiled programs, which stores of all workers share.
type pool struct {
	mu      sync.Mutex
	entries map[uint64]*entry
}

// entry is a compiled program.
type entry struct {
	number  uint64 // the program's seed
	program *program
	object  []byte
	module  *host.Module
	users   int
	once    sync.Once
	err     error
}

const (
	// Episodes with seeds next to each other, perGeneration of them, have numPrograms programs to choose from.
	perGeneration = 200
	numPrograms   = 24
	// maxIdle bounds the programs that are kept though nobody uses them.
	maxIdle = 3 * numPrograms
)

// get returns the program of a choice. It depends on the choice alone, so that an episode can be repeated. put must follow.
func (p *pool) get(episode, choice uint64) (*entry, error) {
	number := episode/perGeneration*numPrograms + choice%numPrograms
	p.mu.Lock()
	e := p.entries[number]
	if e == nil {
		e = &entry{number: number}
		p.entries[number] = e
	}
	e.users++
	p.mu.Unlock()
	e.once.Do(func() { e.err = e.compile() })
	return e, e.err
}

func (p *pool) put(e *entry) {
	p.mu.Lock()
	e.users--
	crowded := len(p.entries) > maxIdle
	p.mu.Unlock()
	if crowded {
		p.tidy()
	}
}

// keep is get for an entry that was there; false if its module has been closed.
func (p *pool) keep(e *entry) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e == nil || p.entries[e.number] != e {
		return false
	}
	e.users++
	return true
}

// tidy closes the modules that nobody uses. Instances of them may be in use.
func (p *pool) tidy() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for number, e := range p.entries {
		if e.users == 0 {
			if e.module != nil {
				e.module.Close()
			}
			delete(p.entries, number)
		}
	}
}

func (e *entry) compile() (err error) {
	e.program = newProgram(e.number, fmt.Sprintf("p%d", e.number))
	wasm := e.program.encode()
	o := &waot.CompileOptions{Name: e.program.name, NoOptimize: e.number%4 == 0, Workers: 1}
	if e.object, err = waot.CompileObject(wasm, o); err != nil {
		return err
	}
	if e.number%2 == 0 {
		e.module, err = waot.Load(e.object, nil)
	} else {
		e.module, err = waot.Compile(wasm, o)
	}
	return err
}
