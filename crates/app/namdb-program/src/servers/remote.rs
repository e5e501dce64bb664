//! Runs this process's transactions on memory servers over a network, with an engine per thread.

use super::LEAVE_NS;
use super::cluster_client::{ClusterClient, Opening};
use crate::bench::site::{Facts, Site, SiteSession};
use crate::output;
use anyhow::Result;
use fabric::DynEnv;
use fabric::patience::Patience;
use fabric::remote::{AnyTransport, Engine, Transport};
use layout::{NodeId, RegionId};
use std::collections::BTreeSet;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use txn::Database;

/// Connects over one fabric.
pub trait Connect: Sync {
    /// Connects to all memory servers, as this process's engine thread `endpoint`.
    fn connect(&self, endpoint: u64) -> Result<AnyTransport>;
}

/// A cluster's memory servers, reached by address.
pub struct RemoteSite {
    connect: Box<dyn Connect>,
    /// Compute servers that this process calls.
    peers: Vec<NodeId>,
    opening: Opening,
    facts: Facts,
    /// The process's connection counter.
    endpoints: Arc<AtomicU64>,
    /// Servers whose loss was reported, so that only one of many threads reports it.
    told: Arc<Mutex<BTreeSet<u16>>>,
}

impl RemoteSite {
    /// Threads connect by `connect` and run `lanes` lanes each.
    pub fn new(connect: impl Connect + 'static, client: &ClusterClient, lanes: u32) -> Self {
        let facts = Facts {
            fabric: client.cluster.fabric.name(),
            servers: client.root.servers.len() as u16,
            oracle: client.root.config.oracle,
            lanes_per_thread: lanes,
        };
        let (opening, told) = (client.opening(), Arc::default());
        let endpoints = client.endpoints.clone();
        let (connect, peers) = (Box::new(connect), Vec::new());
        Self { connect, peers, opening, facts, endpoints, told }
    }

    /// Like [`RemoteSite::new`]; threads also connect to these compute servers.
    pub fn with_peers(self, peers: Vec<NodeId>) -> Self {
        Self { peers, ..self }
    }
}

impl Site for RemoteSite {
    type Env = DynEnv;
    type Session = RemoteSession;

    fn session(&self) -> Result<RemoteSession> {
        let session = self.session_at_rest()?;
        session.wait(session.database.refresh())?;
        Ok(session)
    }

    fn facts(&self) -> Facts {
        self.facts
    }
}

impl RemoteSite {
    /// A session that has read nothing from the database yet.
    pub fn session_at_rest(&self) -> Result<RemoteSession> {
        let endpoint = self.endpoints.fetch_add(1, Ordering::Relaxed);
        let engine = Engine::new(self.connect.connect(endpoint)?, Patience::default())?;
        let database = self.opening.open(DynEnv::new(engine.endpoint()));
        let (peers, told) = (self.peers.clone(), self.told.clone());
        Ok(RemoteSession { database, engine, peers, told })
    }
}

/// A thread's connections, and the engine that drives its lanes.
pub struct RemoteSession {
    database: Database<DynEnv>,
    engine: Engine<AnyTransport>,
    peers: Vec<NodeId>,
    told: Arc<Mutex<BTreeSet<u16>>>,
}

impl RemoteSession {
    /// The engine that drives this thread's lanes and serves its ports.
    pub fn engine(&self) -> &Engine<AnyTransport> {
        &self.engine
    }

    /// Reports lost connections with their reasons.
    fn tell_losses(&self) {
        // A server's log already has an event for each lost connection.
        if tracing::dispatcher::has_been_set() {
            return;
        }
        for &node in self.database.root().servers.iter().chain(&self.peers) {
            let endpoint = self.engine.endpoint();
            let trouble = endpoint.with_transport(|transport| {
                let is_replaced = transport.addresses().place(RegionId(node.0)).is_some();
                let is_dead = transport.addresses().is_dead(node) && is_replaced;
                transport.trouble(node).filter(|_| !is_dead)
            });
            let Some(why) = trouble else { continue };
            if self.told.lock().expect("no holder panics").insert(node.0) {
                let which = fabric::identity::named(node);
                output::say(&format!("  {which} is lost: {why}"));
            }
        }
    }
}

impl SiteSession for RemoteSession {
    type Env = DynEnv;

    fn handle(&self) -> Database<DynEnv> {
        self.database.with_env(DynEnv::new(self.engine.endpoint()))
    }

    fn wait<F: Future>(&self, future: F) -> F::Output {
        self.engine.block_on(future)
    }
}

impl Drop for RemoteSession {
    /// The thread's lanes end, so their slots are returned.
    fn drop(&mut self) {
        self.tell_losses();
        if let Err(error) = self.engine.block_on(self.database.leave(LEAVE_NS)) {
            output::say(&format!("  cannot return slots of the timestamp vector: {error}"));
        }
    }
}
