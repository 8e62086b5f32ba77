//go:build !race

package inproc_test

const underRace = false
