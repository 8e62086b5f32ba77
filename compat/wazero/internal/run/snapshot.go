package run

import (
	"errors"
	"slices"

	"github.com/tetratelabs/wazero/experimental"

	"github.com/waot-project/waot/host"
)

// snapshotter takes snapshots for Go functions that code of the group calls.
type snapshotter struct {
	grp  *group
	told *told // of the call; nil without listeners
}

// Snapshot implements experimental.Snapshotter.
func (s snapshotter) Snapshot() experimental.Snapshot {
	g := s.grp
	x := &snapshot{told: s.told}
	if x.told != nil {
		x.actives = slices.Clone(x.told.actives)
	}
	if err := g.enter(func() (err error) {
		x.place, err = g.store.Snapshot()
		return err
	}); err != nil {
		panic(err)
	}
	return x
}

// snapshot is a place to go back to, and the calls that listeners had been told of: those that have returned meanwhile come back.
type snapshot struct {
	place   *host.Snapshot
	told    *told
	actives []active
}

// Restore implements experimental.Snapshot: it panics.
func (x *snapshot) Restore(results []uint64) {
	if t := x.told; t != nil {
		t.actives = slices.Clone(x.actives)
	}
	panic(&restoring{x.place.Restore(results...)})
}

// Restore panics with restoring, and so do the calls between it and the call of the snapshot. A program that recovers it has restored a snapshot whose call
// had returned.
type restoring struct{ err error }

func (*restoring) Error() string {
	return "unhandled snapshot restore, this generally indicates restore was called from a different exported function invocation than snapshot"
}

func (r *restoring) Unwrap() error { return r.err }

// passOn panics with an error that goes back to a snapshot.
func passOn(err error) {
	if errors.Is(err, host.ErrRestore) {
		panic(&restoring{err})
	}
}
