#!/usr/bin/env bash
# Compares the functions that nothing reaches with two lists, which may only shrink: programs.txt has those that no
# program of ours reaches (commands, benchmarks, examples), be it that tests do; tests.txt those that not
# even tests reach. A function that is not listed fails, and so does an entry whose function is reached or gone.
# With -update entries of that kind are removed; what is new has to be removed from the code, or listed by hand with a reason.
#
# Needs: Go, and the modules of go.mod here. Both lists are for linux/amd64; a line is a package and a function, or a
# comment that gives the reason for the lines below it.
set -euo pipefail
export LC_ALL=C CGO_ENABLED=0
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd "$here" && go build -o "$work/deadcode" golang.org/x/tools/cmd/deadcode)
module=$(cd "$root" && go list -m)
status=0

check() { # list, arguments of deadcode
  local list=$here/$1 new gone
  (cd "$root" && GOOS=linux GOARCH=amd64 "$work/deadcode" -f '{{range .Funcs}}{{println $.Path .Name}}{{end}}' "${@:2}") >"$work/all"
  sed "/^\$/d; s,^$module,.," "$work/all" | sort -u >"$work/found"
  sed '/^#/d; /^$/d' "$list" | sort -u >"$work/listed"
  new=$(comm -23 "$work/found" "$work/listed")
  gone=$(comm -13 "$work/found" "$work/listed")
  if [ -n "$new" ]; then
    printf 'dead, and not in %s:\n%s\n' "$1" "$new"
    status=1
  fi
  if [ -n "$gone" ] && [ "$update" = 1 ]; then
    grep -vxF "$gone" "$list" >"$work/kept"
    cp "$work/kept" "$list"
  elif [ -n "$gone" ]; then
    printf 'in %s, but reached or gone (check.sh -update removes it):\n%s\n' "$1" "$gone"
    status=1
  fi
}

update=0
if [ "${1-}" = -update ]; then update=1; fi
check programs.txt ./cmd/... ./bench/... ./examples/...
check tests.txt -test ./...
exit $status
