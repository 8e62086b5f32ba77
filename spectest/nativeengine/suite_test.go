package nativeengine_test

import (
	"testing"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/spectest/nativeengine"
	"github.com/waot-project/waot/spectest/suitetest"
)

func TestSuiteUnoptimised(t *testing.T) { suitetest.Run(t, nativeengine.New(opt.O0)) }

func TestSuite(t *testing.T) { suitetest.Run(t, nativeengine.New(opt.O1)) }
