//go:build linux && (amd64 || arm64)

package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/waot-project/waot"
)

// program counts its runs in a global and a memory, echoes its input behind the first two bytes of its memory, and does not end if that begins with "!".
const program = `(module
	(import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
	(import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
	(memory (export "memory") 1) (global $runs (mut i32) (i32.const 48))
	(data (i32.const 100) "0:")
	(func (export "_start")
		(global.set $runs (i32.add (global.get $runs) (i32.const 1)))
		(i32.store8 (i32.const 100) (i32.add (global.get $runs) (i32.sub (i32.load8_u (i32.const 100)) (i32.const 48))))
		(i32.store (i32.const 0) (i32.const 102)) (i32.store (i32.const 4) (i32.const 1000))
		(drop (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))
		(if (i32.eq (i32.load8_u (i32.const 102)) (i32.const 33)) (then (loop $l (br $l))))
		(i32.store (i32.const 0) (i32.const 100)) (i32.store (i32.const 4) (i32.add (i32.load (i32.const 8)) (i32.const 2)))
		(drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))))`

// TestServe: many requests at once, some of which do not end: each is the first run of the program.
func TestServe(t *testing.T) {
	wasm, err := waot.ParseText([]byte(program))
	if err != nil {
		t.Fatal(err)
	}
	s, err := newServer(wasm)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	web := httptest.NewServer(s)
	defer web.Close()
	post := func(body string) string {
		r, err := http.Post(web.URL, "text/plain", strings.NewReader(body))
		if err != nil {
			return err.Error()
		}
		defer r.Body.Close()
		b, _ := io.ReadAll(r.Body)
		return string(b)
	}
	var wg sync.WaitGroup
	for k := range 4 {
		wg.Go(func() {
			for n := range 50 {
				body := fmt.Sprint("request ", k, n)
				if got := post(body); got != "1:"+body {
					t.Errorf("%s: %q", body, got)
				}
			}
		})
	}
	wg.Wait()
	if got := post("!"); got != "out of time\n" {
		t.Errorf("%q", got)
	}
	if got := post("after that"); got != "1:after that" {
		t.Errorf("%q", got)
	}
}
