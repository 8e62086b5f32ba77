package measure

//go:wasmimport bench start
func benchStart()

//go:wasmimport bench end
func benchEnd()

// start begins the measured part.
func start() (end func()) {
	benchStart()
	return benchEnd
}
