//! The try-lock under which vectors are frozen. A lane holds it for one vector, the collector as
//! long as it runs; others wait, for a bounded time.
//!
//! The word is 0, or names its holder:
//!
//! ```text
//!  63                32 31        16 15                          0
//! +--------------------+------------+-----------------------------+
//! | compute server     | count      | slot + 1, or the collector  |
//! +--------------------+------------+-----------------------------+
//! ```
//!
//! A compute server's number is a part of its identity, or drawn at random, and it counts its
//! attempts, so no two holders write the same word.
//!
//! A holder that loses a batch does not know what has taken effect. A task settles its connections,
//! and then completes or takes back the vector that the batch may have written, and releases the
//! lock: see [`HeldFreezer`].
//!
//! A holder that dies keeps the lock. Nobody takes it over by a clock: a holder that only stood
//! still would then write an old vector, and an old epoch of the catalog, over newer ones. The
//! process that takes the lock over must know that the holder is fenced: see
//! [`Database::take_over_freezing`].

use crate::database::{Database, Shared};
use crate::snapshot::oracle::newest_intact;
use fabric::{Batch, Env, FabricError};
use layout::SlotId;
use layout::oracle::{FREEZER, NEWEST};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// Time for which a transaction that begins waits for the lock.
pub(crate) const BEGIN_WAIT_NS: u64 = 1_000_000_000;
/// Time for which a collector or a change of the catalog waits for it.
pub(crate) const WAIT_NS: u64 = 10_000_000_000;
/// Number of attempts before waits have a length.
const YIELDS_MAX: u32 = 16;
/// First and longest wait between two attempts.
const PAUSE_NS: u64 = 1_000;
const PAUSE_NS_MAX: u64 = 4_000_000;
/// First and longest wait between two attempts to release the lock after a loss, and the time
/// after which its holder gives up.
const RELEASE_PAUSE_NS: u64 = 1_000_000;
const RELEASE_PAUSE_NS_MAX: u64 = 16_000_000;
const RELEASE_NS_MAX: u64 = 60_000_000_000;
/// The collector's number in the word; lanes have those of their slots, plus 1.
const COLLECTOR: u64 = 0xffff;
const HOLDER_BITS: u32 = 16;
const SERVER_SHIFT: u32 = 32;
const _: () = assert!((crate::database::SLOTS_MAX as u64) < COLLECTOR);
const _: () = assert!(NEWEST == FREEZER + 1);

/// A compute server as a holder of the lock.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FreezerId(u32);

impl FreezerId {
    /// A member of the cluster as a holder of the lock.
    pub fn of_member(identity: u64) -> Self {
        Self((identity as u32).max(1))
    }
}

/// The holder of the lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FreezeHolder(u64);

impl FreezeHolder {
    fn of_word(word: u64) -> Option<Self> {
        (word != 0).then_some(Self(word))
    }

    /// Its compute server.
    pub fn server(self) -> FreezerId {
        FreezerId((self.0 >> SERVER_SHIFT) as u32)
    }

    /// The slot of the lane; `None`: it is the collector.
    pub fn slot(self) -> Option<SlotId> {
        let holder = self.0 & COLLECTOR;
        (holder != COLLECTOR).then(|| SlotId((holder.saturating_sub(1)) as u16))
    }
}

impl fmt::Display for FreezeHolder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FreezerId(server) = self.server();
        match self.slot() {
            Some(SlotId(slot)) => write!(formatter, "the lane of slot {slot}")?,
            None => formatter.write_str("the collector of vectors")?,
        }
        write!(formatter, " of compute server {server:08x}")
    }
}

/// Why no vector was frozen.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FreezeError {
    /// Somebody else has the lock and did not release it in time.
    #[error(
        "{0} keeps the lock for freezing vectors; if that compute server has died, fence it and take the lock over"
    )]
    Held(FreezeHolder),
    /// Others freeze vectors, but none that is new enough.
    #[error("no vector that is new enough was frozen in time")]
    TooOld,
    #[error(transparent)]
    Unreachable(#[from] FabricError),
}

impl FreezeError {
    /// The error of a wait that has ended while the lock's word was `word`.
    pub(crate) fn of_word(word: u64) -> Self {
        FreezeHolder::of_word(word).map_or(Self::TooOld, Self::Held)
    }
}

/// The number of a compute server as a holder, and the number of its attempts.
#[derive(Default)]
pub(crate) struct Freezers {
    server: OnceLock<u32>,
    /// Where the count begins: handles of one compute server count apart.
    first: OnceLock<u64>,
    attempts: AtomicU64,
}

impl Freezers {
    /// Takes the number from the identity of this compute server.
    pub fn set_member(&self, identity: u64) {
        let _ = self.server.set(FreezerId::of_member(identity).0);
    }

    fn server<E: Env>(&self, env: &E) -> u32 {
        *self.server.get_or_init(|| ((env.random() >> 32) as u32).max(1))
    }

    /// The word of the next attempt.
    fn next_word<E: Env>(&self, env: &E, holder: u64) -> u64 {
        let first = *self.first.get_or_init(|| env.random());
        let count = first.wrapping_add(self.attempts.fetch_add(1, Relaxed)) & COLLECTOR;
        u64::from(self.server(env)) << SERVER_SHIFT | count << HOLDER_BITS | holder
    }
}

/// A wait with an end. It yields at first, and then sleeps, longer and longer.
pub(crate) struct Patience {
    deadline_ns: u64,
    attempts: u32,
    pause_ns: u64,
}

impl Patience {
    pub fn new<E: Env>(env: &E, wait_ns: u64) -> Self {
        let deadline_ns = env.now_ns().saturating_add(wait_ns);
        Self { deadline_ns, attempts: 0, pause_ns: PAUSE_NS }
    }

    /// Waits before the next attempt; returns whether there is time for one.
    pub async fn wait<E: Env>(&mut self, env: &E) -> bool {
        if env.now_ns() >= self.deadline_ns {
            return false;
        }
        self.attempts += 1;
        if self.attempts <= YIELDS_MAX {
            env.yield_now().await;
        } else {
            env.sleep_ns(self.pause_ns).await;
            self.pause_ns = (2 * self.pause_ns).min(PAUSE_NS_MAX);
        }
        true
    }
}

/// The result of an attempt to take the lock.
pub(crate) enum Taken<E: Env> {
    Held(HeldFreezer<E>),
    /// The word of its holder.
    Busy(u64),
}

/// The lock, or an attempt to take it. A holder that loses a batch, or is dropped, leaves the
/// release to a task. No batch of the holder may be under way then, unless it is lost.
///
/// That task first settles the connections, so that nothing of a lost batch takes effect any more.
/// If the lost batch has written a vector whole, others may have read it: its number is noted as
/// the newest. If it has not, nobody has read the vector from the ring, and the next one may have
/// its number; but a copy of it may be whole, so where there are copies the number is left out.
pub(crate) struct HeldFreezer<E: Env> {
    env: E,
    shared: Arc<Shared<E>>,
    word: u64,
    is_held: bool,
}

impl<E: Env> HeldFreezer<E> {
    /// Tries to take the lock for the lane of a slot, or for the collector.
    pub async fn take(
        env: &E,
        shared: &Arc<Shared<E>>,
        slot: Option<SlotId>,
        mut batch: Batch,
    ) -> Result<(Batch, Taken<E>), FabricError> {
        let holder = slot.map_or(COLLECTOR, |slot| u64::from(slot.0) + 1);
        let word = shared.freezers.next_word(env, holder);
        let mut held = Self { env: env.clone(), shared: shared.clone(), word, is_held: true };
        batch.clear_verbs();
        let swap = batch.compare_and_swap(shared.oracle.add_words(u64::from(FREEZER)), 0, word);
        batch = env.execute(batch).await?;
        if batch.swapped(swap) {
            return Ok((batch, Taken::Held(held)));
        }
        held.is_held = false;
        let found = batch.found(swap);
        Ok((batch, Taken::Busy(found)))
    }

    /// Notes that a batch that has completed has released the lock.
    pub fn note_release(mut self) {
        self.is_held = false;
    }

    /// Releases the lock.
    pub async fn release(self) -> Result<(), FabricError> {
        let mut batch = Batch::new();
        batch.write_word(self.shared.oracle.add_words(u64::from(FREEZER)), 0);
        self.env.execute(batch).await?;
        self.note_release();
        Ok(())
    }
}

impl<E: Env> Drop for HeldFreezer<E> {
    fn drop(&mut self) {
        if self.is_held {
            let (env, shared, word) = (self.env.clone(), self.shared.clone(), self.word);
            self.env.spawn(async move { release_lost(&env, &shared, word).await });
        }
    }
}

/// Releases the lock after its holder has lost a batch, when its servers answer again. If they do
/// not in time, or are given up, the lock stays with the holder until it is fenced.
async fn release_lost<E: Env>(env: &E, shared: &Shared<E>, word: u64) {
    let deadline_ns = env.now_ns().saturating_add(RELEASE_NS_MAX);
    let oracle = env.node_of(shared.oracle.region());
    let mut pause_ns = RELEASE_PAUSE_NS;
    while settle_and_release(env, shared, word).await.is_err() {
        if env.is_given_up(oracle) || env.now_ns() >= deadline_ns {
            return;
        }
        env.sleep_ns(pause_ns).await;
        pause_ns = (2 * pause_ns).min(RELEASE_PAUSE_NS_MAX);
    }
}

async fn settle_and_release<E: Env>(
    env: &E,
    shared: &Shared<E>,
    word: u64,
) -> Result<(), FabricError> {
    for at in shared.copies.iter().chain([&shared.oracle]) {
        env.settle(at.region()).await?;
    }
    release_unfinished(env, shared, word).await
}

/// Completes or takes back the vector that the holder may have been writing, and releases the lock,
/// unless its word is another one. Nothing of the holder takes effect any more.
async fn release_unfinished<E: Env>(
    env: &E,
    shared: &Shared<E>,
    word: u64,
) -> Result<(), FabricError> {
    let (oracle, shape) = (shared.oracle, shared.oracle_layout);
    let freezer = oracle.add_words(u64::from(FREEZER));
    let mut batch = Batch::new();
    let both = batch.read(freezer, 2);
    batch = env.execute(batch).await?;
    if batch.word(both.at) != word {
        return Ok(());
    }
    let next = batch.word(both.at + 1) + 1;
    batch.reset();
    let place = batch.read(shape.frozen(oracle, next), shape.frozen_words());
    batch = env.execute(batch).await?;
    let is_whole =
        newest_intact(env, shape, batch.words(place)).is_some_and(|vector| vector[0] == next);
    batch.reset();
    if is_whole || !shared.copies.is_empty() {
        batch.write_word(oracle.add_words(u64::from(NEWEST)), next);
    }
    batch.compare_and_swap(freezer, word, 0);
    env.execute(batch).await.map(drop)
}

impl<E: Env> Database<E> {
    /// This compute server as a holder of the lock for freezing vectors.
    pub fn freezer_id(&self) -> FreezerId {
        FreezerId(self.shared.freezers.server(&self.env))
    }

    /// The holder of the lock for freezing vectors, if there is one.
    ///
    /// # Errors
    ///
    /// If the oracle's memory server is unreachable.
    pub async fn freeze_holder(&self) -> Result<Option<FreezeHolder>, FabricError> {
        let mut batch = Batch::new();
        let word = batch.read(self.shared.oracle.add_words(u64::from(FREEZER)), 1);
        let batch = self.env.execute(batch).await?;
        Ok(FreezeHolder::of_word(batch.word(word.at)))
    }

    /// Releases the lock for freezing vectors if `fenced` holds it; returns whether it did. Others
    /// freeze vectors then, or collect them, as before.
    ///
    /// The caller guarantees that this compute server's membership has ended, and that every memory
    /// server knows an epoch of the cluster in which it is no member: so nothing of it takes effect
    /// any more, even if it only stood still. No time that passes is such a guarantee.
    ///
    /// # Errors
    ///
    /// If the oracle's memory server is unreachable. Calling it again does no harm.
    pub async fn take_over_freezing(&self, fenced: FreezerId) -> Result<bool, FabricError> {
        let holder = self.freeze_holder().await?.filter(|holder| holder.server() == fenced);
        let Some(FreezeHolder(word)) = holder else { return Ok(false) };
        let (env, shared) = (&self.env, &self.shared);
        let own = shared.freezers.next_word(env, COLLECTOR);
        // Others may take it over at the same time: one of them completes the vector.
        let held =
            HeldFreezer { env: env.clone(), shared: shared.clone(), word: own, is_held: true };
        let mut batch = Batch::new();
        let freezer = shared.oracle.add_words(u64::from(FREEZER));
        let swap = batch.compare_and_swap(freezer, word, own);
        let batch = env.execute(batch).await?;
        let is_taken = batch.swapped(swap);
        if is_taken {
            release_unfinished(env, shared, own).await?;
        }
        held.note_release();
        Ok(is_taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_names_its_holder() {
        let of = |holder: u64| {
            FreezeHolder::of_word(0xabcd_1234 << SERVER_SHIFT | 7 << HOLDER_BITS | holder)
        };
        assert_eq!(FreezeHolder::of_word(0), None);
        let lane = of(4).expect("it is held");
        assert_eq!((lane.slot(), lane.server()), (Some(SlotId(3)), FreezerId(0xabcd_1234)));
        let collector = of(COLLECTOR).expect("it is held");
        assert_eq!((collector.slot(), collector.server()), (None, FreezerId(0xabcd_1234)));
        assert_eq!(
            FreezeError::Held(collector).to_string(),
            "the collector of vectors of compute server abcd1234 keeps the lock for freezing vectors; \
             if that compute server has died, fence it and take the lock over"
        );
        assert!(lane.to_string().starts_with("the lane of slot 3 of"));
        assert_eq!(FreezeError::of_word(0), FreezeError::TooOld);
    }
}
