// Package inspect shows what each stage of the compiler makes of functions, as one HTML page that needs nothing else: its style
// and script are in it, and its data. Rows of one stage are linked with those of the others that come from the same operator, value,
// block, virtual register or instruction.
//
// Place in the pipeline: beside it. A Collector gets the tables of the stages through the hooks of package compile, Page writes them.
//
// Input: a module, the hooks' calls while it is compiled, and a disassembler.
// Output: a page, the same for any number of workers.
package inspect
