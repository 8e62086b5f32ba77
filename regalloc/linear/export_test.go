package linear

import "github.com/waot-project/waot/regalloc"

// SetWish leaves in a what the last part of a function may leave.
func (a *Allocator) SetWish(r regalloc.PReg) { a.walker.wish = r }
