//! Work at a place, over whatever fabric its cluster has.

use super::place::Place;
use super::shm::ShmSite;
use super::{tcp, verbs};
use crate::bench::AnyWorkload;
use crate::bench::site::{Site, SiteWorkload};
use anyhow::Result;
use membership::{FabricKind, Member};

/// Something to do with a workload at a site.
pub trait Errand<W> {
    /// What it gives.
    type Output;

    /// Does it.
    fn run<S: Site>(self, site: &S, workload: &W) -> Result<Self::Output>
    where
        W: SiteWorkload<S>;
}

/// Opens the memory servers of a place, for threads that keep so many lanes busy each where verbs take time, and
/// gives back what the cluster has to have back when the errand is done.
pub fn run<W: AnyWorkload, J: Errand<W>>(
    place: &Place,
    lanes: u32,
    workload: &W,
    errand: J,
) -> Result<J::Output> {
    run_calling(place, lanes, &[], workload, errand)
}

/// As [`run`], where threads can call `peers`, too: compute servers.
pub fn run_calling<W: AnyWorkload, J: Errand<W>>(
    place: &Place,
    lanes: u32,
    peers: &[&Member],
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
