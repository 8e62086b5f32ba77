package main

import (
	"io"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/waot-project/waot/internal/initialize"
	"github.com/waot-project/waot/internal/quote"
)

// snapshotDefault is what --snapshot means alone. No export is called so.
const snapshotDefault = "_initialize, or _start up to the import waot snapshot"

// snapshotFlags are flags of build.
func snapshotFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "snapshot", Usage: "initialise the program now: call `EXPORT`, or without a name what initialises it, and compile what it is then", DefaultText: "off"},
		&cli.StringSliceFlag{Name: "snapshot-arg", Usage: "with --snapshot: give the program `ARG` behind its name while it is initialised"},
		&cli.StringFlag{Name: "snapshot-time", Usage: "with --snapshot: what clocks say then, a `TIME` such as 2001-02-03T04:05:06Z; without it they are refused", DefaultText: "none"},
		&cli.StringFlag{Name: "snapshot-seed", Usage: "with --snapshot: what random numbers come of then, any `TEXT`; without it they are refused", DefaultText: "none"},
	}
}

// snapshotResult is what build --json prints of a snapshot.
type snapshotResult struct {
	Export string `json:"export"`
	Marker bool   `json:"marker"` // the program was frozen while it ran
	RanNS  int64  `json:"ran_ns"`
	// Module bytes before and after.
	BytesBefore int `json:"bytes_before"`
	BytesAfter  int `json:"bytes_after"`
	// Functions of the module's own, and those that can no longer be called; the sizes of their bodies.
	Functions     int `json:"functions"`
	DeadFunctions int `json:"dead_functions"`
	BodyBytes     int `json:"body_bytes"`
	DeadBytes     int `json:"dead_bytes"`
	MemoryBytes   int `json:"memory_bytes"`
	DataBytes     int `json:"data_bytes"`
}

// takeSnapshot puts the snapshot of a module in its place, if there is to be one.
func takeSnapshot(c *cli.Context, src *source, opt *options) (*snapshotResult, error) {
	if !c.IsSet("snapshot") {
		for _, f := range snapshotFlags() {
			if name := f.Names()[0]; c.IsSet(name) {
				return nil, usagef("build: --%s: counts only with --snapshot", name)
			}
		}
		return nil, nil
	}
	o := &initialize.Options{Export: c.String("snapshot"), Output: c.App.ErrWriter, Seed: c.String("snapshot-seed"), Compile: opt.named(src.file)}
	if o.Export == snapshotDefault {
		o.Export = ""
	} else if o.Export == "" {
		return nil, usagef("build: --snapshot=: must name an exported function")
	}
	var err error
	if t := c.String("snapshot-time"); t != "" {
		if o.Time, err = time.Parse(time.RFC3339, t); err != nil {
			return nil, usagef("build: --snapshot-time=%s: must be like 2001-02-03T04:05:06Z", t)
		}
	}
	o.Args = append([]string{nameOf(src.file)}, c.StringSlice("snapshot-arg")...)
	if o.Env, err = givenEnv(c); err != nil {
		return nil, err
	}
	if o.Dirs, err = programDirs(c); err != nil {
		return nil, err
	}
	p := startProgress(c.App.ErrWriter, "initialising "+quote.Name(src.file))
	o.Compile.Progress = p.set
	r, err := initialize.Snapshot(opt.context(), src.b, o)
	p.finish()
	if err != nil {
		return nil, err
	}
	x := &snapshotResult{Export: r.Export, Marker: r.Marker, RanNS: r.Took.Nanoseconds(), BytesBefore: len(src.b), BytesAfter: len(r.Wasm),
		Functions: r.Stats.Funcs, DeadFunctions: r.Stats.Dead, BodyBytes: r.Stats.Bytes, DeadBytes: r.Stats.DeadBytes, MemoryBytes: r.Stats.Memory, DataBytes: r.Stats.Data}
	src.b, src.text = r.Wasm, nil // places in the text are not those of the snapshot
	return x, nil
}

// print says what became of the module, if there is a snapshot.
func (x *snapshotResult) print(c *cli.Context) {
	if x == nil {
		return
	}
	how := "ran"
	if x.Marker {
		how = "ran up to the marker"
	}
	printf(c, "snapshot: %s %s in %s; the module had %d bytes and has %d, %d of %d functions (%d of %d bytes) are left, %d bytes of data for %d of memory\n",
		quote.Name(x.Export), how, time.Duration(x.RanNS).Round(10*time.Microsecond), x.BytesBefore, x.BytesAfter, x.Functions-x.DeadFunctions, x.Functions,
		x.BodyBytes-x.DeadBytes, x.BodyBytes, x.DataBytes, x.MemoryBytes)
}

// writeSnapshot writes the module.
func writeSnapshot(c *cli.Context, out string, src *source, x *snapshotResult) error {
	err := writeOutput(c.Context, out, 0o666, func(w io.Writer) error {
		_, err := w.Write(src.b)
		return err
	})
	if err != nil {
		return inFile(out, err)
	}
	if c.Bool("json") {
		writeJSON(c.App.Writer, struct {
			Module   string          `json:"module"`
			Output   string          `json:"output"`
			Snapshot *snapshotResult `json:"snapshot"`
		}{src.file, out, x})
		return nil
	}
	printf(c, "%s: module of %d bytes\n", quote.Name(out), len(src.b))
	x.print(c)
	return nil
}
