module github.com/waot-project/waot/bench/peers

go 1.26.0

require (
	github.com/samyfodil/wazy v0.7.0
	github.com/waot-project/waot v0.0.0
)

require (
	github.com/ncruces/wasm2go v0.4.22 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/tools v0.52.0 // indirect
)

replace github.com/waot-project/waot => ../..

tool github.com/ncruces/wasm2go
