//! Errors between a server and the registry.

use crate::cluster_file::ClusterId;
use crate::member::Program;
use std::time::Duration;

/// Why a member cannot be connected to.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AddressError {
    /// It has no address on this fabric.
    #[error("{member} has no address on this fabric")]
    None { member: String },
    /// Its address is not valid.
    #[error("the registry lists the invalid address {address} of {member}")]
    Wrong { member: String, address: String },
}

/// Why a request to the registry failed. If the request was a change, it may have taken effect.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// The registry does not respond.
    #[error(
        "the registry at {place} cannot be reached ({why}); start it there, or correct `{key}` of the cluster's file"
    )]
    Unreachable {
        /// Its addresses, or its directory.
        place: String,
        why: String,
        /// The key of the cluster file that sets the address.
        key: &'static str,
    },
    /// The directory of a development cluster cannot be used.
    #[error("the directory {path} cannot be used: {why}")]
    Directory { path: String, why: String },
    /// The registry is in etcd, and this program has no client for it.
    #[error(
        "the registry is in etcd at {place}, which this program cannot reach; build it with the feature `etcd` of `namdb`"
    )]
    BuiltWithoutEtcd { place: String },
    /// A file named in the registry's settings cannot be used.
    #[error("{path} cannot be used: {why}")]
    File { path: String, why: String },
    /// The location belongs to another cluster.
    #[error(
        "{place} belongs to cluster `{found_name}` ({found}), not to `{name}` ({id}); every cluster needs an id and a \
         directory or prefix of its own"
    )]
    OtherCluster {
        place: String,
        found: ClusterId,
        /// The other cluster's name.
        found_name: String,
        id: ClusterId,
        /// This cluster's name.
        name: String,
    },
    /// Servers of another version are in the cluster.
    #[error("{member} is {found} and this is {ours}; stop it, or use the same version everywhere")]
    OtherVersion { member: String, found: Program, ours: Program },
    /// A server that has returned and is not filled yet hears nobody.
    #[error(
        "{by} has returned and is not filled yet, so it evicts nobody; see why it does not hear {member}"
    )]
    EvictorUnfilled { by: String, member: String },
    /// The number of a server is in use.
    #[error("the number {number} is used by {by}; stop that server, or choose another number")]
    NumberTaken { number: u16, by: String },
    /// All numbers of compute servers are in use.
    #[error("all {0} numbers of compute servers are in use; stop one that is not needed")]
    NoNumber(u16),
    /// Not enough memory servers have joined in time.
    #[error(
        "{}there are {found} of {wanted} memory servers, without {}; start those, or look into their logs",
        waited(*.after), numbered(missing)
    )]
    TooFewServers {
        found: usize,
        /// Number of memory servers expected.
        wanted: usize,
        /// Numbers of the missing ones.
        missing: String,
        /// How long the caller waited.
        after: Duration,
    },
    /// No memory server has joined.
    #[error(
        "cluster {name} is not running: {}no memory server has joined at {place}; start it with `namdb cluster up` \
         if all of it is on this host, else each server with `namdb memory-server`",
        waited(*.after)
    )]
    NotRunning {
        /// The cluster's name.
        name: String,
        /// Where its registry is.
        place: String,
        /// How long one was waited for.
        after: Duration,
    },
    /// All memory servers have joined, and the first has not created the database in time.
    #[error(
        "{}memory server 0 has not created the database of cluster {name}; look into its log",
        waited(*.after)
    )]
    NoDatabase {
        /// The cluster's name.
        name: String,
        /// How long one was waited for.
        after: Duration,
    },
    /// Part of the database has gone with a memory server.
    #[error(
        "the database is lost with memory {}, which stopped; stop the servers that still run and start all of them \
         again, with the data that they have written, if the cluster's file has `data`, or with an empty database: on one \
         host `namdb cluster down`, then `namdb cluster up`",
        servers(lost)
    )]
    DatabaseLost {
        /// Numbers of the memory servers.
        lost: String,
    },
    /// A silent memory server is not evicted, since its part of the database would be lost.
    #[error(
        "{member} has the last replica of region {regions}: it stays a member until its process has ended"
    )]
    LastReplica {
        member: String,
        /// Numbers of the regions.
        regions: String,
    },
    /// The server that evicts another one is no member any more.
    #[error("{by} is no member any more, so it does not evict {member}; its log says why")]
    EvictorGone {
        by: String,
        /// The member that stays.
        member: String,
    },
    /// The root names a memory server that is not a member.
    #[error(
        "cannot create a database on memory server {number}, which is no longer in the cluster"
    )]
    NoSuchServer { number: u16 },
    /// The registry contains something that namdb did not write.
    #[error(
        "{place} was not written by namdb, or is damaged: {why}; remove it while no server runs"
    )]
    Damaged { place: String, why: String },
    /// Other servers kept changing the cluster.
    #[error("the registry at {place} was changed by others {attempts} times in a row; try again")]
    Contended { place: String, attempts: u32 },
    /// The lease ended before the operation was done.
    #[error(
        "the lease of {member} is lost: the registry has not heard from it in time; restart it"
    )]
    LeaseLost { member: String },
}

/// Labels numbers as such, since a single one reads like a count.
fn numbered(numbers: &str) -> String {
    let what = if numbers.contains(',') { "numbers" } else { "number" };
    format!("{what} {numbers}")
}

/// Servers by their numbers.
fn servers(numbers: &str) -> String {
    let what = if numbers.contains(',') { "servers" } else { "server" };
    format!("{what} {numbers}")
}

/// How a sentence begins about what is not there after some time.
fn waited(time: Duration) -> String {
    match time.as_secs() {
        0 => String::new(),
        seconds => format!("after {seconds} s "),
    }
}
