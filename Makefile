# Needed: Go 1.25 or later, make, git. Nothing here uses cgo or the network, but for
# modules that go.sum names.
export CGO_ENABLED = 0

GO ?= go
OUT ?= bin
# For fuzz: how long each target runs. For bench: rounds, of which medians are taken.
FUZZTIME ?= 10s
ROUNDS ?= 5

.PHONY: all build test check demo bench fuzz clean

all: build

build:
	$(GO) build -o $(OUT)/waot ./cmd/waot

test:
	$(GO) vet ./...
	$(GO) test ./...

check: test
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "not gofmt: $$unformatted"; exit 1; fi

# A real program: compiled from Go to WASI, then to native code, then run.
demo: build
	GOOS=wasip1 GOARCH=wasm $(GO) build -o $(OUT)/report.wasm ./examples/report
	$(OUT)/waot build $(OUT)/report.wasm -o $(OUT)/report.o
	$(OUT)/waot run $(OUT)/report.o
	$(OUT)/waot run $(OUT)/report.wasm --dir examples::/ -- /README.md

bench:
	$(GO) run ./bench/compare -rounds $(ROUNDS)

# Every fuzz target for a short time, one after the other.
fuzz:
	@grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u | while read -r dir; do \
		for f in $$(grep -h -o '^func Fuzz[A-Za-z0-9_]*' $$dir/*_test.go | cut -c6-); do \
			echo "$$dir $$f"; \
			$(GO) test $$dir -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) -parallel 2 || exit 1; \
		done; \
	done

clean:
	rm -rf $(OUT)
