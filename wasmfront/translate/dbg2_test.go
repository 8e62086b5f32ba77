package translate_test
import ("testing";"os";"strconv";"github.com/waot-project/waot/internal/wasmgen";"github.com/waot-project/waot/wasmfront/validate";"github.com/waot-project/waot/wasmfront")
func TestDump(t *testing.T) {
	seed, _ := strconv.ParseUint(os.Getenv("SEED"), 10, 64)
	fn, _ := strconv.Atoi(os.Getenv("FN"))
	p := wasmgen.Generate(seed, wasmgen.Config{NoTraps: seed%2 == 0})
	m, _ := validate.Module(p.Wasm, validate.Config{})
	var v validate.Func
	var op wasmfront.Operator
	v.Begin(m, uint32(fn))
	for v.Next(&op) { t.Log(op.String()) }
}
