package wasmfront

// This file has the encodings that proposals give to what is malformed in WebAssembly
// 3.0, so that a module that has one is refused for the proposal's name. Types are in
// typeFeatures, flags of limits in limitFlags, operators of WebAssembly 3.0 in opRows.

// typeForms are the features of the bytes that start a type which is not that of a
// function.
var typeForms = [256]Features{
	0x5F: FeatureGC,                // struct
	0x5E: FeatureGC,                // array
	0x5D: FeatureStackSwitching,    // cont
	0x50: FeatureGC,                // sub
	0x4F: FeatureGC,                // sub final
	0x4E: FeatureGC,                // rec
	0x4D: FeatureCustomDescriptors, // descriptor
	0x4C: FeatureCustomDescriptors, // describes
	0x65: FeatureSharedEverything,  // shared
}

// importKinds are the features of kinds of imports that are not supported, and of the
// bytes in place of a kind by which imports of one module are grouped.
var importKinds = [256]Features{
	0x20: FeatureCustomDescriptors, // function of an exact type
	0x7E: FeatureCompactImports,    // one type for all
	0x7F: FeatureCompactImports,    // a type for each
}

// The flags by which globals and segments are shared (FeatureSharedEverything).
const (
	sharedGlobal  = 1 << 1 // beside the mutability
	sharedSegment = 1 << 3 // beside the kind of a data or element segment
)

// proposedOps are ranges of operators; only their feature is known.
var proposedOps = [...]struct {
	first, last Opcode
	feature     Features
}{
	{0x00E0, 0x00E6, FeatureStackSwitching},    // cont.new to switch
	{0xFB1F, 0xFB1F, FeatureSharedEverything},  // ref.i31_shared
	{0xFB20, 0xFB26, FeatureCustomDescriptors}, // struct.new_desc to br_on_cast_desc_eq_fail
	{0xFB80, 0xFBB7, FeatureStringRef},         // string.new_utf8 to string.encode_wtf16_array
	{0xFC12, 0xFC12, FeatureMemoryControl},     // memory.discard
	{0xFC30, 0xFC31, FeatureHalfPrecision},     // f32.load_f16, f32.store_f16
	{0xFE04, 0xFE04, FeatureSharedEverything},  // pause
	{0xFE4F, 0xFE7F, FeatureSharedEverything},  // global.atomic.get and on
	{0xFF20, 0xFF4F, FeatureHalfPrecision},     // f16x8
}
