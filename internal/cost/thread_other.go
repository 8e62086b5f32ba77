//go:build !linux

package cost

import "time"

var started = time.Now()

// thread returns the time since the start of the process, as this system has no better one.
func thread() Use { return Use{CPU: time.Since(started)} }

// Read returns what is known of this process.
func Read() Process { return Process{CPU: thread().CPU} }
