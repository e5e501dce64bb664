//! Stray locks: those of commits whose number the vector covers. Their compute server has died and
//! was recovered, and its journal did not name them, because it died during batch 1. So nothing was
//! installed under them, and a lane that meets one releases it.
//!
//! A row gets the version beside its payload, which is whole: only the owner of the lock would have
//! changed it. An insert word gets the number without the lock, as after an abort; with replicas,
//! which no swap reaches, the value that they have kept. A replica that was filled meanwhile has
//! the lock as well: it is released there first.

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

/// The words that decide about a stray lock.
struct Reads {
    /// The version of a row.
    version: Option<Span>,
    /// The locked word on each replica.
    replicas: Vec<(GlobalPtr, Span)>,
}

async fn release<E: Env>(env: &E, strays: &[(LockedWord, u64)]) -> Result<(), FabricError> {
    let mut batch = Batch::new();
    let mut read = |met: LockedWord| {
        let (LockedWord::Row(word) | LockedWord::Structure(word)) = met;
        let version = match met {
            LockedWord::Row(row) => Some(batch.read(row.add_words(u64::from(VERSION)), 1)),
            LockedWord::Structure(_) => None,
        };
        let places = env.written(word.region()).into_iter();
        let places = places.map(|replica| in_region(word, replica));
        let replicas = places.map(|place| (place, batch.read(place, 1))).collect();
        Reads { version, replicas }
    };
    let reads: Vec<Reads> = strays.iter().map(|&(met, _)| read(met)).collect();
    if !batch.is_empty() {
        batch = env.execute(batch).await?;
    }
    let (mut of_primaries, mut of_replicas) = (Vec::new(), Vec::new());
    for (&(met, found), reads) in strays.iter().zip(&reads) {
        let (LockedWord::Row(word) | LockedWord::Structure(word)) = met;
        let of_replica = || {
            let values = reads.replicas.iter().map(|(_, span)| batch.word(span.at));
            values.into_iter().find(|&value| value != found)
        };
        let of_lock = || VersionWord::from_word(found).timestamp().word();
        let version = reads.version.map(|span| batch.word(span.at));
        let unlocked = version.or_else(of_replica).unwrap_or_else(of_lock);
        if VersionWord::from_word(unlocked).is_locked() {
            continue;
        }
        let filled = reads.replicas.iter().filter(|(_, span)| batch.word(span.at) == found);
        of_replicas.extend(filled.map(|&(place, _)| (place, found, unlocked)));
        of_primaries.push((word, found, unlocked));
    }
    post_swaps(env, &of_replicas, &of_primaries).await
}

/// Unlocks the words of replicas, and then those of primaries: nobody can lock a word before its
/// replicas are unlocked.
async fn post_swaps<E: Env>(
    env: &E,
    of_replicas: &[(GlobalPtr, u64, u64)],
    of_primaries: &[(GlobalPtr, u64, u64)],
) -> Result<(), FabricError> {
    let mut batch = Batch::new();
    for &(word, found, unlocked) in of_replicas {
        batch.compare_and_swap(word, found, unlocked);
    }
    if !of_replicas.is_empty() {
        batch.fence();
    }
    for &(word, found, unlocked) in of_primaries {
        batch.compare_and_swap(word, found, unlocked);
    }
    if !batch.is_empty() {
        env.execute(batch).await?;
    }
    Ok(())
}
