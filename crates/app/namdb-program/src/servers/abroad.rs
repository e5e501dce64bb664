//! Work at a place, over whatever fabric its cluster has.

use super::place::Place;
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

/// Compute servers that are called.
#[derive(Clone, Copy, Default)]
pub struct Peers<'a> {
    /// Which.
    pub members: &'a [&'a Member],
    /// Whether they have to be there.
    pub are_needed: bool,
}

/// Something to do with a workload at a site.
pub trait Errand<W> {
    /// What it gives.
    type Output;

    /// Does it.
    fn run<S: Site>(self, site: &S, workload: &W) -> Result<Self::Output>
    where
        W: SiteWorkload<S>;
}

/// Something to look at in a database, whatever is in it.
pub trait Glance {
    /// What is seen.
    type Output;

    /// Looks.
    fn look<S: Site>(self, site: &S) -> Result<Self::Output>;
}

/// Looks at the database of a place, by one thread with one lane.
pub fn glance<G: Glance>(place: &Place, glance: G) -> Result<G::Output> {
    match place.cluster.fabric {
        FabricKind::Shm => glance.look(&ShmSite::open(place, &Peers::default())?),
        FabricKind::Tcp => glance.look(&tcp::site(place, 1, &Peers::default())?),
        FabricKind::Verbs => glance.look(&verbs::site(place, 1, &Peers::default())?),
    }
}

/// Opens the memory servers of a place, for threads that keep so many lanes busy each where verbs take time, and
/// gives back what the cluster has to have back when the errand is done.
pub fn run<W: AnyWorkload, J: Errand<W>>(
    place: &Place,
    lanes: u32,
    workload: &W,
    errand: J,
) -> Result<J::Output> {
    run_calling(place, lanes, &Peers::default(), workload, errand)
}

/// As [`run`], where this process makes the calls whose rows are on memory servers that it owns, but for a share, and the
/// owners of rows carry out what the workload ships to them.
pub fn run_at_home<W: AnyWorkload, J: Errand<W>>(
    place: &Place,
    lanes: u32,
    workload: &mut W,
    remote_calls: RemoteCalls,
    errand: J,
) -> Result<J::Output> {
    if !has_homes(place, workload) {
        return run(place, lanes, workload, errand);
    }
    // Who has joined since this process owns rows, too.
    let map = place.current_map()?;
    let mut owners = map.owners(place.cluster.fabric);
    let mut own = Vec::new();
    for (server, owner) in (0..).zip(&mut owners) {
        if owner.take_if(|owner| owner.identity == place.identity()).is_some() {
            own.push(server);
        }
    }
    if let RemoteCalls::Share(remote) = remote_calls {
        Workload::<LocalEnv>::settle(workload, &own, owners.len(), remote);
    }
    if !is_shipping(place, workload) {
        return run(place, lanes, workload, errand);
    }
    Workload::<LocalEnv>::ship_to(
        workload,
        owners.iter().map(|owner| owner.map(Member::node)).collect(),
    );
    let peers: BTreeMap<u16, &Member> =
        owners.into_iter().flatten().map(|owner| (owner.number, owner)).collect();
    let peers: Vec<&Member> = peers.into_values().collect();
    let peers = Peers { members: &peers, are_needed: false };
    run_calling(place, lanes, &peers, workload, errand)
}

/// Whether it is known of some transactions where their rows are.
pub fn has_homes<W: AnyWorkload>(place: &Place, workload: &W) -> bool {
    Workload::<LocalEnv>::has_homes(workload, place.root.servers.len())
}

/// Whether owners of rows carry out what the workload does at a place.
pub fn is_shipping<W: AnyWorkload>(place: &Place, workload: &W) -> bool {
    Workload::<LocalEnv>::is_shipping(workload, place.root.servers.len())
}

/// As [`run`], where threads can call `peers`, too: compute servers.
pub fn run_calling<W: AnyWorkload, J: Errand<W>>(
    place: &Place,
    lanes: u32,
    peers: &Peers<'_>,
    workload: &W,
    errand: J,
) -> Result<J::Output> {
    match place.cluster.fabric {
        FabricKind::Shm => {
            let site = ShmSite::open(place, peers)?;
            let output = errand.run(&site, workload);
            let left = site.leave();
            // What went wrong first says more.
            output.and_then(|output| left.map(|()| output))
        }
        FabricKind::Tcp => errand.run(&tcp::site(place, lanes, peers)?, workload),
        FabricKind::Verbs => errand.run(&verbs::site(place, lanes, peers)?, workload),
    }
}
