//! Stray locks: those of commits whose number the vector covers. Their compute server has died and
//! was recovered, and its journal did not name them, because it died during batch 1. So nothing was
//! installed under them, and a lane that meets one releases it.
//!
//! A row gets the version beside its payload, which is whole: only the owner of the lock would have
//! changed it. An insert word gets the number without the lock, as after an abort; with replicas,
//! which no swap reaches, the value that they have kept.

use crate::catalog::CatalogError;
use crate::catalog::check::{HeldLock, LockKind};
use crate::database::Database;
use crate::lane::LaneInner;
use crate::recovery::in_region;
use fabric::{Batch, Env, FabricError, Mutant, Span};
use layout::oracle::VECTOR;
use layout::row::VERSION;
use layout::{GlobalPtr, VersionWord};

/// A locked word that a lane has met.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LockedWord {
    /// The header of a row.
    Row(GlobalPtr),
    /// The insert word of a bucket or leaf.
    Structure(GlobalPtr),
}

impl<E: Env> LaneInner<E> {
    /// Whether a word is locked by a commit whose number the snapshot covers.
    pub(crate) fn is_stray(&self, word: u64) -> bool {
        let lock = VersionWord::from_word(word);
        lock.is_lock_of_commit()
            && (self.snapshot.covers(lock.timestamp())
                || self.env.mutant(Mutant::RecoverStealAnyLock))
    }

    /// Notes a locked word that has stopped the transaction, if its lock is stray.
    #[inline]
    pub(crate) fn note_stray(&mut self, met: LockedWord, found: u64) {
        let has_address = !matches!(met, LockedWord::Row(row) if row.is_null());
        if self.sets_installs_aside() && has_address && self.is_stray(found) {
            self.scratch.strays.push((met, found));
        }
    }

    /// Releases the stray locks that the transaction has met. A failure leaves them to the next
    /// transaction that meets them.
    #[cold]
    pub(crate) async fn release_strays(&mut self) {
        let strays = std::mem::take(&mut self.scratch.strays);
        // Another lane may release the same ones; the swaps tell.
        let _ = release(&self.env, &strays).await;
    }
}

impl<E: Env> Database<E> {
    /// Releases all stray locks: it reads all tables, so it is meant for small databases, after a
    /// recovery. Elsewhere, those who meet the locks release them. Returns how many there were.
    pub async fn release_stray_locks(&self) -> Result<usize, CatalogError> {
        let held = self.check().await?.locks;
        let mut batch = Batch::new();
        let vector = self.shared.oracle.add_words(u64::from(VECTOR));
        let vector = batch.read(vector, self.shared.slots());
        // The locks are read behind the vector: a live lane unlocks before it publishes.
        batch.fence();
        let words: Vec<Span> = held.iter().map(|lock| batch.read(lock.word, 1)).collect();
        let batch = self.env.execute(batch).await?;
        let vector = batch.words(vector);
        let is_stray = |word: u64| {
            let lock = VersionWord::from_word(word);
            let covered = vector.get(usize::from(lock.slot().0));
            lock.is_lock_of_commit() && covered.is_some_and(|&covered| lock.counter() <= covered)
        };
        let met = |lock: &HeldLock| match lock.kind {
            LockKind::Row => LockedWord::Row(lock.word),
            LockKind::Bucket | LockKind::Leaf => LockedWord::Structure(lock.word),
        };
        let found = held.iter().zip(words).map(|(lock, word)| (met(lock), batch.word(word.at)));
        let strays: Vec<(LockedWord, u64)> = found.filter(|(_, word)| is_stray(*word)).collect();
        release(&self.env, &strays).await?;
        Ok(strays.len())
    }
}

async fn release<E: Env>(env: &E, strays: &[(LockedWord, u64)]) -> Result<(), FabricError> {
    let mut batch = Batch::new();
    // Where the value after the release is read, if it does not follow from the lock.
    let at = |met: LockedWord| match met {
        LockedWord::Row(row) => Some(row.add_words(u64::from(VERSION))),
        LockedWord::Structure(word) => {
            let replica = env.replicas(word.region()).into_iter().next()?;
            Some(in_region(word, replica))
        }
    };
    let reads: Vec<Option<Span>> =
        strays.iter().map(|&(met, _)| Some(batch.read(at(met)?, 1))).collect();
    if !batch.is_empty() {
        batch = env.execute(batch).await?;
    }
    let mut swaps = Vec::new();
    for (&(met, found), read) in strays.iter().zip(reads) {
        let (LockedWord::Row(word) | LockedWord::Structure(word)) = met;
        let of_lock = || VersionWord::from_word(found).timestamp().word();
        let unlocked = read.map_or_else(of_lock, |read| batch.word(read.at));
        if !VersionWord::from_word(unlocked).is_locked() {
            swaps.push((word, found, unlocked));
        }
    }
    batch.reset();
    for (word, found, unlocked) in swaps {
        batch.compare_and_swap(word, found, unlocked);
    }
    if !batch.is_empty() {
        env.execute(batch).await?;
    }
    Ok(())
}
