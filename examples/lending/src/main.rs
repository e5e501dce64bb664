//! The program `namdb` with the code of the workload `lending`.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    namdb_lab::run(&lending::code())
}
