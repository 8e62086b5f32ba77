// Package filetest runs the tests in .clif files: CLIF with a header of
// commands, and expectations in comments. testdata/clif/README.clif shows
// all features.
//
// Place in the pipeline: a test of it; commands that need later stages, such as
// the back end's, are registered by the test packages that may import them.
//
// Input: a file, and a Runner with engines, passes and commands.
// Output: failures; with Update, the file with the expected texts rewritten.
package filetest
