//! A compute server's place in a cluster: its membership, and what it knows of the memory servers.

use super::{LOOK_PAUSE, PROGRAM};
use anyhow::{Context, Result, ensure};
use fabric::identity::Hello;
use layout::NodeId;
use membership::{Addresses, ClusterFile, ClusterMap, Follower, Lease, Member, Registry, Role};
use namdb::host::{Moment, sleep_ms};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use txn::Root;

/// How long to wait for the memory servers and the database.
const COMPANY_S: u64 = 10;
/// Between two looks whether the database is there.
const LOOK_MS: u64 = 10;

/// Membership, and the cluster as it was on joining.
pub struct Place {
    /// The cluster's configuration.
    pub cluster: ClusterFile,
    /// Who was there.
    pub map: ClusterMap,
    /// Where the database begins.
    pub root: Root,
    /// The epoch as it is now.
    pub epoch: Arc<AtomicU64>,
    lease: Lease,
    _follower: Follower,
}

impl Place {
    /// Joins as a compute server, once all memory servers are there and the database is made.
    pub fn join(cluster: ClusterFile) -> Result<Self> {
        let registry = Registry::open(&cluster)?;
        let lease = registry.join(Member::compute_server(Addresses::default()), Duration::ZERO)?;
        let patience = Duration::from_secs(COMPANY_S);
        let count = cluster.memory.len();
        registry.wait_for_memory_servers(count, patience, &mut |_| {})?;
        let map = wait_for_database(&registry)?;
        let root = map.database()?.map(super::opened).expect("it was waited for");
        let epoch = Arc::new(AtomicU64::new(map.epoch));
        let newest = epoch.clone();
        let note = move |map: &ClusterMap| {
            newest.fetch_max(map.epoch, Ordering::AcqRel);
        };
        let follower = registry.follow(LOOK_PAUSE, note)?;
        Ok(Self { cluster, map, root, epoch, lease, _follower: follower })
    }

    /// This process, as memory servers know it.
    pub fn identity(&self) -> u64 {
        self.lease.member().identity
    }

    /// Ends the membership.
    pub fn leave(self) -> Result<()> {
        ensure!(
            !self.lease.is_lost(),
            "this process has lost its lease of {} s, and with it its place in the cluster",
            self.cluster.lease_seconds
        );
        Ok(self.lease.leave()?)
    }

    /// What each memory server is told first.
    pub fn hellos(&self) -> Vec<Hello> {
        self.map.memory_servers().map(|member| self.hello(member)).collect()
    }

    fn hello(&self, member: &Member) -> Hello {
        Hello {
            node: NodeId(member.number),
            cluster: self.cluster.id.0,
            epoch: self.map.epoch,
            server: member.identity,
            key: region_key(member),
            caller: self.identity(),
            endpoint: 0,
            process: std::process::id(),
            program: PROGRAM.to_owned(),
        }
    }
}

/// The key to a memory server's region.
pub fn region_key(member: &Member) -> u64 {
    match member.role {
        Role::Memory { region_key, .. } => region_key,
        Role::Compute => unreachable!("asked of memory servers only"),
    }
}

/// Waits until the first memory server has said where the database begins.
fn wait_for_database(registry: &Registry) -> Result<ClusterMap> {
    let start = Moment::now();
    loop {
        let map = registry.map()?;
        if map.database()?.is_some() {
            return Ok(map);
        }
        ensure!(
            start.elapsed_s() < COMPANY_S as f64,
            "all memory servers are there, and no database after {COMPANY_S} s; look at what memory server 0 says"
        );
        sleep_ms(LOOK_MS);
    }
}

/// Reads the file of a cluster, with settings in place of what is written there.
pub fn load(file: &std::path::Path, settings: &[(String, String)]) -> Result<ClusterFile> {
    ClusterFile::load(file, settings).context("the cluster cannot be reached")
}
