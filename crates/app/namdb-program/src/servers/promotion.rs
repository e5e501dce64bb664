//! Promotes replicas of memory servers that have died, on the first memory server that lives.
//!
//! Each process confirms in the registry that it holds no lock of a closed region any more. Then
//! the compute servers that have died are recovered, and a replica takes the place of each region.
//!
//! Decision: docs/decisions/0317-processes-confirm-in-the-registry-that-they-have-drained.md

use super::cluster_client::ClusterClient;
use super::cluster_site::Peers;
use super::recovery::await_fenced;
use super::tcp;
use crate::bench::site::SiteSession;
use anyhow::{Context, Result, ensure};
use fabric::Fabric;
use layout::RegionId;
use namdb::host::{Moment, sleep_ms};
use std::collections::{BTreeMap, BTreeSet};
use txn::{Recovered, RecoveryError};

/// Between two looks who has drained.
const LOOK_MS: u64 = 2;
/// A process that has not drained after this time is evicted, and recovered with the dead.
const DRAIN_MS_MAX: u64 = 10_000;

/// The result of a promotion.
pub struct Promoted {
    pub recovered: Recovered,
    /// Slots that cannot be recovered.
    pub lost: Vec<u16>,
    /// The regions with a new place.
    pub regions: Vec<u16>,
}

/// Promotes a replica of each closed region. `recoverer` is the identity of this memory server.
///
/// # Errors
/// If a memory server or the registry does not answer; call it again then, on a new visit.
pub fn promote(client: &ClusterClient, recoverer: u64) -> Result<Promoted> {
    let closed: Vec<_> = client.map.address_map(&client.published).closed().collect();
    await_drained(client, recoverer)?;
    let site = tcp::site(client, 1, &Peers::default())?;
    // The oracle may be closed, so nothing is read from it.
    let session = site.session_at_rest()?;
    let database = session.handle().as_member(recoverer);
    let owners = session.wait(database.slot_owners()).context("cannot read the slots")?;
    // Asked after that: a member joins before it takes a slot.
    let map = client.current_map()?;
    client.note(&map);
    let members: BTreeSet<u64> = map.members.iter().map(|member| member.identity).collect();
    let dead: BTreeSet<u64> = owners.difference(&members).copied().collect();
    session.wait(await_fenced(&database, map.epoch))?;
    // Everybody has drained. If the oracle is closed, nothing commits until it is promoted.
    let recovered = match database.env().is_paused() {
        true => session.wait(database.recover_at_rest(&dead)),
        false => session.wait(database.recover(&dead)),
    };
    let (recovered, lost) = without_lost(recovered)?;
    let mut regions = Vec::new();
    for region in closed {
        session.wait(database.prepare_promotion(region)).context("a replica does not answer")?;
        let mut addresses = client.current_map()?.address_map(&client.published);
        ensure!(addresses.promote(region), "region {} has no replica left", region.0);
        let place = addresses.place(region).expect("it was promoted");
        let is_promoted = client.promote((region, place), recoverer)?;
        ensure!(is_promoted, "another memory server promotes replicas");
        client.note(&client.current_map()?);
        regions.push(region.0);
    }
    Ok(Promoted { recovered, lost, regions })
}

/// Goes on without the slots that cannot be recovered, and names them: their rows stay locked where
/// the locks still are, and no snapshot includes their numbers. To try them again would keep
/// regions closed for good.
///
/// # Errors
/// All other errors of a recovery.
pub fn without_lost(
    recovered: Result<Recovered, RecoveryError>,
) -> Result<(Recovered, Vec<u16>), RecoveryError> {
    match recovered {
        Err(error @ RecoveryError::Lost { .. }) => {
            tracing::error!("{error}");
            let RecoveryError::Lost { slots, recovered } = error else {
                unreachable!("it was matched")
            };
            Ok((recovered, slots))
        }
        ended => ended.map(|recovered| (recovered, Vec::new())),
    }
}

/// Completes the trees of promoted regions, which may be repeated. Another memory server may have
/// promoted them, and have died.
///
/// # Errors
/// As [`promote`].
pub fn finish(client: &ClusterClient, regions: &[RegionId]) -> Result<()> {
    let session = tcp::site(client, 1, &Peers::default())?.session_at_rest()?;
    let database = session.handle();
    for &region in regions {
        let finished = session.wait(database.finish_promotion(region));
        finished.context("the trees of a promoted region are not complete yet")?;
    }
    Ok(())
}

/// Waits until all processes have drained for the epoch of this visit. Those that have not in time
/// are evicted by `recoverer`.
fn await_drained(client: &ClusterClient, recoverer: u64) -> Result<()> {
    let epoch = client.map.epoch;
    let mut first_looks = BTreeMap::new();
    loop {
        let map = client.current_map()?;
        let has_drained = |identity: &u64| map.drained.get(identity).is_some_and(|it| *it >= epoch);
        let late = map.compute_servers().filter(|member| !has_drained(&member.identity));
        let late: Vec<u64> = late.map(|member| member.identity).collect();
        if late.is_empty() {
            client.note(&map);
            return Ok(());
        }
        for identity in late {
            let since = *first_looks.entry(identity).or_insert_with(Moment::now);
            if since.elapsed_ms() > DRAIN_MS_MAX {
                client.evict_undrained(identity, since.elapsed_ms(), recoverer)?;
            }
        }
        sleep_ms(LOOK_MS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_that_are_lost_stop_no_promotion_and_other_errors_do() {
        let (slots, done) = (vec![3, 5], Recovered { slots: 2, completed: 1, released: 1 });
        let ended =
            without_lost(Err(RecoveryError::Lost { slots: slots.clone(), recovered: done }));
        assert_eq!(ended, Ok((done, slots)), "the others are recovered");
        assert_eq!(without_lost(Ok(done)), Ok((done, Vec::new())));
        assert_eq!(without_lost(Err(RecoveryError::Busy)), Err(RecoveryError::Busy));
    }
}
