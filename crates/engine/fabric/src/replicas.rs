//! Writes to replicas: a batch as it is posted, made from the batch as it was put together.
//!
//! Locks are on the primary alone, and cover all replicas. The poster of a batch holds the locks of
//! what it writes, and the last of these writes unlocks; so all replicas are written ahead, and the
//! next owner of a lock finds them complete. This costs a round trip, the fence, which batches
//! without such a need leave out ([`ReplicaOrder`]).
//!
//! Decision: docs/decisions/0315-replicas-are-written-ahead-of-the-primary.md

use crate::address_map::AddressMap;
use crate::batch::Batch;
use crate::env::Env;
use crate::error::FabricError;
use crate::mutant::Mutant;
use crate::upkeep::{Lock, is_lock};
use crate::verb::Verb;
use layout::{GlobalPtr, RegionId};
use std::collections::{BTreeMap, BTreeSet};

/// When the replicas of what a batch writes are written.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum ReplicaOrder {
    /// Before all verbs of the batch.
    #[default]
    Ahead,
    /// In the same round trip: nobody else writes these words before the poster has told that the
    /// batch is complete.
    Beside,
    /// Not with this batch.
    Never,
}

/// Makes the batch that is posted: verbs go to the primaries of their regions, and writes to the
/// replicas, too. Of a closed region only the replicas are written.
///
/// # Errors
///
/// If another verb than a write needs a closed region. Then nothing may be posted.
pub fn address(batch: &mut Batch, map: &AddressMap) -> Result<(), FabricError> {
    let order = batch.replica_order();
    let mut verbs = Vec::with_capacity(2 * batch.verbs().len() + 1);
    if order != ReplicaOrder::Never {
        let is_ahead = |verb: &&Verb| verb.is_write() && !map.is_beside(verb.target());
        for verb in batch.verbs().iter().filter(is_ahead) {
            let replicas = map.written(verb.target().region()).map(|it| map.located(it));
            verbs.extend(replicas.map(|replica| at(verb, replica)));
        }
    }
    if order == ReplicaOrder::Ahead && !verbs.is_empty() {
        verbs.push(Verb::Fence);
    }
    let ignored = spare_word(batch);
    for verb in batch.verbs() {
        if *verb == Verb::Fence {
            verbs.push(*verb);
            continue;
        }
        let region = verb.target().region();
        if order != ReplicaOrder::Never && map.is_beside(verb.target()) {
            let replicas = map.written(region).map(|replica| map.located(replica));
            match *verb {
                // Sums are the same in any order.
                Verb::FetchAndAdd { word, add, .. } if map.place(region).is_some() => {
                    let verb = Verb::FetchAndAdd { word, add, at: ignored };
                    verbs.extend(replicas.map(|replica| at(&verb, replica)));
                }
                verb if verb.is_write() => {
                    verbs.extend(replicas.map(|replica| at(&verb, replica)));
                }
                _ => {}
            }
        }
        match map.place(region) {
            Some(place) => verbs.push(at(verb, place)),
            None if verb.is_write() => {}
            None => return Err(FabricError::Unreachable(map.primary(region))),
        }
    }
    batch.replace_verbs(verbs);
    Ok(())
}

/// A word of the batch's arena for the results of verbs that nobody needs, if it has such verbs.
fn spare_word(batch: &mut Batch) -> u32 {
    let has_sums = batch.verbs().iter().any(|verb| matches!(verb, Verb::FetchAndAdd { .. }));
    if has_sums { batch.reserve(1).at } else { 0 }
}

/// A batch that is posted again after it was lost, for the replicas of closed regions: each gets
/// the writes that it lacks. The last write of a batch to a word that it has locked unlocks the
/// word, and replicas are written in the order of posting; so on a replica where that word has
/// neither its value before nor the lock, the batch has arrived, and others may have written these
/// words since.
///
/// All writes to other regions are posted again. `locks` are the words that the batch unlocks.
/// `ends` are the words that it writes last in each region, with values that they have only had if
/// all its writes to the region have arrived there; there may be none.
pub async fn repeated<E: Env>(
    env: &E,
    mut batch: Batch,
    locks: BTreeMap<GlobalPtr, Lock>,
    ends: &[(GlobalPtr, u64)],
) -> Result<Batch, FabricError> {
    let closed: BTreeSet<RegionId> = closed_regions(env, &batch);
    if closed.is_empty() {
        return Ok(batch);
    }
    let mut ahead = Vec::new();
    for &region in &closed {
        let locks: Vec<_> = locks.iter().filter(|(word, _)| word.region() == region).collect();
        let ends: Vec<_> = ends.iter().filter(|(word, _)| word.region() == region).collect();
        for replica in env.replicas(region) {
            let mut reads = Batch::new();
            let words =
                ends.iter().map(|(word, _)| word).chain(locks.iter().map(|(word, _)| *word));
            for word in words {
                reads.read(GlobalPtr::new(replica, word.offset()), 1);
            }
            if !reads.is_empty() {
                reads = env.execute(reads).await?;
            }
            // Each read has its word at its own number.
            let rewrites = env.mutant(Mutant::ReplicaRewriteArrived);
            let has_ended = (0..).zip(&ends).any(|(number, (_, end))| reads.word(number) == *end);
            if has_ended && !rewrites {
                continue;
            }
            let first = ends.len() as u32;
            let found = (first..).zip(&locks).map(|(number, lock)| (lock, reads.word(number)));
            let arrived = found.filter(|((_, lock), found)| has_arrived(lock, *found) && !rewrites);
            let arrived = arrived.map(|((word, _), _)| **word).collect();
            let mut own = batch.clone();
            own.retain(|verb| verb.is_write() && verb.target().region() == region);
            own.retain_unproved(&arrived);
            ahead.extend(own.verbs().iter().map(|verb| at(verb, replica)));
        }
    }
    batch.retain(|verb| !verb.is_write() || !closed.contains(&verb.target().region()));
    if !ahead.is_empty() {
        ahead.push(Verb::Fence);
    }
    ahead.extend_from_slice(batch.verbs());
    batch.replace_verbs(ahead);
    Ok(batch)
}

/// Whether a replica's word shows that a batch which unlocks the word has arrived. No writer writes
/// a lock to replicas: another one's is stray, and was copied when the replica was filled.
fn has_arrived(lock: &Lock, found: u64) -> bool {
    found != lock.before && found != lock.locked && !is_lock(found)
}

/// As [`repeated`], for a batch whose words nobody else writes before it is complete: the replicas
/// get all writes of `whole`, beside those that are not proved on the primaries.
pub fn repeated_beside<E: Env>(env: &E, whole: &Batch, mut unproved: Batch) -> Batch {
    if !env.has_replicas() {
        return unproved;
    }
    let mut verbs = Vec::new();
    for verb in whole.verbs().iter().filter(|verb| verb.is_write()) {
        let replicas = env.written(verb.target().region());
        verbs.extend(replicas.into_iter().map(|replica| at(verb, replica)));
    }
    unproved.retain(|verb| !verb.is_write() || !env.is_closed(verb.target().region()));
    verbs.extend_from_slice(unproved.verbs());
    unproved.replace_verbs(verbs);
    unproved.set_replica_order(ReplicaOrder::Never);
    unproved
}

fn closed_regions<E: Env>(env: &E, batch: &Batch) -> BTreeSet<RegionId> {
    if !env.has_replicas() {
        return BTreeSet::new();
    }
    let writes = batch.verbs().iter().filter(|verb| verb.is_write());
    writes.map(|verb| verb.target().region()).filter(|region| env.is_closed(*region)).collect()
}

/// The verb at the same offset of another region.
fn at(verb: &Verb, region: RegionId) -> Verb {
    let mut verb = *verb;
    let target = match &mut verb {
        Verb::Read { from, .. } | Verb::ReadRow { from, .. } => from,
        Verb::Write { to, .. }
        | Verb::WriteWord { to, .. }
        | Verb::WriteRow { to, .. }
        | Verb::InstallRow { to, .. } => to,
        Verb::CompareAndSwap { word, .. } | Verb::FetchAndAdd { word, .. } => word,
        Verb::FindSlot { bucket, .. } => bucket,
        Verb::Fence => return verb,
    };
    *target = GlobalPtr::new(region, target.offset());
    verb
}

#[cfg(test)]
mod tests {
    use super::*;
    use layout::{NodeId, SlotId, VersionWord};

    fn ptr(region: u16) -> GlobalPtr {
        GlobalPtr::new(RegionId(region), 4096)
    }

    fn batch(order: ReplicaOrder) -> Batch {
        let mut batch = Batch::new();
        batch.read(ptr(0), 1);
        batch.write_word(ptr(1), 7);
        batch.set_replica_order(order);
        batch
    }

    /// The regions of the posted verbs; `None` for a fence.
    fn posted(map: &AddressMap, order: ReplicaOrder) -> Vec<Option<u16>> {
        let mut batch = batch(order);
        address(&mut batch, map).expect("all regions that are read are open");
        let fences = batch.verbs().iter().filter(|verb| **verb == Verb::Fence).count();
        assert_eq!(batch.round_trips(), 1 + fences as u64);
        let region = |verb: &Verb| (*verb != Verb::Fence).then(|| verb.target().region().0);
        batch.verbs().iter().map(region).collect()
    }

    #[test]
    fn replicas_are_written_ahead_beside_or_never() {
        let map = AddressMap::with_replicas(2, 2);
        assert_eq!(posted(&map, ReplicaOrder::Ahead), [Some(3), None, Some(0), Some(1)]);
        assert_eq!(posted(&map, ReplicaOrder::Beside), [Some(3), Some(0), Some(1)]);
        assert_eq!(posted(&map, ReplicaOrder::Never), [Some(0), Some(1)]);
    }

    #[test]
    fn words_of_single_writers_are_written_beside_and_sums_go_to_all_replicas() {
        let mut map = AddressMap::with_replicas(2, 2);
        map.write_beside(ptr(1), 2);
        let mut batch = batch(ReplicaOrder::Ahead);
        batch.fetch_and_add(ptr(1).add_words(1), 3);
        let result = |verb: &Verb| match verb {
            Verb::FetchAndAdd { at, .. } => Some(*at),
            _ => None,
        };
        let wanted = batch.verbs().iter().find_map(result);
        let mut closed = map.clone();
        address(&mut batch, &map).expect("all regions are open");
        let region = |verb: &Verb| (*verb != Verb::Fence).then(|| verb.target().region().0);
        let posted: Vec<_> = batch.verbs().iter().map(region).collect();
        assert_eq!(posted, [Some(0), Some(3), Some(1), Some(3), Some(1)], "there is no fence");
        let results = batch.verbs().iter().filter_map(result).map(|at| Some(at) == wanted);
        assert_eq!(results.collect::<Vec<_>>(), [false, true], "only the primary's is needed");
        assert!(!closed.is_paused());
        closed.lose(NodeId(1));
        assert!(closed.is_paused());
    }

    #[test]
    fn of_a_closed_region_only_replicas_are_written() {
        let mut map = AddressMap::with_replicas(2, 2);
        map.lose(NodeId(1));
        assert_eq!(posted(&map, ReplicaOrder::Beside), [Some(3), Some(0)]);
        assert!(map.promote(RegionId(1)));
        assert_eq!(posted(&map, ReplicaOrder::Ahead), [Some(0), Some(3)]);
        map.lose(NodeId(0));
        let refused = address(&mut batch(ReplicaOrder::Ahead), &map);
        assert!(matches!(refused, Err(FabricError::Unreachable(NodeId(0)))), "{refused:?}");
    }

    #[test]
    fn a_stray_lock_of_a_filled_replica_proves_nothing() {
        let number = |counter| VersionWord::new(SlotId(1), counter);
        let [before, locked] = [number(4).word(), number(7).locked().word()];
        let lock = Lock { before, locked };
        assert!(!has_arrived(&lock, before) && !has_arrived(&lock, locked));
        assert!(!has_arrived(&lock, number(5).locked().word()), "nobody has written there");
        assert!(has_arrived(&lock, number(7).word()) && has_arrived(&lock, number(8).word()));
    }

    #[test]
    fn a_server_that_is_filled_is_written_at_home_and_read_nowhere() {
        let mut map = AddressMap::with_replicas(2, 2);
        map.lose(NodeId(1));
        assert!(map.promote(RegionId(1)) && map.take_back(NodeId(1)));
        assert_eq!(posted(&map, ReplicaOrder::Ahead), [Some(0), Some(3)], "it is not there yet");
        assert!(map.defer_changes(NodeId(1)) && map.begin_filling(NodeId(1)));
        assert_eq!(posted(&map, ReplicaOrder::Ahead), [Some(1), None, Some(0), Some(3)]);
        assert_eq!(posted(&map, ReplicaOrder::Beside), [Some(1), Some(0), Some(3)]);
        // The filler names its memory.
        let (_, home) = map.unfilled(NodeId(1))[0];
        let mut batch = Batch::new();
        batch.write_word(GlobalPtr::new(home, 4096), 7);
        address(&mut batch, &map).expect("it is there");
        assert_eq!(batch.verbs().len(), 1);
        assert_eq!(batch.verbs()[0].target(), ptr(1));
    }
}
