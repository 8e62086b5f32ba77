package script

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const sample = `{"source_filename": "dir/sample.wast", "commands": [
 {"type": "module", "line": 1, "name": "$m", "filename": "sample.0.wasm", "module_type": "binary", "features": ["simd"]},
 {"type": "assert_return", "line": 2, "action": {"type": "invoke", "field": "f\u0000", "args": [
   {"type": "i32", "value": "4294967295"}, {"type": "externref", "value": "7"}, {"type": "funcref", "value": "null"},
   {"type": "v128", "lane_type": "i16", "value": ["1", "2", "3", "4", "5", "6", "7", "65535"]}]},
  "expected": [{"type": "f32", "value": "nan:canonical"}, {"type": "f64", "value": "nan:arithmetic"}, {"type": "funcref"},
   {"type": "either", "values": [{"type": "i64", "value": "1"}, {"type": "refnull", "value": "null"}]}]},
 {"type": "module", "line": 3, "filename": "sample.1.wasm"},
 {"type": "action", "line": 4, "action": {"type": "get", "module": "$m", "field": "g"}, "features": ["gc"]},
 {"type": "action", "line": 5, "action": {"type": "get", "field": "g"}},
 {"type": "assert_malformed", "line": 6, "filename": "sample.2.wat", "text": "t"}
]}`

func writeSample(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	group := filepath.Join(dir, "group")
	if err := os.Mkdir(group, 0o777); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"sample.json": sample, "sample.0.wasm": "\x00asm"} {
		if err := os.WriteFile(filepath.Join(group, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestSample(t *testing.T) {
	suite, err := OpenSuite(writeSample(t))
	if err != nil {
		t.Fatal(err)
	}
	g, err := suite.Group("group")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"sample"}, g.Scripts); diff != "" {
		t.Error(diff)
	}
	s, err := g.Script("sample")
	if err != nil {
		t.Fatal(err)
	}
	want := Command{Type: AssertReturn, Line: 2,
		Action: &Action{Type: Invoke, Field: "f\x00", Args: []Value{
			{Type: "i32", Bits: 1<<32 - 1},
			{Type: "externref", Match: MatchHost, Bits: 7},
			{Type: "funcref", Match: MatchNull},
			{Type: "v128", Match: MatchVector, Lane: "i16", Lanes: []Value{
				{Type: "i16", Bits: 1}, {Type: "i16", Bits: 2}, {Type: "i16", Bits: 3}, {Type: "i16", Bits: 4},
				{Type: "i16", Bits: 5}, {Type: "i16", Bits: 6}, {Type: "i16", Bits: 7}, {Type: "i16", Bits: 65535}}},
		}},
		Expected: []Value{
			{Type: "f32", Match: MatchNaNCanonical},
			{Type: "f64", Match: MatchNaNArithmetic},
			{Type: "funcref", Match: MatchNonNull},
			{Type: "either", Match: MatchEither, Either: []Value{{Type: "i64", Bits: 1}, {Type: "refnull", Match: MatchNull}}},
		},
	}
	if diff := cmp.Diff(want, s.Commands[1]); diff != "" {
		t.Error(diff)
	}
	low, high := s.Commands[1].Action.Args[3].V128()
	if low != 0x0004000300020001 || high != 0xffff000700060005 {
		t.Errorf("V128: %x %x", low, high)
	}
	needs := [][]string{{"simd"}, {"simd"}, nil, {"gc", "simd"}, nil, nil}
	if diff := cmp.Diff(needs, s.Needs(), cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	if b, err := s.Module(s.Commands[0].Filename); err != nil || string(b) != "\x00asm" {
		t.Errorf("module: %q, %v", b, err)
	}
	if !s.Commands[5].IsText() || s.Commands[2].IsText() {
		t.Error("kinds of modules")
	}
	if _, err := suite.Group("none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing group: %v", err)
	}
}

func TestOpen(t *testing.T) {
	s, err := Open(filepath.Join(writeSample(t), "group", "sample.json"))
	if err != nil {
		t.Fatal(err)
	}
	if s.Name != "sample" || s.Source != "sample.wast" || len(s.Commands) != 6 {
		t.Errorf("%s %s %d", s.Name, s.Source, len(s.Commands))
	}
}

// TestSuites reads every script there is: the suite of the environment and the
// one of wazero.
func TestSuites(t *testing.T) {
	var suites []*Suite
	for _, open := range []func() (*Suite, error){Locate, OpenWazero} {
		s, err := open()
		if err != nil {
			t.Log(err)
			continue
		}
		suites = append(suites, s)
	}
	for _, s := range suites {
		scripts, commands := 0, 0
		for _, name := range s.Groups() {
			if testing.Short() && name != "core" {
				continue
			}
			g, err := s.Group(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range g.Scripts {
				sc, err := g.Script(n)
				if err != nil {
					t.Error(err)
					continue
				}
				scripts++
				commands += len(sc.Commands)
			}
		}
		t.Logf("%s: groups %v, %d scripts, %d commands", filepath.Base(s.Dir), s.Groups(), scripts, commands)
	}
}

// TestBroken: scripts that say less than they should, or what cannot be, are refused. They would pass whatever happens.
func TestBroken(t *testing.T) {
	const script = `{"source_filename": "x.wast", "commands": [{"type": "assert_return", "line": 1,
 "action": {"type": "invoke", "field": "f", "args": [%s]}, "expected": [%s]}]}`
	const one = `{"type": "i32", "value": "1"}`
	texts := map[string]string{"null": "null", "no commands": `{"source_filename": "x.wast"}`}
	for _, v := range []string{
		`{"type": "i32"}`, `{"type": "i32", "valeu": "1"}`, `{"type": "i32", "value": "null"}`, `{"type": "i32", "value": "nan:canonical"}`,
		`{"type": "i32", "value": "4294967296"}`, `{"type": "i32", "value": "-2147483649"}`, `{"type": "i64", "value": "18446744073709551616"}`,
		`{"type": "either", "values": [{"type": "i64"}]}`, `{"type": "v128"}`,
		`{"type": "v128", "lane_type": "i8", "value": ["256","0","0","0","0","0","0","0","0","0","0","0","0","0","0","0"]}`,
	} {
		texts["result "+v] = fmt.Sprintf(script, "", v)
		texts["argument "+v] = fmt.Sprintf(script, v, "")
	}
	for _, v := range []string{`{"type": "f32", "value": "nan:canonical"}`, `{"type": "funcref"}`, `{"type": "either", "values": [` + one + `]}`} {
		texts["argument "+v] = fmt.Sprintf(script, v, "")
	}
	for name, text := range texts {
		if _, err := parse(fstest.MapFS{"x.json": {Data: []byte(text)}}, "x"); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for _, v := range []string{one, `{"type": "i32", "value": "-2147483648"}`, `{"type": "i32", "value": "4294967295"}`, `{"type": "i64", "value": "18446744073709551615"}`} {
		if _, err := parse(fstest.MapFS{"x.json": {Data: fmt.Appendf(nil, script, v, v)}}, "x"); err != nil {
			t.Errorf("%s: %v", v, err)
		}
	}
}
