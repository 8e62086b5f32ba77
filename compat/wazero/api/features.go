package api

import (
	"fmt"
	"strings"
)

// CoreFeatures is a set of extensions of WebAssembly 1.0.
type CoreFeatures uint64

// The features. Package experimental has more.
const (
	CoreFeatureBulkMemoryOperations CoreFeatures = 1 << iota
	CoreFeatureMultiValue
	CoreFeatureMutableGlobal
	CoreFeatureNonTrappingFloatToIntConversion
	CoreFeatureReferenceTypes
	CoreFeatureSignExtensionOps
	CoreFeatureSIMD
)

// CoreFeaturesV1 is WebAssembly 1.0.
const CoreFeaturesV1 = CoreFeatureMutableGlobal

// CoreFeaturesV2 is WebAssembly 2.0.
const CoreFeaturesV2 = CoreFeaturesV1 | CoreFeatureBulkMemoryOperations | CoreFeatureMultiValue | CoreFeatureNonTrappingFloatToIntConversion |
	CoreFeatureReferenceTypes | CoreFeatureSignExtensionOps | CoreFeatureSIMD

// featureNames are the names in the order of the bits, those of package experimental at the end.
var featureNames = [...]string{
	"bulk-memory-operations", "multi-value", "mutable-global", "nontrapping-float-to-int-conversion", "reference-types",
	"sign-extension-ops", "simd", "threads", "tail-call", "extended-const", "exception-handling", "typed-function-references",
}

// SetEnabled returns the set with or without features.
func (f CoreFeatures) SetEnabled(feature CoreFeatures, val bool) CoreFeatures {
	if val {
		return f | feature
	}
	return f &^ feature
}

// IsEnabled reports whether the set has one of these features.
func (f CoreFeatures) IsEnabled(feature CoreFeatures) bool { return f&feature != 0 }

// RequireEnabled returns an error unless the set has one of these features.
func (f CoreFeatures) RequireEnabled(feature CoreFeatures) error {
	if f.IsEnabled(feature) {
		return nil
	}
	return fmt.Errorf("feature %q is disabled", feature)
}

// String lists the names of the features, with bars between them.
func (f CoreFeatures) String() string {
	var names []string
	for i, name := range featureNames {
		if f.IsEnabled(1 << i) {
			names = append(names, name)
		}
	}
	return strings.Join(names, "|")
}
