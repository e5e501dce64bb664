//! The procedures of the workload `lending` as Rust, for programs to link.
#![forbid(unsafe_code)]

#[allow(
    unused_mut,
    unused_assignments,
    unused_variables,
    clippy::all,
    reason = "a program has written it"
)]
pub mod lending;

use namdb::procedures::Code;

/// The code of each workload, for `namdb_lab::run` and the options of
/// `namdb::procedures::Database::open`.
pub fn code() -> Vec<Code> {
    vec![namdb::procedures::code::<lending::Tables>()]
}
