//! One test suite for every fabric: it tests the promises of `docs/assumptions.md`, under the same
//! test names everywhere.
//!
//! A [`Test`] runs a few [`Party`]s, each with an endpoint of its own: tasks of a simulated world,
//! threads of one process, or processes. They synchronise through words of the fabric itself, and
//! report words, which the test judges. A run of a test is called a play. A [`Stage`] is a fabric
//! that runs plays; it may also disturb them: kill a server, connect with a wrong key, or send
//! garbage.
//!
//! ```text
//! stage         parties are                    memory is
//! local         threads                        theirs, coherent
//! sim           tasks in virtual time          simulated, not coherent
//! sim-coherent  tasks in virtual time          simulated, coherent
//! sim-serial    tasks in virtual time          simulated, coherent, a verb at one moment
//! shm           processes                      of two more processes, mapped, coherent
//! tcp           processes                      of two more processes, whose threads execute verbs
//! verbs         processes                      of two more processes, behind a card, not coherent
//! ```
//!
//! A test is only worth its ability to fail. Each test names what would break it, and each test of
//! a promise that [`sim::BrokenPromises`] can break also runs in a simulated world with that switch
//! on, where it must fail (`breakage`). A test of concurrent events counts how often they happened,
//! and fails if they never did.
#![forbid(unsafe_code)]

pub mod breakage;
pub mod fabrics;
pub mod party;
pub mod service;
pub mod stage;
pub mod table;
pub mod test;
pub mod tests;

pub use party::Party;
pub use stage::{Outcome, Stage};
pub use test::{Disturbance, Need, Test};
