package knownbugs

import (
	"bytes"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"github.com/waot-project/waot/internal/proof/bugcases"
	"github.com/waot-project/waot/internal/proof/compare"
	"github.com/waot-project/waot/internal/proof/wat"
)

// TestWrappedAddresses computes addresses that wrap around 32 bits.
func TestWrappedAddresses(t *testing.T) { bugcases.Run(t, bugcases.WrappedAddresses(cases), check) }

// TestAccessSequences has sequences of accesses around the end of memory, which share addresses.
func TestAccessSequences(t *testing.T) { bugcases.Run(t, bugcases.AccessSequences(cases), check) }

// TestDirtyUpperHalf uses every producer of an i32 as address, index, length and number, at once and after a call.
func TestDirtyUpperHalf(t *testing.T) { bugcases.Run(t, bugcases.DirtyUpperHalf(cases), check) }

// TestSpilledAddresses uses numbers as addresses that were spilled across a call.
func TestSpilledAddresses(t *testing.T) { check(t, bugcases.SpilledAddresses(cases)) }

// TestEveryOffset has every operator with an address at constant offsets from 0 to 70,000: each
// that an encoding holds, the next ones, and multiples of no width. With -exhaustive, it is
// every single one.
func TestEveryOffset(t *testing.T) {
	const most = 70000
	loads, stores := wat.Accesses()
	for n, op := range append(slices.Clone(loads), stores...) {
		t.Run(op.Name, func(t *testing.T) {
			t.Parallel()
			var list []uint64
			for o := uint64(0); o < most; o++ {
				near := func(edge, d uint64) bool { return o+d >= edge && o <= edge+d }
				edge := o < 300 || near(4095*op.Width, 12) || near(256*op.Width, 5) || near((o+2048)&^4095, 2)
				step := uint64(7)
				if cases.Sample() {
					step = 61
				}
				if (*exhaustive || edge || (o+uint64(n))%step == 0) && cases.Has(int(o), 1) {
					list = append(list, o)
				}
			}
			var b compare.Builder
			type want struct {
				offsets []uint64
				fn      string
			}
			var wants []want
			for len(list) > 0 {
				part := list[:min(400, len(list))]
				list = list[len(part):]
				var body strings.Builder
				body.WriteString("(local i64)")
				for i, o := range part {
					if op.Store() {
						fmt.Fprintf(&body, "(%s offset=%d (local.get 0) %s)", op.Name, o, wat.Const(op.Params[1], 0x40+uint64(i)&0x3F))
					} else {
						fmt.Fprintf(&body, "(local.set 1 (i64.add (i64.rotl (local.get 1) (i64.const 7)) %s))", wat.ToI64(op.Result[0], fmt.Sprintf("(%s offset=%d (local.get 0))", op.Name, o)))
					}
				}
				result := "l"
				if op.Store() {
					result = ""
				} else {
					body.WriteString("(local.get 1)")
				}
				wants = append(wants, want{part, b.Add("i", result, body.String())})
			}
			wasm := assemble(t, `(module (memory (export "memory") 2)`+b.String()+")")
			for _, e := range compare.Natives() {
				inst := start(t, e, wasm)
				mem := memoryOf(t, inst)
				model := make([]byte, len(mem))
				for i := range mem {
					model[i] = wat.Pattern(uint64(i))
				}
				copy(mem, model)
				for _, index := range []uint64{0, 3, 1001} {
					for _, w := range wants {
						sum := uint64(0)
						for i, o := range w.offsets {
							at := model[index+o : index+o+op.Width]
							if op.Store() {
								for k := range at {
									at[k] = byte((0x40 + uint64(i)&0x3F) >> (8 * k))
								}
							} else {
								sum = bits.RotateLeft64(sum, 7) + loadedNumber(&op, at)
							}
						}
						values, err := inst.Invoke(w.fn, []uint64{index})
						if err != nil || !op.Store() && values[0].Bits != sum {
							t.Fatalf("%s: offsets %d to %d from %d: %v, %v, want %#x", e.Name(), w.offsets[0], w.offsets[len(w.offsets)-1], index, values, err, sum)
						}
					}
					if !bytes.Equal(mem, model) {
						t.Fatalf("%s: memory is not what it should be after stores from %d", e.Name(), index)
					}
				}
			}
		})
	}
}
