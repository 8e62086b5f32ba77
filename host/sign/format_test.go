package sign

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"slices"
	"testing"
)

// TestFormat: signatures are what docs/object.md says, byte for byte.
func TestFormat(t *testing.T) {
	const context = "waot object signature 1"
	private := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize))
	secret := bytes.Repeat([]byte{1}, MinSecret)
	number := sha256.Sum256(append([]byte("waot key number"), private.Public().(ed25519.PublicKey)...))
	byMAC := hmac.New(sha256.New, secret)
	byMAC.Write([]byte("waot key number"))
	for name, x := range map[string]struct {
		algorithm byte
		number    []byte
		value     func(b []byte) []byte
	}{
		"Ed25519": {1, number[:8], func(b []byte) []byte {
			sum := sha512.Sum512(b)
			v, err := private.Sign(nil, sum[:], &ed25519.Options{Hash: crypto.SHA512, Context: context})
			if err != nil {
				t.Fatal(err)
			}
			return v
		}},
		"MAC": {2, byMAC.Sum(nil)[:8], func(b []byte) []byte {
			m := hmac.New(sha512.New, secret)
			m.Write(slices.Concat([]byte(context), []byte{0}, b))
			return m.Sum(nil)
		}},
	} {
		want := slices.Concat(object, []byte("WAOTSIG1"), []byte{x.algorithm, 0, 0, 0, 0, 0, 0, 0}, x.number)
		want = append(want, x.value(want)...)
		if got := signed(t, keys(t, 1)[name][0], object); !bytes.Equal(got, want) || len(got) != len(object)+88 {
			t.Errorf("%s: % x, want % x", name, got[len(object):], want[len(object):])
		}
	}
}
