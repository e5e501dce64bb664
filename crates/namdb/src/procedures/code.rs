//! Generated code of workloads of one's own.

use runtime::Generated;
/// The generated code of a workload, to be handed to [`Options::code`](super::Options::code) or to `run` of crate `namdb-lab`.
pub use stored::LinkedCode as Code;

/// The code that `namdb spade generate` has written, whose module has the type `Tables`.
///
/// ```text
/// let code = vec![namdb::procedures::code::<mine::Tables>()];
/// let database = Database::open("mine", &Options { code, ..Options::default() })?;
/// ```
pub fn code<G: Generated + 'static>() -> Code {
    Code::of::<G>()
}
