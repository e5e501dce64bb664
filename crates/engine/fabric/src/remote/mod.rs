//! Worlds that reach memory over a network: an engine per thread, and a transport below it.
//!
//! [`Engine`] runs the tasks of one thread, [`RemoteEnv`] is the interface for protocols, and a
//! [`Transport`] moves batches and calls. Threads share nothing but wakers.

pub mod any;
pub(crate) mod bell;
mod caller;
mod engine;
mod env;
mod flights;
mod ready;
mod tasks;
#[cfg(test)]
mod tests;
mod timers;
pub mod transport;

pub use any::AnyTransport;
pub use caller::{Caller, ServerAddress};
pub use engine::Engine;
pub use env::RemoteEnv;
pub use transport::{Call, Outcome, Ticket, Transport};
