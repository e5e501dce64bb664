//! Completes or undoes the last upkeep of a dead lane.
//!
//! Upkeep writes each batch to the lane's journals on the servers that the batch changes, ahead of
//! the changes: see [`layout::upkeep_entry`]. The newest whole entry tells everything: an entry
//! that is not whole anywhere belongs to a batch that has changed nothing. Its writes are carried
//! out again, except those that an unlocked word proves, since others may have changed these words.
//! The locks that are left then protect nothing that is half done: they get their values back.

use super::journal::{Found, read_upkeep_entries};
use fabric::{Batch, Env, FabricError, Lock, Mutant, Span, Verb, batch_of_writes, replicas};
use layout::GlobalPtr;
use layout::journal::UPKEEP;
use layout::upkeep_entry::{UpkeepEntry, UpkeepLock};
use std::collections::BTreeSet;

/// The newest whole entry in the journals of a slot for its upkeep.
pub(super) async fn newest_entry<E: Env>(
    env: &E,
    journals: &[Found],
) -> Result<Option<Vec<u64>>, FabricError> {
    let mut newest: Option<Vec<u64>> = None;
    let order = |entry: &[u64]| UpkeepEntry::read(entry).map(|entry| entry.order());
    for journal in journals.iter().filter(|journal| journal.kind == UPKEEP) {
        for entry in read_upkeep_entries(env, journal).await? {
            if newest.as_deref().is_none_or(|newest| order(newest) < order(&entry)) {
                newest = Some(entry);
            }
        }
    }
    Ok(newest)
}

/// Completes the batch of an entry, and releases the locks that are left. `None` if the entry's
/// writes are not those of a batch.
pub(super) async fn finish<E: Env>(
    env: &E,
    entry: &UpkeepEntry<'_>,
) -> Result<Option<()>, FabricError> {
    let Some(mut writes) = batch_of_writes(entry.writes()) else { return Ok(None) };
    // The locks of a closed region have ended with its server.
    let is_open = |lock: &UpkeepLock| !env.is_closed(lock.word.region());
    let locks: Vec<UpkeepLock> = entry.locks().filter(is_open).collect();
    let unlocked = unlocked_of(env, &locks).await?;
    let releases: BTreeSet<GlobalPtr> = writes.verbs().iter().map(Verb::target).collect();
    // A work that was undone has completed the writes before it released its locks.
    let mut held = locks.iter().filter(|lock| lock.locked != lock.before).map(|lock| lock.word);
    let was_undone = held.any(|word| unlocked.contains(&word) && !releases.contains(&word));
    if !writes.is_empty() && !was_undone {
        match env.mutant(Mutant::RecoverRewriteUpkeep) {
            true => writes.retain_unproved(&BTreeSet::new()),
            false => writes.retain_unproved(&unlocked),
        }
        let lock =
            |lock: UpkeepLock| (lock.word, Lock { locked: lock.locked, before: lock.before });
        let locks = entry.locks().map(lock).collect();
        env.execute(replicas::repeated(env, writes, locks, &[]).await?).await?;
    }
    let mut batch = Batch::new();
    for lock in locks.iter().filter(|lock| lock.locked != lock.before) {
        batch.compare_and_swap(lock.word, lock.locked, lock.before);
    }
    if !batch.is_empty() && !env.mutant(Mutant::RecoverKeepUpkeepLocks) {
        env.execute(batch).await?;
    }
    Ok(Some(()))
}

/// The words that are not locked any more, or were never.
async fn unlocked_of<E: Env>(
    env: &E,
    locks: &[UpkeepLock],
) -> Result<BTreeSet<GlobalPtr>, FabricError> {
    let mut batch = Batch::new();
    let reads: Vec<Span> = locks.iter().map(|lock| batch.read(lock.word, 1)).collect();
    if !batch.is_empty() {
        batch = env.execute(batch).await?;
    }
    let pairs = locks.iter().zip(reads);
    let unlocked = pairs.filter(|(lock, read)| batch.word(read.at) != lock.locked);
    Ok(unlocked.map(|(lock, _)| lock.word).collect())
}
