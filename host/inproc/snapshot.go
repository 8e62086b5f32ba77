package inproc

import "slices"

// Snapshot is where compiled code called a host function, and all that the activation has on the native stack. Going back makes
// the host function return again. Memories, tables and globals stay as they are.
type Snapshot struct {
	of   *snapshots
	exit nativeExit
	// stack is the native stack from exit.sp to the beginning of the activation.
	stack   []byte
	binding uint64
	hidden  uintptr
}

// snapshots is what the snapshots of an activation share. The activation does not know them: those that nobody has are garbage.
type snapshots struct {
	caller *Caller // the activation; nil once it has ended
	// refs are the handles in the stacks. Each has one claim until the activation ends.
	refs map[uint64]struct{}
}

// Snapshot takes a snapshot of the innermost activation, for the host function that it runs. Otherwise the error is ErrBusy or ErrClosed,
// or ErrType for a host function that Go has called.
func (s *Store) Snapshot() (*Snapshot, error) {
	outer, err := s.Hold()
	if err != nil {
		return nil, err
	}
	if outer {
		defer s.Leave()
	}
	switch {
	case s.depth == 0:
		return nil, ErrType
	case s.heap != nil: // a collection would have to find what the stack has
		return nil, noSnapshot("the store has a collected heap")
	}
	c := s.activations[s.depth-1]
	if !c.native || outer && c.away != currentG()|ownerAway {
		return nil, ErrType
	}
	if c.snapshots == nil {
		c.snapshots = &snapshots{caller: c}
		c.careForRefs()
	}
	e := c.exitState()
	var slots []int32
	s.walk(returnAddress(e.sp, &e.saved), e.fp, e.sp, func(f nativeFrame) bool {
		slots = f.stackMap(slots)
		for _, d := range slots {
			c.snapshots.keep(f.slot(d))
		}
		return true
	})
	return &Snapshot{of: c.snapshots, exit: e, stack: slices.Clone(bytesAt(e.sp, c.start-e.sp)), binding: c.binding, hidden: c.hidden}, nil
}

// keep adds a claim to a handle.
func (x *snapshots) keep(ref uint64) {
	if _, ok := x.refs[ref]; ok || !x.caller.store.Retain(ref) {
		return
	}
	if x.refs == nil {
		x.refs = map[uint64]struct{}{}
	}
	x.refs[ref] = struct{}{}
}

// Restore returns the error with which a host function goes back, with the results of the one that took the snapshot. It matches ErrRestore. It
// ends all activations inside that of the snapshot; if that has ended itself, all that there are.
func (x *Snapshot) Restore(results []uint64) error {
	return &restoring{x, slices.Clone(results)}
}

// restoring is the error of a host function that goes back.
type restoring struct {
	snapshot *Snapshot
	results  []uint64
}

// Error implements error.
func (r *restoring) Error() string { return ErrRestore.Error() }

// Is makes the error match ErrRestore.
func (r *restoring) Is(target error) bool { return target == ErrRestore }

// goesBack returns where err, of a host function that the innermost activation ran, goes back to within the activation, and with which results; nil
// if it ends the activation. The number of results is that of the type.
func (c *Caller) goesBack(err error) (*Snapshot, []uint64) {
	r, ok := err.(*restoring)
	if !ok || r.snapshot.of.caller != c {
		return nil, nil
	}
	t := c.store.bindings[r.snapshot.binding].fn.typ
	results := make([]uint64, len(t.results))
	copy(results, r.results)
	return r.snapshot, results
}

// restore makes the activation, the innermost one, what it was, and returns the type of the host function whose results come next.
func (x *Snapshot) restore(results []uint64) *funcType {
	c := x.of.caller
	s := c.store
	copy(bytesAt(x.exit.sp, uintptr(len(x.stack))), x.stack)
	s.setExit(&x.exit)
	c.binding, c.hidden = x.binding, x.hidden
	t := s.bindings[x.binding].fn.typ
	c.words = hostWords{t, nil, results}
	return t
}

// dropSnapshots is for the end of the activation: nothing goes back to it any more.
func (c *Caller) dropSnapshots() {
	for ref := range c.snapshots.refs {
		c.store.Release(ref)
	}
	c.snapshots.caller = nil
	c.snapshots = nil
}
