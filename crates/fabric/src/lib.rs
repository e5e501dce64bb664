//! The seam every protocol is written against, and the worlds below it.
//!
//! Protocol code sees two traits, [`Fabric`] and [`Env`], and one noun, [`Batch`]. It is compiled once per
//! world: here `local` (threads of one process that share regions), in crate `sim` virtual time.
//!
//! # The contract
//! - The only atom is the aligned 8-byte word. Longer reads and writes may be torn at words, in any order.
//! - A batch is posted at once; awaiting it is one round trip. Within a batch to one server a write takes
//!   effect before anything posted after it, and an atomic before a later read or atomic. Nothing else is
//!   ordered unless a [`Batch::fence`] stands between, which costs another round trip.
//! - Untorn reads of rows and nodes are the verb [`Batch::read_row`], with [`Batch::write_row`] as its
//!   counterpart; [`Batch::find_slot`] fetches a neighbourhood and picks the row with a key.
//! - Atomics are atomic among atomics of the same fabric on the same region. A failed swap writes nothing.
//! - A verb whose completion is lost may have happened or may still happen.
//! - Buffers belong to the batch, and the batch to the fabric until completion: dropping a future that
//!   waits for a batch never lets the fabric write into freed memory.
#![deny(unsafe_code)]

pub mod address_map;
pub mod batch;
pub mod clock;
pub mod counters;
pub mod env;
pub mod error;
pub mod identity;
pub mod local;
mod mutant;
pub mod patience;
pub mod port;
pub mod random;
#[allow(unsafe_code)]
mod raw;
pub mod remote;
pub mod service;
pub mod shm;
pub mod tcp;
mod tell;
pub mod verb;
pub mod verbs;

pub use address_map::{AddressMap, Replicas};
pub use batch::{Batch, Span, Swap};
pub use counters::{Counters, Counts};
pub use env::{Env, Fabric, FailurePoint};
pub use error::{CallError, FabricError};
pub use identity::{Admission, Hello, Refusal, Welcome};
pub use local::{LocalEnv, LocalWorld, Pages, ServerConfig, Sharing, WorldConfig, run_now};
pub use mutant::Mutant;
pub use patience::Patience;
pub use port::{Port, ServeCounters};
pub use remote::{AnyTransport, Caller, Engine, RemoteEnv, ServerAddress, Transport};
pub use service::{CallId, Reply, Service, ServiceId, Services};
pub use tcp::{TcpConfig, TcpPort, TcpTransport};
pub use verb::{ALWAYS_WRITTEN_END, SlotGeometry, SlotRead, Verb};
