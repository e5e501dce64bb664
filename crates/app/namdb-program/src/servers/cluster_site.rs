//! Runs work on a cluster's memory servers over the cluster's fabric.

use super::cluster_client::ClusterClient;
use super::shm::ShmSite;
use super::{tcp, verbs};
use crate::bench::AnyWorkload;
use crate::bench::site::{Site, SiteWorkload};
use crate::commands::remote_calls::RemoteCalls;
use anyhow::Result;
use fabric::LocalEnv;
use membership::{FabricKind, Member};
use std::collections::BTreeMap;
use workload::Workload;

/// Compute servers that this process calls.
#[derive(Clone, Copy, Default)]
pub struct Peers<'a> {
    /// The compute servers.
    pub members: &'a [&'a Member],
    /// Whether all of them must be reachable.
    pub are_needed: bool,
}

/// A job on a workload's tables, for any fabric.
pub trait SiteJob<W> {
    /// Result of the job.
    type Output;

    /// Runs the job.
    fn run<S: Site>(self, site: &S, workload: &W) -> Result<Self::Output>
    where
        W: SiteWorkload<S>;
}

/// A query of the database as a whole, for any fabric.
pub trait SiteQuery {
    /// Result of the query.
    type Output;

    /// Runs the query.
    fn look<S: Site>(self, site: &S) -> Result<Self::Output>;
}

/// Runs a query on the cluster's database, on one thread with one lane, and returns the slots that
/// it used to the cluster.
pub fn query<G: SiteQuery>(client: &ClusterClient, query: G) -> Result<G::Output> {
    match client.cluster.fabric {
        FabricKind::Shm => {
            let site = ShmSite::open(client, &Peers::default())?;
            let output = query.look(&site);
            let left = site.leave();
            // The query's own error is more informative.
            output.and_then(|output| left.map(|()| output))
        }
        FabricKind::Tcp => query.look(&tcp::site(client, 1, &Peers::default())?),
        FabricKind::Verbs => query.look(&verbs::site(client, 1, &Peers::default())?),
    }
}

/// Connects to the memory servers, with `lanes` concurrent lanes per thread if verbs take time,
/// runs the job, and returns the slots that it used to the cluster.
pub fn run<W: AnyWorkload, J: SiteJob<W>>(
    client: &ClusterClient,
    lanes: u32,
    workload: &W,
    errand: J,
) -> Result<J::Output> {
    run_calling(client, lanes, &Peers::default(), workload, errand)
}

/// Like [`run`], for calls that are routed by the owner of their rows: this process makes the calls
/// whose rows are on memory servers that it owns (except for a share), and the other owners execute
/// what the workload ships to them.
pub fn run_at_home<W: AnyWorkload, J: SiteJob<W>>(
    client: &ClusterClient,
    lanes: u32,
    workload: &mut W,
    remote_calls: RemoteCalls,
    errand: J,
) -> Result<J::Output> {
    if !has_homes(client, workload) {
        return run(client, lanes, workload, errand);
    }
    // This process has joined since, so it owns rows, too.
    let map = client.current_map()?;
    let mut owners = map.owners(client.cluster.fabric);
    let mut own = Vec::new();
    for (server, owner) in (0..).zip(&mut owners) {
        if owner.take_if(|owner| owner.identity == client.identity()).is_some() {
            own.push(server);
        }
    }
    if let RemoteCalls::Share(remote) = remote_calls {
        Workload::<LocalEnv>::settle(workload, &own, owners.len(), remote);
    }
    if !is_shipping(client, workload) {
        return run(client, lanes, workload, errand);
    }
    Workload::<LocalEnv>::ship_to(
        workload,
        owners.iter().map(|owner| owner.map(Member::node)).collect(),
    );
    let peers: BTreeMap<u16, &Member> =
        owners.into_iter().flatten().map(|owner| (owner.number, owner)).collect();
    let peers: Vec<&Member> = peers.into_values().collect();
    let peers = Peers { members: &peers, are_needed: false };
    run_calling(client, lanes, &peers, workload, errand)
}

/// Whether the owners of the rows of some transactions are known.
pub fn has_homes<W: AnyWorkload>(client: &ClusterClient, workload: &W) -> bool {
    Workload::<LocalEnv>::has_homes(workload, client.root.servers.len())
}

/// Whether the workload ships calls to the owners of their rows.
pub fn is_shipping<W: AnyWorkload>(client: &ClusterClient, workload: &W) -> bool {
    Workload::<LocalEnv>::is_shipping(workload, client.root.servers.len())
}

/// Like [`run`]; threads can also call the compute servers `peers`.
pub fn run_calling<W: AnyWorkload, J: SiteJob<W>>(
    client: &ClusterClient,
    lanes: u32,
    peers: &Peers<'_>,
    workload: &W,
    errand: J,
) -> Result<J::Output> {
    match client.cluster.fabric {
        FabricKind::Shm => {
            let site = ShmSite::open(client, peers)?;
            let output = errand.run(&site, workload);
            let left = site.leave();
            // The job's own error is more informative.
            output.and_then(|output| left.map(|()| output))
        }
        FabricKind::Tcp => errand.run(&tcp::site(client, lanes, peers)?, workload),
        FabricKind::Verbs => errand.run(&verbs::site(client, lanes, peers)?, workload),
    }
}
