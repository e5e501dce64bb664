//! The program as a user meets it: results, files, exit codes, and what it says to nonsense.

mod arguments;
mod bench;
mod check;
mod cluster;
mod counts;
mod simulate;
mod soak;
mod streams;
mod support;
mod trace;
