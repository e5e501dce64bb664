//! Recovers compute servers that have died, from the first memory server that lives. If a memory
//! server has died whose region has replicas, one is promoted: see `promotion`.
//!
//! A short visit to all memory servers finds the slots whose owners are no members any more, waits
//! until every server has fenced them, and completes or undoes their last commits.

use super::cluster_client::ClusterClient;
use super::cluster_site::{self, SiteQuery};
use super::left_locks;
use super::promotion::{Promoted, finish, promote, without_lost};
use crate::bench::site::{Site, SiteSession};
use anyhow::{Context, Result};
use fabric::Env;
use layout::RegionId;
use membership::{ClusterFile, FabricKind};
use metrics::sources::RecoveredCounts;
use namdb::host::{Moment, sleep_ms, spawn};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use txn::{Database, Recovered};

/// Interval at which the thread looks for deaths.
const POLL_MS: u64 = 20;
/// First and longest pause after a recovery that has failed. A visit fails if another member dies
/// meanwhile, because the servers refuse visitors of an earlier epoch then.
const RETRY_MS: u64 = 20;
const RETRY_MS_MAX: u64 = 1_000;
/// The event of a recovery that has failed.
const NOT_YET: &str = "compute servers that have died are not recovered yet";
/// Longest wait for the fences of all memory servers.
const FENCED_NS_MAX: u64 = 10_000_000_000;

/// How often a memory server has noticed that members died.
#[derive(Default)]
pub struct Deaths(AtomicU64);

impl Deaths {
    pub fn note(&self) {
        self.0.fetch_add(1, Relaxed);
    }
}

/// Recovers the dead on a separate thread until `stop` is set, and counts what it does.
/// `recoverer` is the identity of this memory server.
pub fn follow(
    cluster: &ClusterFile,
    recoverer: u64,
    deaths: Arc<Deaths>,
    counts: Arc<RecoveredCounts>,
    stop: &'static AtomicBool,
) -> Result<()> {
    let cluster = cluster.clone();
    let work = move || {
        let (mut recovered, mut pause_ms) = (0, RETRY_MS);
        let mut finished = BTreeMap::new();
        while !stop.load(Relaxed) {
            let noticed = deaths.0.load(Relaxed);
            if noticed == recovered {
                sleep_ms(POLL_MS);
                continue;
            }
            let began = Moment::now();
            match recover(&cluster, recoverer, &mut finished) {
                Ok(done) => {
                    (recovered, pause_ms) = (noticed, RETRY_MS);
                    done.count(&counts, began.elapsed_s());
                    done.log(began.elapsed_s());
                }
                Err(error) => {
                    match pause_ms == RETRY_MS_MAX {
                        true => tracing::warn!("{NOT_YET}: {error:#}"),
                        false => tracing::debug!("{NOT_YET}: {error:#}"),
                    }
                    sleep_ms(pause_ms);
                    pause_ms = (2 * pause_ms).min(RETRY_MS_MAX);
                }
            }
        }
    };
    spawn("recovery", work).context("no thread can be started")?;
    Ok(())
}

/// `finished` are the promoted regions whose trees are complete, with their places.
fn recover(
    cluster: &ClusterFile,
    recoverer: u64,
    finished: &mut BTreeMap<u16, u16>,
) -> Result<Done> {
    let client = ClusterClient::visit_for(cluster.clone(), recoverer)?;
    let coordinator = client.map.coordinator(&client.published);
    if coordinator.is_none_or(|member| member.identity != recoverer) {
        return Ok(Done::default());
    }
    let has_closed = client.map.address_map(&client.published).closed().next().is_some();
    if cluster.fabric == FabricKind::Tcp && has_closed {
        let Promoted { recovered, lost, regions } = promote(&client, recoverer)?;
        finish_all(&client, finished)?;
        return Ok(Done { recovered, lost, strays: 0, regions });
    }
    let complete = finish_all(&client, finished);
    let current_map = || client.current_map();
    let members = || {
        let map = current_map()?;
        Ok((map.epoch, map.members.iter().map(|member| member.identity).collect()))
    };
    // Trees without room for their nodes hold up nobody who waits for rows of the dead.
    let done = cluster_site::query(&client, Recovery { recoverer, members })?;
    complete.map(|()| done)
}

/// Completes the trees of promoted regions that are not `finished`.
fn finish_all(client: &ClusterClient, finished: &mut BTreeMap<u16, u16>) -> Result<()> {
    let promoted = client.current_map()?.root.unwrap_or_else(|| client.published.clone()).promoted;
    let left: Vec<RegionId> = promoted
        .iter()
        .filter(|(region, place)| finished.get(region) != Some(place))
        .map(|(&region, _)| RegionId(region))
        .collect();
    if !left.is_empty() {
        finish(client, &left)?;
        *finished = promoted;
    }
    Ok(())
}

/// The result of a recovery.
#[derive(Default)]
struct Done {
    recovered: Recovered,
    /// Slots that cannot be recovered.
    lost: Vec<u16>,
    /// Released locks that no journal named.
    strays: usize,
    /// Regions that have a new place.
    regions: Vec<u16>,
}

impl Done {
    fn count(&self, counts: &RecoveredCounts, seconds: f64) {
        let Recovered { slots, completed, released } = self.recovered;
        counts.slots.fetch_add(u64::from(slots), Relaxed);
        counts.completed.fetch_add(u64::from(completed), Relaxed);
        counts.released.fetch_add(u64::from(released), Relaxed);
        counts.lost.store(self.lost.len() as u64, Relaxed);
        if !self.regions.is_empty() {
            counts.promotions.fetch_add(self.regions.len() as u64, Relaxed);
            counts.promotion_ns.store((seconds * 1e9) as u64, Relaxed);
        }
    }

    fn log(&self, seconds: f64) {
        let Recovered { slots, completed, released } = self.recovered;
        if slots > 0 {
            let (strays, milliseconds) = (self.strays, (seconds * 1e3) as u64);
            tracing::info!(
                slots,
                completed,
                released,
                strays,
                milliseconds,
                "compute servers recovered: their commits are completed or undone"
            );
        }
        if !self.regions.is_empty() {
            let (regions, milliseconds) = (&self.regions, (seconds * 1e3) as u64);
            tracing::warn!(?regions, milliseconds, "replicas promoted: memory servers have died");
        }
    }
}

/// A visit that recovers the dead. `members` reads the current epoch and its members.
struct Recovery<M> {
    recoverer: u64,
    members: M,
}

impl<M: Fn() -> Result<(u64, BTreeSet<u64>)>> SiteQuery for Recovery<M> {
    type Output = Done;

    fn look<S: Site>(self, site: &S) -> Result<Done> {
        let session = site.session()?;
        let database = session.handle().as_member(self.recoverer);
        let owners = session.wait(database.slot_owners()).context("cannot read the slots")?;
        // Asked after that: a member joins before it takes a slot.
        let (epoch, members) = (self.members)()?;
        let dead: BTreeSet<u64> = owners.difference(&members).copied().collect();
        session.wait(await_fenced(&database, epoch))?;
        let (recovered, lost) = without_lost(session.wait(database.recover(&dead)))?;
        // Otherwise readers, writers and collectors release the stray locks that they meet.
        let strays = match session.wait(left_locks::are_tables_small(&database))? {
            true => session.wait(database.release_stray_locks())?,
            false => 0,
        };
        Ok(Done { recovered, lost, strays, regions: Vec::new() })
    }
}

/// Waits until all memory servers have fenced the members that `epoch` lacks.
pub async fn await_fenced<E: Env>(database: &Database<E>, epoch: u64) -> Result<()> {
    let deadline_ns = database.env().now_ns().saturating_add(FENCED_NS_MAX);
    Ok(database.await_fenced(epoch, deadline_ns).await?)
}
