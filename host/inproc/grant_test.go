//go:build linux && (amd64 || arm64) && !race

package inproc

import "testing"

// grantTo makes the calling goroutine the owner of the store's grant.
func grantTo(t *testing.T, s *Store) {
	t.Helper()
	for range 2 {
		if err := s.Enter(); err != nil {
			t.Fatal(err)
		}
		s.Leave()
	}
	if !process.canGrant {
		t.Skip("SKIPPED: the system has no membarrier, so that there are no grants")
	}
	if x := s.grant.Load(); x == nil || x.g != currentG() {
		t.Fatal("a goroutine that comes again has no grant")
	}
}

// A grant that is revoked at each moment of its use ends with a free store.
func TestRevokedGrant(t *testing.T) {
	s := newStore(t)
	const other = 16 // the g of nobody
	revoke := func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.revoke(other)
	}
	for moment := range 4 {
		grantTo(t, s)
		if moment == 0 && !revoke() {
			t.Error("revoked before it was used: the store is not free")
		}
		x := enterGranted(s)
		if (x == nil) != (moment == 0) {
			t.Fatal(moment, x)
		}
		if x != nil {
			if moment == 1 && revoke() {
				t.Error("revoked on the way in: the store is free")
			}
			if in := s.stillGranted(x); in != (moment != 1) {
				t.Error(moment, in)
			} else if in {
				if moment == 2 && revoke() {
					t.Error("revoked inside: the store is free")
				}
				if s.acquire() != stateInside {
					t.Error(moment, "not inside")
				}
				s.leaveGranted(x)
			}
		}
		if moment == 3 && !revoke() {
			t.Error("revoked afterwards: the store is not free")
		}
		if h := s.holder.Load(); h != 0 || s.acquire() != stateTaken {
			t.Fatal(moment, "the store is not free", h)
		}
		s.release()
	}
}
