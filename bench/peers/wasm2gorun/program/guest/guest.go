// Package guest stands where a translated module is built in.
package guest

// Module is what a translation calls the module.
type Module struct{}

// New takes a value for each module that is imported.
func New() *Module { return &Module{} }

// X_start is the export of that name.
func (*Module) X_start() {}
