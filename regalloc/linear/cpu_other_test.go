//go:build !unix

package linear_test

import "time"

var started = time.Now()

func cpuTime() time.Duration { return time.Since(started) }
