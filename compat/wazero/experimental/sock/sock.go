// Package sock gives instances sockets that listen.
package sock

import (
	"context"
	"net"
	"slices"
	"strconv"

	"github.com/tetratelabs/wazero/internal/expctxkeys"
)

// Config is the sockets of an instance. Methods return a changed copy.
type Config interface {
	// WithTCPListener adds a socket. Its descriptor follows those of directories.
	WithTCPListener(host string, port int) Config
}

// NewConfig returns a Config without sockets.
func NewConfig() Config { return config(nil) }

// config has the addresses.
type config []string

func (c config) WithTCPListener(host string, port int) Config {
	return append(slices.Clone(c), net.JoinHostPort(host, strconv.Itoa(port)))
}

// WithConfig returns a context for instantiations with sockets.
func WithConfig(ctx context.Context, c Config) context.Context {
	if list, ok := c.(config); ok && len(list) > 0 {
		return context.WithValue(ctx, expctxkeys.SockConfigKey{}, []string(list))
	}
	return ctx
}
