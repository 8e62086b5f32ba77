package script

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

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
