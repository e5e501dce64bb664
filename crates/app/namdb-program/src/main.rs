//! The program `namdb`.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    namdb_program::run(&[], None)
}
