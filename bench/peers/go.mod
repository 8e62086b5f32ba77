module github.com/waot-project/waot/bench/peers

go 1.26.0

require (
	github.com/samyfodil/wazy v0.7.0
	github.com/waot-project/waot v0.0.0
)

require golang.org/x/sys v0.49.0 // indirect

replace github.com/waot-project/waot => ../..
