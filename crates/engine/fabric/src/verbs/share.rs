//! Connections that the threads of a process share.
//!
//! Decision: docs/decisions/0103-threads-share-queue-pairs-beyond-a-number.md

use super::connections::Connections;
use super::slots::{Choice, Slots};
use super::transport::lock;
use super::{Place, VerbsConfig, VerbsError, VerbsTransport};
use std::sync::{Arc, Mutex};

/// The connections of a process: each thread has its own up to a limit, above which threads share
/// them.
///
/// A card caches the state of a few hundred queue pairs, and a memory server has room for some
/// more: with a queue pair for each of many threads of many processes both would run out.
pub struct VerbsShare {
    config: VerbsConfig,
    /// Indexed by the endpoint's number: new connections in place of lost ones replace these on the
    /// servers.
    slots: Slots<Mutex<Connections>>,
}

impl VerbsShare {
    /// At most `queue_pairs_max` queue pairs to each server, made by `config`. Its endpoint is the
    /// first of as many numbers, which no other connection of the process uses.
    ///
    /// # Panics
    /// If that is 0.
    /// If that is none.
    pub fn new(config: VerbsConfig, queue_pairs_max: u32) -> Self {
        Self { config, slots: Slots::new(queue_pairs_max) }
    }

    pub fn place(&self) -> &Place {
        &self.config.place
    }

    /// Connections for this thread: new ones, or those that the fewest threads use. A thread that
    /// has lost a server gets others. If the limit is reached and all connections have lost a
    /// server, new ones replace some of them, even if these are in use.
    ///
    /// # Errors
    /// As [`VerbsTransport::connect`].
    /// As [`VerbsTransport::connect`].
    pub fn connect(&self) -> Result<VerbsTransport, VerbsError> {
        let is_sound = |connections: &Mutex<Connections>| !lock(connections).is_broken();
        let load = |connections: &Mutex<Connections>| lock(connections).members.count();
        match self.slots.choose(is_sound, load) {
            Choice::Share(connections) => VerbsTransport::of(connections),
            Choice::Make(claim) => {
                let mut config = self.config.clone();
                config.caller.endpoint += claim.number();
                let connections = Arc::new(Mutex::new(Connections::connect(&config)?));
                claim.settle(&connections);
                VerbsTransport::of(connections)
            }
        }
    }
}
