//! One suite for every fabric: what `docs/assumptions.md` grants, tried by the same names everywhere.
//!
//! A [`Test`] is a play with a few [`Party`]s, each with an endpoint of its own: tasks of a simulated world,
//! threads of one process, or processes. They agree on where they are by words of the fabric itself, and report
//! words, which the test judges. A [`Stage`] is a fabric on which plays are given; it may also disturb them:
//! kill a server, come with a wrong key, send garbage.
//!
//! ```text
//! stage         parties are                    memory is
//! local         threads                        theirs, coherent
//! sim           tasks in virtual time          simulated, not coherent
//! sim-coherent  tasks in virtual time          simulated, coherent
//! sim-serial    tasks in virtual time          simulated, coherent, a verb at one moment
//! shm           processes                      of two more processes, mapped, coherent
//! tcp           processes                      of two more processes, whose threads carry out verbs
//! verbs         processes                      of two more processes, behind a card, not coherent
//! ```
//!
//! No test is worth more than its ability to fail: each says what would break it, and each whose promise
//! [`sim::BrokenPromises`] can break is given on a simulated world with that switch on, where it must fail
//! (`breakage`). A test of something that happens at the same time counts how often it did, and fails if never.
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
