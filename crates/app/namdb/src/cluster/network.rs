//! The memory servers of a cluster over a network: how a thread connects to them.

use super::{Fault, Place};
use crate::host::Moment;
use fabric::patience::Patience;
use fabric::remote::{AnyTransport, Engine, Transport};
use fabric::tcp::{TcpConfig, TcpTransport, TlsKeys};
use fabric::verbs::{self, VerbsConfig, VerbsShare};
use fabric::{DynEnv, Env};
use membership::server_addresses;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use txn::{Database, Lane, LaneError};

/// A process that leaves collects its garbage for this long at most.
pub(crate) const LEAVE_NS: u64 = 1_000_000_000;
/// How long a transaction waits for a free slot of the cluster.
pub(crate) const SLOT_WAIT_MS_MAX: u64 = 10_000;
/// Between two attempts at one.
const SLOT_LOOK_NS: u64 = 10_000_000;

/// The memory servers of a cluster that this process has joined.
pub(crate) struct Remote {
    network: Network,
    endpoints: AtomicU64,
    /// Slots of the cluster that this process has.
    slots: AtomicU32,
    place: Place,
}

impl Remote {
    pub fn new(network: Network, place: Place) -> Self {
        let (endpoints, slots) = Default::default();
        Self { network, endpoints, slots, place }
    }

    pub fn place(&self) -> &Place {
        &self.place
    }

    pub fn slots(&self) -> u32 {
        self.slots.load(Ordering::Relaxed)
    }
}

pub(crate) enum Network {
    Messages(TcpConfig, Option<TlsKeys>),
    Card(VerbsShare),
}

impl Network {
    pub fn by_messages(place: &Place) -> Result<Self, Fault> {
        let peers = server_addresses(place.peers(), place.fabric())?;
        let addresses = Some(place.regions.addresses().clone());
        let config = TcpConfig::new(place.caller()?);
        let config = TcpConfig { peers, needs_peers: false, addresses, ..config };
        let keys = place.cluster.tls.as_ref().map(|tls| -> Result<TlsKeys, Fault> {
            let read = |path: &Path| {
                std::fs::read(path).map_err(|error| {
                    format!("{} of section `tls` cannot be read: {error}", path.display())
                })
            };
            let (ca, certificate, key) = (read(&tls.ca)?, read(&tls.certificate)?, read(&tls.key)?);
            Ok(TlsKeys::from_pem(&ca, &certificate, &key)?)
        });
        Ok(Self::Messages(config, keys.transpose()?))
    }

    pub fn by_card(place: &Place) -> Result<Self, Fault> {
        let settings = &place.cluster.verbs;
        let (device, port) = (settings.device.clone(), settings.port);
        let choice = verbs::Choice { device, port, gid_index: settings.gid_index };
        let (caller, peers) = (place.caller()?, server_addresses(place.peers(), place.fabric())?);
        let config = VerbsConfig::new(verbs::Place::open(&choice)?, caller);
        let config = VerbsConfig { peers, needs_peers: false, ..config };
        Ok(Self::Card(VerbsShare::new(config, settings.queue_pairs_max)))
    }

    fn connect(&self, endpoint: u64) -> Result<AnyTransport, Fault> {
        let (config, keys) = match self {
            Self::Card(share) => return Ok(share.connect()?.into()),
            Self::Messages(config, keys) => (config, keys),
        };
        let mut config = config.clone();
        config.caller.endpoint = endpoint;
        config.leave_out_dead();
        Ok(match keys.clone() {
            None => TcpTransport::connect(config)?.into(),
            Some(keys) => TcpTransport::connect_encrypted(config, keys)?.into(),
        })
    }
}

/// A thread's connections, the engine that drives them, and the lane of its transactions.
pub(crate) struct Seat {
    /// At rest, between two transactions.
    lane: Option<Lane<DynEnv>>,
    /// Whether a slot of the cluster is this seat's.
    has_slot: bool,
    pub database: Database<DynEnv>,
    pub engine: Engine<AnyTransport>,
    pub remote: Arc<Remote>,
}

impl Seat {
    /// Connects this thread.
    pub fn open(remote: &Arc<Remote>) -> Result<Self, Fault> {
        let endpoint = remote.endpoints.fetch_add(1, Ordering::Relaxed);
        let engine = Engine::new(remote.network.connect(endpoint)?, Patience::default())?;
        let Place { root, .. } = &remote.place;
        let database = Database::open(DynEnv::new(engine.endpoint()), root)
            .as_member(remote.place.identity())
            .counted_in(remote.place.regions.holders().clone())
            .nearest_to(remote.place.nearest());
        let remote = remote.clone();
        let seat = Self { lane: None, has_slot: false, database, engine, remote };
        seat.engine.block_on(seat.database.refresh())?;
        Ok(seat)
    }

    /// A lane for a transaction, to be given back. Waits if all slots of the cluster are taken.
    pub fn lane(&mut self) -> Result<Lane<DynEnv>, LaneError> {
        if let Some(lane) = self.lane.take() {
            return Ok(lane);
        }
        let start = Moment::now();
        loop {
            match self.engine.block_on(self.database.lane()) {
                Ok(lane) => {
                    self.remote.slots.fetch_add(u32::from(!self.has_slot), Ordering::Relaxed);
                    self.has_slot = true;
                    return Ok(lane);
                }
                Err(LaneError::Exhausted(_)) if start.elapsed_ms() < SLOT_WAIT_MS_MAX => {
                    self.engine.block_on(self.database.env().sleep_ns(SLOT_LOOK_NS));
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Brings the lane to rest, so that collection of garbage does not wait for it, and keeps it.
    pub fn give_back(&mut self, mut lane: Lane<DynEnv>) {
        // If the lane cannot say so, the others wait no longer than a transaction may run.
        let _ = self.engine.block_on(lane.rest());
        self.keep(lane);
    }

    /// Keeps a lane that is at rest for the next transaction.
    pub fn keep(&mut self, lane: Lane<DynEnv>) {
        self.lane = Some(lane);
    }

    /// Gives the slot back to the cluster.
    pub fn release_slot(&mut self) {
        self.lane = None;
        // If a memory server is unreachable, the cluster is lost, and its slots with it.
        let _ = self.engine.block_on(self.database.leave(LEAVE_NS));
        self.remote.slots.fetch_sub(u32::from(self.has_slot), Ordering::Relaxed);
        self.has_slot = false;
    }

    /// Whether a memory server that lives has no connection any more.
    pub fn is_broken(&self) -> bool {
        let endpoint = self.engine.endpoint();
        let servers = &self.remote.place.root.servers;
        endpoint.with_transport(|transport| {
            servers.iter().any(|&server| {
                transport.addresses().is_used(server) && transport.trouble(server).is_some()
            })
        })
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.release_slot();
    }
}
