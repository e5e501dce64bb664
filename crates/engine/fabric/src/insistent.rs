//! An endpoint whose lost batches are repeated when the server answers again.
//!
//! Meant for work that must not stop half way because it holds locks, and that nobody waits for:
//! upkeep. A batch is repeatable if its only atomics are swaps that lock words with a number that
//! serves this work alone ([`VersionWord::locked`]). After [`Fabric::settle`] nothing of the lost
//! batch takes effect any more, and:
//!
//! - a swap that finds the value it wants to write has succeeded the first time, so no two swaps of
//!   a batch may be on one word;
//! - a held word that the batch unlocks, and that is unlocked, proves all writes before the
//!   unlocking one on this server: a server carries writes out in the order of posting. These are
//!   not repeated, because others may have changed the words;
//! - all other writes are of words that are still locked, or unreachable for others.
//!
//! If a server has died whose region has replicas, its locks have ended with it. Writes still reach
//! the replicas. A batch that needs more of that region must wait until a replica is promoted, and
//! that waits for this work: so the work is undone. Its writes are completed, its other locks
//! released, and all further batches refused.
//!
//! If a lost batch fails after all, the work keeps its locks, and all further batches are refused,
//! too: the newest entry of the journal tells how to complete or undo the work, and that must be
//! the entry of the batch that was lost.
//!
//! Decision: docs/decisions/0308-a-lane-decides-its-unknown-outcome-when-its-servers-answer.md

use crate::batch::{Batch, Span};
use crate::counters::Counters;
use crate::env::{Env, Fabric, FailurePoint};
use crate::error::{CallError, FabricError};
use crate::mutant::Mutant;
use crate::note::Note;
use crate::replicas;
use crate::service::ServiceId;
use crate::upkeep::{JournalOf, Work, is_lock};
use crate::verb::Verb;
use layout::{GlobalPtr, NodeId, RegionId};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::future::Future;
use std::rc::Rc;

/// First and longest pause between two attempts.
const PAUSE_NS: u64 = 1_000_000;
const PAUSE_NS_MAX: u64 = 16_000_000;
/// Time after which a lost batch fails after all.
const REPEAT_NS_MAX: u64 = 60_000_000_000;
/// Kept copies, and the largest one that is kept: 2 MiB.
const COPIES_MAX: usize = 16;
const COPY_WORDS_MAX: usize = 1 << 18;

/// An endpoint that repeats lost batches; see the module.
#[derive(Clone)]
pub struct Insistent<E> {
    env: E,
    work: Rc<Work<E>>,
    copies: Copies,
}

/// Batches for copies, which the works of one thread use by turns: a copy of a batch costs no
/// allocation.
#[derive(Clone, Default)]
pub struct Copies(Rc<RefCell<Vec<Batch>>>);

impl Copies {
    fn take(&self, batch: &Batch) -> Batch {
        let mut copy = self.0.borrow_mut().pop().unwrap_or_default();
        copy.copy_from(batch);
        copy
    }

    /// Keeps a batch for further copies, unless enough are kept or it is large.
    fn give_back(&self, copy: Batch) {
        let mut kept = self.0.borrow_mut();
        if kept.len() < COPIES_MAX && copy.room_words() <= COPY_WORDS_MAX {
            kept.push(copy);
        }
    }
}

impl<E: Env> Insistent<E> {
    /// An endpoint for work that holds no lock yet, with the lane's journal if it has one. In a
    /// world that stands still, the work has ended before it begins.
    pub fn new(env: E, journal: Option<JournalOf<E>>, copies: Copies) -> Self {
        let work = Work::new(journal);
        if env.is_paused() {
            work.end_undone();
        }
        Self { env, work: Rc::new(work), copies }
    }

    /// Repeats a lost batch until it completes.
    async fn repeat(&self, lost: &Batch, mut error: FabricError) -> Result<Batch, FabricError> {
        let deadline_ns = self.env.now_ns().saturating_add(REPEAT_NS_MAX);
        let mut pause_ns = PAUSE_NS;
        while matches!(error, FabricError::Unreachable(_)) && self.env.now_ns() < deadline_ns {
            if needs_closed(lost, &self.env) {
                match self.undo(lost).await {
                    Ok(()) => break,
                    Err(another) => error = another,
                }
            }
            let nodes = regions(lost).into_iter().map(|region| self.env.node_of(region));
            if nodes.into_iter().any(|node| self.env.is_given_up(node)) {
                break;
            }
            self.env.sleep_ns(pause_ns).await;
            pause_ns = (2 * pause_ns).min(PAUSE_NS_MAX);
            match self.repeat_once(lost).await {
                Ok(batch) => return Ok(batch),
                Err(another) => error = another,
            }
        }
        Err(error)
    }

    async fn repeat_once(&self, lost: &Batch) -> Result<Batch, FabricError> {
        for region in regions(lost) {
            self.env.settle(region).await?;
        }
        let batch = self.unproved(lost).await?;
        let mut batch = self.env.execute(batch).await?;
        for verb in lost.verbs() {
            if let Verb::CompareAndSwap { expected, desired, at, .. } = *verb
                && batch.word(at) == desired
            {
                batch.set_word(at, expected);
            }
        }
        Ok(batch)
    }

    /// The lost batch without the writes that are proved.
    async fn unproved(&self, lost: &Batch) -> Result<Batch, FabricError> {
        let unlocked = self.unlocked_by(lost).await?;
        let mut batch = lost.clone();
        batch.retain_unproved(&unlocked);
        replicas::repeated(&self.env, batch, self.work.unlocked_by(lost.verbs()), &[]).await
    }

    /// The held words that the lost batch has unlocked, without those of closed regions.
    async fn unlocked_by(&self, lost: &Batch) -> Result<BTreeSet<GlobalPtr>, FabricError> {
        let mut locks = self.work.unlocked_by(lost.verbs());
        locks.retain(|word, _| !self.env.is_closed(word.region()));
        if locks.is_empty() {
            return Ok(BTreeSet::new());
        }
        let mut batch = Batch::new();
        let reads: Vec<Span> = locks.keys().map(|&word| batch.read(word, 1)).collect();
        let batch = self.env.execute(batch).await?;
        let found = reads.iter().map(|read| batch.word(read.at));
        let unlocked = locks.iter().zip(found).filter(|((_, lock), found)| lock.locked != *found);
        Ok(unlocked.map(|((word, _), _)| *word).collect())
    }
}

impl<E: Env> Insistent<E> {
    /// Completes the writes of a lost batch, and releases all locks of the work.
    async fn undo(&self, lost: &Batch) -> Result<(), FabricError> {
        for region in regions(lost) {
            self.env.settle(region).await?;
        }
        if lost.verbs().iter().any(Verb::is_write) {
            let mut batch = self.unproved(lost).await?;
            batch.retain_writes();
            let batch = self.env.execute(batch).await?;
            self.work.note(lost.verbs(), &batch);
        }
        let mut batch = Batch::new();
        for (word, lock) in self.work.locked_by(lost.verbs()) {
            if !self.env.is_closed(word.region()) {
                batch.compare_and_swap(word, lock.locked, lock.before);
            }
        }
        if !batch.is_empty() {
            self.env.execute(batch).await?;
        }
        self.work.end_undone();
        Ok(())
    }
}

/// Whether the batch needs more of a closed region than writes.
fn needs_closed<E: Env>(batch: &Batch, env: &E) -> bool {
    let others = batch.verbs().iter().filter(|verb| !verb.is_write() && **verb != Verb::Fence);
    others.map(|verb| verb.target().region()).any(|region| env.is_closed(region))
}

/// Whether repeating the batch has the effect of executing it once.
fn is_repeatable(batch: &Batch) -> bool {
    batch.verbs().iter().all(|verb| match *verb {
        Verb::CompareAndSwap { desired, .. } => is_lock(desired),
        Verb::FetchAndAdd { .. } => false,
        _ => true,
    })
}

fn regions(batch: &Batch) -> BTreeSet<RegionId> {
    let verbs = batch.verbs().iter().filter(|verb| **verb != Verb::Fence);
    verbs.map(|verb| verb.target().region()).collect()
}

impl<E: Env> Fabric for Insistent<E> {
    const IMMEDIATE: bool = E::IMMEDIATE;

    fn is_coherent(&self) -> bool {
        self.env.is_coherent()
    }

    fn is_serial(&self) -> bool {
        self.env.is_serial()
    }

    async fn execute(&self, mut batch: Batch) -> Result<Batch, FabricError> {
        if self.work.is_undone() || self.work.is_given_up() {
            let region = regions(&batch).into_iter().next().unwrap_or(RegionId(0));
            return Err(FabricError::Unreachable(self.env.node_of(region)));
        }
        if !is_repeatable(&batch) {
            return self.env.execute(batch).await;
        }
        let ahead = match self.work.put_entry(&self.env, &mut batch).await {
            Ok(ahead) => ahead,
            Err(error) => {
                // Nothing was posted. The work cannot go on, and must not keep its locks.
                if self.env.has_replicas() {
                    self.undo(&Batch::new()).await?;
                }
                return Err(error);
            }
        };
        let copy = self.copies.take(&batch);
        let mut batch = match self.env.execute(batch).await {
            Ok(batch) => batch,
            Err(error) => match self.repeat(&copy, error).await {
                Ok(batch) => batch,
                Err(error) => {
                    self.work.give_up();
                    return Err(error);
                }
            },
        };
        self.work.note(ahead.own(copy.verbs()), &batch);
        ahead.remove_from(&mut batch);
        self.copies.give_back(copy);
        Ok(batch)
    }

    fn call(
        &self,
        node: NodeId,
        service: ServiceId,
        request: Vec<u8>,
    ) -> impl Future<Output = Result<Vec<u8>, CallError>> {
        self.env.call(node, service, request)
    }

    fn call_replica(
        &self,
        replica: RegionId,
        service: ServiceId,
        request: Vec<u8>,
    ) -> impl Future<Output = Result<Vec<u8>, CallError>> {
        self.env.call_replica(replica, service, request)
    }

    fn settle(&self, region: RegionId) -> impl Future<Output = Result<(), FabricError>> {
        self.env.settle(region)
    }

    fn is_given_up(&self, node: NodeId) -> bool {
        self.env.is_given_up(node)
    }

    fn node_of(&self, region: RegionId) -> NodeId {
        self.env.node_of(region)
    }

    fn has_primary(&self, node: NodeId, region: RegionId) -> bool {
        self.env.has_primary(node, region)
    }

    fn has_replicas(&self) -> bool {
        self.env.has_replicas()
    }

    fn replicas(&self, region: RegionId) -> Vec<RegionId> {
        self.env.replicas(region)
    }

    fn written(&self, region: RegionId) -> Vec<RegionId> {
        self.env.written(region)
    }

    fn unfilled(&self, node: NodeId) -> Vec<(RegionId, RegionId)> {
        self.env.unfilled(node)
    }

    fn is_closed(&self, region: RegionId) -> bool {
        self.env.is_closed(region)
    }

    fn write_beside(&self, first: GlobalPtr, words: u64) {
        self.env.write_beside(first, words);
    }

    fn is_paused(&self) -> bool {
        self.env.is_paused()
    }

    fn defers_changes(&self) -> bool {
        self.env.defers_changes()
    }

    fn is_undone(&self) -> bool {
        self.work.is_undone()
    }

    fn counters(&self) -> &Counters {
        self.env.counters()
    }
}

impl<E: Env> Env for Insistent<E> {
    const IS_SIMULATED: bool = true;

    fn now_ns(&self) -> u64 {
        self.env.now_ns()
    }

    fn sleep_ns(&self, duration_ns: u64) -> impl Future<Output = ()> {
        self.env.sleep_ns(duration_ns)
    }

    fn yield_now(&self) -> impl Future<Output = ()> {
        self.env.yield_now()
    }

    fn random(&self) -> u64 {
        self.env.random()
    }

    fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        self.env.spawn(task);
    }

    fn reach(&self, point: impl FailurePoint) -> impl Future<Output = ()> {
        self.env.reach(point)
    }

    fn note<'a>(&self, note: impl FnOnce() -> Note<'a>) {
        Env::note(&self.env, note);
    }

    fn takes_notes(&self) -> bool {
        self.env.takes_notes()
    }

    fn mutant(&self, mutant: Mutant) -> bool {
        self.env.mutant(mutant)
    }

    fn refuses_memory(&self) -> bool {
        self.env.refuses_memory()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::{LocalWorld, WorldConfig, run_now};

    #[test]
    fn copies_of_batches_use_the_same_room() {
        let config = WorldConfig { server_bytes: vec![1 << 20], seed: 1 };
        let world = LocalWorld::new(&config).expect("little memory");
        let copies = Copies::default();
        let rooms = || {
            let kept = copies.0.borrow();
            kept.iter().map(|copy| (copy.room_words(), copy.arena().as_ptr())).collect::<Vec<_>>()
        };
        let mut known = Vec::new();
        for round in 0..10 {
            let env = Insistent::new(world.endpoint(), None, copies.clone());
            let mut batch = Batch::new();
            batch.reserve(5000);
            let to = GlobalPtr::new(RegionId(0), 1 << 16);
            batch.write_word(to, round);
            batch.fence();
            let read = batch.read(to, 1);
            let batch = run_now(env.execute(batch)).expect("the world is whole");
            assert_eq!(batch.words(read), [round]);
            if round == 0 {
                known = rooms();
            }
            assert_eq!(rooms(), known, "round {round}");
        }
        assert_eq!(known.len(), 1);
    }

    #[test]
    fn large_copies_are_not_kept() {
        let copies = Copies::default();
        let mut batch = Batch::new();
        batch.reserve(COPY_WORDS_MAX as u32 + 1);
        copies.give_back(copies.take(&batch));
        assert!(copies.0.borrow().is_empty());
        batch.truncate(100);
        for _ in 0..2 * COPIES_MAX {
            copies.give_back(Batch::new());
        }
        assert_eq!(copies.0.borrow().len(), COPIES_MAX);
    }
}
