package knownbugs

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/waot-project/waot/internal/proof/bugcases"
	"github.com/waot-project/waot/internal/proof/compare"
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

// envServe makes the test binary a process that plays cases.
const envServe = "WAOT_KNOWNBUGS_SERVE"

// TestMain says which cases run.
func TestMain(m *testing.M) {
	if os.Getenv(envServe) != "" {
		if err := compare.Serve(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	flag.Parse()
	cases = chosen()
	fmt.Printf("cases: %v (%s)\n", cases, EnvShard)
	status := m.Run()
	if err := other.close(); err != nil {
		fmt.Println("the process of the other machine:", err)
		status = max(status, 1)
	}
	os.Exit(status)
}

// part is bugcases.Part for cases, and sampled is bugcases.Sampled.
func part[T any](list []T, n int) []T    { return bugcases.Part(cases, list, n) }
func sampled[T any](list []T, n int) []T { return bugcases.Sampled(cases, list, n) }
