package knownbugs

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/waot-project/waot/internal/proof/bugcases"
	"github.com/waot-project/waot/internal/proof/testenv"
)

// emulated says that everything is slower by a factor of about twenty.
func emulated() bool { return os.Getenv("WAOT_EMULATOR") != "" }

// EnvShard names the variable that says which cases of each test run, as bugcases.ParseChoice reads it. Without it, tests
// run all cases at the full level, but a sample at other levels and in an emulator.
const EnvShard = "WAOT_SHARD"

// cases says which cases of each test run.
var cases bugcases.Choice

// chosen is what the variable and the level say. A mistake in the variable ends the process.
func chosen() bugcases.Choice {
	c, err := bugcases.ParseChoice(os.Getenv(EnvShard))
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s=%v\n", EnvShard, err)
		os.Exit(2)
	}
	if c.Sample() && testenv.Full() && !emulated() {
		return bugcases.All()
	}
	return c
}

// TestMain says which cases run.
func TestMain(m *testing.M) {
	flag.Parse()
	cases = chosen()
	fmt.Printf("cases: %v (%s)\n", cases, EnvShard)
	os.Exit(m.Run())
}

// part is bugcases.Part for cases, and sampled is bugcases.Sampled.
func part[T any](list []T, n int) []T    { return bugcases.Part(cases, list, n) }
func sampled[T any](list []T, n int) []T { return bugcases.Sampled(cases, list, n) }
