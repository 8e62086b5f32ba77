package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waot-project/waot/internal/proof/testenv"
)

// browser is a Chromium without a window, which is spoken to through two pipes in the DevTools protocol: messages of JSON that end in a zero byte.
type browser struct {
	t       *testing.T
	out     *os.File
	in      *bufio.Reader
	id      int
	session string
	// faults are exceptions, dialogs, and requests of anything but the page.
	faults []string
	page   string // its address
}

type message struct {
	ID        int             `json:"id,omitempty"`
	Method    string          `json:"method,omitempty"`
	Params    any             `json:"params,omitempty"`
	SessionID string          `json:"sessionId,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	Error     json.RawMessage `json:"error,omitempty"`
}

// startBrowser starts a browser, which ends with the test. Without one the test is skipped.
func startBrowser(t *testing.T) *browser {
	t.Helper()
	var program string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil && program == "" {
			program = p
		}
	}
	if program == "" {
		testenv.Missing(t, "there is no chromium: pages are not tried in a browser")
	}
	toRead, toWrite, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	fromRead, fromWrite, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	// Some of its processes outlive it for a moment and still write there.
	dir, err := os.MkdirTemp("", "browser")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage", "--disable-component-update",
		"--no-first-run", "--hide-scrollbars", "--remote-debugging-pipe", "--user-data-dir="+dir, "about:blank")
	cmd.ExtraFiles = []*os.File{toRead, fromWrite}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	toRead.Close()
	fromWrite.Close()
	b := &browser{t: t, out: toWrite, in: bufio.NewReader(fromRead)}
	if err := fromRead.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		toWrite.Close()
		done := make(chan error, 1)
		go func() { done <- cmd.Wait() }()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			cmd.Process.Kill()
			<-done
		}
		fromRead.Close()
		for n := 0; os.RemoveAll(dir) != nil && n < 50; n++ {
			time.Sleep(100 * time.Millisecond)
		}
	})
	var target struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var session struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &session)
	b.session = session.SessionID
	for _, domain := range []string{"Page", "Runtime", "Network"} {
		b.call(domain+".enable", nil, nil)
	}
	return b
}

// call waits for the result of a method.
func (b *browser) call(method string, params, result any) {
	b.t.Helper()
	b.id++
	data, err := json.Marshal(message{ID: b.id, Method: method, Params: params, SessionID: b.session})
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.out.Write(append(data, 0)); err != nil {
		b.t.Fatal(err)
	}
	for {
		data, err := b.in.ReadBytes(0)
		if err != nil {
			b.t.Fatalf("%s: %v", method, err)
		}
		var m message
		if err := json.Unmarshal(bytes.TrimSuffix(data, []byte{0}), &m); err != nil {
			b.t.Fatal(err)
		}
		if m.ID != b.id {
			b.event(&m, string(data))
			continue
		}
		if m.Error != nil {
			b.t.Fatalf("%s: %s", method, m.Error)
		}
		if result != nil {
			err = json.Unmarshal(m.Result, result)
		}
		if err != nil {
			b.t.Fatal(err)
		}
		return
	}
}

func (b *browser) event(m *message, text string) {
	switch m.Method {
	case "Runtime.exceptionThrown", "Page.javascriptDialogOpening":
		b.faults = append(b.faults, text)
	case "Network.requestWillBeSent":
		if !strings.Contains(text, b.page) {
			b.faults = append(b.faults, text)
		}
	}
}

// open shows a file, with what follows # in its address.
func (b *browser) open(file, hash string) {
	b.t.Helper()
	path, err := filepath.Abs(file)
	if err != nil {
		b.t.Fatal(err)
	}
	b.page = "file://" + path
	b.call("Page.navigate", map[string]any{"url": "about:blank"}, nil)
	b.call("Page.navigate", map[string]any{"url": b.page + hash}, nil)
	b.wait("document.readyState === 'complete' && document.querySelectorAll('.column').length > 0")
}

// eval returns the value of an expression in the page.
func (b *browser) eval(expression string, value any) {
	b.t.Helper()
	var r struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	b.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &r)
	if r.ExceptionDetails != nil {
		b.t.Fatalf("%s: %s", expression, r.ExceptionDetails)
	}
	if value == nil {
		return
	}
	if err := json.Unmarshal(r.Result.Value, value); err != nil {
		b.t.Fatalf("%s: %s: %v", expression, r.Result.Value, err)
	}
}

// wait waits until a condition holds in the page.
func (b *browser) wait(condition string) {
	b.t.Helper()
	for range 300 {
		var ok bool
		if b.eval("!!("+condition+")", &ok); ok {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	b.t.Fatalf("it is not true that %s; the page says %q", condition, b.text("#status"))
}

// text is that of an element.
func (b *browser) text(selector string) (text string) {
	b.t.Helper()
	b.eval(fmt.Sprintf("(document.querySelector(%q) || {}).textContent || ''", selector), &text)
	return text
}

// click clicks the middle of the first element that a script's expression names.
func (b *browser) click(element string) {
	b.t.Helper()
	var at struct{ X, Y float64 }
	b.eval("(() => { const e = "+element+"; e.scrollIntoView({block: 'nearest', inline: 'nearest'}); const r = e.getBoundingClientRect(); return {x: r.x + Math.min(r.width, 300) / 2, y: r.y + r.height / 2} })()", &at)
	for _, kind := range []string{"mouseMoved", "mousePressed", "mouseReleased"} {
		b.call("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": at.X, "y": at.Y, "button": "left", "clickCount": 1}, nil)
	}
}

// keys are codes of keys, as browsers call them.
var keys = map[string]int{"Tab": 9, "Enter": 13, "Escape": 27, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowRight": 39, "ArrowDown": 40}

func (b *browser) press(names ...string) {
	b.t.Helper()
	for _, name := range names {
		for _, kind := range []string{"rawKeyDown", "keyUp"} {
			b.call("Input.dispatchKeyEvent", map[string]any{"type": kind, "key": name, "code": name, "windowsVirtualKeyCode": keys[name]}, nil)
		}
	}
}

// screenshot takes a picture of the page in a window of the given size, and returns its mean brightness from 0 to 1 and the number of its colours. The
// picture is kept in the folder WAOT_SCREENSHOTS, if that is set.
func (b *browser) screenshot(name string, width, height int, scheme string) (brightness float64, colours int) {
	b.t.Helper()
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
	b.call("Emulation.setEmulatedMedia", map[string]any{"features": []any{map[string]any{"name": "prefers-color-scheme", "value": scheme}}}, nil)
	b.eval("new Promise(f => requestAnimationFrame(() => requestAnimationFrame(f)))", nil)
	var r struct{ Data string }
	b.call("Page.captureScreenshot", nil, &r)
	data, err := base64.StdEncoding.DecodeString(r.Data)
	if err != nil {
		b.t.Fatal(err)
	}
	if dir := os.Getenv("WAOT_SCREENSHOTS"); dir != "" {
		if err := errors.Join(os.MkdirAll(dir, 0o777), os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%dx%d-%s.png", name, width, height, scheme)), data, 0o666)); err != nil {
			b.t.Fatal(err)
		}
	}
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		b.t.Fatal(err)
	}
	seen, sum, n := map[[3]uint32]bool{}, 0.0, 0
	for y := img.Bounds().Min.Y; y < img.Bounds().Max.Y; y++ {
		for x := img.Bounds().Min.X; x < img.Bounds().Max.X; x++ {
			r, g, b, _ := img.At(x, y).RGBA()
			seen[[3]uint32{r, g, b}] = true
			sum += float64(r+g+b) / (3 * 0xffff)
			n++
		}
	}
	return sum / float64(n), len(seen)
}
