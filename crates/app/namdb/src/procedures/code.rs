//! Generated code of the embedder's own workloads.

/// The generated code of a workload, for [`Options::code`](super::Options::code) or for `run` of
/// crate `namdb-lab`.
pub use folder_benchmark::LinkedCode as Code;
use procedure_runtime::Generated;

/// Wraps code written by `namdb spade generate`, whose module has the type `Tables`.
///
/// ```text
/// let code = vec![namdb::procedures::code::<mine::Tables>()];
/// let database = Database::open("mine", &Options { code, ..Options::default() })?;
/// ```
pub fn code<G: Generated + 'static>() -> Code {
    Code::of::<G>()
}
