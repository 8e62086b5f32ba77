//go:build linux && (amd64 || arm64)

package wasirun_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/waot-project/waot/host"
	"github.com/waot-project/waot/host/wasirun"
)
