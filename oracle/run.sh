#!/bin/sh
# The comparison with wasmtime, about a minute of processor time. It needs gcc, and wasmtime's Go
# package, 55 MB, from the module proxy or cache. Arguments go to the tests:
#   oracle/run.sh -run TestRandom -modules 100000 -seed 1
set -e
cd "$(dirname "$0")"
CGO_ENABLED=1
export CGO_ENABLED
unformatted=$(gofmt -l .)
test -z "$unformatted" || { echo "not gofmt: $unformatted"; exit 1; }
go vet .
go test . -timeout 10m "$@"
