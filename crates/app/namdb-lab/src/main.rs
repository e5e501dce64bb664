//! The program `namdb-lab`, with generated code of the shipped workloads only.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    namdb_lab::run(&[])
}
