package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/wasmfront"
)

// versionInfo is what version --json prints.
type versionInfo struct {
	Version  string   `json:"version"`
	Revision string   `json:"revision,omitempty"` // of the source, with + if it was changed
	ABI      int      `json:"abi"`                // of compiled code
	Targets  []string `json:"targets"`
	Features string   `json:"features"` // of WebAssembly, beyond 1.0
	Go       string   `json:"go"`
	Host     string   `json:"host"`
}

func versionCommand() *cli.Command {
	return &cli.Command{
		Name:      "version",
		Usage:     "print the version",
		UsageText: "waot version [--json]",
		Flags:     []cli.Flag{jsonFlag()},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return usagef("version: unexpected argument %q", c.Args().First())
			}
			if c.Bool("json") {
				writeJSON(c.App.Writer, version())
				return nil
			}
			printVersion(c)
			return nil
		},
	}
}

func printVersion(c *cli.Context) {
	v := version()
	printf(c, "waot %s", v.Version)
	if v.Revision != "" {
		printf(c, " (%s)", v.Revision)
	}
	printf(c, ", ABI %d, %s, %s\ntargets: %s\nfeatures: %s\n", v.ABI, v.Go, v.Host, strings.Join(v.Targets, ", "), v.Features)
}

func version() versionInfo {
	v := versionInfo{
		Version: buildVersion(), ABI: abi.Version, Targets: compile.Targets(),
		Features: wasmfront.DefaultFeatures.String(), Go: runtime.Version(),
		Host: fmt.Sprintf("%s/%s", runtime.GOOS, runtime.GOARCH),
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value[:min(12, len(s.Value))]
		case "vcs.modified":
			if s.Value == "true" {
				v.Revision += "+"
			}
		}
	}
	return v
}

func buildVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
