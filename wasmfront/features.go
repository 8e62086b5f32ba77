package wasmfront

import (
	"math/bits"
	"strings"
)

// Features is a set of extensions of WebAssembly 1.0.
type Features uint32

// The features, by the names that the official tests use for them where those
// have one.
const (
	FeatureSignExtension Features = 1 << iota
	FeatureSaturatingFloatToInt
	FeatureMultiValue
	FeatureBulkMemory
	FeatureReferenceTypes
	FeatureExtendedConst
	FeatureSIMD
	FeatureRelaxedSIMD
	FeatureThreads
	FeatureTailCall
	FeatureExceptions
	FeatureLegacyExceptions
	FeatureFunctionReferences
	FeatureGC
	FeatureMemory64
	FeatureMultiMemory
	FeatureCustomPageSizes
	FeatureWideArithmetic
	FeatureStackSwitching
	FeatureSharedEverything
	FeatureCustomDescriptors
	FeatureStringRef
	FeatureHalfPrecision
	FeatureMemoryControl
	FeatureCompactImports
	numFeatures = iota
)

var featureNames = [numFeatures]string{
	"sign-extension", "nontrapping-float-to-int", "multi-value", "bulk-memory",
	"reference-types", "extended-const", "simd", "relaxed-simd", "threads",
	"tail-call", "exceptions", "legacy-exceptions", "function-references", "gc",
	"memory64", "multi-memory", "custom-page-sizes", "wide-arithmetic",
	"stack-switching", "shared-everything-threads", "custom-descriptors", "stringref",
	"half-precision", "memory-control", "compact-import-section",
}

// DefaultFeatures is WebAssembly 2.0 with relaxed SIMD, extended constant expressions, multiple memories, typed function
// references, tail calls, exceptions, those of the legacy proposal too, garbage collection, and wide arithmetic. Constant expressions
// may read any immutable global before them, also one that the module defines.
const DefaultFeatures = FeatureSignExtension | FeatureSaturatingFloatToInt | FeatureMultiValue |
	FeatureBulkMemory | FeatureReferenceTypes | FeatureExtendedConst | FeatureSIMD | FeatureRelaxedSIMD |
	FeatureMultiMemory | FeatureFunctionReferences | FeatureTailCall | FeatureExceptions | FeatureLegacyExceptions | FeatureGC | FeatureWideArithmetic

// DecodableFeatures is what decoder and validator know in full; a set of
// features to accept is cut down to it.
const DecodableFeatures = DefaultFeatures

// Has reports whether f contains all of g.
func (f Features) Has(g Features) bool { return f&g == g }

// String lists the names of the features, separated by commas.
func (f Features) String() string {
	var names []string
	for f &= 1<<numFeatures - 1; f != 0; f &= f - 1 {
		names = append(names, featureNames[bits.TrailingZeros32(uint32(f))])
	}
	return strings.Join(names, ",")
}

// FeatureByName returns the feature of that name, or 0 if there is none.
func FeatureByName(name string) Features {
	for i, n := range featureNames {
		if n == name {
			return 1 << i
		}
	}
	return 0
}
