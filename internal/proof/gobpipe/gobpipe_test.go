package gobpipe

import (
	"io"
	"strings"
	"sync"
	"testing"
)

type question struct{ Text string }

type reply struct{ Text string }

// TestServe: each of many goroutines gets its own reply, and an end is an error.
func TestServe(t *testing.T) {
	askReader, askWriter := io.Pipe()
	replyReader, replyWriter := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- Serve(askReader, replyWriter, func(q *question) *reply { return &reply{strings.ToUpper(q.Text)} })
		replyWriter.Close()
	}()
	p := Connect[question, reply](replyReader, askWriter)
	var all sync.WaitGroup
	for _, text := range strings.Fields("a few words to be asked at once") {
		all.Go(func() {
			if a, err := p.Ask(&question{text}); err != nil || a.Text != strings.ToUpper(text) {
				t.Errorf("%s: %v, %v", text, a, err)
			}
		})
	}
	all.Wait()
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	if _, err := p.Ask(&question{}); err == nil {
		t.Error("answered at the end")
	}
}

// TestServeDamaged: what is no request ends Serve with an error.
func TestServeDamaged(t *testing.T) {
	if err := Serve(strings.NewReader("no request"), io.Discard, func(*question) *reply { return &reply{} }); err == nil {
		t.Error("served")
	}
}
