//! What can go wrong between a server and the registry.

use crate::cluster_file::ClusterId;
use crate::member::Program;
use std::time::Duration;

/// Why nobody can connect to a member.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AddressError {
    /// It has no address on this fabric.
    #[error("{member} is not reached by this fabric")]
    None {
        /// Who.
        member: String,
    },
    /// Its address is none.
    #[error("{member} is said to be at {address}, which is no address")]
    Wrong {
        /// Who.
        member: String,
        /// What it has told.
        address: String,
    },
}

/// Why the registry did not do what it was asked for. After an error of a change it may have happened.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// The registry does not answer.
    #[error(
        "the registry at {place} cannot be reached ({why}); start it there, or correct `{key}` of the cluster's file"
    )]
    Unreachable {
        /// Its addresses, or its directory.
        place: String,
        /// What happened.
        why: String,
        /// The key that says where it is.
        key: &'static str,
    },
    /// The directory of a development cluster cannot be used.
    #[error("the directory {path} cannot be used: {why}")]
    Directory {
        /// The directory or file.
        path: String,
        /// What is wrong, and what to do.
        why: String,
    },
    /// A file that the registry's settings name cannot be used.
    #[error("{path} cannot be used: {why}")]
    File {
        /// The file.
        path: String,
        /// What is wrong.
        why: String,
    },
    /// Another cluster has its state there.
    #[error(
        "{place} belongs to cluster `{found_name}` ({found}), not to `{name}` ({id}); every cluster needs an id and a \
         directory or prefix of its own"
    )]
    OtherCluster {
        /// Where.
        place: String,
        /// Whose state it is.
        found: ClusterId,
        /// How its owners call it.
        found_name: String,
        /// The cluster asked for.
        id: ClusterId,
        /// How its file calls it.
        name: String,
    },
    /// Servers of another version are in the cluster.
    #[error("{member} is {found} and this is {ours}; stop it, or use the same version everywhere")]
    OtherVersion {
        /// Whose version it is.
        member: String,
        /// Its version.
        found: Program,
        /// Ours.
        ours: Program,
    },
    /// The number of a server is in use.
    #[error("the number {number} is taken by {by}; stop that one, or take another number")]
    NumberTaken {
        /// The number.
        number: u16,
        /// Who has it.
        by: String,
    },
    /// All numbers of compute servers are in use.
    #[error("all {0} numbers of compute servers are taken; stop one that is not needed")]
    NoNumber(u16),
    /// Not enough memory servers have joined in time.
    #[error(
        "{}there are {found} of {wanted} memory servers, without {}; start those, or see in their logs why they stopped",
        waited(*.after), numbered(missing)
    )]
    TooFewServers {
        /// How many there are.
        found: usize,
        /// How many were waited for.
        wanted: usize,
        /// The numbers of those that are missing.
        missing: String,
        /// How long they were waited for.
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
    /// Part of the database has gone with a memory server.
    #[error(
        "the database is lost with memory {}, which stopped; stop the servers that still run and start all of them \
         again, with an empty database: on one host `namdb cluster down`, then `namdb cluster up`",
        servers(lost)
    )]
    DatabaseLost {
        /// The numbers of the memory servers.
        lost: String,
    },
    /// A database cannot begin on servers that are not there.
    #[error(
        "no database can be made on memory server {number}, which is not in the cluster any more"
    )]
    NoSuchServer {
        /// Its number.
        number: u16,
    },
    /// What stands in the registry is not what namdb writes.
    #[error(
        "what stands in {place} was not written by namdb, or is damaged: {why}; remove it when no server runs"
    )]
    Damaged {
        /// Where.
        place: String,
        /// What is wrong.
        why: String,
    },
    /// Others changed the cluster all the time.
    #[error("the registry at {place} was changed by others {attempts} times in a row; try again")]
    Contended {
        /// Where.
        place: String,
        /// How often it was tried.
        attempts: u32,
    },
    /// The lease ended before this was done.
    #[error(
        "the lease of {member} is lost: the registry has not heard from it in time; start it anew"
    )]
    LeaseLost {
        /// Whose.
        member: String,
    },
}

/// Numbers with what they are, since one alone reads like a count.
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
