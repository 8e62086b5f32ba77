package inproc

import (
	"context"
	"math"
	"sync/atomic"

	"github.com/waot-project/waot/internal/abi"
)

// Code that counts fuel (docs/fuel.md) keeps what is left in a register that calls keep. While Go code runs, the count is in the place of that register among those
// of the last exit, nativeContext.saved: there it goes from one exit to the next entry, whatever calls nest in between.
//
// Code that does not count uses the register as any other. So a store has instances of one kind only.

// fuelKind says what a store has.
type fuelKind uint8

const (
	fuelUnknown fuelKind = iota // no instance yet
	fuelNone                    // instances whose code counts no fuel
	fuelExact                   // code that counts, and traps where it runs out
	fuelSlack                   // among it code that does not trap: whoever looks at the count is the host
)

// maxFuel is the most fuel there can be.
const maxFuel = math.MaxInt64

// fuelKind says how the code counts.
func (m *Module) fuelKind() fuelKind {
	switch f := m.meta.Fuel; {
	case f == nil:
		return fuelNone
	case f.Slack:
		return fuelSlack
	}
	return fuelExact
}

// mayCount fails with ErrFuel if the store has instances of the other kind than m.
func (s *Store) mayCount(m *Module) error {
	if s.fuel != fuelUnknown && (s.fuel == fuelNone) != (m.fuelKind() == fuelNone) {
		return ErrFuel
	}
	return nil
}

// setKind makes the store one of the kind of m, of which it has an instance.
func (s *Store) setKind(m *Module) {
	s.fuel = max(s.fuel, m.fuelKind())
	counts := s.fuel > fuelNone
	s.eachFiber(func() { s.outermost.counts = counts })
	if s.spare != nil {
		s.spare.outermost.counts = counts
	}
}

// count is what is left, below 0 where it has run out.
func (f *fiber) count() *uint64 { return &f.ctx.saved[savedFuel] }

// setExit makes the innermost activation the one that has left native code there.
func (s *Store) setExit(e *nativeExit) {
	count := *s.count()
	s.ctx.sp, s.ctx.fp, s.ctx.saved = e.sp, e.fp, e.saved
	if s.fuel > fuelNone {
		*s.count() = count
	}
}

// Fuel returns what is left: 0 where it has run out, and in stores whose code does not count it.
func (s *Store) Fuel() uint64 {
	if s.ctx == nil {
		return 0
	}
	if s.fuel == fuelNone {
		return 0
	}
	return uint64(max(0, int64(*s.count())))
}

// AddFuel adds n units, up to maxFuel in all. It does nothing in a closed store, and in one whose code does not count.
func (s *Store) AddFuel(n uint64) {
	if s.ctx == nil || s.fuel == fuelNone {
		return
	}
	left, more := int64(*s.count()), int64(min(n, maxFuel))
	if left > 0 {
		more = min(more, maxFuel-left)
	}
	*s.count() = uint64(left + more)
}

// ConsumeFuel takes n units away, and reports whether there were so many. If not, none is left, and code that runs owes the rest: it traps where it compares next. In a closed store, and
// in one whose code does not count, there are none.
func (s *Store) ConsumeFuel(n uint64) bool {
	switch had := s.Fuel(); {
	case n == 0:
		return true
	case had >= n:
		*s.count() -= n
		return true
	case s.ctx == nil || s.fuel == fuelNone:
	case s.depth > 0:
		*s.count() = uint64(max(int64(*s.count())-int64(min(n, maxFuel)), -maxFuel))
	default: // nobody runs who could owe anything
		*s.count() = 0
	}
	return false
}

// forgive ends a call that owes something: its last block does not run, or has trapped, and what was left is gone.
func (s *Store) forgive() {
	if s.fuel > fuelNone {
		*s.count() = uint64(max(0, int64(*s.count())))
	}
}

// refuel gives the store the fuel that it has at first.
func (s *Store) refuel() {
	if s.fuel != fuelNone {
		*s.count() = min(s.config.Fuel, maxFuel)
	}
}

// undefined runs on the goroutine's stack whenever native code has met an undefined instruction, which is a trap. enter calls it. If the trap is that fuel has run out,
// and the program adds some, the result is 0, and enter resumes the code behind the instruction.
//
//go:noinline
func undefined(c *Caller) uint64 {
	s := c.store
	if i := s.instanceAt(s.ctx.faultPC); i == nil || s.fuel <= fuelNone {
		return exitTrap
	} else if site := i.module.trapAt(uint32(s.ctx.faultPC - i.base)); site == nil || site.Code != abi.TrapOutOfFuel {
		return exitTrap
	}
	switch err := c.outOfFuel(); {
	case err != nil:
		return c.giveUp(err)
	case s.callEnded():
		s.forgive()
		return c.giveUp(s.cancelError(true))
	case int64(*s.count()) < 0:
		return exitTrap
	}
	store64(s.stack+savedPC, load64(s.stack+savedPC)+trapBytes)
	store64(s.stack+savedCount, *s.count())
	return 0
}

// outOfFuel lets the program add fuel. Nobody is inside the store meanwhile, nor can anybody go in: its calls cannot nest where the save area holds
// the state of code, and references cannot be collected where code is at no call.
func (c *Caller) outOfFuel() (err error) {
	s := c.store
	f := s.config.OutOfFuel
	if f == nil {
		return nil
	}
	returned := false
	defer c.unwind(&returned)
	defer func() {
		if !returned || err != nil {
			s.forgive()
		}
	}()
	g := atomic.SwapUintptr(&s.owner, ownerAside)
	defer atomic.StoreUintptr(&s.owner, g)
	err = f(c.Context())
	returned = true
	return err
}

// askOrTrap is for code that the host has stopped, with the count below 0: it returns the error that ends the code unless the program adds
// fuel. trap makes the trap.
func (c *Caller) askOrTrap(trap func() *Trap) error {
	if err := c.outOfFuel(); err != nil {
		return err
	}
	s := c.store
	if int64(*s.count()) >= 0 {
		return nil
	}
	s.forgive()
	return trap()
}

// preemptedSlack looks at the count of slack code that was taken off the processor. It returns the error that ends the code, if it has run out.
func (c *Caller) preemptedSlack() error {
	s := c.store
	if int64(load64(s.stack+savedCount)) >= 0 {
		return nil
	}
	s.notePreempted()
	if err := c.askOrTrap(func() *Trap { return s.trap(abi.TrapOutOfFuel) }); err != nil {
		return err
	}
	store64(s.stack+savedCount, *s.count())
	return nil
}

// unpaid looks at the count where a call returns: the last blocks may have been none that compare.
func (c *Caller) unpaid() error {
	s := c.store
	if s.fuel <= fuelNone || int64(*s.count()) >= 0 {
		return nil
	}
	return c.askOrTrap(func() *Trap { return newTrap(abi.TrapOutOfFuel, nil, 0) })
}

// outOfSlack looks at the count where slack code calls the host.
func (c *Caller) outOfSlack() error {
	s := c.store
	if s.fuel != fuelSlack || int64(*s.count()) >= 0 {
		return nil
	}
	return c.askOrTrap(func() *Trap {
		var frames []Frame
		s.walkOuter(s.depth-1, framesInto(&frames))
		return newTrap(abi.TrapOutOfFuel, frames, 0)
	})
}

// FuelHandler is called where fuel has run out. See Config.OutOfFuel.
type FuelHandler func(ctx context.Context) error
