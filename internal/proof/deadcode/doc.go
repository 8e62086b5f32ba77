// Package deadcode is a module of its own for the tool that finds functions which nothing reaches
// (golang.org/x/tools/cmd/deadcode), so that the main module does not depend on it. check.sh runs it.
package deadcode
