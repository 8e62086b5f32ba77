package wat

import (
	"strings"
	"sync"

	"github.com/waot-project/waot/wasmfront"
)

// word is what is known of a keyword.
type word struct {
	op      wasmfront.Opcode
	isOp    bool
	feature wasmfront.Features // that the word belongs to; 0 for WebAssembly 1.0
}

// words returns all keywords: the names of operators, and those listed here. Most
// processes that have this package read no text, so the map is made when it is needed.
var words = sync.OnceValue(func() map[string]word {
	m := map[string]word{}
	for _, row := range plainWords {
		for _, w := range strings.Fields(row.words) {
			m[w] = word{feature: row.feature}
		}
	}
	for _, op := range wasmfront.Opcodes() {
		if name := op.String(); !strings.Contains(name, " ") { // those with one are written without what follows
			m[name] = word{op: op, isOp: true, feature: op.Info().Feature}
		}
	}
	return m
})

// plainWords are the keywords that are no operators, by the proposal that
// they belong to.
var plainWords = [...]struct {
	feature wasmfront.Features
	words   string
}{
	{0, `module definition instance binary quote either
		type func param result local import export table memory global mut start elem declare item data offset then
		i32 i64 f32 f64 v128 funcref externref extern
		i8x16 i16x8 i32x4 i64x2 f32x4 f64x2
		nan:canonical nan:arithmetic`},
	{wasmfront.FeatureThreads, `shared unshared`},
	{wasmfront.FeatureCustomPageSizes, `pagesize`},
	{wasmfront.FeatureExceptions, `tag catch_ref catch_all_ref exnref exn noexn nullexnref`},
	{wasmfront.FeatureLegacyExceptions, `do`},
	{wasmfront.FeatureFunctionReferences, `ref null`},
	{wasmfront.FeatureGC, `rec sub final struct array field i8 i16 any eq i31 none nofunc noextern
		anyref eqref i31ref structref arrayref nullref nullfuncref nullexternref`},
	{wasmfront.FeatureStackSwitching, `cont contref nocont nullcontref`},
	{wasmfront.FeatureStringRef, `string stringref`},
	{wasmfront.FeatureCustomDescriptors, `descriptor describes exact`},
}

// isWord reports whether a keyword is one that the format has, and not just a
// word that looks like one.
func isWord(text []byte) bool {
	_, ok := words()[string(text)]
	return ok || isMemArg(text)
}

// isMemArg reports whether a keyword is an offset or an alignment.
func isMemArg(text []byte) bool {
	key, value, ok := strings.Cut(string(text), "=")
	return ok && (key == "offset" || key == "align") && len(value) > 0 && numberKind([]byte(value)) == Nat
}
