//go:build linux

package main

// run is tests of a package: all, or those that a pattern names as for go test -run.
type run struct {
	pkg, pattern string
	// long is for tests that -short skips, or makes too weak.
	long bool
}

func (r run) String() string {
	if r.pattern != "" {
		return r.pkg + " " + r.pattern
	}
	return r.pkg
}

// here stands in a row for the tests of the package itself.
var here = run{}

// Tests of other packages that several rows name. Those of few seconds come first in a row: they decide most cases.
var (
	fileTests   = run{pkg: "internal/proof/filetest"}
	textTests   = run{pkg: "clif/text"}
	midEnd      = run{pkg: "clif/opt"}
	interpreted = run{pkg: "spectest/interpengine"}
	allocator   = run{pkg: "regalloc/linear"}
	loading     = run{pkg: "host/load"}
	validation  = run{pkg: "wasmfront/validate"}
	translation = run{pkg: "wasmfront/translate"}
	root        = run{pkg: "."}
	filesX64    = run{pkg: "backend/isa/x64", pattern: "TestFiles"}
	filesA64    = run{pkg: "backend/isa/a64", pattern: "TestFiles"}
	onX64       = run{pkg: "backend/isa/x64"}
	onA64       = run{pkg: "backend/isa/a64"}
	suite       = run{pkg: "spectest/nativeengine"}
	suiteA64    = run{"cmd/waot", "TestSuiteElsewhere", true}
	programs    = run{pkg: "internal/proof/difftest"}
	embedding   = run{pkg: "host"}
	inProcess   = run{pkg: "host/inproc"}
	objects     = run{pkg: "compile"}
	bugs        = run{pkg: "internal/proof/knownbugs"}
	commands    = run{pkg: "cmd/waot"}
	wasiRuns    = run{pkg: "host/wasirun"}
)

// covers lists the packages into which faults are planted, each with the tests that should notice them, in the order in which they run.
var covers = map[string][]run{
	".":                   {here, wasiRuns, commands},
	"backend":             {here, filesX64, filesA64, onX64, onA64, suite, objects, programs, bugs, commands},
	"backend/instance":    {here, suite, inProcess, objects, programs},
	"backend/isa/a64":     {filesA64, here, objects, suiteA64, programs},
	"backend/isa/a64/asm": {here, filesA64, onA64, objects, suiteA64},
	"backend/isa/x64":     {filesX64, here, suite, objects, programs, bugs},
	"backend/isa/x64/asm": {here, filesX64, onX64, suite, objects, programs},
	"checker":             {here, {pkg: "internal/proof/mutate"}, {pkg: "internal/proof/regalloc/soak"}, suite},
	"clif":                {here, fileTests, textTests, {pkg: "clif/verify"}, midEnd, interpreted, suite, objects},
	"clif/analysis":       {here, midEnd, suite, programs},
	"clif/inline":         {here, fileTests, {pkg: "internal/proof/difftest", pattern: "Inlined|RandomBacktraces"}, {pkg: ".", pattern: "TestInlined"}, suite},
	"clif/arith":          {here, midEnd, interpreted, onX64, suite},
	"clif/resumable":      {rareSides, here, fileTests, midEnd, weights, suite, programs},
	"clif/interp":         {here, fileTests, interpreted, onX64},
	"clif/opt":            {here, interpreted, suite, programs, bugs},
	"clif/pattern":        {midEnd, filesX64},
	"clif/rewrite":        {midEnd, {pkg: "cmd/waot", pattern: "TestBisect"}},
	"clif/text":           {here, fileTests, midEnd},
	"clif/verify":         {here, fileTests, midEnd, objects},
	"cmd/waot":            {here},
	"compile":             {filesX64, here, onX64, suite, embedding, programs, commands},
	"host":                {here, wasiRuns, root, programs, commands},
	"host/hosterr":        {inProcess, embedding, wasiRuns},
	"host/loaded":         {embedding, wasiRuns, root},
	"host/inproc":         {here, {pkg: "internal/cache"}, {pkg: "internal/proof/stress"}, embedding, suite, programs, bugs},
	"host/jsstring":       {here},
	"host/load":           {here, embedding, objects, programs, commands},
	"host/sign":           {here, embedding, commands},
	"host/wasirun":        {here, root, commands},
	"internal/abi":        {here, filesX64, filesA64, onX64, onA64, objects, inProcess, suite},
	"internal/cost":       {here, commands},
	"internal/effect":     {{pkg: "clif"}, {pkg: "wasmfront"}, translation, midEnd, objects},
	"internal/gcheap":     {here, inProcess},
	"internal/gcpace":     {here, objects},
	"internal/input":      {here, commands},
	"internal/inspect":    {here, commands},
	"internal/quote":      {here, commands},
	"internal/image":      {here, inProcess, embedding, {pkg: "internal/cache"}},
	"internal/link":       {here, inProcess, loading, objects, {pkg: "internal/program"}},
	"internal/cheader":    {{pkg: "internal/cruntime"}, commands},
	"internal/cruntime":   {here, commands},
	"internal/cache":      {here, root, commands},
	"internal/program":    {here},
	"internal/meta":       {here, loading, inProcess, objects, programs},
	"internal/reloc":      {here, loading, objects, inProcess, onA64},
	"internal/stop":       {here, objects},
	"machbuffer":          {here, filesX64, filesA64, onX64, onA64, objects},
	"objfile":             {here, loading, objects, programs, commands},
	"regalloc":            {allocator, {pkg: "internal/proof/regalloc/soak"}, onX64},
	"regalloc/flow":       {allocator, {pkg: "regalloc/ssa"}, {pkg: "regalloc/local"}, here, filesX64, {pkg: "internal/proof/regalloc/soak"}, onX64, objects},
	"regalloc/local":      {here, {pkg: "internal/proof/regalloc/soak"}, suite, programs},
	"regalloc/ssa":        {here, {pkg: "internal/proof/regalloc/soak"}},
	"regalloc/linear":     {here, filesX64, {pkg: "internal/proof/regalloc/soak"}, onX64, objects, suite, programs},
	"regalloc/parmove":    {here, allocator},
	"wasi":                {here, wasiRuns, programs},
	"wasmfront":           {here, validation, translation, suite, programs, commands},
	"wasmfront/encode":    {{pkg: "wasmfront/wat"}, frozen, snapshots},
	"internal/snapshot":   {frozen, snapshots, {pkg: "cmd/waot", pattern: "Snapshot"}},
	"internal/initialize": {here, snapshots, {pkg: ".", pattern: "Snapshot"}, {pkg: "cmd/waot", pattern: "Snapshot"}},
	"wasmfront/fuel":      {here, {pkg: "internal/proof/difftest", pattern: "TestFuel"}},
	"wasmfront/printer":   {here},
	"wasmfront/translate": {here, interpreted, suite, programs, bugs},
	"wasmfront/validate":  {here, suite, programs},
	"wasmfront/wat":       {here},
}

// foremost lists files that a few tests are about. Those run before the tests of the package's row.
var foremost = map[string][]run{
	"clif/resumable/rareside.go": {rareSides},
	"backend/tops.go":            {filesX64, filesA64},
	"clif/opt/access.go":         {{pkg: "clif/opt", pattern: "TestSums|TestAddress"}},
	"clif/opt/addresses.go":      {{pkg: "clif/opt", pattern: "TestAddress"}},
	"clif/opt/induction.go":      {{pkg: "clif/opt", pattern: "TestCountedLoops|TestAddress"}},
	"clif/opt/upperbounds.go":    {{pkg: "clif/opt", pattern: "TestBounds|TestGuards|TestAddress"}},
	"clif/opt/zerobased.go":      {{pkg: "clif/opt", pattern: "TestAddress"}},
	"clif/opt/bulk.go":           {{pkg: "clif/opt", pattern: "TestBulk"}},
	"clif/opt/bytes.go":          {{pkg: "clif/opt", pattern: "TestByte"}},
	"clif/opt/dispatch.go":       {fileTests, {pkg: "clif/opt", pattern: "TestDispatch|TestGraphs"}},
	"clif/opt/repair.go":         {fileTests, {pkg: "clif/opt", pattern: "TestDispatch|TestGraphs"}},
	"clif/opt/returns.go":        {unwinding},
	"clif/opt/rowmatch.go":       {eachRow},
	"clif/opt/rowwords.go":       {eachRow},
	"clif/opt/ruletable.go":      {eachRow},
	"clif/opt/shuffles.go":       {eachRow},
	"clif/opt/wide.go":           {fileTests, {pkg: "clif/opt", pattern: "TestWide"}},
	"regalloc/flow/wrap.go":      {savedWays},
	"regalloc/saves.go":          {quickWays},
	"compile/drop.go":            {{pkg: "compile", pattern: "TestDropped"}},
	"compile/inline.go":          {{pkg: "compile", pattern: "TestDropped"}, {pkg: "internal/proof/difftest", pattern: "TestInlined"}, {pkg: ".", pattern: "TestInlined"}},
	"compile/places.go":          {{pkg: "internal/proof/difftest", pattern: "TestInlined|TestRandomBacktraces"}, {pkg: ".", pattern: "TestInlined"}},
}

// excluded lists files without faults, with the reason.
var excluded = map[string]string{
	"backend/dump.go":              "dumps of VCode and allocations are for people",
	"backend/isa/a64/asm/print.go": "so are listings",
	"backend/isa/x64/asm/print.go": "so are listings",
}
