package run

import (
	"context"
	"testing"
)

// valueContext is a context of a type that cannot be compared.
type valueContext struct {
	context.Context
	values map[string]int
}

// TestSameContext: contexts are one if they are the same value, also where comparing them would panic.
func TestSameContext(t *testing.T) {
	var a, b context.Context = valueContext{context.Background(), nil}, valueContext{context.Background(), nil}
	if c := a; !same(a, c) || same(a, b) || !same(context.Background(), context.Background()) {
		t.Error("contexts are compared wrongly")
	}
}
