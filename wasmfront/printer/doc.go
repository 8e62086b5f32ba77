// Package printer writes modules in the text format.
//
// Place in the pipeline: outside of it, beside the decoder (wasmfront), whose
// operator table it uses. It does not validate: it shows what can be decoded.
//
// Input: a module in the binary format, of the features that are decodable.
//
// Output: text, written piece by piece, that the reader of the text format turns
// into the same module again: equal but for how numbers are encoded, how locals, segments and recursion
// groups of one type are abbreviated, and which sections and groups are empty. Names come from the name
// section. A name that is no identifier, or that an entity before it has, becomes
// an annotation, (@name "..."), or an identifier in quotes if it is that of a label. Names
// of locals and labels that do not exist are left out.
package printer
