//! Generated code of workloads of one's own.

/// The generated code of a workload, to be handed to [`Options::code`](super::Options::code) or to `run` of crate `namdb-lab`.
pub use folder_benchmark::LinkedCode as Code;
use procedure_runtime::Generated;

/// The code that `namdb spade generate` has written, whose module has the type `Tables`.
///
/// ```text
/// let code = vec![namdb::procedures::code::<mine::Tables>()];
/// let database = Database::open("mine", &Options { code, ..Options::default() })?;
/// ```
pub fn code<G: Generated + 'static>() -> Code {
    Code::of::<G>()
}
