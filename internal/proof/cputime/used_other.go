//go:build !unix

package cputime

import "time"

var started = time.Now()

// Used returns the time since the start of the process, as this system has no better one.
func Used() time.Duration { return time.Since(started) }

func usedOwn() time.Duration { return Used() }
