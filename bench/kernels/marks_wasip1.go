package main

//go:wasmimport bench start
func start()

//go:wasmimport bench end
func end()
