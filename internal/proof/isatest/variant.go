package isatest

import (
	"slices"
	"strings"
	"testing"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/pattern"
	"github.com/waot-project/waot/clif/rewrite"
)

// This file tells which opcodes the places of a lowering rule's pattern may have.

// variant is a rule, with one of the opcodes of a place of its pattern where several may stand.
type variant struct {
	rule    backend.Rule
	row     *backend.RuleDef
	pattern *pattern.Pattern
	at      *pattern.Pattern // nil if no place of the pattern allows several opcodes
	op      clif.Opcode
}

// String returns the names of the rule and of the opcode.
func (v *variant) String() string {
	if v.at == nil {
		return v.row.Name
	}
	return v.row.Name + " " + v.op.String()
}

// variantsOf returns the variants of all rules, in the order of the rules.
func variantsOf(t *testing.T, rules *backend.Rules) (all []variant) {
	for r := range backend.Rule(len(rules.Rows)) {
		row := &rules.Rows[r]
		if needHeap[row.Name] {
			continue
		}
		pattern, err := pattern.Parse(row.Pattern, clif.OpcodesByName())
		if err != nil {
			t.Fatal(err)
		}
		whole := variant{rule: r, row: row, pattern: &pattern}
		places := whole.places(nil, &pattern)
		if places == nil {
			places = []variant{whole}
		}
		all = append(all, places...)
	}
	return all
}

// places appends the variants of p, which is the pattern of v or a part of it.
func (v *variant) places(all []variant, p *pattern.Pattern) []variant {
	if len(p.Ops) > 1 {
		for _, op := range p.Ops {
			at := *v
			at.at, at.op = p, op
			all = append(all, at)
		}
	}
	for k := range p.Args {
		all = v.places(all, &p.Args[k])
	}
	return all
}

// applied reports whether the rule is in the log, and has been applied to the variant's opcode where that is the opcode of the
// instruction being lowered. An opcode inside is as the function was built.
func (v *variant) applied(ctl *rewrite.Control, rules *backend.Rules) bool {
	return slices.ContainsFunc(ctl.Log, func(e rewrite.Rewrite) bool {
		if e.Rule != rules.Info(v.rule) {
			return false
		}
		return v.at == nil || v.at != v.pattern || v.row.Term == backend.TermOperand || hasOpcode(e.Before, v.op)
	})
}

// hasOpcode reports whether the text of an instruction is that of one with the opcode op.
func hasOpcode(text string, op clif.Opcode) bool {
	return slices.ContainsFunc(strings.Fields(text), func(word string) bool {
		name, _, _ := strings.Cut(word, ".")
		return name == op.String()
	})
}
