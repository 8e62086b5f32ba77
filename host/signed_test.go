//go:build linux && (amd64 || arm64)

package host_test

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"testing"

	"github.com/waot-project/waot"
	"github.com/waot-project/waot/host"
	"github.com/waot-project/waot/host/sign"
)

// signingKeys are a key that signs and one that verifies, of each kind.
func signingKeys(t testing.TB) map[string][2]*host.ObjectKey {
	t.Helper()
	private := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))
	mac := must[*sign.Key](t)(sign.NewMAC(bytes.Repeat([]byte{8}, sign.MinSecret)))
	return map[string][2]*host.ObjectKey{
		"Ed25519": {must[*sign.Key](t)(sign.NewPrivate(private)), must[*sign.Key](t)(sign.NewPublic(private.Public().(ed25519.PublicKey)))},
		"MAC":     {mac, mac},
	}
}

// TestSigned: of a signed object every byte counts, one bit each; nothing else is loaded where a key is asked for.
func TestSigned(t *testing.T) {
	plain := object(t, "add")
	for name, k := range signingKeys(t) {
		signed := must[[]byte](t)(waot.SignObject(plain, k[0]))
		o := &host.LoadOptions{Verify: k[1]}
		for _, load := range []func() (*host.Module, error){
			func() (*host.Module, error) { return host.Load(signed, o) },
			func() (*host.Module, error) { return host.Load(signed, &host.LoadOptions{}) },
			func() (*host.Module, error) { return host.Load(signed, nil) },
		} {
			inst := must[*host.Instance](t)(newStore(t).Instantiate(bg, must[*host.Module](t)(load()), nil))
			if r, err := must[*host.Func](t)(inst.Func("add")).Call(bg, 40, 2); err != nil || r[0] != int32(42) {
				t.Error(name, r, err)
			}
		}
		refused := func(b []byte, what string, at int) {
			t.Helper()
			var bad *host.SignatureError
			if m, err := host.Load(b, o); !errors.As(err, &bad) || m != nil {
				t.Errorf("%s: %s %d: %v", name, what, at, err)
			}
		}
		refused(plain, "unsigned", 0)
		refused(nil, "nothing", 0)
		for at := range signed {
			signed[at] ^= 1 << (at % 8)
			refused(signed, "byte", at)
			signed[at] ^= 1 << (at % 8)
		}
		for _, n := range []int{1, 8, 64, len(signed) - len(plain), len(signed) - 64} {
			refused(signed[:len(signed)-n], "without the last", n)
			refused(append(bytes.Clone(signed), make([]byte, n)...), "longer by", n)
		}
		for other, x := range signingKeys(t) {
			if other != name {
				refused(must[[]byte](t)(waot.SignObject(plain, x[0])), "signed by "+other, 0)
			}
		}
		if !bytes.Equal(sign.Unsigned(signed), plain) {
			t.Error(name, "the object has changed")
		}
	}
	// Its own signature does not make an object of what is none.
	k := signingKeys(t)["MAC"]
	var bad *host.ObjectError
	if _, err := host.Load(must[[]byte](t)(waot.SignObject([]byte("nonsense"), k[0])), &host.LoadOptions{Verify: k[1]}); !errors.As(err, &bad) {
		t.Error(err)
	}
}
