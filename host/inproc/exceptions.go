package inproc

import (
	"errors"
	"fmt"
	"slices"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/meta"
)

// Tag is a tag of exceptions.
type Tag struct {
	store *Store
	typ   *funcType // its parameters are the arguments of exceptions
	addr  uintptr   // what stands for it in compiled code
}

func (*Tag) isExtern() {}

// Type returns the type whose parameters are the arguments of the tag's exceptions; it must not be changed.
func (t *Tag) Type() *meta.FuncType { return &t.typ.FuncType }

// Store returns the store of the tag.
func (t *Tag) Store() *Store { return t.store }

// NewTag makes a tag whose exceptions have arguments of the given types, which say nothing beyond classes. Errors are ErrType, ErrBusy, ErrClosed and those of memory.
func (s *Store) NewTag(params []meta.ValType) (*Tag, error) {
	done, err := s.hold()
	if err != nil {
		return nil, err
	}
	defer done()
	typ, err := s.internType(&meta.FuncType{Params: params})
	if err != nil {
		return nil, err
	}
	addr, err := s.alloc(tagBytes)
	if err != nil {
		return nil, err
	}
	return s.addTag(typ.funcType, addr), nil
}

// tagBytes is how much memory a tag of the host takes, whose address stands for it.
const tagBytes = 8

func (s *Store) addTag(typ *funcType, addr uintptr) *Tag {
	if s.tags == nil {
		s.tags = map[uintptr]*Tag{}
	}
	t := &Tag{s, typ, addr}
	s.tags[addr] = t
	return t
}

// Exception is an exception that compiled code or a host function has thrown. As an error it is one that no compiled code has caught; a host function throws it by
// returning it.
type Exception struct {
	tag *Tag
	// args are the words of its arguments as Go code has them, while Go code has the exception, or as compiled code has them, while native is set.
	args   []uint64
	native bool
}

// NewException returns an exception with a tag and the words of its arguments, which it keeps: floats as their bits, a v128 as two words, references as words of the store.
// Errors are ErrType and *ReferenceError.
func NewException(tag *Tag, args []uint64) (*Exception, error) {
	t := tag.typ
	if len(args) != len(t.args) {
		return nil, ErrType
	}
	args = slices.Clone(args)
	for i := range args {
		args[i] &= t.args[i].mask
	}
	if err := tag.store.checkArgs(t, args); err != nil {
		return nil, err
	}
	return &Exception{tag: tag, args: args}, nil
}

// Tag returns the exception's tag.
func (x *Exception) Tag() *Tag { return x.tag }

// Args returns the words of the arguments, as NewException has them. References among them are valid as those of a call's results are.
func (x *Exception) Args() []uint64 { return x.args }

func (x *Exception) Error() string {
	return fmt.Sprintf("wasm exception of type %s", x.tag.typ.FuncType.String())
}

// current is an exception under way: a part of the instance data of inst, at.
type current struct {
	inst *Instance
	at   uintptr
}

// currentOf returns the exception under way of an instance.
func (i *Instance) currentOf() current {
	return current{i, i.data + uintptr(i.module.meta.Exceptions.Current)}
}

func (c *current) tag() *Tag   { return c.inst.store.tags[uintptr(load64(c.at+abi.ExceptionTag))] }
func (c *current) ref() uint64 { return load64(c.at + abi.ExceptionRef) }
func (c *current) args() []uint64 {
	return wordsAt(c.at+abi.ExceptionArgs, uintptr(c.inst.module.meta.Exceptions.Words))
}
func (c *current) setRef(word uint64) { store64(c.at+abi.ExceptionRef, word) }

// load returns the exception as a value; its arguments are those of compiled code.
func (c *current) load() *Exception {
	t := c.tag()
	x := &Exception{tag: t, args: make([]uint64, len(t.typ.args)), native: true}
	args, n := c.args(), 0
	for i, p := range t.typ.Params {
		at := abi.ExceptionWord(t.typ.Params, i)
		n += copy(x.args[n:n+p.Words()], args[at:])
	}
	return x
}

// store makes x, whose arguments are those of compiled code, the one under way; word is a reference to it, or 0. The arguments are left out if there is no room: then the code knows no tag of
// such exceptions, and so there must be a reference.
func (c *current) store(x *Exception, word uint64) {
	store64(c.at+abi.ExceptionTag, uint64(x.tag.addr))
	c.setRef(word)
	params, args := x.tag.typ.Params, c.args()
	if abi.ExceptionWord(params, len(params)) > len(args) {
		return
	}
	n := 0
	for i, p := range params {
		n += copy(args[abi.ExceptionWord(params, i):], x.args[n:n+p.Words()])
	}
}

// toNative makes the arguments those of compiled code, and fromNative those of Go code.
func (x *Exception) toNative() *Exception {
	if !x.native {
		x = &Exception{tag: x.tag, args: slices.Clone(x.args), native: true}
		x.tag.store.funcsToNative(x.args, x.tag.typ.funcParams)
	}
	return x
}

func (x *Exception) fromNative() *Exception {
	if x.native {
		x = &Exception{tag: x.tag, args: slices.Clone(x.args)}
		x.tag.store.funcsFromNative(x.args, x.tag.typ.funcParams)
	}
	return x
}

// makeTags makes the tags that the module defines, and fills the part of the instance data that is for exceptions.
func (i *Instance) fillExceptions() error {
	x := i.module.meta.Exceptions
	if x == nil {
		return nil
	}
	for h := abi.NumCommonHelpers; h < abi.NumHelpers; h++ {
		code, err := i.helper(h)
		if err != nil {
			return err
		}
		store64(i.data+uintptr(x.Helpers)+8*uintptr(h-abi.NumCommonHelpers), uint64(code))
	}
	for n := range x.Tags {
		slot := i.data + uintptr(x.TagSlots) + 8*uintptr(n)
		if i.tags[n] == nil {
			typ, err := i.funcType(x.Tags[n].Type)
			if err != nil {
				return err
			}
			i.tags[n] = i.store.addTag(typ.funcType, slot)
		}
		store64(slot, uint64(i.tags[n].addr))
	}
	return nil
}

// resolveTags finds the imported tags.
func (i *Instance) resolveTags(imports Resolver) error {
	x := i.module.meta.Exceptions
	if x == nil {
		return nil
	}
	i.tags = make([]*Tag, len(x.Tags))
	for n := range x.Tags {
		d := &x.Tags[n]
		if d.Import == nil {
			break
		}
		t, err := resolveAs[*Tag](imports, d.Import)
		if err != nil {
			return err
		}
		typ, err := i.funcType(d.Type)
		switch {
		case err != nil:
			return err
		case t.store != i.store:
			return incompatible(d.Import, "it is of another store")
		case t.typ.key != typ.key:
			return incompatible(d.Import, "tag of type %s, want %s", t.typ.FuncType.String(), typ.FuncType.String())
		}
		i.tags[n] = t
	}
	return nil
}

// thrower is the instance whose code has called a helper for exceptions.
func (c *Caller) thrower() *Instance {
	s := c.store
	return s.instanceAt(returnAddress(s.ctx.sp, &s.ctx.saved))
}

// helped ends a helper with a result.
func (c *Caller) helped(result uint64) uint64 {
	ctx := c.store.ctx
	ctx.ints[0] = result
	ctx.pop, ctx.flags = 0, 0
	return 0
}

// exceptionRef is the helper waot_exception_ref.
func exceptionRef(c *Caller) uint64 {
	x := c.thrower().currentOf()
	if x.ref() == 0 {
		x.setRef(c.store.refTo(x.load()))
	}
	return c.helped(x.ref())
}

// refTo returns a reference to an exception.
func (s *Store) refTo(x *Exception) uint64 {
	r := &s.refs
	if r.room <= 0 || s.config.CollectAlways {
		r.thrown = x
		s.collectRefs()
		r.thrown = nil
	}
	return r.slots[s.takeSlot(x)].word
}

// exceptionOpen is the helper waot_exception_open.
func exceptionOpen(c *Caller) uint64 {
	s := c.store
	at, word := c.thrower().currentOf(), s.ctx.ints[1]
	x, ok := s.Extern(word).(*Exception)
	if !ok {
		fatal("a reference to an exception is none\n")
	}
	at.store(x, word)
	return c.helped(0)
}

// raise is the helper waot_raise.
func raise(c *Caller) uint64 {
	at := c.thrower().currentOf()
	return c.throw(&at, nil)
}

// thrownBy returns the exception that a host function has thrown by its error, or nil.
func (s *Store) thrownBy(err error) *Exception {
	var x *Exception
	if errors.As(err, &x) && x.tag.store == s {
		return x
	}
	return nil
}

// throw unwinds the activation, which native code has left by a call, to the innermost handler: with the exception under way at from, or, if that is nil, with x. Without a handler it gives up the
// activation.
func (c *Caller) throw(from *current, x *Exception) uint64 {
	s := c.store
	if s.cancelled.Load() != 0 || c.cancel.hasEnded() {
		return c.giveUp(s.cancelError(false))
	}
	if err := c.outOfSlack(); err != nil {
		return c.giveUp(err)
	}
	ctx := s.ctx
	u := unwinder{pc: returnAddress(ctx.sp, &ctx.saved), fp: ctx.fp, saved: ctx.saved}
	if !u.run(s, ctx.sp) {
		if x == nil {
			if x, _ = s.Extern(from.ref()).(*Exception); x == nil {
				x = from.load()
			}
			x = x.fromNative()
			c.keepThrown(x)
		}
		return c.giveUp(x)
	}
	to := u.inst.currentOf()
	switch {
	case x != nil:
		s.land(&to, x.toNative(), 0)
	case from.at != to.at:
		if known, _ := s.Extern(from.ref()).(*Exception); known != nil {
			s.land(&to, known, from.ref())
		} else {
			s.land(&to, from.load(), 0)
		}
	}
	u.resume(ctx)
	return 0
}

// land makes x the exception under way of the instance that catches it. If there is no room for its arguments, it needs a reference.
func (s *Store) land(to *current, x *Exception, word uint64) {
	params := x.tag.typ.Params
	if word == 0 && abi.ExceptionWord(params, len(params)) > int(to.inst.module.meta.Exceptions.Words) {
		word = s.refTo(x)
	}
	to.store(x, word)
}

// keepThrown keeps the references that an exception that comes to Go code has, as those of results.
func (c *Caller) keepThrown(x *Exception) {
	s := c.store
	for _, n := range x.tag.typ.refParams {
		i, ok := s.refs.lookUp(x.args[n])
		switch {
		case !ok:
		case s.depth == 1:
			s.refs.returned = append(s.refs.returned, x.args[n])
		default:
			s.refs.slots[i].pins = max(s.refs.slots[i].pins, 1) // the host function that called has no place for it
		}
	}
}

// unwinder goes from frame to frame. saved are the callee-saved registers as the function at pc has them.
type unwinder struct {
	inst   *Instance
	pc, fp uintptr
	saved  [numSaved]uint64
	pad    uintptr // of the handler
	sp     uintptr // in its frame
}

// run looks for the innermost frame that catches, whose frame ends at above or further up. It reports whether there is one.
func (u *unwinder) run(s *Store, above uintptr) bool {
	for u.fp != 0 && s.isFrame(u.fp, above) {
		if u.inst = s.instanceAt(u.pc); u.inst == nil {
			return false
		}
		tables, offset := u.inst.module.sites(), uint32(u.pc-u.inst.base)
		n, ok := u.inst.module.funcAt(offset - 1) // the call may be the function's last instruction
		if !ok {
			return false
		}
		f := &tables.Funcs[n]
		if landing, ok := handlerAt(tables.Handlers, offset); ok {
			u.pad, u.sp = u.inst.base+uintptr(landing), u.fp-uintptr(f.Frame)
			return true
		}
		if int(n) < len(tables.Saves) {
			if saves := &tables.Saves[n]; saves.Registers != 0 && saves.At(offset-f.Text) {
				u.restore(saves.Registers)
			}
		}
		above = u.fp + 16
		u.pc, u.fp = uintptr(load64(u.fp+8)), uintptr(load64(u.fp))
	}
	return false
}

// restore takes the caller's values of registers out of the frame.
func (u *unwinder) restore(registers uint32) {
	at := u.fp
	for k := range u.saved {
		if registers>>k&1 != 0 {
			at -= 8
			u.saved[k] = load64(at)
		}
	}
}

// handlerAt returns where an exception goes from the call that returns to offset.
func handlerAt(handlers []abi.Handler, offset uint32) (landing uint32, ok bool) {
	i, ok := slices.BinarySearchFunc(handlers, offset, func(h abi.Handler, o uint32) int { return int(int64(h.Return) - int64(o)) })
	if !ok {
		return 0, false
	}
	return handlers[i].Landing, true
}

// resume makes native code go on at the handler.
func (u *unwinder) resume(ctx *nativeContext) {
	fuel := ctx.saved[savedFuel]
	saved := u.saved
	if u.inst.module.meta.Fuel != nil {
		saved[savedFuel] = fuel // no function saves the count
	}
	ctx.saved, ctx.fp = saved, u.fp
	ctx.pop, ctx.flags = 0, 0
	returnTo(ctx, u.pad, u.sp)
}

// throwFromHost unwinds with what a host function has thrown; top is where the scratch of the activation ends without its words.
func (c *Caller) throwFromHost(x *Exception, top int) uint64 {
	s := c.store
	if c.refs {
		s.refs.thrown = x // what it refers to is kept by the host function
		s.leaveHost(c)
		s.refs.thrown = nil
	}
	s.scratchTop = top
	return c.throw(nil, x)
}
