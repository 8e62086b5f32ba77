package validate_test

import (
	"errors"
	"testing"

	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/validate"
)

// proposed is a section with a size below 128.
func proposed(id byte, content string) string {
	return string([]byte{id, byte(len(content))}) + content
}

// TestProposals has a module for each encoding of a proposal: it is refused for the
// feature, by name, and not as malformed.
func TestProposals(t *testing.T) {
	const header, void = "\x00asm\x01\x00\x00\x00", "\x01\x60\x00\x00"
	kind := func(name, kind string) string {
		return proposed(2, "\x01\x00"+string([]byte{byte(len(name))})+name+kind)
	}
	body := func(ops string) string {
		return proposed(1, void) + proposed(3, "\x01\x00") + proposed(5, "\x01\x00\x01") + proposed(10, "\x01"+string([]byte{byte(len(ops) + 2)})+"\x00"+ops+"\x0b")
	}
	param := func(typ string) string { return proposed(1, "\x01\x60\x01"+typ+"\x00") }
	global := func(null string) string { return proposed(6, "\x01\x6f\x00\xd0"+null+"\x0b") }
	for feature, modules := range map[string][]string{
		"gc": {
			proposed(1, "\x01\x5f\x00"), proposed(1, "\x01\x5e\x7f\x00"), proposed(1, "\x01\x50\x00\x60\x00\x00"), proposed(1, "\x01\x4f\x00\x60\x00\x00"),
			proposed(1, "\x01\x4e\x01\x60\x00\x00"), param("\x6e"), param("\x6d"), param("\x6c"), param("\x6b"), param("\x6a"), param("\x71"),
			param("\x72"), param("\x73"), body("\xfb\x00\x00"), body("\xfb\x1e"),
			body("\xd3"), body("\xfb\x14\x6e"), body("\xfb\x18\x00\x00\x6e\x6e"), body("\x02\x6e\x0b"), body("\xd0\x71"), global("\x72"), proposed(4, "\x01\x6e\x00\x00"),
		},
		"stack-switching": {
			proposed(1, "\x01\x5d\x00"), param("\x68"), param("\x75"), body("\xe0\x00"), body("\xe1\x00\x00"), body("\xe2\x00"), body("\xe3\x00\x00"),
			body("\xe4\x00\x00\x00"), body("\xe5\x00\x00"), body("\xe6\x00\x00"), body("\x02\x68\x0b"),
		},
		"shared-everything-threads": {
			proposed(1, "\x01\x65\x60\x00\x00"), param("\x65\x70"), proposed(4, "\x01\x70\x03\x00\x01"), body("\xfe\x04\x00"), body("\xfe\x4f\x00\x00"), body("\xfb\x1f"),
			proposed(6, "\x01\x7f\x02\x41\x00\x0b"), proposed(6, "\x01\x7f\x03\x41\x00\x0b"), kind("", "\x03\x7f\x02"),
			proposed(9, "\x01\x08\x41\x00\x0b\x00"), proposed(9, "\x01\x0f\x70\x00"), proposed(11, "\x01\x08\x41\x00\x0b\x00"), proposed(11, "\x01\x0a\x00\x41\x00\x0b\x00"),
		},
		"custom-descriptors": {
			proposed(1, "\x01\x4d\x00\x5f\x00"), proposed(1, "\x01\x4c\x00\x5f\x00"), proposed(1, void) + kind("", "\x20\x00"), param("\x62\x00"),
			body("\xfb\x20\x00"), body("\xfb\x26\x00"), body("\xd0\x62\x00"),
		},
		"exceptions":             {kind("", "\x04\x00\x00"), proposed(13, "\x01\x00\x00"), proposed(7, "\x01\x00\x04\x00"), param("\x69"), param("\x74"), body("\x08\x00"), body("\x1f\x40\x00\x0b"), body("\x0a")},
		"legacy-exceptions":      {body("\x06\x40\x0b"), body("\x07\x00"), body("\x09\x00"), body("\x18\x00"), body("\x19")},
		"function-references":    {param("\x63\x00"), param("\x64\x70"), proposed(4, "\x01\x40\x00\x70\x00\x00\xd0\x70\x0b"), body("\x14\x00"), body("\xd0\x00"), global("\x00"), global("\x80\x01")},
		"memory64":               {proposed(5, "\x01\x04\x01"), proposed(5, "\x01\x05\x01\x02"), proposed(4, "\x01\x70\x04\x00")},
		"threads":                {proposed(5, "\x01\x03\x01\x02"), body("\xfe\x03\x00"), body("\xfe\x00\x02\x00")},
		"custom-page-sizes":      {proposed(5, "\x01\x08\x01\x00"), proposed(5, "\x01\x09\x01\x02\x00")},
		"multi-memory":           {proposed(5, "\x02\x00\x01\x00\x01"), body("\x41\x00\x28\x42\x00\x00\x1a")},
		"stringref":              {param("\x67"), param("\x66"), param("\x61"), body("\xfb\x80\x01"), body("\xfb\xb7\x01")},
		"half-precision":         {body("\xfc\x30\x01\x00"), body("\xfc\x31\x01\x00"), body("\xfd\xa0\x02"), body("\xfd\xcf\x02")},
		"memory-control":         {body("\xfc\x12\x00")},
		"compact-import-section": {kind("", "\x7f\x00"), kind("", "\x7e\x00")},
		"tail-call":              {body("\x12\x00"), body("\x13\x00\x00")},
		"relaxed-simd":           {body("\xfd\x80\x02")},
		"simd":                   {param("\x7b"), body("\xfd\x00\x00\x00")},
	} {
		for _, m := range modules {
			_, err := validate.All([]byte(header+m), validate.Config{Features: withoutSIMD})
			var e *wasmfront.Error
			if !errors.As(err, &e) || e.Feature != feature {
				t.Errorf("%s: % x: %v", feature, m, err)
			}
		}
	}
	// What no proposal has is malformed.
	for _, m := range []string{
		proposed(1, "\x01\x5c\x00"), proposed(1, "\x01\xe0\x00\x00"), kind("", "\x05\x00"), kind("", "\x80\x01\x00"), kind("a", "\x7f\x00"), kind("a", "\x7e\x00"),
		param("\x60"), param("\x40"), proposed(4, "\x01\x70\x08\x00"), proposed(5, "\x01\x10\x01"), proposed(14, ""), proposed(7, "\x01\x00\x05\x00"),
		body("\xe7"), body("\xfb\x27"), body("\xfc\x32"), body("\xfe\x80\x01"), body("\xff"), global("\x5c"),
		proposed(6, "\x01\x7f\x04\x41\x00\x0b"), proposed(9, "\x01\x10"), proposed(11, "\x01\x03\x00"), proposed(11, "\x01\x0b\x00"),
	} {
		_, err := validate.All([]byte(header+m), validate.Config{Features: withoutSIMD})
		var e *wasmfront.Error
		if !errors.As(err, &e) || e.Feature != "" || e.Limit != "" {
			t.Errorf("% x: %v", m, err)
		}
	}
	// Hints are in a custom section, which is accepted.
	hints := proposed(0, "\x19metadata.code.branch_hint\x00")
	if _, err := wasmfront.Decode([]byte(header+hints), wasmfront.DefaultFeatures); err != nil {
		t.Error(err)
	}
}
