package wat

import "github.com/waot-project/waot/wasmfront/wat"

// Assemble translates the text of a module.
func Assemble(text string) (wasm []byte, err error) {
	m, err := wat.Assemble([]byte(text))
	if err != nil {
		return nil, err
	}
	return m.Wasm, nil
}
