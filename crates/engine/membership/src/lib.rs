//! The control plane: who is in a cluster, since when, and how each server is reached.
//!
//! Servers and clients read a [`ClusterFile`], open its [`Registry`], and join it as a [`Member`];
//! the [`Lease`] they get says when they must stop. A [`ClusterMap`] is the cluster at an epoch:
//! every join, every leave and every lease that ends starts a new one. Nothing here is on the path
//! of a transaction, and nothing needs an executor: calls block, with a time bound, and threads of
//! their own renew leases.
//!
//! ```no_run
//! use membership::{Addresses, ClusterFile, Member, Registry};
//! use std::time::Duration;
//!
//! let cluster = ClusterFile::load("dev.toml".as_ref(), &[])?;
//! let registry = Registry::open(&cluster)?;
//! let lease = registry.join(Member::client(), Duration::ZERO)?;
//! let (count, patience) = (cluster.memory.len(), Duration::from_secs(10));
//! let map = registry.wait_for_memory_servers(count, patience, &mut |_| {})?;
//! while !lease.is_lost() {
//!     // Run transactions on the memory servers of `map`.
//! #   break;
//! }
//! lease.leave()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Stored state
//! There are two kinds of keys, with JSON values. The record is only ever replaced by a
//! compare-and-swap, and entries are added and removed together with it: all changes of a cluster
//! are totally ordered.
//!
//! - The record (`registry/record` in `directory`; in etcd `record` under `PREFIX/ID`) has id and
//!   name of the cluster, epoch, identities of the members and of the servers that left last, the
//!   last evictions with their reasons, and the database's root. It is written by every process
//!   that joins, leaves, evicts a member, notices the end of a lease, or creates the database.
//! - An entry (`registry/memory-N` or `registry/compute-N`; in etcd `memory-N` or `compute-N`) is a
//!   [`Member`]: role, number, identity, key of the region, addresses, program. The member writes
//!   it when it joins.
//! - The lock (`registry/lock`; not in etcd) is empty; readers and writers of the other files lock
//!   it.
//!
//! An entry lasts as long as its member's lease. In files, the process locks its entry (`flock`),
//! so that the kernel ends the lease with the process; the directory must be on this host's own
//! file system. In etcd, the entry is bound to an etcd lease, which a thread renews three times per
//! lease time.
//!
//! Entries contain the keys of the regions, so their readers must be trusted: only its owner can
//! access the directory, and an etcd that others can reach needs `https` endpoints with
//! certificates on both sides.
//!
//! # Detection
//! The leases above end members whose process has ended, or cannot reach the registry. All other
//! deaths are detected by heartbeats ([`detector`]), and decided by one compare-and-swap of the
//! record ([`Registry::evict`]).
//!
//! # Guarantees
//! - Epochs only grow. Two maps of one epoch have the same members; the root may be added within an
//!   epoch.
//! - At any time at most one member has a number, and an identity belongs to one process forever.
//! - Before a member's lease of the registry ends, the member knows that it is lost:
//!   [`Lease::is_lost`]. A member that others have evicted may not know it; [`Detector`] tells it
//!   when it sends its next heartbeat, and the record keeps the reason ([`ClusterMap::eviction`]).
//! - A former member has either left in order ([`ClusterMap::left`]), with no operations running,
//!   or must be fenced: it was evicted or its lease has ended, and it may not know yet. Neither
//!   affects current members, whatever epoch they know: a memory server serves current members, and
//!   clients that know a later epoch than it does.
//! - Opening the registry fails if servers of another cluster or another version have joined; if
//!   this program came first, it fails for them.
#![forbid(unsafe_code)]

mod clock;
pub mod cluster_file;
mod cluster_map;
pub mod detector;
mod error;
#[cfg(feature = "etcd")]
mod etcd_gateway;
#[cfg_attr(not(feature = "etcd"), path = "no_etcd.rs")]
mod etcd_store;
mod eviction;
mod file_store;
mod follower;
mod lease;
mod member;
mod opening;
mod random;
mod record;
mod registry;
pub mod restart;
mod root;
mod secret_file;
mod store;

pub use cluster_file::{
    ClusterFile, ClusterFileError, ClusterId, ComputeSettings, FabricKind, OracleKind,
};
pub use cluster_map::ClusterMap;
pub use detector::Detector;
pub use error::{AddressError, RegistryError};
pub use eviction::Eviction;
pub use follower::{Follower, Waker};
pub use lease::{Lease, LeaseClock};
pub use member::{Addresses, Member, Program, Role, server_addresses};
pub use opening::Opening;
pub use registry::Registry;
pub use root::{DatabaseRoot, FillStage, Returned};
pub use secret_file::SecretError;
