//! Deciding numbers whose outcome is unknown because a memory server did not answer.
//!
//! A commit that loses batch 1 may hold locks; one that loses batch 2 or the publish may be visible
//! or not. Its caller gets `Unknown` (or the abort) at once and goes on. A task of the same
//! endpoint waits until the servers answer again, and then decides:
//!
//! ```text
//! settle    a round trip over a new connection: no lost verb takes effect any more
//! release   batch 2 was not posted: unlock the words that still hold the commit's lock
//! install   batch 2 was posted: write the rest of it again, from a copy
//! publish   write the number to the slot, and withdraw the lane's announcement
//! ```
//!
//! The lock word has the commit's number, which no other attempt has: a word that holds it is
//! locked by this commit, and nobody else unlocks it before the vector covers the number. A server
//! carries out the writes of batch 2 in the order of posting, so an unlocked bucket or leaf proves
//! all writes before its unlocking write; these are not repeated, because others may have changed
//! what they wrote. Rows may be written again in any case: no snapshot covers their version before
//! the publish, so no other commit locks them. But a row that has its new version proves that the
//! old one was saved, and that is not repeated: readers find it there, and while a slot is written
//! it looks empty.
//!
//! If the server of a region with replicas has died, its locks have ended with it. Then the writes
//! to this region are repeated on the replicas. None is promoted before the decision.
//!
//! Upkeep does not leave that to a task: it waits and repeats its lost batches
//! ([`LaneInner::insist`]).
//!
//! The lane stays announced until the decision, so the memory of tables and indexes that it uses is
//! not freed, and no index is filled without its writes. Then it runs transactions again.
//!
//! Lanes that share a slot are not decided: their slot stays poisoned.
//!
//! Decision: docs/decisions/0308-a-lane-decides-its-unknown-outcome-when-its-servers-answer.md

use crate::database::Shared;
use crate::lane::LaneInner;
use crate::recovery::{LaneJournal, in_region, places};
use fabric::{Batch, Env, FabricError, Lock, Mutant, Span, Verb, batch_of_writes, replicas};
use layout::journal::Entry;
use layout::oracle::{LANE_ACTIVE, LANE_WORKING};
use layout::row::VERSION;
use layout::{GlobalPtr, RegionId, VersionWord, region};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{
    AtomicBool, AtomicU32, Ordering::AcqRel, Ordering::Acquire, Ordering::Release,
};

/// First and longest pause between two attempts.
const PAUSE_NS: u64 = 1_000_000;
const PAUSE_NS_MAX: u64 = 16_000_000;
/// Time after which the attempts end, and the lane stays poisoned.
const DECIDE_NS_MAX: u64 = 60_000_000_000;

/// A word that a number may have locked, and the value that unlocks it without effect.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MaybeLocked {
    pub word: GlobalPtr,
    pub before: u64,
    pub unlocked: u64,
}

/// The step that is left to do for a number.
enum NextStep {
    /// Unlock what it has locked.
    Release,
    /// Carry out the copy of batch 2.
    Install(Batch),
    /// Write it to the slot.
    Publish,
    /// Withdraw the lane's announcement.
    Withdraw,
}

/// How a commit in doubt ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Resolution {
    /// Its writes are installed.
    RollForward,
    /// Its locks are released.
    RollBack,
}

/// A number whose outcome is unknown.
pub(crate) struct Undecided {
    timestamp: VersionWord,
    rows: Vec<MaybeLocked>,
    /// Buckets and leaves.
    structures: Vec<MaybeLocked>,
    next: NextStep,
}

/// Why an attempt has not decided.
pub(crate) enum Delay {
    /// A server does not answer.
    Unreachable(FabricError),
    /// Upkeep has locked a row to see whether it is installed, and will leave it.
    Busy,
    /// A server has lost the memory that the commit knew.
    Lost,
}

impl From<FabricError> for Delay {
    fn from(error: FabricError) -> Self {
        Self::Unreachable(error)
    }
}

/// The numbers of a lane that are being decided.
#[derive(Default)]
pub(crate) struct Decisions {
    open: AtomicU32,
    /// An attempt has ended without a decision.
    has_failed: AtomicBool,
}

impl Decisions {
    pub fn are_made(&self) -> bool {
        self.open.load(Acquire) == 0 && !self.has_failed.load(Acquire)
    }

    /// Records that a number stays undecided.
    pub fn fail(&self) {
        self.has_failed.store(true, Release);
    }

    pub fn have_failed(&self) -> bool {
        self.has_failed.load(Acquire)
    }

    pub fn are_pending(&self) -> bool {
        self.open.load(Acquire) > 0
    }
}

/// Counts a number that is being decided, for its lane and for its compute server, even if the task
/// that decides is dropped.
struct Deciding<E: Env> {
    shared: Arc<Shared<E>>,
    decisions: Arc<Decisions>,
    is_decided: bool,
}

impl<E: Env> Deciding<E> {
    fn begin(shared: Arc<Shared<E>>, decisions: Arc<Decisions>) -> Self {
        decisions.open.fetch_add(1, AcqRel);
        shared.deciding.fetch_add(1, AcqRel);
        shared.lock_holders().begin_decision();
        Self { shared, decisions, is_decided: false }
    }
}

impl<E: Env> Drop for Deciding<E> {
    fn drop(&mut self) {
        if !self.is_decided {
            self.decisions.fail();
        }
        self.shared.lock_holders().end_decision(self.is_decided);
        self.decisions.open.fetch_sub(1, AcqRel);
        self.shared.deciding.fetch_sub(1, AcqRel);
    }
}

impl<E: Env> LaneInner<E> {
    /// Poisons the lane, and lets a task release the locks that a commit may hold. Batch 2 was not
    /// posted, and never will be.
    #[cold]
    pub(super) fn release_later(&mut self, timestamp: VersionWord) {
        self.decide_by_entry(timestamp, Resolution::RollBack);
    }

    /// Poisons the lane, and lets a task complete a commit whose batch 2 was posted.
    #[cold]
    pub(super) fn install_later(&mut self, timestamp: VersionWord) {
        self.decide_by_entry(timestamp, Resolution::RollForward);
    }

    /// Lets a task decide a number as its journal's entry says, which the lane has even where it
    /// keeps no journal.
    fn decide_by_entry(&mut self, timestamp: VersionWord, resolution: Resolution) {
        let entry = Entry::read(&self.scratch.entry);
        let own = entry.filter(|entry| entry.head.number == timestamp);
        match own.and_then(|entry| Undecided::of_entry(&entry, resolution)) {
            Some(undecided) => self.decide_later(undecided),
            None => self.identity.poison(),
        }
    }

    /// Poisons the lane, and lets a task publish a number whose writes are all installed.
    #[cold]
    pub(crate) fn publish_later_on(&mut self, timestamp: VersionWord) {
        let (rows, structures) = (Vec::new(), Vec::new());
        self.decide_later(Undecided { timestamp, rows, structures, next: NextStep::Publish });
    }

    /// Runs a work of upkeep: see [`Env::for_upkeep`].
    pub(crate) async fn insist<T>(&mut self, work: impl AsyncFnOnce(&mut Self) -> T) -> T {
        if E::IMMEDIATE && self.journal.is_none() {
            return work(self).await;
        }
        let _holder = self.shared.hold_locks(&self.env);
        let env_for_upkeep = self.env_for_upkeep();
        let env = std::mem::replace(&mut self.env, env_for_upkeep);
        let done = work(self).await;
        self.is_upkeep_undone = self.env.is_undone();
        self.env = env;
        done
    }

    /// The lane's endpoint for one work of upkeep.
    pub(crate) fn env_for_upkeep(&self) -> E {
        self.env.for_upkeep(self.journal.as_deref().map(LaneJournal::for_upkeep))
    }

    fn decide_later(&mut self, undecided: Undecided) {
        let is_lost =
            self.identity.decisions.as_ref().is_some_and(|decisions| decisions.have_failed());
        if is_lost || self.may_go_on_after_unknown() {
            return;
        }
        if E::IMMEDIATE || self.identity.shared_slot.is_some() {
            return self.identity.poison();
        }
        self.identity.is_poisoned = true;
        let (env, shared) = (self.env.clone(), self.shared.clone());
        let decisions = self.identity.decisions.get_or_insert_default().clone();
        let deciding = Deciding::begin(shared, decisions);
        self.env.spawn(decide(env, undecided, deciding));
    }
}

/// Decides a number. Ends without a decision when its servers are given up, or after
/// [`DECIDE_NS_MAX`].
async fn decide<E: Env>(env: E, mut undecided: Undecided, mut deciding: Deciding<E>) {
    let deadline_ns = env.now_ns().saturating_add(DECIDE_NS_MAX);
    let shared = deciding.shared.clone();
    let mut pause_ns = PAUSE_NS;
    loop {
        match undecided.decide(&env, &shared).await {
            Ok(()) => {
                deciding.is_decided = true;
                return;
            }
            Err(Delay::Lost) => return,
            Err(Delay::Unreachable(_) | Delay::Busy) => {}
        }
        let mut regions = undecided.regions(&shared).into_iter();
        let is_given_up = regions.any(|region| env.is_given_up(env.node_of(region)));
        if is_given_up || env.now_ns() >= deadline_ns {
            return;
        }
        env.sleep_ns(pause_ns).await;
        pause_ns = (2 * pause_ns).min(PAUSE_NS_MAX);
    }
}

impl Undecided {
    /// The number of a journal's entry, with its resolution; `None` if the entry's writes are
    /// not those of a batch.
    pub(crate) fn of_entry(entry: &Entry<'_>, resolution: Resolution) -> Option<Self> {
        let timestamp = entry.head.number;
        let row = |(word, before)| MaybeLocked { word, before, unlocked: before };
        let rows = entry.rows().map(row).collect();
        // Insert words never return to an earlier value.
        let structure = |(word, before)| MaybeLocked { word, before, unlocked: timestamp.word() };
        let structures = entry.structures().map(structure).collect();
        let next = match resolution {
            Resolution::RollForward => NextStep::Install(batch_of_writes(entry.writes())?),
            Resolution::RollBack => NextStep::Release,
        };
        Some(Self { timestamp, rows, structures, next })
    }

    /// Installs the writes of a number, or releases its locks. Its slot is not raised.
    pub(crate) async fn carry_out<E: Env>(&self, env: &E) -> Result<(), Delay> {
        match &self.next {
            NextStep::Install(copy) => self.install(env, copy).await,
            _ => self.release(env).await,
        }
    }

    /// The regions with words of the commit, and the oracle's.
    fn regions<E: Env>(&self, shared: &Shared<E>) -> BTreeSet<RegionId> {
        let locks = self.rows.iter().chain(&self.structures).map(|lock| lock.word.region());
        let written = match &self.next {
            NextStep::Install(copy) => copy.verbs(),
            _ => &[],
        };
        let written = written.iter().filter(|verb| **verb != Verb::Fence);
        let written = written.map(|verb| verb.target().region());
        locks.chain(written).chain([shared.oracle.region()]).collect()
    }

    /// One attempt. If it fails, the next one goes on with what is left.
    async fn decide<E: Env>(&mut self, env: &E, shared: &Shared<E>) -> Result<(), Delay> {
        if !env.mutant(Mutant::DecideWithoutSettling) {
            for region in self.regions(shared) {
                env.settle(region).await?;
            }
        }
        match &self.next {
            NextStep::Release => {
                self.release(env).await?;
                self.next = NextStep::Withdraw;
            }
            NextStep::Install(copy) => {
                self.install(env, copy).await?;
                self.next = NextStep::Publish;
            }
            NextStep::Publish | NextStep::Withdraw => {}
        }
        self.conclude(env, shared).await
    }

    /// Unlocks the words that hold the number's lock. Only its owner changes them.
    async fn release<E: Env>(&self, env: &E) -> Result<(), Delay> {
        let locks = open_locks(env, self.rows.iter().chain(&self.structures));
        let (mut batch, found) = read_words(env, locks.iter().map(|lock| lock.word)).await?;
        for (lock, found) in locks.iter().zip(found) {
            if found == self.timestamp.locked().word() {
                batch.write_word(lock.word, lock.unlocked);
            }
        }
        if !batch.is_empty() {
            env.execute(batch).await?;
        }
        Ok(())
    }

    /// The end marks that batch 2 writes, each with its value.
    fn end_marks(&self) -> Vec<(GlobalPtr, u64)> {
        let NextStep::Install(copy) = &self.next else { return Vec::new() };
        let slot = self.timestamp.slot();
        let end_mark = |verb: &Verb| match *verb {
            Verb::WriteWord { to, value } if to == region::end_mark(to.region(), slot) => {
                Some((to, value))
            }
            _ => None,
        };
        copy.verbs().iter().filter_map(end_mark).collect()
    }

    /// Whether batch 2 has arrived whole everywhere, on the primaries and on all replicas.
    pub(crate) async fn is_installed<E: Env>(&self, env: &E) -> Result<bool, FabricError> {
        let marks = self.end_marks().into_iter().flat_map(|(mark, value)| {
            let places = places(env, mark.region());
            places.into_iter().map(move |place| (in_region(mark, place), value))
        });
        let marks: Vec<(GlobalPtr, u64)> = marks.collect();
        let (_, found) = read_words(env, marks.iter().map(|(mark, _)| *mark)).await?;
        Ok(!marks.is_empty() && marks.iter().zip(found).all(|((_, value), found)| *value == found))
    }

    /// Carries out the writes of batch 2 that are not proved.
    async fn install<E: Env>(&self, env: &E, copy: &Batch) -> Result<(), Delay> {
        let own = self.timestamp.locked().word();
        let rows = open_locks(env, &self.rows);
        let (_, headers) = read_words(env, rows.iter().map(|row| row.word)).await?;
        let installed = [own, self.timestamp.word(), self.timestamp.deleted().word()];
        let others = headers.iter().filter(|header| !installed.contains(header));
        let others: Vec<VersionWord> = others.copied().map(VersionWord::from_word).collect();
        if others.iter().any(|header| !header.is_lock_of_upkeep()) {
            return Err(Delay::Lost);
        }
        if !others.is_empty() {
            return Err(Delay::Busy);
        }
        let structures = open_locks(env, &self.structures);
        let (_, found) = read_words(env, structures.iter().map(|lock| lock.word)).await?;
        let locks = structures.iter().zip(found).filter(|(_, found)| *found != own);
        let mut written: BTreeSet<GlobalPtr> = locks.map(|(lock, _)| lock.word).collect();
        if env.mutant(Mutant::DecideRewriteUnlocked) {
            written.clear();
        }
        if !env.mutant(Mutant::DecideSaveAgain) {
            let version = |row: &MaybeLocked| row.word.add_words(u64::from(VERSION));
            let (_, versions) = read_words(env, rows.iter().map(version)).await?;
            // A torn version is that of a row which is being written where memory is coherent.
            let is_saved =
                |found: &u64| installed.contains(found) || *found == VersionWord::TORN.word();
            let rows = rows.iter().zip(versions).filter(|(_, found)| is_saved(found));
            written.extend(rows.map(|(row, _)| row.word));
        }
        let ends = self.end_marks();
        let open: Vec<_> = ends.iter().filter(|(mark, _)| !env.is_closed(mark.region())).collect();
        let (_, found) = read_words(env, open.iter().map(|(mark, _)| *mark)).await?;
        let arrived = open.iter().zip(found).filter(|((_, value), found)| value == found);
        written.extend(arrived.map(|((mark, _), _)| *mark));
        let mut batch = copy.clone();
        batch.retain_unproved(&written);
        let batch = match self.structures.is_empty() {
            true => replicas::repeated_beside(env, copy, batch),
            false => {
                let locks = self.rows.iter().chain(&self.structures);
                let lock =
                    |lock: &MaybeLocked| (lock.word, Lock { locked: own, before: lock.before });
                replicas::repeated(env, batch, locks.map(lock).collect(), &ends).await?
            }
        };
        env.execute(batch).await?;
        Ok(())
    }

    /// Publishes a commit, and withdraws the lane's announcement.
    async fn conclude<E: Env>(&self, env: &E, shared: &Shared<E>) -> Result<(), Delay> {
        let (slot, counter) = (self.timestamp.slot(), self.timestamp.counter());
        let is_commit = matches!(self.next, NextStep::Publish);
        let lane = shared.oracle_layout.lane(shared.oracle, slot);
        let mut batch = Batch::new();
        if is_commit {
            batch.write_word(shared.oracle_layout.slot(shared.oracle, slot), counter);
        }
        batch.write_word(lane.add_words(u64::from(LANE_WORKING)), 0);
        batch.write_word(lane.add_words(u64::from(LANE_ACTIVE)), 0);
        env.execute(batch).await?;
        if is_commit {
            shared.note_published(slot, counter);
        }
        Ok(())
    }
}

/// The locks that are in open regions. Those of a closed region have ended with its server, and its
/// replicas are written by nobody else until one is promoted.
fn open_locks<'a, E: Env>(
    env: &E,
    locks: impl IntoIterator<Item = &'a MaybeLocked>,
) -> Vec<MaybeLocked> {
    locks.into_iter().filter(|lock| !env.is_closed(lock.word.region())).copied().collect()
}

/// Reads these words; also returns an empty batch.
async fn read_words<E: Env>(
    env: &E,
    words: impl Iterator<Item = GlobalPtr>,
) -> Result<(Batch, Vec<u64>), FabricError> {
    let mut batch = Batch::new();
    let reads: Vec<Span> = words.map(|word| batch.read(word, 1)).collect();
    if reads.is_empty() {
        return Ok((batch, Vec::new()));
    }
    let mut batch = env.execute(batch).await?;
    let found = reads.iter().map(|read| batch.word(read.at)).collect();
    batch.reset();
    Ok((batch, found))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_are_pending_only_while_a_number_is_being_decided() {
        let decisions = Decisions::default();
        assert!(!decisions.are_pending());
        decisions.open.fetch_add(1, AcqRel);
        assert!(decisions.are_pending() && !decisions.are_made());
        decisions.fail();
        decisions.open.fetch_sub(1, AcqRel);
        assert!(!decisions.are_pending(), "an attempt that has failed is over");
        assert!(!decisions.are_made());
    }
}
