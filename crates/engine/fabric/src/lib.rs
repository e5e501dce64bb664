//! The interface between protocols and networks, and the back ends on real memory.
//!
//! Protocol code uses two traits, [`Fabric`] and [`Env`], and [`Batch`]. It is compiled once per
//! world: here `local` (threads of one process that share regions), in crate `sim` virtual time.
//!
//! # The contract
//! - Only the aligned 8-byte word is atomic. Longer reads and writes may be torn between words, in
//!   any order.
//! - A batch is posted at once; awaiting it is one round trip. Within a batch to one server a write
//!   takes effect before any verb posted after it, and an atomic before a later read or atomic.
//!   Nothing else is ordered without a [`Batch::fence`] in between, which costs another round trip.
//! - [`Batch::read_row`] reads rows and nodes untorn, [`Batch::write_row`] is its counterpart;
//!   [`Batch::find_slot`] fetches a bucket and selects the row with a key.
//! - Atomics are atomic with respect to atomics of the same fabric on the same region. A failed
//!   swap writes nothing.
//! - A verb whose completion is lost may have happened or may still happen, until
//!   [`Fabric::settle`].
//! - The batch owns its buffers, and the fabric owns the batch until completion: a dropped future
//!   never lets the fabric write into freed memory.
//!
//! Decisions:
//! - docs/decisions/0002-verbs-are-plain-async-functions-calls-are-boxed.md
//! - docs/decisions/0003-commits-are-detached-tasks-wherever-verbs-do-not-complete-at.md
//! - docs/decisions/0110-properties-of-memory-are-asked-of-the-endpoint.md
#![deny(unsafe_code)]

pub mod address_map;
pub mod batch;
pub mod clock;
pub mod counters;
pub mod dynamic;
pub mod env;
pub mod error;
pub mod guests;
pub mod identity;
pub mod insistent;
mod line_limit;
pub mod linger;
pub mod local;
mod mutant;
mod note;
pub mod patience;
pub mod port;
pub mod proof;
pub mod random;
#[allow(unsafe_code)]
mod raw;
pub mod remote;
pub mod repeat;
pub mod replicas;
pub mod secret;
pub mod service;
pub mod shared_map;
pub mod shm;
pub mod tcp;
pub mod tell;
mod upkeep;
pub mod verb;
pub mod verbs;
mod write_list;

pub use address_map::{AddressMap, Contents};
pub use batch::{Batch, Span, Swap, VerbList};

pub use counters::{Counters, Counts};
pub use dynamic::DynEnv;
pub use env::{Env, Fabric, FailurePoint};
pub use error::{CallError, FabricError};
pub use identity::{Admission, Hello, Refusal, Welcome};
pub use insistent::Insistent;
pub use local::{
    LocalEnv, LocalWorld, Pages, Replicas, ServerConfig, Sharing, WorldConfig, run_now,
};
pub use mutant::Mutant;
pub use note::{Note, Pairs, Source};
pub use patience::Patience;
pub use port::{Port, ServeCounters};
pub use remote::{AnyTransport, Caller, Engine, RemoteEnv, ServerAddress, Transport};
pub use replicas::ReplicaOrder;
pub use secret::Secret;
pub use service::{CallId, Reply, Service, ServiceId, Services};
pub use shared_map::SharedAddressMap;
pub use tcp::{TcpConfig, TcpPort, TcpTransport};
pub use upkeep::{JournalOf, Lock, MakeRoom, UpkeepJournal};
pub use verb::{ALWAYS_WRITTEN_END, SlotGeometry, SlotRead, Verb};
pub use write_list::{append_writes, batch_of_writes};
