// Package table looks up functions in tables.
package table

import (
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/internal/run"
)

// LookupFunction returns what a call_indirect of this type would call at an offset of a table, exported or not. It panics where call_indirect would
// trap, and if there is no such table.
func LookupFunction(module api.Module, tableIndex, tableOffset uint32, expectedParamTypes, expectedResultTypes []api.ValueType) api.Function {
	return run.Of(module).LookupFunction(tableIndex, tableOffset, expectedParamTypes, expectedResultTypes)
}
