package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/waot-project/waot/host"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/spectest"
)

// placeOf returns the place of a trap of compiled code.
func placeOf(t *host.Trap) *spectest.Place { return spectest.PlaceOf(trapWithPlace{t}) }

// trapWithPlace gives a trap the methods that package spectest asks for.
type trapWithPlace struct{ *host.Trap }

func (t trapWithPlace) TrapCode() abi.TrapCode { return abi.TrapCode(t.Code) }

func (t trapWithPlace) TrapPlace() (fn, offset uint32) {
	if len(t.Backtrace) == 0 {
		return 0, 0
	}
	return t.Backtrace[0].Func, t.Backtrace[0].Offset
}

// places is how places of traps, and exceptions, compare with those on the CLIF interpreter.
type places struct {
	Compared    int          `json:"compared"`
	Exceptions  int          `json:"exceptions,omitempty"`   // whose tags and arguments were compared
	NotCompared string       `json:"not_compared,omitempty"` // why
	Differences []difference `json:"-"`
}

// placesOf compares the places of the traps and the exceptions of ours, if there are any. As one run may change what the next sees of files, only what differs twice
// counts.
func placesOf(ours *execution, again, clif func() (*execution, error)) (*places, error) {
	if !ours.anyPlace() {
		return nil, nil
	}
	p := &places{}
	for range 2 {
		theirs, err := clif()
		if errors.Is(err, context.DeadlineExceeded) {
			return &places{NotCompared: "the CLIF interpreter takes too long"}, nil
		}
		if err != nil {
			return nil, err
		}
		if p = comparePlaces(ours, theirs); len(p.Differences) == 0 {
			break
		}
		if ours, err = again(); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (o *execution) anyPlace() bool {
	for i := range o.Calls {
		if o.Calls[i].Place != nil || o.Calls[i].Exception != "" {
			return true
		}
	}
	return o.StartPlace != nil
}

// inside stands between a trap and its place.
const inside = ", in "

// comparePlaces compares the places that are known of both outcomes.
func comparePlaces(a, b *execution) *places {
	p := &places{}
	compare := func(what, trap string, x, y *spectest.Place) {
		if x != nil && y != nil {
			p.Compared++
		}
		if x.Differs(y) {
			p.Differences = append(p.Differences, difference{"place of the trap of " + what, fmt.Sprint(trap, inside, x), b.Engine, fmt.Sprint(trap, inside, y)})
		}
	}
	compare("instantiation", a.Start, a.StartPlace, b.StartPlace)
	for i := range min(len(a.Calls), len(b.Calls)) {
		x, y := &a.Calls[i], &b.Calls[i]
		compare(x.Call, x.String(), x.Place, y.Place)
		if x.Exception != "" && y.Exception != "" {
			p.Exceptions++
			if !sameException(x.Exception, y.Exception) {
				p.Differences = append(p.Differences, difference{"exception of " + x.Call, x.Exception, b.Engine, y.Exception})
			}
		}
	}
	return p
}

// differences are those of p, which may be nil.
func (p *places) differences() []difference {
	if p == nil {
		return nil
	}
	return p.Differences
}

func (p *places) String() string {
	switch {
	case p == nil:
		return ""
	case p.NotCompared != "":
		return ", places of traps are not compared: " + p.NotCompared
	}
	text := ""
	if p.Compared > 0 || p.Exceptions == 0 {
		text = fmt.Sprintf(", places of %d traps", p.Compared)
	}
	if p.Exceptions > 0 {
		text += fmt.Sprintf(", tags and arguments of %d exceptions", p.Exceptions)
	}
	return text
}
