package main

import (
	"github.com/urfave/cli/v2"

	"github.com/waot-project/waot/host/sign"
	"github.com/waot-project/waot/internal/input"
)

// readKey returns the key in the PEM file that a flag names; nil if the flag is not there. An empty name is a file that
// does not exist: a variable that is not set must not switch a check off.
func readKey(c *cli.Context, flag string) (*sign.Key, error) {
	if !c.IsSet(flag) {
		return nil, nil
	}
	file := c.String(flag)
	b, err := readFile(c, file, input.Fixed("bytes of key", input.MaxKey))
	if err != nil {
		return nil, err
	}
	k, err := sign.ParsePEM(b)
	return k, inFile(file, err)
}

// signingKey returns the key of --sign, or nil.
func signingKey(c *cli.Context) (*sign.Key, error) {
	k, err := readKey(c, "sign")
	if k != nil && !k.CanSign() {
		_, err = k.Sign(nil)
		return nil, inFile(c.String("sign"), err)
	}
	return k, err
}

// verified returns an object or image without its signature, which the key of --signed-by must have made; without that flag, the file's
// bytes as they are.
func verified(c *cli.Context, file string, b []byte) ([]byte, error) {
	k, err := readKey(c, "signed-by")
	switch {
	case k == nil || err != nil:
		return b, err
	case !isCompiled(b):
		return nil, usagef("--signed-by: %s is neither object nor image; only those are signed", file)
	}
	b, err = k.Verify(b)
	return b, inFile(file, err)
}
