package opt

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/text"
)

// vectorCases are functions of vectors: types of parameters, of the result, instructions, and these afterwards.
var vectorCases = []struct{ name, params, result, src, want string }{
	{"fold-vector", "", "v128",
		"v0 = vconst.v128 0x01020304; v1 = iconst.i32 255; v2 = vsplat.i8x16 v1; v3 = vadd.i8x16 v0, v2; return v3",
		"v5 = vconst.v128 0xffffffffffffffffffffffff00010203; return v5"},
	{"fold-vector to a scalar", "", "i32",
		"v0 = vconst.v128 0x80; v1 = vextract_s.i8x16 v0, 0; return v1",
		"v2 = iconst.i32 -128; return v2"},
	{"fold-vector to a float", "", "f64",
		"v0 = vconst.v128 0x3ff00000000000000000000000000000; v1 = vextract.f64x2 v0, 1; return v1",
		"v2 = fconst.f64 0x3ff0000000000000; return v2"},
	{"no fold to a computed NaN", "", "v128",
		"v0 = vconst.v128 0x7f800000; v1 = vfsub.f32x4 v0, v0; return v1",
		"v0 = vconst.v128 0x0000000000000000000000007f800000; v1 = vfsub.f32x4 v0, v0; return v1"},
	{"vconst-right", "v128", "v128",
		"v1 = vconst.v128 0x5; v2 = vadd.i8x16 v1, v0; return v2",
		"v1 = vconst.v128 0x00000000000000000000000000000005; v2 = vadd.i8x16 v0, v1; return v2"},
	{"vneutral", "v128", "v128",
		"v1 = vconst.v128 0x7fff7fff7fff7fff7fff7fff7fff7fff; v2 = vmin_s.i16x8 v0, v1; return v2",
		"return v0"},
	{"vneutral of another shape stays", "v128", "v128",
		"v1 = vconst.v128 0x7fff7fff7fff7fff7fff7fff7fff7fff; v2 = vmin_s.i8x16 v0, v1; return v2",
		"v1 = vconst.v128 0x7fff7fff7fff7fff7fff7fff7fff7fff; v2 = vmin_s.i8x16 v0, v1; return v2"},
	{"vabsorbing", "v128", "v128",
		"v1 = vconst.v128 0x0; v2 = vdot_us.i16x8 v1, v0; return v2",
		"v1 = vconst.v128 0x00000000000000000000000000000000; return v1"},
	{"vzeroing", "v128", "v128",
		"v1 = vconst.v128 0xffffffffffffffffffffffffffffffff; v2 = vsub_sat_u.i8x16 v0, v1; return v2",
		"v3 = vconst.v128 0x00000000000000000000000000000000; return v3"},
	{"vsame-first", "v128", "v128",
		"v1 = vavgr_u.i8x16 v0, v0; return v1",
		"return v0"},
	{"vsame-zero", "v128", "v128",
		"v1 = vandnot.v128 v0, v0; return v1",
		"v2 = vconst.v128 0x00000000000000000000000000000000; return v2"},
	{"vassociate", "v128", "v128",
		"v1 = vconst.v128 0xff; v2 = vadd.i8x16 v0, v1; v3 = vconst.v128 0x102; v4 = vadd.i8x16 v2, v3; return v4",
		"v5 = vconst.v128 0x00000000000000000000000000000101; v4 = vadd.i8x16 v0, v5; return v4"},
	{"no vassociate of other shapes", "v128", "v128",
		"v1 = vconst.v128 0xff; v2 = vadd.i8x16 v0, v1; v3 = vadd.i16x8 v2, v1; return v3",
		"v1 = vconst.v128 0x000000000000000000000000000000ff; v2 = vadd.i8x16 v0, v1; v3 = vadd.i16x8 v2, v1; return v3"},
	{"vpair", "v128", "v128",
		"v1 = vfneg.f32x4 v0; v2 = vfabs.f32x4 v1; return v2",
		"v2 = vfabs.f32x4 v0; return v2"},
	{"vnot-compare", "v128, v128", "v128",
		"v2 = vfcmp.f64x2 eq, v0, v1; v3 = vnot.v128 v2; return v3",
		"v3 = vfcmp.f64x2 ne, v0, v1; return v3"},
	{"not of less stays", "v128, v128", "v128",
		"v2 = vfcmp.f64x2 lt, v0, v1; v3 = vnot.v128 v2; return v3",
		"v2 = vfcmp.f64x2 lt, v0, v1; v3 = vnot.v128 v2; return v3"},
	{"vand-not", "v128, v128", "v128",
		"v2 = vnot.v128 v0; v3 = vand.v128 v2, v1; return v3",
		"v3 = vandnot.v128 v1, v0; return v3"},
	{"vxor-ones", "v128", "v128",
		"v1 = vconst.v128 0xffffffffffffffffffffffffffffffff; v2 = vxor.v128 v1, v0; return v2",
		"v2 = vnot.v128 v0; return v2"},
	{"vandnot-ones", "v128", "v128",
		"v1 = vconst.v128 0xffffffffffffffffffffffffffffffff; v2 = vandnot.v128 v1, v0; return v2",
		"v2 = vnot.v128 v0; return v2"},
	{"vandnot-not", "v128, v128", "v128",
		"v2 = vnot.v128 v1; v3 = vandnot.v128 v0, v2; return v3",
		"v3 = vand.v128 v0, v1; return v3"},
	{"vandnot-const", "v128", "v128",
		"v1 = vconst.v128 0xf; v2 = vandnot.v128 v0, v1; return v2",
		"v3 = vconst.v128 0xfffffffffffffffffffffffffffffff0; v2 = vand.v128 v0, v3; return v2"},
	{"vadd-neg", "v128, v128", "v128",
		"v2 = vneg.i32x4 v0; v3 = vadd.i32x4 v2, v1; return v3",
		"v3 = vsub.i32x4 v1, v0; return v3"},
	{"vsub-neg", "v128, v128", "v128",
		"v2 = vneg.i64x2 v1; v3 = vsub.i64x2 v0, v2; return v3",
		"v3 = vadd.i64x2 v0, v1; return v3"},
	{"vsub-from-zero", "v128", "v128",
		"v1 = vconst.v128 0x0; v2 = vsub.i8x16 v1, v0; return v2",
		"v2 = vneg.i8x16 v0; return v2"},
	{"vmul-extends", "v128, v128", "v128",
		"v2 = vextend_high_u.i32x4 v0; v3 = vextend_high_u.i32x4 v1; v4 = vmul.i32x4 v2, v3; return v4",
		"v4 = vextmul_high_u.i32x4 v0, v1; return v4"},
	{"vmul-extends of bytes stays", "v128, v128", "v128",
		"v2 = vextend_high_u.i16x8 v0; v3 = vextend_high_u.i16x8 v1; v4 = vmul.i16x8 v2, v3; return v4",
		"v2 = vextend_high_u.i16x8 v0; v3 = vextend_high_u.i16x8 v1; v4 = vmul.i16x8 v2, v3; return v4"},
	{"vextmul-bytes", "v128, v128", "v128",
		"v2 = vextmul_low_s.i16x8 v0, v1; v3 = vextend_low_s.i16x8 v0; v4 = vadd.i16x8 v2, v3; return v4",
		"v5 = vextend_low_s.i16x8 v0; v6 = vextend_low_s.i16x8 v1; v2 = vmul.i16x8 v5, v6; v4 = vadd.i16x8 v2, v5; return v4"},
	{"vextmul-bytes of a constant stays", "v128", "v128",
		"v1 = vconst.v128 0x00000000000000000000000000000005; v2 = vextmul_low_s.i16x8 v0, v1; return v2",
		"v1 = vconst.v128 0x00000000000000000000000000000005; v2 = vextmul_low_s.i16x8 v0, v1; return v2"},
	{"vmul-minus-one", "v128", "v128",
		"v1 = vconst.v128 0xffffffffffffffffffffffffffffffff; v2 = vmul.i64x2 v0, v1; return v2",
		"v2 = vneg.i64x2 v0; return v2"},
	{"vmul-pow2", "v128", "v128",
		"v1 = vconst.v128 0x00100010001000100010001000100010; v2 = vmul.i16x8 v0, v1; return v2",
		"v3 = iconst.i32 4; v2 = vshl.i16x8 v0, v3; return v2"},
	{"vmul by lanes that differ stays", "v128", "v128",
		"v1 = vconst.v128 0x00100010001000100010001000100020; v2 = vmul.i16x8 v0, v1; return v2",
		"v1 = vconst.v128 0x00100010001000100010001000100020; v2 = vmul.i16x8 v0, v1; return v2"},
	{"vmax-neg", "v128", "v128",
		"v1 = vneg.i16x8 v0; v2 = vmax_s.i16x8 v1, v0; return v2",
		"v2 = vabs.i16x8 v0; return v2"},
	{"vshift-zero", "v128", "v128",
		"v1 = iconst.i32 -8; v2 = vshr_s.i8x16 v0, v1; return v2",
		"return v0"},
	{"vshift-far", "v128", "v128",
		"v1 = iconst.i32 67; v2 = vshl.i64x2 v0, v1; return v2",
		"v3 = iconst.i32 3; v2 = vshl.i64x2 v0, v3; return v2"},
	{"vshift-mask", "v128, i32", "v128",
		"v2 = iconst.i32 7; v3 = band.i32 v1, v2; v4 = vshr_u.i8x16 v0, v3; return v4",
		"v4 = vshr_u.i8x16 v0, v1; return v4"},
	{"vicmp-same", "v128", "v128",
		"v1 = vicmp.i8x16 sle, v0, v0; return v1",
		"v2 = vconst.v128 0xffffffffffffffffffffffffffffffff; return v2"},
	{"vicmp-const-right", "v128", "v128",
		"v1 = vconst.v128 0x5; v2 = vicmp.i8x16 slt, v1, v0; return v2",
		"v1 = vconst.v128 0x00000000000000000000000000000005; v2 = vicmp.i8x16 sgt, v0, v1; return v2"},
	{"vicmp-never", "v128", "v128",
		"v1 = vconst.v128 0x0; v2 = vicmp.i8x16 uge, v0, v1; return v2",
		"v3 = vconst.v128 0xffffffffffffffffffffffffffffffff; return v3"},
	{"vicmp-zero", "v128", "v128",
		"v1 = vconst.v128 0x0; v2 = vicmp.i64x2 ule, v0, v1; return v2",
		"v1 = vconst.v128 0x00000000000000000000000000000000; v2 = vicmp.i64x2 eq, v0, v1; return v2"},
	{"vchoice-same", "v128, v128", "v128",
		"v2 = vselect_top.i8x16 v0, v0, v1; return v2",
		"return v0"},
	{"vchoice-top", "v128, v128", "v128",
		"v2 = vconst.v128 0x80007fff; v3 = vselect_top.i16x8 v0, v1, v2; return v3",
		"v4 = vconst.v128 0x000000000000000000000000ffff0000; v3 = vbitselect.v128 v0, v1, v4; return v3"},
	{"vchoice-not", "v128, v128, v128", "v128",
		"v3 = vnot.v128 v2; v4 = vbitselect.v128 v0, v1, v3; return v4",
		"v4 = vbitselect.v128 v1, v0, v2; return v4"},
	{"vchoice-const", "v128, v128", "v128",
		"v2 = vconst.v128 0x0; v3 = vbitselect.v128 v0, v1, v2; return v3",
		"return v1"},
	{"vchoice-zero", "v128, v128", "v128",
		"v2 = vconst.v128 0x0; v3 = vbitselect.v128 v2, v0, v1; return v3",
		"v3 = vandnot.v128 v0, v1; return v3"},
	{"vchoice-ones", "v128, v128", "v128",
		"v2 = vconst.v128 0xffffffffffffffffffffffffffffffff; v3 = vbitselect.v128 v2, v0, v1; return v3",
		"v3 = vor.v128 v0, v1; return v3"},
	{"vchoice-extreme", "v128, v128", "v128",
		"v2 = vicmp.i16x8 ugt, v0, v1; v3 = vbitselect.v128 v1, v0, v2; return v3",
		"v3 = vmin_u.i16x8 v0, v1; return v3"},
	{"vchoice-extreme of floats", "v128, v128", "v128",
		"v2 = vfcmp.f32x4 lt, v0, v1; v3 = vbitselect.v128 v0, v1, v2; return v3",
		"v3 = vfpmin.f32x4 v1, v0; return v3"},
	{"no extreme of i64x2", "v128, v128", "v128",
		"v2 = vicmp.i64x2 ugt, v0, v1; v3 = vbitselect.v128 v1, v0, v2; return v3",
		"v2 = vicmp.i64x2 ugt, v0, v1; v3 = vbitselect.v128 v1, v0, v2; return v3"},
	{"vchoice-distance", "v128, v128", "v128",
		"v2 = vsub.i16x8 v0, v1; v3 = vsub.i16x8 v1, v0; v4 = vicmp.i16x8 slt, v0, v1; v5 = vbitselect.v128 v3, v2, v4; return v5",
		"v6 = vmax_s.i16x8 v0, v1; v7 = vmin_s.i16x8 v0, v1; v5 = vsub.i16x8 v6, v7; return v5"},
	{"vchoice-distance, negated", "v128, v128", "v128",
		"v2 = vsub.i16x8 v0, v1; v3 = vsub.i16x8 v1, v0; v4 = vicmp.i16x8 ult, v0, v1; v5 = vbitselect.v128 v2, v3, v4; return v5",
		"v6 = vmin_u.i16x8 v0, v1; v7 = vmax_u.i16x8 v0, v1; v5 = vsub.i16x8 v6, v7; return v5"},
	{"no distance of other lanes", "v128, v128", "v128",
		"v2 = vsub.i16x8 v0, v1; v3 = vsub.i16x8 v1, v0; v4 = vicmp.i8x16 slt, v0, v1; v5 = vbitselect.v128 v3, v2, v4; return v5",
		"v2 = vsub.i16x8 v0, v1; v3 = vsub.i16x8 v1, v0; v4 = vicmp.i8x16 slt, v0, v1; v5 = vbitselect.v128 v3, v2, v4; return v5"},
	{"vsub-extreme of a maximum", "v128, v128", "v128",
		"v2 = vmax_u.i8x16 v0, v1; v3 = vsub.i8x16 v2, v1; return v3",
		"v3 = vsub_sat_u.i8x16 v0, v1; return v3"},
	{"vsub-extreme of a minimum", "v128, v128", "v128",
		"v2 = vmin_u.i16x8 v0, v1; v3 = vsub.i16x8 v1, v2; return v3",
		"v3 = vsub_sat_u.i16x8 v1, v0; return v3"},
	{"no extreme of other lanes", "v128, v128", "v128",
		"v2 = vmax_u.i16x8 v0, v1; v3 = vsub.i8x16 v2, v1; return v3",
		"v2 = vmax_u.i16x8 v0, v1; v3 = vsub.i8x16 v2, v1; return v3"},
	{"vtrue-nonzero", "v128", "i32",
		"v1 = vconst.v128 0x0; v2 = vicmp.i16x8 ne, v0, v1; v3 = vall_true.i16x8 v2; return v3",
		"v3 = vall_true.i16x8 v0; return v3"},
	{"vtrue-zero", "v128", "i32",
		"v1 = vconst.v128 0x0; v2 = vicmp.i16x8 eq, v0, v1; v3 = vany_true.v128 v2; return v3",
		"v4 = vall_true.i16x8 v0; v5 = iconst.i32 0; v3 = icmp.i32 eq, v4, v5; return v3"},
	{"all_true of another shape stays", "v128", "i32",
		"v1 = vconst.v128 0x0; v2 = vicmp.i16x8 ne, v0, v1; v3 = vall_true.i8x16 v2; return v3",
		"v1 = vconst.v128 0x00000000000000000000000000000000; v2 = vicmp.i16x8 ne, v0, v1; v3 = vall_true.i8x16 v2; return v3"},
	{"vbitmask-top", "v128", "i32",
		"v1 = vconst.v128 0x0; v2 = vicmp.i32x4 slt, v0, v1; v3 = vbitmask.i32x4 v2; return v3",
		"v3 = vbitmask.i32x4 v0; return v3"},
	{"bits of a bitmask", "v128", "i32",
		"v1 = vbitmask.i8x16 v0; v2 = iconst.i32 65535; v3 = band.i32 v1, v2; return v3",
		"v1 = vbitmask.i8x16 v0; return v1"},
	{"bits of a lane", "v128", "i32",
		"v1 = vextract.i8x16 v0, 3; v2 = iconst.i32 255; v3 = band.i32 v1, v2; return v3",
		"v1 = vextract.i8x16 v0, 3; return v1"},
	{"truth of a vector", "v128", "i32",
		"v1 = vany_true.v128 v0; v2 = iconst.i32 0; v3 = icmp.i32 ne, v1, v2; return v3",
		"v1 = vany_true.v128 v0; return v1"},
	{"lane-mask", "i32", "v128",
		"v1 = iconst.i32 255; v2 = band.i32 v0, v1; v3 = vsplat.i8x16 v2; return v3",
		"v3 = vsplat.i8x16 v0; return v3"},
	{"lane-mask of a wider lane stays", "i32", "v128",
		"v1 = iconst.i32 255; v2 = band.i32 v0, v1; v3 = vsplat.i16x8 v2; return v3",
		"v1 = iconst.i32 255; v2 = band.i32 v0, v1; v3 = vsplat.i16x8 v2; return v3"},
	{"splat-extract", "v128", "v128",
		"v1 = vextract_s.i16x8 v0, 2; v2 = vsplat.i16x8 v1; return v2",
		"v2 = vshuffle.i8x16 v0, v0, [4, 5, 4, 5, 4, 5, 4, 5, 4, 5, 4, 5, 4, 5, 4, 5]; return v2"},
	{"extract-splat", "i32", "i32",
		"v1 = vsplat.i8x16 v0; v2 = vextract_s.i8x16 v1, 2; return v2",
		"v3 = sext8.i32 v0; return v3"},
	{"extract-inserted", "v128, i32", "i32",
		"v2 = vinsert.i16x8 v0, v1, 5; v3 = vextract.i16x8 v2, 5; return v3",
		"v4 = iconst.i32 65535; v5 = band.i32 v1, v4; return v5"},
	{"extract-other", "v128, f32", "f32",
		"v2 = vinsert.f32x4 v0, v1, 3; v3 = vextract.f32x4 v2, 1; return v3",
		"v3 = vextract.f32x4 v0, 1; return v3"},
	{"extract-shuffle", "v128, v128", "i32",
		"v2 = vshuffle.i8x16 v0, v1, [0, 1, 2, 3, 24, 25, 26, 27, 0, 0, 0, 0, 0, 0, 0, 0]; v3 = vextract.i32x4 v2, 1; return v3",
		"v3 = vextract.i32x4 v1, 2; return v3"},
	{"extract of parts stays", "v128, v128", "i32",
		"v2 = vshuffle.i8x16 v0, v1, [0, 1, 2, 3, 25, 26, 27, 28, 0, 0, 0, 0, 0, 0, 0, 0]; v3 = vextract.i32x4 v2, 1; return v3",
		"v2 = vshuffle.i8x16 v0, v1, [0, 1, 2, 3, 25, 26, 27, 28, 0, 0, 0, 0, 0, 0, 0, 0]; v3 = vextract.i32x4 v2, 1; return v3"},
	{"insert-extracted", "v128", "v128",
		"v1 = vextract.i64x2 v0, 1; v2 = vinsert.i64x2 v0, v1, 1; return v2",
		"return v0"},
	{"insert-twice", "v128, i32, i32", "v128",
		"v3 = vinsert.i8x16 v0, v1, 7; v4 = vinsert.i8x16 v3, v2, 7; return v4",
		"v4 = vinsert.i8x16 v0, v2, 7; return v4"},
	{"shuffle-one", "v128, v128", "v128",
		"v2 = vshuffle.i8x16 v0, v1, [31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16]; return v2",
		"v2 = vshuffle.i8x16 v1, v1, [15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]; return v2"},
	{"shuffle-stays", "v128", "v128",
		"v1 = vshuffle.i8x16 v0, v0, [0, 17, 2, 19, 4, 21, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]; return v1",
		"return v0"},
	{"shuffle-stays of a splat", "i32", "v128",
		"v1 = vsplat.i16x8 v0; v2 = vshuffle.i8x16 v1, v1, [2, 3, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 14, 15]; return v2",
		"v1 = vsplat.i16x8 v0; return v1"},
	{"shuffle-twice", "v128, v128", "v128",
		"v2 = vshuffle.i8x16 v0, v1, [0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23]; v3 = vshuffle.i8x16 v2, v2, [1, 3, 5, 7, 9, 11, 13, 15, 1, 1, 1, 1, 1, 1, 1, 1]; return v3",
		"v3 = vshuffle.i8x16 v1, v1, [0, 1, 2, 3, 4, 5, 6, 7, 0, 0, 0, 0, 0, 0, 0, 0]; return v3"},
	{"swizzle-const", "v128", "v128",
		"v1 = vconst.v128 0x000102030405060708090a0b0c0d0e0f; v2 = vswizzle.i8x16 v0, v1; return v2",
		"v2 = vshuffle.i8x16 v0, v0, [15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]; return v2"},
	{"swizzle to zero stays", "v128", "v128",
		"v1 = vconst.v128 0x100102030405060708090a0b0c0d0e0f; v2 = vswizzle.i8x16 v0, v1; return v2",
		"v1 = vconst.v128 0x100102030405060708090a0b0c0d0e0f; v2 = vswizzle.i8x16 v0, v1; return v2"},
}

// vectorFunc returns the function of case i.
func vectorFunc(t *testing.T, i int) *clif.Func {
	c := &vectorCases[i]
	var params []string
	for k, p := range strings.Split(c.params, ", ") {
		if p != "" {
			params = append(params, fmt.Sprintf("v%d: %s", k, p))
		}
	}
	file, err := text.Parse(fmt.Sprintf("function \"f\" (%s) -> (%s) {\nblock0(%s):\n%s\n}\n", c.params, c.result,
		strings.Join(params, ", "), strings.ReplaceAll(c.src, "; ", "\n")))
	if err != nil {
		t.Fatalf("%s: %v", c.name, err)
	}
	return file.Funcs[0].Func
}

// TestVectorRules checks what each rule makes of its case, and that it gives the same.
func TestVectorRules(t *testing.T) {
	var o Optimizer
	r := rand.New(rand.NewPCG(1, 7))
	for i := range vectorCases {
		c := &vectorCases[i]
		f := vectorFunc(t, i)
		g := optimized(t, &o, f)
		if os.Getenv("SHOW") != "" {
			fmt.Printf("%s\t%s\n", c.name, body(g))
		} else if d := cmp.Diff(strings.Split(c.want, "; "), strings.Split(body(g), "; ")); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
		before, after := newWorld(t, f), newWorld(t, g)
		for range 100 {
			in := inputs(r, f)
			if a, b := before.call(t, in), after.call(t, in); a != b {
				t.Fatalf("%s: f(%#x): %s before, %s after\n%v\n%v", c.name, in, a, b, f, g)
			}
		}
	}
}
