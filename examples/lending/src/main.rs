//! The program `namdb` with the code of the workload `lending`.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    namdb::program::run(&lending::code())
}
