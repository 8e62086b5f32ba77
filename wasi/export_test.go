//go:build linux

package wasi

// ForceWalk makes c resolve paths as on a kernel without openat2.
func ForceWalk(c *Context) { c.noOpenat2 = true }
