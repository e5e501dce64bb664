//! The data of a memory server from its start to its end: found before it joins, marked as old when
//! a database runs, and written when the server ends.

use super::data::{Image, ServerData};
use super::founder::Kept;
use super::reopening::Replicated;
use anyhow::Result;
use fabric::LocalEnv;
use layout::RegionId;
use membership::restart::Found;
use membership::{ClusterFile, ClusterMap, DatabaseRoot, Registry};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use txn::server::ServiceCounts;

/// The data of a server that starts.
pub struct FoundData {
    data: Option<Arc<ServerData>>,
    image: Option<Image>,
    /// The part that others must know, with replicas.
    found: Option<Found>,
    /// Number of memory servers of the cluster.
    servers: usize,
}

impl FoundData {
    pub fn look(cluster: &ClusterFile, number: u16, region_bytes: u64) -> Result<Self> {
        let data = ServerData::open(cluster, number, region_bytes)?.map(Arc::new);
        let (found, image) = match &data {
            Some(data) if data.has_replicas() => data.find(cluster)?,
            Some(data) => (None, data.image(cluster)?),
            None => (None, None),
        };
        Ok(Self { data, image, found, servers: cluster.memory.len() })
    }

    fn has_replicas(&self) -> bool {
        self.data.as_ref().is_some_and(|data| data.has_replicas())
    }

    /// The part that others must know before the database begins again, with replicas.
    pub fn found(&self) -> Option<Found> {
        self.found.clone()
    }

    /// The run of the database that the image is of.
    pub fn life(&self) -> Option<u64> {
        let image = self.image.as_ref().filter(|_| !self.has_replicas());
        image.and_then(|image| image.root.life())
    }

    /// The services of the server, which may have taken the place of one that has died.
    pub fn services(
        &self,
        number: u16,
        region_bytes: u64,
        has_returned: bool,
    ) -> Result<ServiceCounts> {
        match &self.image {
            _ if self.has_replicas() => Ok(ServiceCounts::returned(RegionId(number), region_bytes)),
            Some(image) => image.services(number, region_bytes),
            None if has_returned => Ok(ServiceCounts::returned(RegionId(number), region_bytes)),
            None => Ok(ServiceCounts::new(RegionId(number), region_bytes)),
        }
    }

    /// Reads the contents of the region, which nobody uses yet, by an endpoint of its own process;
    /// with replicas that waits until the others are known.
    pub fn read(self, env: Option<LocalEnv>) -> Result<Keeping> {
        let has_replicas = self.has_replicas();
        let Self { data, image, servers, .. } = self;
        if let (true, Some(data), Some(env)) = (has_replicas, &data, &env) {
            let kept = Kept { data: Some(data.clone()), ..Kept::default() };
            let replicated = Some(Replicated::new(data.clone(), image, env.clone(), servers));
            return Ok(Keeping { kept, env: None, replicated });
        }
        let restored = image.as_ref().map(|image| image.root.clone());
        if let (Some(data), Some(image), Some(env)) = (&data, image, &env) {
            data.read(image, env)?;
        }
        Ok(Keeping { kept: Kept { data, restored, ..Kept::default() }, env, replicated: None })
    }
}

/// Where the contents of the region go when the server ends.
pub struct Keeping {
    pub kept: Kept,
    /// Reads the region.
    env: Option<LocalEnv>,
    /// With replicas, where the database may go on without the server.
    pub replicated: Option<Replicated>,
}

impl Keeping {
    /// Waits until the server may serve; `false` if it ends before. With replicas and data on disk
    /// it is first known who has what.
    pub fn settle(
        &mut self,
        services: &ServiceCounts,
        registry: (&Registry, u64),
        stop: &AtomicBool,
    ) -> Result<bool> {
        let Some(replicated) = &mut self.replicated else { return Ok(true) };
        replicated.settle(services, registry, stop)
    }

    /// Takes note of the database, from which on the image is old. Sets `stop` on a server that
    /// nobody will fill any more.
    pub fn note_root(
        &self,
        own: u64,
        stop: &'static AtomicBool,
    ) -> impl FnMut(&ClusterMap) + Send + 'static {
        let (data, is_replicated) = (self.kept.data.clone(), self.replicated.is_some());
        let (mismatch, mut served) = (self.kept.mismatch.clone(), Served::default());
        move |map| {
            if let (true, Some(data)) = (is_replicated, &data) {
                if served.is_over(map, data.has_begun()) && !stop.load(Relaxed) {
                    let _ = mismatch.set(ALONE.to_owned());
                    stop.store(true, Relaxed);
                }
                return Replicated::note_newest(data, map, own);
            }
            let (Some(data), Some(root)) = (&data, root_with(map, own)) else { return };
            if let Err(error) = data.note(root) {
                tracing::error!("the image in `data` is old and does not say so: {error:#}");
            }
        }
    }

    /// Writes the contents of the region, if the cluster keeps data and there is a database; says
    /// whether nothing is left to write. The server serves nobody any more.
    pub fn end(&self, services: &ServiceCounts, registry: &Registry, own: u64) -> Result<bool> {
        let (Some(data), Some(env)) = (&self.kept.data, &self.env) else { return Ok(true) };
        let look = || registry.map().ok().map(|map| root_with(&map, own));
        data.end(env, services, look)
    }
}

/// The servers that keep the database have ended before this one was filled, and others have
/// perhaps started: it has told them of what it had on disk before.
const ALONE: &str =
    "the database has ended before this memory server was filled; start it again, with all others";

/// Whether a server knows a database that has others.
#[derive(Default)]
struct Served(bool);

impl Served {
    /// Takes note of a map; says whether the database has ended for which the server has begun to
    /// serve.
    fn is_over(&mut self, map: &ClusterMap, has_begun: bool) -> bool {
        match map.database() {
            // The registry may have lost it, which must not end those who have it.
            Ok(None) if map.root.is_some() => std::mem::take(&mut self.0) && has_begun,
            Ok(Some(_)) => {
                self.0 = true;
                false
            }
            _ => false,
        }
    }
}

/// The root of the database with this memory server.
fn root_with(map: &ClusterMap, own: u64) -> Option<DatabaseRoot> {
    map.root.clone().filter(|root| root.has_holder(own))
}

#[cfg(test)]
mod tests {
    use super::*;
    use layout::{GlobalPtr, NodeId};
    use membership::{Addresses, ClusterId, FillStage, Member, OracleKind, Returned};

    /// Memory server 0 was started again while the others served, and they end before it is filled.
    #[test]
    fn a_server_that_nobody_fills_any_more_ends() {
        let member = |number| Member::memory_server(NodeId(number), 1 << 20, Addresses::default());
        let members: Vec<Member> = [0, 1, 2].map(member).into();
        let [zero, one, two] = [0, 1, 2].map(|number: usize| members[number].identity);
        let root = DatabaseRoot {
            oracle: GlobalPtr::new(RegionId(0), 4096),
            slots: 8,
            snapshots: OracleKind::Frozen,
            transaction_time_ms: 1000,
            servers: vec![1, one, two],
            replicas: 2,
            promoted: [(0, 3)].into(),
            returned: [(0, Returned { identity: zero, stage: FillStage::Empty })].into(),
            id: 7,
            run: 0,
            without: [0].into(),
        };
        let (left, evicted, drained) = Default::default();
        let (cluster, epoch, root) = (ClusterId(1), 1, Some(root));
        let lives =
            ClusterMap { cluster, epoch, members: members.clone(), left, evicted, root, drained };
        let with = |members: Vec<Member>| ClusterMap { members, ..lives.clone() };
        let others = [member(1), member(2)];
        let ended = with(vec![members[0].clone(), others[0].clone(), others[1].clone()]);
        let lost = with(vec![members[0].clone(), members[2].clone()]);
        let mut served = Served::default();
        let told = [&lives, &lost, &ended, &ended].map(|map| served.is_over(map, true));
        assert_eq!(told, [false, false, true, false]);
        let mut served = Served::default();
        assert!(!served.is_over(&lives, false) && !served.is_over(&ended, false), "it waits");
        assert!(!served.is_over(&ended, true), "the next one is about to begin");
        let emptied = ClusterMap { root: None, ..lives.clone() };
        let mut served = Served::default();
        assert!(!served.is_over(&lives, true) && !served.is_over(&emptied, true));
    }
}
