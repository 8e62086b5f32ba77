# Needed: Go 1.25 or later, make, git. Nothing here uses cgo or the network, but for
# modules that go.sum names.
export CGO_ENABLED = 0

GO ?= go
OUT ?= bin
# For test: further flags of go test. For check: the packages whose tests run. For fuzz: how long each target runs; check gives a number of inputs, as Go's fuzzer fails if a short time ends
# while a worker still starts. For bench: rounds, of which medians are taken. For soak: how
# many seconds each of its campaigns runs, where their seeds begin, the folder for what differs,
# modules whose functions take part, and random modules for wasmtime.
TESTFLAGS ?=
PACKAGES ?= ./...
FUZZTIME ?= 60s
ROUNDS ?= 5
SECONDS_EACH ?= 300
SEED := $(or $(SEED),$(shell date +%s))
FOUND ?= soak-found
MODULES ?=
WASMTIME_MODULES ?= 3000

.PHONY: all build test check demo bench fuzz soak clean

all: build

# The tag leaves a Markdown parser out of the library that reads command lines: waot starts 0.3 ms sooner. Linux keeps what the linker writes in single
# pages, and maps these one by one; a copy of the program is in larger pieces, and starts 0.8 ms sooner as long as it stays in memory.
build:
	$(GO) build -tags urfave_cli_no_docs -o $(OUT)/waot ./cmd/waot
	@cp $(OUT)/waot $(OUT)/waot.copy && mv $(OUT)/waot.copy $(OUT)/waot

# All tests, some cases of each kind: 4 minutes of processor time once all is built are the aim. A test that hangs is ended after an hour, since
# a busy machine may take long for what is quick. Collecting garbage less often saved a tenth of
# the time in the three packages where it was measured.
test: export GOGC ?= 1000
test:
	$(GO) test -timeout 60m $(TESTFLAGS) ./...

# All cases and all kept faults, and 1,000 inputs for each fuzz target. Here collecting garbage less often saves half of the time of some tests; a process that
# takes 5 GiB collects more.
check: export GOGC ?= 400
check: export GOMEMLIMIT ?= 5GiB
check:
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "not gofmt: $$unformatted"; exit 1; fi
	$(GO) vet ./...
	WAOT_FULL=1 $(GO) test -timeout 60m $(PACKAGES)
	@$(MAKE) --no-print-directory fuzz FUZZTIME=1000x

# A real program: compiled from Go to WASI, then to native code, then run.
demo: build
	GOOS=wasip1 GOARCH=wasm $(GO) build -o $(OUT)/report.wasm ./examples/report
	$(OUT)/waot build $(OUT)/report.wasm -o $(OUT)/report.o
	$(OUT)/waot run $(OUT)/report.o
	$(OUT)/waot run $(OUT)/report.wasm --dir examples::/ -- /README.md

bench:
	$(GO) run ./bench/compare -rounds $(ROUNDS)
	$(GO) run ./bench/compare -rounds $(ROUNDS) -vectors

# Every fuzz target, one after the other.
fuzz:
	@grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u | while read -r dir; do \
		for f in $$(grep -h -o '^func Fuzz[A-Za-z0-9_]*' $$dir/*_test.go | cut -c6-); do \
			echo "$$dir $$f"; \
			$(GO) test $$dir -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x -parallel 2 || exit 1; \
		done; \
	done

# Campaigns: allocations, faults planted into them, random modules on both machines (AArch64 needs qemu), the same under
# wasmtime where there is a C compiler, the host beside all that a Go process does, and with random guests. Without SEED each
# run tries other cases.
soak:
	@echo "SEED=$(SEED)"
	$(GO) run ./internal/proof/regalloc/soak -seconds $(SECONDS_EACH) -n 1000000000 -first $(SEED)
	$(GO) run ./internal/proof/mutate -seconds $(SECONDS_EACH) -n 1000000000 -seed $(SEED) $(MODULES)
	$(GO) run ./internal/proof/campaign/soak -seconds $(SECONDS_EACH) -n 1000000000 -seed $(SEED) -out $(FOUND)
	$(GO) run ./internal/proof/campaign/soak -vectors -seconds $(SECONDS_EACH) -n 1000000000 -seed $(SEED) -out $(FOUND)
	@if command -v gcc >/dev/null; then oracle/run.sh -run TestRandom -v -modules $(WASMTIME_MODULES) -seed $(SEED); \
		else echo "no gcc: nothing is compared with wasmtime"; fi
	WAOT_STRESS=$(SECONDS_EACH)s $(GO) test ./internal/proof/stress -run 'TestStress$$' -v -timeout 0
	$(GO) run ./internal/proof/guestfuzz/soak -seconds $(SECONDS_EACH) -seed $(SEED)

clean:
	rm -rf $(OUT) $(FOUND)
