package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/proof/testenv"
)

// lit counts, by column, the rows and names that are highlighted.
const lit = `[...document.querySelectorAll('.column:not(.grid)')].map(c => c.querySelectorAll('.row.on, .row.near, .tok.hit').length)`

// option is the number of the function with the given name in the list.
func option(t *testing.T, b *browser, name string) (id string) {
	t.Helper()
	b.eval(fmt.Sprintf(`[...document.querySelector('#function').options].find(o => o.textContent.includes(%q)).value`, name), &id)
	return id
}

// rowOf is a script's expression for the row of a column that has a text.
func rowOf(column, text string) string {
	return fmt.Sprintf("[...document.querySelectorAll('.column.%s .row')].find(r => r.querySelector('.text').textContent.includes(%q))", column, text)
}

// demandLit fails if some column, from one on, shows nothing of the selection.
func demandLit(t *testing.T, b *browser, what string, from int) {
	t.Helper()
	var counts []int
	b.eval(lit, &counts)
	for n, c := range counts {
		if c == 0 && n >= from {
			t.Errorf("%s: column %d shows nothing of it: %v", what, n, counts)
		}
	}
}

// TestInspectBrowser uses a page in a browser: with the mouse, with the keyboard, light and dark, at several sizes.
func TestInspectBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: no browser in short mode")
	}
	setUp(t)
	b := startBrowser(t)
	writePageModule(t)
	for _, target := range testenv.Cases(nil, compile.Targets()[:1], compile.Targets()) {
		if status, _, stderr := execute("inspect", "page.wat", "--html="+target+".html", "--target="+target); status != 0 {
			t.Fatal(stderr)
		}
		b.open(target+".html", "")
		b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": 2800, "height": 900, "deviceScaleFactor": 1, "mobile": false}, nil)
		b.open(target+".html", "#"+option(t, b, " sum"))
		mouse(t, b)
		keyboard(t, b)
		looks(t, b, target)
		everyFunction(t, b)
		if len(b.faults) > 0 {
			t.Fatalf("%s: %.2000s", target, strings.Join(b.faults, "\n"))
		}
	}
}

func mouse(t *testing.T, b *browser) {
	b.click(rowOf("wasm", "i32.load"))
	demandLit(t, b, "a load in Wasm", 0)
	if hash := ""; true {
		if b.eval("location.hash", &hash); !strings.Contains(hash, ":p") {
			t.Errorf("the address does not keep the selection: %q", hash)
		}
	}
	b.click("[..." + rowOf("clif", "iadd.i32") + ".querySelectorAll('.tok')][0]")
	demandLit(t, b, "a value of CLIF", 0)
	if s := b.text("#status"); !strings.Contains(s, " is %") {
		t.Errorf("status: %q", s)
	}
	b.click(rowOf("vcode", " = add") + ".querySelector('.tok')")
	demandLit(t, b, "a virtual register", 0)
	b.click("document.querySelector('.column.alloc .row.k3')")
	demandLit(t, b, "a move", 1)
	b.click(rowOf("vcode", "block2") + ".querySelector('.text')")
	b.click("document.querySelector('.column.grid .mode')")
	if s := b.text(".column.grid .mode"); s != "by value" {
		t.Errorf("the grid's button says %q", s)
	}
	var before, after int
	b.eval("document.querySelectorAll('.column').length", &before)
	b.click("document.querySelector('button.stage[aria-pressed=false]')")
	if b.eval("document.querySelectorAll('.column').length", &after); after != before+1 {
		t.Errorf("%d columns and one more are %d", before, after)
	}
	b.click("document.querySelector('#help-button')")
	b.wait("!document.querySelector('#help').hidden")
	b.click("document.querySelector('#help-button')")
}

func keyboard(t *testing.T, b *browser) {
	b.press("Escape")
	var n int
	if b.eval("document.querySelectorAll('.on, .near, .hit').length", &n); n != 0 {
		t.Errorf("%d elements stay highlighted", n)
	}
	b.eval("document.querySelector('.column.wasm .body').focus()", nil)
	b.press("Tab") // to CLIF
	b.press("Home", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight")
	var at struct{ Column, Row, Token string }
	b.eval(`(() => { const a = document.activeElement, r = document.getElementById(a.getAttribute('aria-activedescendant')); return {column: a.getAttribute('aria-label'), row: r ? r.textContent : '', token: (document.querySelector('.tok.current') || {}).textContent || ''} })()`, &at)
	if at.Column != "CLIF" || !strings.Contains(at.Row, "v4 = ") || at.Token != "v4" {
		t.Errorf("the keys lead to %+v", at)
	}
	b.press("Enter")
	if hash := ""; true {
		if b.eval("location.hash", &hash); !strings.HasSuffix(hash, ":v4") {
			t.Errorf("Enter keeps %q", hash)
		}
	}
	b.press("End")
	b.wait("document.activeElement.querySelector('.row.current')")
}

func looks(t *testing.T, b *browser, target string) {
	for _, size := range [][2]int{{2800, 1000}, {1280, 720}, {800, 600}} {
		light, colours := b.screenshot(target, size[0], size[1], "light")
		dark, moreColours := b.screenshot(target, size[0], size[1], "dark")
		if light < 0.8 || dark > 0.3 || colours < 30 || moreColours < 30 {
			t.Errorf("%v: brightness %.2f and %.2f with %d and %d colours", size, light, dark, colours, moreColours)
		}
		var over []string
		b.eval(`[document.documentElement, document.body, document.querySelector('header'), document.querySelector('footer')].filter(e => e.scrollWidth > innerWidth + 1).map(e => e.tagName)`, &over)
		if len(over) > 0 {
			t.Errorf("%v: too wide: %v", size, over)
		}
	}
}

// everyFunction shows all functions one after the other.
func everyFunction(t *testing.T, b *browser) {
	var ids []string
	b.eval("[...document.querySelector('#function').options].map(o => o.value)", &ids)
	for _, id := range ids {
		b.eval(fmt.Sprintf("(() => { const s = document.querySelector('#function'); s.value = %q; s.dispatchEvent(new Event('change')) })()", id), nil)
		b.wait(fmt.Sprintf("fn.index === %s && document.querySelectorAll('.column.asm .row').length > 0", id[1:]))
		var rows int
		if b.eval("document.querySelectorAll('.row').length", &rows); rows < 10 {
			t.Errorf("%s: %d rows", id, rows)
		}
	}
	if s := b.text("#status"); strings.Contains(s, "fault") {
		t.Error(s)
	}
}

// TestInspectBrowserLarge: of a function with many rows, few have elements, wherever the page is.
func TestInspectBrowserLarge(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: no browser in short mode")
	}
	setUp(t)
	b := startBrowser(t)
	n := testenv.Cases(10_000, 10_000, 100_000)
	text := "(module (memory 1) (func (export \"f\") (param i32)" +
		strings.Repeat("(i32.store (local.get 0) (i32.mul (i32.load offset=8 (local.get 0)) (i32.load offset=4 (local.get 0))))", n/8) + "))"
	if err := os.WriteFile("large.wat", []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	if status, _, stderr := execute("inspect", "large.wat", "--html=large.html"); status != 0 {
		t.Fatal(stderr)
	}
	b.open("large.html", "")
	for _, key := range []string{"Home", "End"} {
		b.eval("document.querySelector('.column.asm .body').focus()", nil)
		b.press(key, "Enter")
		b.wait("document.querySelectorAll('.column.clif .row.on, .column.clif .row.near').length > 0 || " + fmt.Sprint(key == "Home"))
		var elements int
		if b.eval("document.querySelectorAll('*').length", &elements); elements > 30_000 {
			t.Errorf("%s: the page has %d elements", key, elements)
		}
	}
	if len(b.faults) > 0 {
		t.Fatal(b.faults)
	}
}
