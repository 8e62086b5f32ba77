package main

import (
	"errors"
	"syscall"

	"github.com/waot-project/waot/host"
)

// fewAddresses is what to do where a process may not have the addresses that memories reserve.
const fewAddresses = "; this process may have few addresses (ulimit -v): compile with --bounds=explicit, which needs no reservations, or raise the limit"

// addressHint returns what to add to an error of the host, if addresses have run out and the process has a limit of them.
func addressHint(err error) string {
	var system *host.SystemError
	var limit *host.LimitError
	ranOut := errors.As(err, &system) && (errors.Is(err, syscall.ENOMEM) || errors.Is(err, host.ErrNoSpace)) ||
		errors.As(err, &limit) && limit.What == "stores"
	if ranOut && hasAddressLimit() {
		return fewAddresses
	}
	return ""
}

// hasAddressLimit reports whether the process has a limit of addresses.
func hasAddressLimit() bool {
	var l syscall.Rlimit
	return syscall.Getrlimit(syscall.RLIMIT_AS, &l) == nil && l.Cur>>62 == 0
}
