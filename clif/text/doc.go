// Package text parses the text form of CLIF: what clif.Module.String and
// clif.Func.String print, and what tests write by hand.
//
// Place in the pipeline: for tests and tools; the front end makes CLIF without
// text.
//
// Input: text: declarations, one a line, then functions.
// Output: a clif.Module with its functions, not verified, or an *Error with
// line and column.
package text
