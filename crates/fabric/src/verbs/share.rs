//! Connections that the threads of a process share.

use super::connections::Connections;
use super::slots::{Choice, Slots};
use super::transport::lock;
use super::{Place, VerbsConfig, VerbsError, VerbsTransport};
use std::sync::{Arc, Mutex};

/// The connections of a process: each thread has its own up to a number, and from there on threads share them.
///
/// A card keeps the state of few hundred queue pairs close at hand, and a memory server has room for some more:
/// with a queue pair for each of many threads of many processes both would run out.
pub struct VerbsShare {
    config: VerbsConfig,
    /// By the endpoint's number: what is made in the place of connections that were lost replaces them on the servers.
    slots: Slots<Mutex<Connections>>,
}

impl VerbsShare {
    /// At most `queue_pairs_max` queue pairs to each server, made by `config`. Its endpoint is the first of as many
    /// numbers, which nothing else of the process uses.
    ///
    /// # Panics
    /// If that is none.
    pub fn new(config: VerbsConfig, queue_pairs_max: u32) -> Self {
        Self { config, slots: Slots::new(queue_pairs_max) }
    }

    /// The port that connections go through.
    pub fn place(&self) -> &Place {
        &self.config.place
    }

    /// Connections for this thread: new ones, or those that the fewest threads use. Who has lost a server gets
    /// others. Where there are as many as may be, and all have lost a server, one of them makes way, whoever uses it.
    ///
    /// # Errors
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
