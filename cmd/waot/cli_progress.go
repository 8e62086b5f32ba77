package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// progress draws a bar on a terminal when work takes longer than a second. The
// zero value of the fields that callers do not set is right.
type progress struct {
	out         io.Writer // nil if standard error is no terminal
	what        string
	done, total atomic.Int64
	stop, ended chan struct{}
}

const (
	progressDelay = time.Second
	progressTick  = 100 * time.Millisecond
	progressWidth = 40
)

// startProgress starts watching; finish must be called.
func startProgress(stderr io.Writer, what string) *progress {
	p := &progress{what: what, stop: make(chan struct{}), ended: make(chan struct{})}
	if !isTerminal(stderr) {
		close(p.ended) // no goroutine, for which a thread would wake up
		return p
	}
	p.out = stderr
	go p.watch()
	return p
}

// set notes how much is done; any goroutine may call it.
func (p *progress) set(done, total int) {
	p.done.Store(int64(done))
	p.total.Store(int64(total))
}

// finish removes the bar.
func (p *progress) finish() {
	close(p.stop)
	<-p.ended
}

func (p *progress) watch() {
	defer close(p.ended)
	wait := time.NewTimer(progressDelay)
	defer wait.Stop()
	drawn := false
	for {
		select {
		case <-p.stop:
			if drawn {
				fmt.Fprint(p.out, "\r\x1b[K")
			}
			return
		case <-wait.C:
			fmt.Fprint(p.out, "\r\x1b[K", bar(p.what, p.done.Load(), p.total.Load()))
			drawn = true
			wait.Reset(progressTick)
		}
	}
}

// bar returns the text of the bar.
func bar(what string, done, total int64) string {
	if total <= 0 {
		return what + " ..."
	}
	done = min(done, total)
	n := int(done * progressWidth / total)
	return fmt.Sprintf("%s [%s%s] %d/%d", what, strings.Repeat("#", n), strings.Repeat(".", progressWidth-n), done, total)
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	st, err := f.Stat()
	// The null device is a character device too, but drawing on it harms nobody.
	return err == nil && st.Mode()&os.ModeCharDevice != 0
}
