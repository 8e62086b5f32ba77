package inproc

import (
	"errors"
	"slices"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/meta"
)

// Tag is a tag of exceptions.
type Tag struct {
	store   *Store
	typ     *funcType // its parameters are the arguments of exceptions
	addr    uintptr   // what stands for it in compiled code
	private bool
}

func (*Tag) isExtern() {}

// Type returns the type whose parameters are the arguments of the tag's exceptions; it must not be changed.
func (t *Tag) Type() *meta.FuncType { return &t.typ.FuncType }

// Store returns the store of the tag.
func (t *Tag) Store() *Store { return t.store }

// IsPrivate reports whether what exceptions of the tag refer to is its module's own: see meta.Module.PrivateTags.
func (t *Tag) IsPrivate() bool { return t.private }

// NewTag makes a tag whose exceptions have arguments of the given types, none of which has the index of a type. Errors are ErrType, ErrBusy, ErrClosed and those of memory.
func (s *Store) NewTag(params []meta.ValType) (*Tag, error) {
	done, err := s.hold()
	if err != nil {
		return nil, err
	}
	defer done()
	typ, err := s.hostType(&meta.FuncType{Params: params})
	switch {
	case err != nil:
		return nil, err
	case typ.unsupported:
		return nil, ErrType
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
	t := &Tag{store: s, typ: typ, addr: addr}
	s.tags[addr] = t
	return t
}

// Exception is an exception that compiled code or a host function has thrown. As an error it is one that no compiled code has caught; a host function throws it by
// returning it, or an error that wraps it.
type Exception struct {
	tag *Tag
	// args are the words of its arguments as compiled code has them. The words of references to host values may be stale, since only values keeps what they are of.
	args []uint64
	// values are what the references among the arguments are of, in the order of refParams of the tag's type, and funcs the functions, in that of funcParams.
	values []any
	funcs  []*Func
	// weight is about how many bytes it takes, without the exceptions among its arguments; weighed is the last count that it was part of.
	weight, weighed uint64
	// by is the error by which a host function has thrown it last; nil once compiled code that has caught it has thrown it again.
	by error
	// backtrace is the innermost frames where it left compiled code first, inner of which are of the innermost call.
	backtrace []Frame
	inner     int
}

// NewException returns an exception with a tag and the words of its arguments: floats as their bits, a v128 as two words, references as words of the store. It keeps what references
// are of. Errors are ErrType, *ReferenceError, ErrBusy and ErrClosed.
func NewException(tag *Tag, args []uint64) (*Exception, error) {
	t, s := tag.typ, tag.store
	done, err := s.hold()
	if err != nil {
		return nil, err
	}
	defer done()
	if len(args) != len(t.args) {
		return nil, ErrType
	}
	args = slices.Clone(args)
	for i := range args {
		args[i] &= t.args[i].mask
	}
	if err := s.checkArgs(t, args); err != nil {
		return nil, err
	}
	s.funcsToNative(args, t.funcParams)
	s.objectsToNative(args, t.refParams)
	return newException(tag, args), nil
}

// newException returns an exception with valid arguments as compiled code has them.
func newException(tag *Tag, args []uint64) *Exception {
	t, s := tag.typ, tag.store
	x := &Exception{tag: tag, args: args, weight: exceptionBytes + 8*uint64(len(args)) + 16*uint64(len(t.refParams)+len(t.funcParams))}
	for _, n := range t.refParams {
		x.values = append(x.values, s.valueOf(args[n]))
	}
	for _, n := range t.funcParams {
		x.funcs = append(x.funcs, s.FuncOf(s.fromNative(meta.FuncRef, args[n])))
	}
	return x
}

// exceptionBytes is about how many bytes an exception takes without arguments, its handle included.
const exceptionBytes = 256

// Tag returns the exception's tag.
func (x *Exception) Tag() *Tag { return x.tag }

// Words returns the words of the arguments; they must not be changed. Those of references mean nothing: Refs and Funcs return what these are of.
func (x *Exception) Words() []uint64 { return x.args }

// Refs returns what the references to host values among the arguments are of, in their order, and Funcs the functions; neither must be changed.
func (x *Exception) Refs() []any { return x.values }

// Funcs returns the functions that funcrefs among the arguments are of.
func (x *Exception) Funcs() []*Func { return x.funcs }

// Backtrace returns the innermost frames, at most 64, where the exception left compiled code first without being caught, and how many of them are of the innermost call.
func (x *Exception) Backtrace() (frames []Frame, inner int) { return x.backtrace, x.inner }

func (x *Exception) Error() string {
	if x == nil || x.tag == nil {
		return "wasm exception"
	}
	text := "wasm exception with arguments " + abi.TypeList(x.tag.typ.Params, ", ")
	if len(x.backtrace) > 0 {
		text += within(&x.backtrace[0])
	}
	return text
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

// load returns the exception as a value.
func (c *current) load() *Exception {
	t := c.tag()
	words, args, n := make([]uint64, t.typ.argWords), c.args(), 0
	for i, p := range t.typ.Params {
		at := abi.ExceptionWord(t.typ.Params, i)
		n += copy(words[n:n+p.Words()], args[at:])
	}
	return newException(t, words)
}

// store makes x the one under way; word is a reference to it, or 0. The arguments are left out if there is no room: then the code knows no tag of
// such exceptions, and so there must be a reference.
func (c *current) store(x *Exception, word uint64) {
	store64(c.at+abi.ExceptionTag, uint64(x.tag.addr))
	c.setRef(word)
	params, args := x.tag.typ.Params, c.args()
	if abi.ExceptionWord(params, len(params)) > len(args) {
		return
	}
	c.inst.store.renew(x)
	n := 0
	for i, p := range params {
		n += copy(args[abi.ExceptionWord(params, i):], x.args[n:n+p.Words()])
	}
}

// renew makes references for those among the arguments of x that have been collected since, and those to objects what they are now.
func (s *Store) renew(x *Exception) {
	for k, n := range x.tag.typ.refParams {
		v := x.values[k]
		if o, ok := v.(*Object); ok {
			x.args[n] = o.word
		} else if small, ok := v.(I31); ok && s.heap != nil { // else it is a value like others
			x.args[n] = small.word()
		} else if v != nil {
			x.args[n] = s.valid(v, x.args[n])
		}
	}
}

// valid returns word if it is a valid reference, and else a new one to v.
func (s *Store) valid(v any, word uint64) uint64 {
	if _, ok := s.refs.lookUp(word); ok {
		return word
	}
	return s.refs.slots[s.takeSlot(v)].word
}

// fillExceptions makes the tags that the module defines, and fills the part of the instance data that is for exceptions.
func (i *Instance) fillExceptions() error {
	x := i.module.meta.Exceptions
	if x == nil {
		return nil
	}
	if err := i.fillHelpers(abi.NumCommonHelpers, abi.FirstHeapHelper, i.data+uintptr(x.Helpers)); err != nil {
		return err
	}
	private := i.module.meta.PrivateTags()
	for n := range x.Tags {
		slot := i.data + uintptr(x.TagSlots) + 8*uintptr(n)
		if i.tags[n] == nil {
			typ, err := i.funcType(x.Tags[n].Type)
			if err != nil {
				return err
			}
			i.tags[n] = i.store.addTag(typ.funcType, slot)
			i.tags[n].private = private[n]
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
	s, at := c.store, c.thrower().currentOf()
	if at.ref() == 0 {
		x := at.load()
		if err := s.mayHold(x); err != nil {
			return c.giveUp(err)
		}
		at.store(x, s.refTo(x))
	}
	return c.helped(at.ref())
}

// mayHold returns an error if compiled code would hold too many exceptions with x. Half of the limit is for those that nobody holds any more, so that collections are not too frequent.
func (s *Store) mayHold(x *Exception) error {
	r, limit := &s.refs, s.config.MaxExceptionMemory
	if x.weight+r.weight <= limit {
		return nil
	}
	s.collectRefs()
	if want := x.weight + r.weight; want > limit/2 {
		return &LimitError{What: "bytes of exceptions in the store", Want: want, Limit: limit / 2}
	}
	return nil
}

// weighExceptions counts what the exceptions take that handles are of, and those that these have as arguments, each once: the collector of handles does not see the latter. It returns how
// many it has looked at.
func (r *references) weighExceptions() (seen int) {
	if r.weight == 0 {
		return 0
	}
	r.weight = 0
	r.weighings++
	var open []*Exception
	add := func(v any) {
		if x, ok := v.(*Exception); ok && x.weighed != r.weighings {
			x.weighed = r.weighings
			r.weight += x.weight
			seen++
			open = append(open, x)
		}
	}
	for _, i := range r.inUse {
		add(r.slots[i].value)
		for len(open) > 0 {
			x := open[len(open)-1]
			open = open[:len(open)-1]
			for _, v := range x.values {
				add(v)
			}
		}
	}
	return seen
}

// refTo returns a reference to an exception, whose arguments may have been collected then.
func (s *Store) refTo(x *Exception) uint64 {
	s.makeRoom()
	return s.refs.slots[s.takeSlot(x)].word
}

// exceptionOpen is the helper waot_exception_open.
func exceptionOpen(c *Caller) uint64 {
	s := c.store
	at, word := c.thrower().currentOf(), s.ctx.ints[1]
	x, ok := s.Extern(word).(*Exception)
	if !ok {
		fatal("a reference to an exception is none\n")
	}
	x.by = nil
	if len(x.values) > 0 {
		s.makeRoom()
		word = s.valid(x, word)
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
	if errors.As(err, &x) && x != nil && x.tag != nil && x.tag.store == s {
		return x
	}
	return nil
}

// throw unwinds the activation, which native code has left by a call, to the innermost handler: with the exception under way at from, or, if that is nil, with x, which a host function has thrown.
// Without a handler it gives up the activation.
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
	caught := u.run(s, ctx.sp)
	word := uint64(0)
	if from != nil && (!caught || from.inst != u.inst) {
		word = from.ref()
		if x, _ = s.Extern(word).(*Exception); x == nil {
			x = from.load()
		}
	}
	switch {
	case !caught:
		c.left(x)
		if x.by != nil {
			return c.giveUp(x.by)
		}
		return c.giveUp(x)
	case x != nil:
		if err := s.land(u.inst.currentOf(), x, word, from == nil); err != nil {
			return c.giveUp(err)
		}
	}
	u.resume(ctx)
	return 0
}

// land makes x the exception under way of the instance that catches it. If there is no room for its arguments, it needs a reference; it gets one too if Go code knows it, so that it is
// still the same when compiled code throws it again.
func (s *Store) land(to current, x *Exception, word uint64, known bool) error {
	params := x.tag.typ.Params
	if word == 0 && (known || abi.ExceptionWord(params, len(params)) > int(to.inst.module.meta.Exceptions.Words)) {
		if err := s.mayHold(x); err != nil {
			return err
		}
		word = s.refTo(x)
	}
	to.store(x, word)
	return nil
}

// left notes where x leaves compiled code, if it does so for the first time.
func (c *Caller) left(x *Exception) {
	if x.backtrace != nil {
		return
	}
	visit := framesInto(&x.backtrace)
	more := c.walkOwn(visit)
	x.inner = len(x.backtrace)
	if more {
		c.store.walkOuter(c.store.depth-2, visit)
	}
}

// unwinder goes from frame to frame. saved are the callee-saved registers as the function at pc has them.
type unwinder struct {
	inst    *Instance
	pc, fp  uintptr
	saved   [numSaved]uint64
	landing uintptr // where the call that catches goes on
	sp      uintptr // in its frame
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
		if landing, ok := landingOf(tables.Handlers, offset); ok {
			u.landing, u.sp = u.inst.base+uintptr(landing), u.fp-uintptr(f.Frame)
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

// landingOf returns where an exception goes from the call that returns to offset.
func landingOf(handlers []abi.Handler, offset uint32) (landing uint32, ok bool) {
	i, ok := slices.BinarySearchFunc(handlers, offset, func(h abi.Handler, o uint32) int { return int(int64(h.Return) - int64(o)) })
	if !ok {
		return 0, false
	}
	return handlers[i].Landing, true
}

// resume makes native code go on at the landing.
func (u *unwinder) resume(ctx *nativeContext) {
	ctx.saved, ctx.fp = u.saved, u.fp // the count of fuel is the one of now, as no function saves it
	ctx.pop, ctx.flags = 0, 0
	returnTo(ctx, u.landing, u.sp)
}

// throwFromHost unwinds with what a host function has thrown by err; top is where the scratch of the activation ends without its words.
func (c *Caller) throwFromHost(x *Exception, err error, top int) uint64 {
	s := c.store
	if c.refs {
		s.leaveHost(c)
	}
	s.scratchTop = top
	x.by = err
	return c.throw(nil, x)
}
