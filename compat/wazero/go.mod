module github.com/tetratelabs/wazero

go 1.25.0

require github.com/waot-project/waot v0.0.0

replace github.com/waot-project/waot => ../..
