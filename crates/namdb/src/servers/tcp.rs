//! Transactions of this process on memory servers that are reached by messages.

use super::place::{Place, region_key};
use super::{LEAVE_NS, PROGRAM};
use crate::bench::site::{Facts, Seat, Site};
use crate::output;
use anyhow::{Context, Result};
use fabric::patience::Patience;
use fabric::remote::{Engine, RemoteEnv};
use fabric::tcp::{ServerAddress, TcpConfig, TcpTransport};
use layout::NodeId;
use std::future::Future;
use std::net::ToSocketAddrs;
use std::sync::atomic::{AtomicU64, Ordering};
use txn::{Database, Root};

/// An endpoint of fabric `tcp`.
pub type TcpEnv = RemoteEnv<TcpTransport>;

/// The memory servers of a cluster, at their addresses.
pub struct TcpSite {
    config: TcpConfig,
    root: Root,
    facts: Facts,
    endpoints: AtomicU64,
}

impl TcpSite {
    /// Threads of this process that take a seat keep `lanes` lanes busy each.
    pub fn new(place: &Place, lanes: u32) -> Result<Self> {
        let config = TcpConfig {
            servers: addresses(place)?,
            cluster: place.cluster.id.0,
            epoch: place.epoch.clone(),
            caller: place.identity(),
            endpoint: 0,
            program: PROGRAM.to_owned(),
            answer_time_max_ns: TcpConfig::ANSWER_TIME_MAX_NS,
            connect_time_max_ns: TcpConfig::CONNECT_TIME_MAX_NS,
            attempts_max: TcpConfig::ATTEMPTS_MAX,
        };
        let facts = Facts {
            fabric: "tcp",
            servers: place.root.servers.len() as u16,
            oracle: place.root.config.oracle,
            lanes_per_thread: lanes,
        };
        Ok(Self { config, root: place.root.clone(), facts, endpoints: AtomicU64::new(0) })
    }
}

fn addresses(place: &Place) -> Result<Vec<ServerAddress>> {
    let address = |member: &membership::Member| {
        let number = member.number;
        let text = member.addresses.tcp.as_deref();
        let text = text.with_context(|| format!("memory server {number} takes no messages"))?;
        let address = text.to_socket_addrs().ok().and_then(|mut found| found.next());
        let address = address.with_context(|| {
            format!("memory server {number} is said to be at {text}, which is no address")
        })?;
        let (identity, key) = (member.identity, region_key(member));
        Ok(ServerAddress { node: NodeId(number), address, identity, key, region_bytes: 0 })
    };
    place.map.memory_servers().map(address).collect()
}

impl Site for TcpSite {
    type Env = TcpEnv;
    type Seat = TcpSeat;

    fn seat(&self) -> Result<TcpSeat> {
        let endpoint = self.endpoints.fetch_add(1, Ordering::Relaxed);
        let transport = TcpTransport::connect(TcpConfig { endpoint, ..self.config.clone() })?;
        let engine = Engine::new(transport, Patience::default())?;
        let database = Database::open(engine.endpoint(), &self.root);
        engine.block_on(database.refresh())?;
        Ok(TcpSeat { database, engine })
    }

    fn facts(&self) -> Facts {
        self.facts
    }
}

/// A thread's connections, and the engine that drives its lanes.
pub struct TcpSeat {
    database: Database<TcpEnv>,
    engine: Engine<TcpTransport>,
}

impl Seat for TcpSeat {
    type Env = TcpEnv;

    fn handle(&self) -> Database<TcpEnv> {
        self.database.with_env(self.engine.endpoint())
    }

    fn wait<F: Future>(&self, future: F) -> F::Output {
        self.engine.block_on(future)
    }
}

impl Drop for TcpSeat {
    /// Lanes of this thread are no longer of use to anybody: their slots are.
    fn drop(&mut self) {
        if let Err(error) = self.engine.block_on(self.database.leave(LEAVE_NS)) {
            output::say(&format!("  slots of the vector were not given back: {error}"));
        }
    }
}
