package filetest

import (
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/inline"
	"github.com/waot-project/waot/clif/text"
)

// inliner is the pass inline. As in package compile, a function may inline those before it as they have become, and itself.
type inliner struct {
	inline.Inliner
	file   *text.File
	bodies []*inline.Body // of the functions of file that were inlined in
}

// pass returns the pass for the functions of file, which it is applied to in their order.
func (n *inliner) pass(file *text.File) Pass {
	if n.file != file {
		n.file, n.bodies = file, make([]*inline.Body, len(file.Mod.Funcs))
	}
	return func(f *clif.Func) error {
		n.Run(f, func(i clif.FuncIndex) *inline.Body { return n.bodies[i] })
		body := n.Keep(f, false)
		n.bodies[f.Index] = body
		n.RunRecursion(f, body)
		return nil
	}
}
