// Package policy holds the rules that the whole tree keeps, as tests: who may
// import whom, how long a function or file may be, that packages say what they
// take and give, and that nothing at package level changes.
//
// Place in the pipeline: none; tests only.
//
// Input: the source tree.
// Output: test failures.
package policy
