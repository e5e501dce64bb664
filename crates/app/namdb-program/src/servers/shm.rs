//! Runs this process's transactions on memory servers of the same host, whose regions it maps, and
//! calls compute servers.

use super::LEAVE_NS;
use super::cluster_client::ClusterClient;
use super::cluster_site::Peers;
use crate::bench::site::{Facts, LocalSession, Site};
use anyhow::Result;
use fabric::shm::{ConnectConfig, connect};
use fabric::{LocalEnv, run_now};
use namdb::Db;
use std::sync::atomic::Ordering::Relaxed;

/// A cluster's memory servers, mapped.
pub struct ShmSite {
    db: Db,
    facts: Facts,
}

impl ShmSite {
    /// Maps all regions and connects to `peers`.
    pub fn open(client: &ClusterClient, peers: &Peers<'_>) -> Result<Self> {
        let endpoint = client.endpoints.fetch_add(1, Relaxed);
        let needs_peers = peers.are_needed;
        let peers = client.hellos(peers.members.iter().copied(), endpoint);
        let hellos = client.hellos(client.map.memory_servers(), endpoint);
        let config = ConnectConfig::new(&client.cluster.directory, client.secret.clone(), hellos);
        let world = connect(&ConnectConfig { peers, needs_peers, ..config })?;
        let database = client.opening().open(world.endpoint());
        run_now(database.refresh())?;
        let facts = Facts {
            fabric: "shm",
            servers: client.root.servers.len() as u16,
            oracle: client.root.config.oracle,
            lanes_per_thread: 1,
        };
        Ok(Self { db: Db::of(database), facts })
    }

    /// Returns the slots that this process used.
    pub fn leave(self) -> Result<()> {
        run_now(self.db.handle().leave(LEAVE_NS))?;
        Ok(())
    }
}

impl Site for ShmSite {
    type Env = LocalEnv;
    type Session = LocalSession;

    fn session(&self) -> Result<LocalSession> {
        Site::session(&self.db)
    }

    fn facts(&self) -> Facts {
        self.facts
    }
}
