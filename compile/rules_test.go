package compile

import (
	"regexp"
	"testing"
)

// TestRuleNames: rules of all stages spell their names alike, and each is the only one of its name.
func TestRuleNames(t *testing.T) {
	valid := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	for _, target := range Targets() {
		seen := map[string]bool{}
		for _, r := range Rules(target) {
			if !valid.MatchString(r.Name) || seen[r.Name] {
				t.Errorf("%s: a rule is called %q, or two are", target, r.Name)
			}
			seen[r.Name] = true
		}
		if len(seen) == 0 {
			t.Errorf("%s has no rules", target)
		}
	}
}
