// Package sign signs objects, and verifies them before anything in them is read. It is for programs that keep objects where
// others can write. An object is trusted like a shared library; a signature says who made it, and that not a bit has
// changed since. docs/object.md describes the format.
//
// Place in the pipeline: before host/load. It knows nothing about the contents of objects, and needs only the standard
// library.
//
// Input: the bytes of an object, and a key.
// Output: the bytes followed by a signature; or what was signed, or an error.
//
// # Stability
//
// This package is part of the stable API, which package waot describes.
package sign

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/pem"
	"fmt"
)

// Error says why an object is not taken for one that the key has signed, or what is wrong with a key.
type Error struct{ Reason string }

// Error implements error.
func (e *Error) Error() string { return "signature: " + e.Reason }

// A signature is a trailer of fixed size behind the object: the magic, which has the version of the format, the
// algorithm, seven zero bytes, the key's number, the signature proper. What is signed is the object and the first part of the trailer, so
// every bit of a file counts. Linkers, and who loads without a key, ignore what lies behind an object.
const (
	magic       = "WAOTSIG1"
	algorithmAt = len(magic)
	idAt        = algorithmAt + 8
	valueAt     = idAt + idSize
	trailerSize = valueAt + valueSize

	idSize    = 8
	valueSize = 64
)

// context keeps what is signed here apart from whatever else a key may sign.
const context = "waot object signature 1"

// MinSecret is the least size of the secret of a MAC, in bytes.
const MinSecret = 32

// algorithm is how values of signatures are made; the numbers are in files.
type algorithm byte

const (
	algEd25519 algorithm = 1 // Ed25519ph (RFC 8032) with the context
	algHMAC    algorithm = 2 // HMAC-SHA-512 of the context, a zero byte, and what is signed
)

// Key is a key: it verifies what it, or its private half, has signed. It is immutable and safe for concurrent
// use. The zero value verifies nothing.
type Key struct {
	alg     algorithm
	private ed25519.PrivateKey // nil if it cannot sign
	public  ed25519.PublicKey
	secret  []byte
}

// NewPrivate returns the key that signs by Ed25519, and verifies. The error is an *Error.
func NewPrivate(k ed25519.PrivateKey) (*Key, error) {
	if len(k) != ed25519.PrivateKeySize {
		return nil, &Error{fmt.Sprintf("an Ed25519 private key has %d bytes, not %d", ed25519.PrivateKeySize, len(k))}
	}
	key := &Key{alg: algEd25519, private: ed25519.NewKeyFromSeed(k.Seed())}
	if !key.private.Equal(k) { // two signatures with different public halves give the private key away
		return nil, &Error{"the public half of an Ed25519 private key is not that of its seed"}
	}
	key.public = key.private.Public().(ed25519.PublicKey)
	return key, nil
}

// NewPublic returns the key that verifies what was signed by Ed25519. The error is an *Error.
func NewPublic(k ed25519.PublicKey) (*Key, error) {
	if len(k) != ed25519.PublicKeySize {
		return nil, &Error{fmt.Sprintf("an Ed25519 public key has %d bytes, not %d", ed25519.PublicKeySize, len(k))}
	}
	if blank(k) { // a point of order 4: a given signature would fit one object in four
		return nil, &Error{"the public key is all zeros, for which anybody can sign"}
	}
	return &Key{alg: algEd25519, public: bytes.Clone(k)}, nil
}

// blank reports whether a key has never been filled in.
func blank(k []byte) bool { return len(bytes.Trim(k, "\x00")) == 0 }

// NewMAC returns the key that signs and verifies with a secret, of at least MinSecret bytes from a good source of random ones:
// for a program that keeps its own objects. Who can verify can sign. The error is an *Error.
func NewMAC(secret []byte) (*Key, error) {
	if len(secret) < MinSecret {
		return nil, &Error{fmt.Sprintf("the secret of a MAC has at least %d bytes, not %d", MinSecret, len(secret))}
	}
	if blank(secret) {
		return nil, &Error{"the secret of a MAC is all zeros"}
	}
	return &Key{alg: algHMAC, secret: bytes.Clone(secret)}, nil
}

// ParsePEM returns the Ed25519 key of a PEM file: a private one in PKCS #8 ("PRIVATE KEY"), or a public one in PKIX form
// ("PUBLIC KEY"), as openssl writes them. The error is an *Error.
func ParsePEM(file []byte) (*Key, error) {
	block, _ := pem.Decode(file)
	if block == nil {
		return nil, &Error{"no key: want a PEM file with an Ed25519 key"}
	}
	header, ok := derHeaders[block.Type]
	if !ok {
		return nil, &Error{fmt.Sprintf("PEM block %q: want PRIVATE KEY (PKCS #8, not encrypted) or PUBLIC KEY", block.Type)}
	}
	key, ok := bytes.CutPrefix(block.Bytes, []byte(header))
	if !ok || len(key) != ed25519.SeedSize {
		return nil, &Error{fmt.Sprintf("%s: want an Ed25519 key", block.Type)}
	}
	if block.Type == "PUBLIC KEY" {
		return NewPublic(key)
	}
	return NewPrivate(ed25519.NewKeyFromSeed(key))
}

// derHeaders is what comes before the 32 bytes of an Ed25519 key, by type of PEM block (RFC 8410, sections 4 and 7). Nothing in it
// varies. Package crypto/x509, which reads all kinds of keys, brings package net into programs that load objects.
var derHeaders = map[string]string{
	"PRIVATE KEY": "\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20",
	"PUBLIC KEY":  "\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00",
}

// CanSign reports whether Sign works: not with a public key, nor without a key.
func (k *Key) CanSign() bool { return k != nil && (k.alg == algHMAC || k.private != nil) }

// id returns the key's number, which tells which key a signature is of, and proves nothing.
func (k *Key) id() [idSize]byte {
	const what = "waot key number"
	if k.alg == algHMAC {
		m := hmac.New(sha256.New, k.secret)
		m.Write([]byte(what))
		return [idSize]byte(m.Sum(nil))
	}
	sum := sha256.Sum256(append([]byte(what), k.public...))
	return [idSize]byte(sum[:])
}

// ID returns the key's number as 16 hexadecimal digits: the same for both halves of a key.
func (k *Key) ID() string { return fmt.Sprintf("%x", k.id()) }

// Unsigned returns an object without the signature behind it, if there is one.
func Unsigned(object []byte) []byte {
	if t := trailer(object); t != nil {
		return object[: len(object)-trailerSize : len(object)-trailerSize]
	}
	return object
}

// trailer returns the signature behind an object, or nil.
func trailer(object []byte) []byte {
	if at := len(object) - trailerSize; at >= 0 && string(object[at:at+len(magic)]) == magic {
		return object[at:]
	}
	return nil
}

// Sign returns the object followed by a signature, which replaces one that it may have. The same object and key give
// the same bytes. The error is an *Error.
func (k *Key) Sign(object []byte) ([]byte, error) {
	switch {
	case k == nil || k.alg == 0:
		return nil, &Error{"no key"}
	case !k.CanSign():
		return nil, &Error{"a public key cannot sign: want the private one"}
	}
	object = Unsigned(object)
	id := k.id()
	signed := append(make([]byte, 0, len(object)+trailerSize), object...)
	signed = append(signed, magic...)
	signed = append(signed, byte(k.alg), 0, 0, 0, 0, 0, 0, 0)
	signed = append(signed, id[:]...)
	if k.alg == algHMAC {
		return append(signed, k.mac(signed)...), nil
	}
	digest := sha512.Sum512(signed)
	value, err := k.private.Sign(nil, digest[:], prehashed())
	if err != nil {
		return nil, &Error{err.Error()}
	}
	return append(signed, value...), nil
}

// Verify checks the signature behind an object before anything else of it is read, and gives what was signed, which
// aliases the object. The error is an *Error.
func (k *Key) Verify(object []byte) ([]byte, error) {
	if k == nil || k.alg == 0 {
		return nil, &Error{"no key"}
	}
	t := trailer(object)
	if t == nil {
		return nil, &Error{"the object is not signed, or has been cut or added to"}
	}
	id := k.id()
	if algorithm(t[algorithmAt]) != k.alg || !bytes.Equal(t[idAt:valueAt], id[:]) {
		return nil, &Error{fmt.Sprintf("the object says that another key has signed it: %x, not %x", t[idAt:valueAt], id)}
	}
	signed, value := object[:len(object)-valueSize], t[valueAt:]
	if !k.fits(signed, value) {
		return nil, &Error{"it does not fit: the object has been changed since, or was signed by another key"}
	}
	return Unsigned(object), nil
}

// fits reports whether value is that of a signature of what is signed, in constant time where the key is secret.
func (k *Key) fits(signed, value []byte) bool {
	if k.alg == algHMAC {
		return hmac.Equal(k.mac(signed), value)
	}
	digest := sha512.Sum512(signed)
	return ed25519.VerifyWithOptions(k.public, digest[:], value, prehashed()) == nil
}

func prehashed() *ed25519.Options { return &ed25519.Options{Hash: crypto.SHA512, Context: context} }

func (k *Key) mac(signed []byte) []byte {
	m := hmac.New(sha512.New, k.secret)
	m.Write([]byte(context + "\x00"))
	m.Write(signed)
	return m.Sum(nil)
}
