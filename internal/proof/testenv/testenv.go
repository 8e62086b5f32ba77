// Package testenv tells a test about its environment: how many cases to try, and what to do if something that it needs is missing.
//
// Place in the pipeline: none; for tests.
//
// Input: the flag -short and the environment variables WAOT_FULL, WAOT_SLOW, CI, WAOT_NO_MATERIAL and those that name material.
// Output: numbers of cases, folders; tests that skip or fail.
//
// There are three levels. Short is `go test -short`. Usual is plain `go test` and `make test`. Full is `make check` and CI, which set
// WAOT_FULL. Each level tries each kind of case; the lower ones try fewer cases of a kind. -short wins over WAOT_FULL.
package testenv

import (
	"os"
	"strconv"
	"testing"
	"time"
)

// EnvFull asks for the full level when it is set.
const EnvFull = "WAOT_FULL"

// EnvNoMaterial says that the official material is known to be missing: tests that need it are skipped in CI, too.
const EnvNoMaterial = "WAOT_NO_MATERIAL"

// EnvSlow says how slow this machine is, in hundredths of the time that the one takes for which limits of time are written; 100 if it is not set.
const EnvSlow = "WAOT_SLOW"

// Folders of material that is not in the tree.
const (
	EnvSpec  = "WAOT_SPEC_DIR"  // the official suite
	EnvWASI  = "WAOT_WASI_DIR"  // the official tests of WASI
	EnvBench = "WAOT_BENCH_DIR" // benchmark modules
	EnvWasm3 = "WAOT_WASM3_DIR" // programs that use what WebAssembly 3.0 has added
)

// Cases returns the number of cases, or whatever says how much is tried, for the level of this run.
func Cases[T any](short, usual, full T) T {
	switch {
	case testing.Short():
		return short
	case os.Getenv(EnvFull) != "":
		return full
	}
	return usual
}

// Slow returns a limit of time for this machine, of one that holds where WAOT_SLOW is 100. The variable cannot make limits shorter.
func Slow(limit time.Duration) time.Duration {
	if n, err := strconv.ParseUint(os.Getenv(EnvSlow), 10, 16); err == nil && n > 100 {
		return limit * time.Duration(n) / 100
	}
	return limit
}

// Full reports whether the level is full.
func Full() bool { return Cases(false, false, true) }

// OnlyFull skips a test that is too long for lower levels. Another test must try the same kind of case there.
func OnlyFull(t testing.TB, why string) {
	t.Helper()
	if !Full() {
		t.Skip(why + ": only with " + EnvFull)
	}
}

// CI reports whether nothing may be missing.
func CI() bool { return os.Getenv("CI") == "true" }

// Missing skips a test that lacks something, or fails it in CI.
func Missing(t testing.TB, why string) {
	t.Helper()
	if CI() {
		t.Fatal(why)
	}
	t.Skip("SKIPPED: " + why)
}

// Material returns the folder that a variable names. Without it the test is skipped; in CI it fails, unless EnvNoMaterial is set.
func Material(t testing.TB, variable string) string {
	t.Helper()
	dir := OptionalMaterial(t, variable)
	if dir == "" {
		t.Skip("SKIPPED: " + variable + " is not set")
	}
	return dir
}

// OptionalMaterial returns the folder that a variable names, or "" for a test that can do without. In CI a test without it fails, unless
// EnvNoMaterial is set.
func OptionalMaterial(t testing.TB, variable string) string {
	t.Helper()
	dir := os.Getenv(variable)
	if dir == "" && CI() && os.Getenv(EnvNoMaterial) == "" {
		t.Fatal(variable + " is not set; set " + EnvNoMaterial + " if there is no such material")
	}
	return dir
}
