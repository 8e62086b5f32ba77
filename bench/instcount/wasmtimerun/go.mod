module github.com/waot-project/waot/bench/instcount/wasmtimerun

go 1.25.0

require github.com/bytecodealliance/wasmtime-go/v39 v39.0.1
