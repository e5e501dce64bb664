//! The control plane: who is in a cluster, since when, and how each server is reached.
//!
//! Servers and clients read a [`ClusterFile`], open its [`Registry`], and join it as a [`Member`]; the
//! [`Lease`] they get says when they have to stop. A [`ClusterMap`] is the cluster at an epoch: every join,
//! every leave and every lease that ends makes a new one. Nothing here is on the path of a transaction, and
//! nothing needs an executor: calls block, with a bound, and leases are renewed by threads of their own.
//!
//! ```no_run
//! use membership::{Addresses, ClusterFile, Member, Registry};
//! use std::time::Duration;
//!
//! let cluster = ClusterFile::load("dev.toml".as_ref(), &[])?;
//! let registry = Registry::open(&cluster)?;
//! let lease = registry.join(Member::client(), Duration::ZERO)?;
//! let map = registry.wait_for_memory_servers(cluster.memory.len(), Duration::from_secs(10), &mut |_| {})?;
//! while !lease.is_lost() {
//!     // Run transactions on the memory servers of `map`.
//! #   break;
//! }
//! lease.leave()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is stored where
//! Two kinds of keys, as JSON. The record is only ever replaced by a compare-and-swap, and entries come and go
//! with it: all changes of a cluster have one order.
//!
//! | what | file, in `directory` | in etcd, below `PREFIX/ID` | written by | holds |
//! |---|---|---|---|---|
//! | record | `registry/record` | `record` | whoever joins, leaves, finds a lease that has ended, or makes the database | id and name of the cluster, epoch, identities of the members and of those who left last, the database's root |
//! | entry | `registry/memory-N`, `registry/compute-N` | `memory-N`, `compute-N` | the member, when it joins | [`Member`]: role, number, identity, key of the region, addresses, program |
//! | lock | `registry/lock` | | nobody | nothing: locked by whoever reads or writes the others |
//!
//! An entry lasts as long as its member's lease. The file is locked (`flock`) by the process, so that the
//! kernel ends the lease with the process; the directory must be on this host's own file system. In etcd the
//! entry is bound to a lease of etcd, which a thread renews three times in its time.
//!
//! Whoever reads entries knows the keys of the regions: the directory is its owner's alone, and an etcd that
//! others reach needs endpoints of `https`, which show their certificate and want to see ours.
//!
//! # What others rely on
//! - Epochs only grow. Two maps of one epoch have the same members; the root may come in between.
//! - A number is held by one member at a time, and an identity by one process ever.
//! - A member whose entry is gone has been told so before: [`Lease::is_lost`].
//! - Who is gone has left in order ([`ClusterMap::left`]), with nothing under way any more, or is to be fenced: its
//!   lease has ended, and it may not know it yet. Neither concerns those who are members still, whatever epoch they
//!   have heard of: a memory server serves who is a member, and who knows a later epoch than it does.
//! - Servers of another cluster or another version are refused when they open the registry, and so are we
//!   if they came first.
#![forbid(unsafe_code)]

mod clock;
pub mod cluster_file;
mod cluster_map;
mod error;
mod etcd_gateway;
mod etcd_store;
mod file_store;
mod follower;
mod lease;
mod member;
mod random;
mod record;
mod registry;
mod root;
mod store;

pub use cluster_file::{
    ClusterFile, ClusterFileError, ClusterId, ComputeSettings, FabricKind, OracleKind,
};
pub use cluster_map::ClusterMap;
pub use error::{AddressError, RegistryError};
pub use follower::Follower;
pub use lease::{Lease, LeaseClock};
pub use member::{Addresses, Member, Program, Role, server_addresses};
pub use registry::Registry;
pub use root::DatabaseRoot;
