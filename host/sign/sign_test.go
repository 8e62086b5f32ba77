package sign

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha512"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"strings"
	"testing"
)

// keys are a key of each kind, and one that verifies what the first of it signs.
func keys(t testing.TB, seed byte) map[string][2]*Key {
	t.Helper()
	must := func(k *Key, err error) *Key {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	private := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))
	secret := bytes.Repeat([]byte{seed}, MinSecret)
	return map[string][2]*Key{
		"Ed25519": {must(NewPrivate(private)), must(NewPublic(private.Public().(ed25519.PublicKey)))},
		"MAC":     {must(NewMAC(secret)), must(NewMAC(secret))},
	}
}

// object stands for an object: nothing of it is read.
var object = bytes.Repeat([]byte("\x7fELF an object "), 20)

func signed(t testing.TB, k *Key, object []byte) []byte {
	t.Helper()
	b, err := k.Sign(object)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func refused(t *testing.T, k *Key, b []byte, what string, args ...any) {
	t.Helper()
	var bad *Error
	content, err := k.Verify(b)
	if !errors.As(err, &bad) || content != nil || strings.ContainsAny(err.Error(), "\n\r") {
		t.Errorf("%s %v: %v", what, args, err)
	}
}

// TestEveryBit: no bit of a signed file can be another, none can be missing or added, at either end.
func TestEveryBit(t *testing.T) {
	for name, k := range keys(t, 1) {
		b := signed(t, k[0], object)
		for _, v := range k {
			if content, err := v.Verify(b); err != nil || !bytes.Equal(content, object) {
				t.Fatal(name, err)
			}
		}
		for bit := range 8 * len(b) {
			c := bytes.Clone(b)
			c[bit/8] ^= 1 << (bit % 8)
			refused(t, k[1], c, name, "bit", bit)
		}
		for n := range b {
			refused(t, k[1], b[:n], name, "cut at", n)
			refused(t, k[1], b[n+1:], name, "without the first", n+1)
		}
		for _, more := range []string{"\x00", "x", magic, string(b[len(b)-trailerSize:]), string(b)} {
			refused(t, k[1], append(bytes.Clone(b), more...), name, "with", len(more), "bytes more")
			refused(t, k[1], append([]byte(more), b...), name, "behind", len(more), "bytes more")
		}
	}
}

// TestOtherSignatures: signatures of other keys, of other objects, of other kinds, and none.
func TestOtherSignatures(t *testing.T) {
	first, second := keys(t, 1), keys(t, 2)
	for name, k := range first {
		refused(t, k[1], object, name, "unsigned")
		refused(t, k[1], nil, name, "nothing")
		for other, x := range second {
			refused(t, k[1], signed(t, x[0], object), name, "signed by another", other)
		}
		for other, x := range first {
			if other != name {
				refused(t, k[1], signed(t, x[0], object), name, "signed by", other)
				// The same with the trailer's words made those of the right key.
				b, good := signed(t, x[0], object), signed(t, k[0], object)
				copy(b[len(b)-trailerSize:], good[len(good)-trailerSize:len(good)-valueSize])
				refused(t, k[1], b, name, "value of", other)
			}
		}
		b := signed(t, second[name][0], object)
		copy(b[len(object)+idAt:], signed(t, k[0], object)[len(object)+idAt:len(object)+valueAt])
		refused(t, k[1], b, name, "signed by another key, with the number of this one")

		a, c := signed(t, k[0], object), signed(t, k[0], append([]byte("another "), object...))
		refused(t, k[1], append(bytes.Clone(object), c[len(c)-trailerSize:]...), name, "signature of another object")
		refused(t, k[1], append(bytes.Clone(c[:len(c)-trailerSize]), a[len(a)-trailerSize:]...), name, "signature moved to another object")
	}
	none := new(Key)
	refused(t, none, signed(t, first["MAC"][0], object), "the zero key")
	refused(t, nil, signed(t, first["MAC"][0], object), "no key")
}

// TestUnfit: keys that would not protect anything, or would give themselves away, are refused.
func TestUnfit(t *testing.T) {
	private := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize))
	other := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{2}, ed25519.SeedSize))
	_, mixed := NewPrivate(append(bytes.Clone(private.Seed()), other.Public().(ed25519.PublicKey)...))
	_, zeroPrivate := NewPrivate(make(ed25519.PrivateKey, ed25519.PrivateKeySize))
	_, zeroPublic := NewPublic(make(ed25519.PublicKey, ed25519.PublicKeySize))
	_, zeroSecret := NewMAC(make([]byte, MinSecret))
	_, byZero := new(Key).Sign(object)
	_, byNone := (*Key)(nil).Sign(object)
	for what, err := range map[string]error{"not that of its seed": mixed, "is not that of": zeroPrivate, "all zeros, for which": zeroPublic,
		"is all zeros": zeroSecret, "signature: no key": byZero, "no key": byNone} {
		if bad := (*Error)(nil); !errors.As(err, &bad) || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestMoved: what the same key signs elsewhere, by the plain algorithm or with another context, is no signature of an object.
func TestMoved(t *testing.T) {
	private := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize))
	k, err := NewPrivate(private)
	if err != nil {
		t.Fatal(err)
	}
	b := signed(t, k, object)
	head := b[:len(b)-valueSize]
	digest := sha512.Sum512(head)
	values := map[string][]byte{"plain": ed25519.Sign(private, head), "plain, of the digest": ed25519.Sign(private, digest[:])}
	for _, other := range []string{"", "waot object signature 2"} {
		o := prehashed()
		o.Context = other
		if values["context "+other], err = private.Sign(nil, digest[:], o); err != nil {
			t.Fatal(err)
		}
	}
	for what, v := range values {
		refused(t, k, append(bytes.Clone(head), v...), what)
	}
}

// TestSign: signing again replaces a signature, is the same for the same, and needs the private half.
func TestSign(t *testing.T) {
	for name, k := range keys(t, 1) {
		b := signed(t, k[0], object)
		if !bytes.Equal(signed(t, k[0], b), b) || !bytes.Equal(Unsigned(b), object) || !bytes.Equal(Unsigned(object), object) {
			t.Error(name)
		}
		if id := k[0].ID(); len(id) != 16 || id != k[1].ID() || id == keys(t, 2)[name][0].ID() {
			t.Error(name, id)
		}
	}
	public := keys(t, 1)["Ed25519"][1]
	var bad *Error
	if _, err := public.Sign(object); !errors.As(err, &bad) || public.CanSign() {
		t.Error(err)
	}
}

// Files that openssl 3 has made, by genpkey -algorithm ed25519, and pkey -pubout.
const (
	opensslPrivate = `-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEICfhjrkUEPUgln2FIhBidTdBwfm+rNtcUfrxVr2mZLgc
-----END PRIVATE KEY-----
`
	opensslPublic = `-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEAnwmrh8bwPPu1bdEAto70YTi72Fi7P7bivpaKJjkunuI=
-----END PUBLIC KEY-----
`
)

func TestPEM(t *testing.T) {
	private, err := ParsePEM([]byte(opensslPrivate))
	if err != nil {
		t.Fatal(err)
	}
	public, err := ParsePEM([]byte(opensslPublic))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := public.Verify(signed(t, private, object)); err != nil || public.CanSign() || !private.CanSign() {
		t.Error(err)
	}
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(other)
	if err != nil {
		t.Fatal(err)
	}
	for what, file := range map[string]string{
		"no key":                  "hello",
		"want an Ed25519 key":     string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
		`"ENCRYPTED PRIVATE KEY"`: strings.ReplaceAll(opensslPrivate, "PRIVATE KEY", "ENCRYPTED PRIVATE KEY"),
		"PUBLIC KEY: ":            strings.ReplaceAll(opensslPrivate, "PRIVATE KEY", "PUBLIC KEY"),
		"PRIVATE KEY: ":           strings.ReplaceAll(opensslPublic, "PUBLIC KEY", "PRIVATE KEY"),
	} {
		var bad *Error
		if _, err := ParsePEM([]byte(file)); !errors.As(err, &bad) || !strings.Contains(err.Error(), what) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := NewMAC(make([]byte, MinSecret-1)); err == nil {
		t.Error("a short secret")
	}
	for _, n := range []int{0, 31, 33, 63, 65} {
		if _, err := NewPrivate(make([]byte, n)); err == nil {
			t.Error("private", n)
		}
		if _, err := NewPublic(make([]byte, n)); err == nil {
			t.Error("public", n)
		}
	}
}

// FuzzVerify: only the signed files themselves are taken.
func FuzzVerify(f *testing.F) {
	all := keys(f, 1)
	for _, k := range all {
		b := signed(f, k[0], object)
		f.Add(b)
		f.Add(b[:len(b)-1])
		f.Add(b[len(b)-trailerSize:])
	}
	f.Add(object)
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, k := range all {
			content, err := k[1].Verify(b)
			if good := signed(t, k[0], b); (err == nil) != bytes.Equal(b, good) || err == nil && !bytes.Equal(content, Unsigned(b)) {
				t.Errorf("%q: %v", b, err)
			}
		}
	})
}
