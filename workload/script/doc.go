// Package script holds the pgbench script language: lexer, parser and
// evaluator.
package script
