package inproc

// Store returns the store of the function.
func (f *Func) Store() *Store { return f.store }

// Store returns the store of the memory.
func (m *Memory) Store() *Store { return m.store }

// Store returns the store of the table.
func (t *Table) Store() *Store { return t.store }

// Store returns the store of the global variable.
func (g *Global) Store() *Store { return g.store }
