//go:build linux && (amd64 || arm64)

package host_test

import (
	"testing"

	"github.com/waot-project/waot/host"
)

// BenchmarkMemory is an access to a memory by Go code.
func BenchmarkMemory(b *testing.B) {
	s, err := host.NewStore(nil)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	m, err := s.NewMemory(host.Limits{Min: 1})
	if err != nil {
		b.Fatal(err)
	}
	word := make([]byte, 8)
	for _, c := range []struct {
		name string
		run  func()
	}{
		{"ReadUint8", func() { m.ReadUint8(8) }},
		{"ReadUint32", func() { m.ReadUint32(8) }},
		{"WriteUint64", func() { m.WriteUint64(8, 1) }},
		{"Write", func() { m.Write(8, word) }},
		{"Read", func() { m.Read(8, 8) }},
		{"Size", func() { m.Size() }},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				c.run()
			}
		})
	}
}
