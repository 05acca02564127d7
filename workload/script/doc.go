// Package script is the pgbench script language: a script is parsed once, linked with the other scripts of a run into a
// Program, and a Machine steps one client through it. The package does no input or output of its own: a Machine says
// what has to be done (send this SQL, sleep, run this shell command) and the driver does it.
//
// The meaning is that of pgbench 17 and 18; where this package means something else, the place says so. In short:
//
//   - an error names the true line and column of its spot, also in a command that is continued over several lines,
//     where pgbench names the first line and counts on from the backslash;
//   - of several faults in one expression the first is named, where pgbench names the last bad character of the line,
//     if there is one;
//   - a condition error (\endif without \if and so on) has a position too;
//   - abs of a boolean is an error, in pgbench it reads an undefined number; so is NaN as the parameter of a random
//     function, with which pgbench can run for ever;
//   - \setshell keeps 64 bits of its result, \shell commands may be longer than 255 bytes, and a \sleep that does not
//     fit is an error instead of another number;
//   - a variable may be the last thing of a script, where pgbench reads and sends bytes beyond the end of the text;
//   - a script may not contain a zero byte, where pgbench stops reading in silence;
//   - expressions nest at most 1,000 deep and chain at most 10,000 infix operators.
package script
