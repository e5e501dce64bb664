//! Back end `shm`: memory servers are separate processes, and compute processes on the same host
//! map their regions. Verbs are those of [`crate::local`]; calls go through memory that the two
//! processes share.
//!
//! ```text
//! compute process                               memory server
//!   connect() -- Hello over a Unix socket --->  ShmPort, served by the polling thread
//!             <-- Welcome, with descriptors --
//!   region     <========= one file in memory =========>  region
//!   segment    <========= one file in memory =========>  segment: calls, in slots
//!   bell       ---------- rings if the server sleeps -->  eventfd
//!   watch: the server's process, its socket              callers: their processes, their sockets
//! ```
//!
//! No verb makes a system call, and no call does while the server is awake. Memory files have no
//! names, so nothing of them is left when the processes end; the socket has one, and a lock beside
//! it shows whether its server lives. Each side notices at once when the other ends: verbs and
//! calls then fail as unreachable, slots are free. Processes of one user trust each other with the
//! region, which they can all write; but no process can crash another one, whatever it writes.
//!
//! Decision: docs/decisions/0071-fabric-shm-is-the-local-world-with-mapped-files.md

mod answer;
mod caller;
mod callers;
mod calls;
mod connect;
mod conversation;
mod directory;
mod port;
mod segment;
mod socket;
mod watch;
mod welcome;

pub use callers::{Callers, FenceError, Fenced};
pub use connect::{ConnectConfig, ConnectError, connect};
pub use directory::ListenError;
pub use port::ShmPort;
