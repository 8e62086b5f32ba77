package campaign

import (
	"strings"
	"testing"

	"github.com/waot-project/waot/internal/reduce"

	"github.com/waot-project/waot/internal/randprog"
)

// TestFileTest: what needs nothing but its functions becomes a filetest; what imports does not.
func TestFileTest(t *testing.T) {
	made := 0
	for seed := range uint64(10) {
		p := randprog.Generate(seed)
		want, _, err := randprog.Judge(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		if fileTest(p, want) != "" {
			t.Errorf("seed %d: it imports", seed)
		}
		if len(p.Calls) == 0 {
			continue
		}
		// The first function that gives or traps what it does without anything else.
		one := *p
		one.Calls = p.Calls[:1]
		want, _, err = randprog.Judge(t.Context(), &one)
		if err != nil {
			t.Fatal(err)
		}
		b, _, err := reduce.Module(p.Wasm, reduce.Options{MaxTries: 2000}, func(b []byte) bool {
			q := one.With(b)
			if len(q.Calls) == 0 || randprog.Run(randprog.Bounded(), q).Failed != "" {
				return false
			}
			got, _, err := randprog.Judge(t.Context(), q)
			return err == nil && len(got.Calls) == 1 && got.Calls[0] == want.Calls[0]
		})
		if err != nil {
			t.Fatal(err)
		}
		q := one.With(b)
		got, _, err := randprog.Judge(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if text := fileTest(q, got); text != "" {
			made++
			if !strings.Contains(text, "\n; run: %") && !strings.Contains(text, "\n; trap: %") {
				t.Errorf("seed %d:\n%s", seed, text)
			}
			if made == 1 {
				t.Log(text)
			}
		}
	}
	t.Logf("%d filetests", made)
	if made == 0 {
		t.Error("no filetest was made")
	}
}
