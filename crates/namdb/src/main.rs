//! The program `namdb`, with generated code of the shipped workloads alone.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    namdb::program::run(&[])
}
