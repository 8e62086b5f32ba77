package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"os"
	"strings"
	"testing"

	"github.com/waot-project/waot/host/sign"
)

// writeKeys writes both halves of a key to name.pem and name.pub.
func writeKeys(t *testing.T, name string, seed byte) {
	t.Helper()
	private := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))
	a, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	b, err := x509.MarshalPKIXPublicKey(private.Public())
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{name + ".pem": {Type: "PRIVATE KEY", Bytes: a}, name + ".pub": {Type: "PUBLIC KEY", Bytes: b}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSigned builds signed objects and images and runs them: what the key has not signed gives one line, and status 1.
func TestSigned(t *testing.T) {
	for _, ext := range []string{".o", ".img"} {
		t.Run(ext, func(t *testing.T) { testSigned(t, ext) })
	}
}

func testSigned(t *testing.T, ext string) {
	setUp(t)
	writeKeys(t, "mine", 1)
	writeKeys(t, "other", 2)
	status, stdout, stderr := execute("build", "lib.wasm", "-o", "signed"+ext, "--sign", "mine.pem", "--json")
	var r buildResult
	if err := json.Unmarshal([]byte(stdout), &r); status != 0 || err != nil || len(r.Key) != 16 {
		t.Fatal(status, stdout, stderr, err)
	}
	if status, stdout, _ := execute("build", "lib.wasm", "-o", "other"+ext, "--sign=other.pem"); status != 0 || !strings.Contains(stdout, ", signed with key ") {
		t.Fatal(status, stdout)
	}
	if status, stdout, _ := execute("build", "lib.wasm", "-o", "plain"+ext); status != 0 || strings.Contains(stdout, "signed") {
		t.Fatal(status, stdout)
	}
	signed, err := os.ReadFile("signed" + ext)
	if err != nil {
		t.Fatal(err)
	}
	if len(signed) != r.ObjectBytes || len(sign.Unsigned(signed)) == len(signed) {
		t.Error(len(signed), r.ObjectBytes)
	}
	for file, change := range map[string]func([]byte) []byte{
		"changed" + ext: func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
		"cut" + ext:     func(b []byte) []byte { return b[:len(b)-1] },
		"longer" + ext:  func(b []byte) []byte { return append(b, 0) },
		"empty.pem":     func([]byte) []byte { return nil },
	} {
		if err := os.WriteFile(file, change(bytes.Clone(signed)), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	add := func(file string, flags ...string) (int, string, string) {
		return execute(append(append([]string{"run", file, "--invoke", "add"}, flags...), "--", "1", "2")...)
	}
	for _, flags := range [][]string{nil, {"--signed-by", "mine.pub"}, {"--signed-by=mine.pem"}} {
		if status, stdout, stderr := add("signed"+ext, flags...); status != 0 || stdout != "i32:3\n" {
			t.Error(flags, status, stdout, stderr)
		}
	}
	for _, c := range []struct {
		file, key string
		status    int
		want      string
	}{
		{"signed" + ext, "other.pub", 1, "waot: signed" + ext + ": signature: the object says that another key"},
		{"other" + ext, "mine.pub", 1, "waot: other" + ext + ": signature: the object says that another key"},
		{"plain" + ext, "mine.pub", 1, "waot: plain" + ext + ": signature: the object is not signed"},
		{"changed" + ext, "mine.pub", 1, "waot: changed" + ext + ": signature: it does not fit"},
		{"cut" + ext, "mine.pub", 1, "waot: cut" + ext + ": signature: the object is not signed"},
		{"longer" + ext, "mine.pub", 1, "waot: longer" + ext + ": signature: the object is not signed"},
		{"signed" + ext, "empty.pem", 1, "waot: empty.pem: signature: no key"},
		{"signed" + ext, "nowhere.pub", 1, "waot: nowhere.pub: "},
		{"signed" + ext, "", 1, "waot: "}, // a variable that is not set
		{"lib.wasm", "mine.pub", 2, "waot: --signed-by: lib.wasm is neither object nor image"},
	} {
		status, stdout, stderr := add(c.file, "--signed-by", c.key)
		if status != c.status || stdout != "" || !strings.HasPrefix(stderr, c.want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s, key %q: status %d, %q %q", c.file, c.key, status, stdout, stderr)
		}
	}
	// For another machine the object is verified here, before it is given to the emulator.
	if status, _, stderr := add("signed"+ext, "--target=aarch64-linux", "--runner=nowhere", "--signed-by", "other.pub"); status != 1 ||
		!strings.HasPrefix(stderr, "waot: signed"+ext+": signature: ") || strings.Count(stderr, "\n") != 1 {
		t.Error(status, stderr)
	}
	if _, stdout, _ := execute("run", "plain"+ext, "--json", "--signed-by", "mine.pub"); !strings.Contains(stdout, `"kind": "object"`) {
		t.Error(stdout)
	}
	for _, key := range []string{"mine.pub", "nowhere.pem", "", "lib.wasm"} {
		status, _, stderr := execute("build", "lib.wasm", "-o", "new"+ext, "--sign", key)
		if _, err := os.Stat("new" + ext); status != 1 || strings.Count(stderr, "\n") != 1 || err == nil {
			t.Errorf("key %q: status %d, %q, %v", key, status, stderr, err)
		}
	}
}
