//! The program `namdb`.
//!
//! Decision: docs/decisions/0101-a-memory-server-that-has-run-is-not-restarted.md
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    namdb_program::run(&[], None)
}
