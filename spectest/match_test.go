package spectest

import (
	"encoding/json"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/spectest/script"
)

// TestMatchVectors: each lane counts, and only a NaN of the kind that is asked for is one.
func TestMatchVectors(t *testing.T) {
	const f32s = `{"type": "v128", "lane_type": "f32", "value": ["nan:canonical", "nan:arithmetic", "0", "1065353216"]}`
	const i8s = `{"type": "v128", "lane_type": "i8", "value": ["0","1","2","3","4","5","6","7","8","9","10","11","12","13","14","255"]}`
	for _, c := range []struct {
		want      string
		low, high uint64
		matches   bool
	}{
		{f32s, 0x7fc00001_ffc00000, 0x3f800000_00000000, true},
		{f32s, 0x7fc00001_ffc00001, 0x3f800000_00000000, false},
		{f32s, 0x7f800001_7fc00000, 0x3f800000_00000000, false},
		{f32s, 0x7fc00000_7fc00000, 0x3f800000_80000000, false},
		{f32s, 0x7fc00000_7fc00000, 0x3f800001_00000000, false},
		{i8s, 0x0706050403020100, 0xff0e0d0c0b0a0908, true},
		{i8s, 0x0706050403020101, 0xff0e0d0c0b0a0908, false},
		{i8s, 0x0706050403020100, 0x7f0e0d0c0b0a0908, false},
		{`{"type": "v128", "lane_type": "f64", "value": ["nan:canonical", "0"]}`, 0xfff8000000000000, 0, true},
		{`{"type": "v128", "lane_type": "f64", "value": ["0", "nan:canonical"]}`, 0, 0x7ff8000000000001, false},
		{`{"type": "either", "values": [` + f32s + "," + i8s + `]}`, 0x0706050403020100, 0xff0e0d0c0b0a0908, true},
		{`{"type": "either", "values": [` + f32s + "," + i8s + `]}`, 0x0706050403020100, 0xff0e0d0c0b0a0909, false},
	} {
		var want script.Value
		if err := json.Unmarshal([]byte(c.want), &want); err != nil {
			t.Fatal(err)
		}
		got := Value{Type: clif.V128, Bits: c.low, High: c.high}
		if matches(nil, &want, got) != c.matches {
			t.Errorf("%v is %s: %v", got, describe(&want), !c.matches)
		}
		if got.Type = clif.I64; matches(nil, &want, got) {
			t.Errorf("an i64 is %s", describe(&want))
		}
	}
}

// TestValues: a v128 has two words.
func TestValues(t *testing.T) {
	types := []clif.Type{clif.I32, clif.V128, clif.F64}
	got := Values(types, []uint64{1, 2, 3, 4})
	if len(got) != 3 || got[0] != (Value{clif.I32, 1, 0}) || got[1] != (Value{clif.V128, 2, 3}) || got[2] != (Value{clif.F64, 4, 0}) {
		t.Error(got)
	}
}
