//! Recovers the slots of dead compute servers.

use super::journal::{is_marked, journals_of, read_entry, readable};
use super::upkeep;
use crate::commit::{Delay, Resolution, Undecided};
use crate::database::{ANONYMOUS, Database, Shared};
use crate::lane::COUNTER_LIMIT;
use crate::snapshot::freezer::FreezerId;
use crate::snapshot::slot::{lane_of, replicate};
use fabric::{Batch, CallError, Env, FabricError, Mutant, Note};
use layout::journal::{COMMITS, Entry, EntryHead};
use layout::oracle::{
    LANE_ACTIVE, LANE_OWNER, LANE_WORDS, LANE_WORKING, OWNER_RECOVERS, OWNER_USED_UP, SLOT_COUNT,
    VECTOR,
};
use layout::upkeep_entry::UpkeepEntry;
use layout::version::COUNTER_MAX;
use layout::{GlobalPtr, NodeId, RegionId, SlotId};
use memory::fence::fenced_epoch;
use std::collections::{BTreeMap, BTreeSet};

/// A dead lane may have drawn at most this many numbers behind the last one that the vector or its
/// journal shows: those of attempts that locked nothing, of upkeep, and of the attempt whose entry
/// was lost.
const UNSEEN_NUMBERS_MAX: u64 = 1 << 28;
/// First and longest pause between two attempts to reach a server.
const PAUSE_NS: u64 = 1_000_000;
const PAUSE_NS_MAX: u64 = 16_000_000;
/// Time after which recovery gives up, to be tried again.
const RECOVER_NS_MAX: u64 = 30_000_000_000;

/// The result of a recovery.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Recovered {
    /// Slots that are free again.
    pub slots: u32,
    /// Commits that were completed.
    pub completed: u32,
    /// Commits whose locks were released.
    pub released: u32,
}

/// Why a compute server was not recovered.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecoveryError {
    /// A memory server did not answer; another attempt may succeed.
    #[error("a memory server does not answer: {0}")]
    Unreachable(#[from] FabricError),
    /// A memory server does not tell whether the dead are fenced.
    #[error(transparent)]
    Call(#[from] CallError),
    /// Upkeep has locked a row of a commit for a moment; another attempt may succeed.
    #[error("upkeep has locked a row of a commit; try again")]
    Busy,
    /// A memory server has lost what commits have written. All other slots are recovered.
    #[error(
        "slots {slots:?} are not recovered: the rows of their last commits are not those that the journals name, \
         and stay locked; load the data again"
    )]
    Lost {
        slots: Vec<u16>,
        /// The result for all other slots.
        recovered: Recovered,
    },
    /// The memory servers have not fenced the dead compute server.
    #[error("memory server {server} has fenced members up to epoch {found}, not {epoch}")]
    NotFenced { server: u16, found: u64, epoch: u64 },
}

/// Whether all compute servers have drained, and the world stands still.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quiet {
    No,
    Yes,
}

impl From<Delay> for RecoveryError {
    fn from(delay: Delay) -> Self {
        match delay {
            Delay::Unreachable(error) => Self::Unreachable(error),
            Delay::Busy => Self::Busy,
            Delay::Lost => Self::lost(Vec::new()),
        }
    }
}

impl RecoveryError {
    /// These slots are lost, apart from the result for others.
    fn lost(slots: Vec<u16>) -> Self {
        Self::Lost { slots, recovered: Recovered::default() }
    }
}

impl<E: Env> Database<E> {
    /// The compute servers that own slots or recover them.
    pub async fn slot_owners(&self) -> Result<BTreeSet<u64>, FabricError> {
        let owners = read_owners(&self.env, &self.shared).await?;
        let has_name = |owner: &u64| ![0, ANONYMOUS, OWNER_USED_UP].contains(owner);
        Ok(owners.into_iter().filter(has_name).map(|owner| owner & !OWNER_RECOVERS).collect())
    }

    /// Whether slots of a compute server that has died are being recovered.
    pub async fn is_recovering(&self) -> Result<bool, FabricError> {
        let owners = read_owners(&self.env, &self.shared).await?;
        let has_name = |owner: &u64| ![0, ANONYMOUS, OWNER_USED_UP].contains(owner);
        Ok(owners.into_iter().filter(has_name).any(|owner| owner & OWNER_RECOVERS != 0))
    }

    /// The address and the number of words of each lane's journals.
    pub async fn journals(&self) -> Result<Vec<(GlobalPtr, u64)>, FabricError> {
        let mut all = Vec::new();
        for slot in (0..self.shared.slots_in_use() as u16).map(SlotId) {
            let journals = journals_of(&self.env, &self.shared, slot).await?;
            all.extend(journals.iter().map(|journal| (journal.at, journal.words)));
        }
        Ok(all)
    }

    /// Waits until all memory servers have fenced the members that `epoch` lacks, until
    /// `deadline_ns`.
    ///
    /// # Errors
    ///
    /// [`RecoveryError::NotFenced`] at the deadline.
    pub async fn await_fenced(&self, epoch: u64, deadline_ns: u64) -> Result<(), RecoveryError> {
        // A dead server has nothing to fence.
        let is_alive = |server: &&NodeId| !self.env.is_closed(RegionId(server.0));
        let regions = self.shared.servers.iter().filter(is_alive).map(|server| server.region());
        let mut places: BTreeMap<NodeId, RegionId> =
            regions.map(|region| (self.env.node_of(region), region)).collect();
        // A server that has returned is primary of nothing, and gets writes.
        for server in &self.shared.servers {
            for replica in self.env.written(server.region()) {
                places.entry(self.env.node_of(replica)).or_insert(replica);
            }
        }
        for (server, place) in places {
            loop {
                let found = fenced_epoch(&self.env, place).await?;
                if found >= epoch {
                    break;
                }
                if self.env.now_ns() >= deadline_ns {
                    return Err(RecoveryError::NotFenced { server: server.0, found, epoch });
                }
                self.env.sleep_ns(PAUSE_NS).await;
            }
        }
        Ok(())
    }

    /// Recovers all slots of compute servers that have died, and that all memory servers have
    /// fenced: nothing that they have posted takes effect any more. Their commits are completed if
    /// batch 2 was posted, and otherwise undone; so is their upkeep. The slots are free afterwards.
    ///
    /// A slot is recovered by one survivor, which is dead itself if it is among `dead` later. A
    /// survivor runs one recovery at a time.
    ///
    /// # Errors
    ///
    /// If a memory server does not answer, or has lost what a commit wrote; the other slots are
    /// recovered nevertheless. Call it again then.
    pub async fn recover(&self, dead: &BTreeSet<u64>) -> Result<Recovered, RecoveryError> {
        self.recover_in(dead, Quiet::No).await
    }

    /// As [`Self::recover`], while the world stands still: from its replicas if the oracle's region
    /// is closed. All compute servers that live have drained, and so has this one.
    ///
    /// # Errors
    ///
    /// As [`Self::recover`].
    pub async fn recover_at_rest(&self, dead: &BTreeSet<u64>) -> Result<Recovered, RecoveryError> {
        self.recover_in(dead, Quiet::Yes).await
    }

    async fn recover_in(
        &self,
        dead: &BTreeSet<u64>,
        quiet: Quiet,
    ) -> Result<Recovered, RecoveryError> {
        assert!(!dead.contains(&0) && !dead.contains(&ANONYMOUS), "nobody recovers these owners");
        let deadline_ns = self.env.now_ns().saturating_add(RECOVER_NS_MAX);
        let mut pause_ns = PAUSE_NS;
        let mut recovered = Recovered::default();
        loop {
            match self.recover_once(dead, quiet, &mut recovered).await {
                // Connections that are given up do not come back: the caller makes new ones.
                Err(error @ RecoveryError::Unreachable(FabricError::Unreachable(node)))
                    if self.env.is_given_up(node) =>
                {
                    return Err(error);
                }
                Err(RecoveryError::Unreachable(_) | RecoveryError::Busy)
                    if self.env.now_ns() < deadline_ns => {}
                Err(error) => return Err(error),
                Ok(()) => return Ok(recovered),
            }
            self.env.sleep_ns(pause_ns).await;
            pause_ns = (2 * pause_ns).min(PAUSE_NS_MAX);
        }
    }

    /// One attempt. Each of its steps may be repeated, by this survivor or by another one.
    async fn recover_once(
        &self,
        dead: &BTreeSet<u64>,
        quiet: Quiet,
        recovered: &mut Recovered,
    ) -> Result<(), RecoveryError> {
        let _holder = match quiet {
            Quiet::No => self.shared.begin_work(&self.env)?,
            Quiet::Yes => None,
        };
        // Nothing of an earlier attempt takes effect after this.
        for &server in &self.shared.servers {
            self.env.settle(RegionId(server.0)).await?;
        }
        // A promotion releases the lock for freezing vectors.
        let is_closed = self.env.is_closed(self.shared.oracle.region());
        for &identity in dead.iter().filter(|_| !is_closed) {
            self.take_over_freezing(FreezerId::of_member(identity)).await?;
        }
        let slots = self.claim(dead).await?;
        if slots.is_empty() {
            return Ok(());
        }
        let vector = self.counters(&slots).await?;
        let mut lost = Vec::new();
        for (&slot, &covered) in slots.iter().zip(&vector) {
            match self.recover_slot(slot, covered, recovered).await {
                Err(RecoveryError::Lost { .. }) => {
                    self.withdraw(slot).await?;
                    lost.push(slot.0);
                }
                ended => ended?,
            }
        }
        match lost.is_empty() {
            true => Ok(()),
            false => Err(RecoveryError::Lost { slots: lost, recovered: *recovered }),
        }
    }

    /// Recovers a slot whose counter in the vector is `covered`.
    async fn recover_slot(
        &self,
        slot: SlotId,
        covered: u64,
        recovered: &mut Recovered,
    ) -> Result<(), RecoveryError> {
        let skips = self.env.mutant(Mutant::RecoverSkipJournal);
        let repeats = self.env.mutant(Mutant::RecoverPublished);
        let mut last = covered;
        let journals = journals_of(&self.env, &self.shared, slot).await?;
        // Upkeep first: its number is smaller if both are open.
        if let Some(entry) = upkeep::newest_entry(&self.env, &journals).await? {
            let entry = UpkeepEntry::read(&entry).expect("it was read whole");
            last = last.max(entry.number.counter());
            let is_open = entry.number.slot() == slot && entry.number.counter() > covered;
            if is_open && !self.env.mutant(Mutant::RecoverSkipUpkeep) {
                let finished = upkeep::finish(&self.env, &entry).await?;
                finished.ok_or(RecoveryError::lost(vec![slot.0]))?;
            }
        }
        for journal in journals.iter().filter(|journal| journal.kind == COMMITS) {
            let Some(entry) = read_entry(&self.env, journal).await? else { continue };
            let entry = Entry::read(&entry).expect("it was read whole");
            let number = entry.head.number;
            if number.slot() != slot {
                continue;
            }
            last = last.max(number.counter());
            let is_open = number.counter() > covered;
            if !((is_open && !skips) || repeats) {
                continue;
            }
            match self.decide(&entry).await? {
                Resolution::RollForward => recovered.completed += 1,
                Resolution::RollBack => recovered.released += 1,
            }
        }
        self.retire(slot, (last + UNSEEN_NUMBERS_MAX).min(COUNTER_MAX)).await?;
        recovered.slots += 1;
        Ok(())
    }

    /// Takes the slots of dead compute servers, so that no other survivor recovers them. Those that
    /// this survivor has taken in an earlier attempt are among them.
    async fn claim(&self, dead: &BTreeSet<u64>) -> Result<Vec<SlotId>, RecoveryError> {
        let (env, shared) = (&self.env, &*self.shared);
        let claim = shared.member() | OWNER_RECOVERS;
        let owners = read_owners(env, shared).await?;
        let mut batch = Batch::new();
        let mut slots = Vec::new();
        for (number, owner) in (0..).zip(owners) {
            let slot = SlotId(number);
            if owner == claim {
                slots.push(slot);
            } else if owner != OWNER_USED_UP && dead.contains(&(owner & !OWNER_RECOVERS)) {
                batch.reset();
                let word = lane_of(shared, slot).add_words(u64::from(LANE_OWNER));
                let swap = batch.compare_and_swap(readable(env, word), owner, claim);
                batch = env.execute(batch).await?;
                if batch.swapped(swap) {
                    batch = replicate(env, batch, word, claim).await?;
                    slots.push(slot);
                }
            }
        }
        Ok(slots)
    }

    /// The counters of these slots in the vector.
    async fn counters(&self, slots: &[SlotId]) -> Result<Vec<u64>, FabricError> {
        let shared = &*self.shared;
        let mut batch = Batch::new();
        let vector = shared.oracle.add_words(u64::from(VECTOR));
        let vector = batch.read(readable(&self.env, vector), shared.slots());
        let batch = self.env.execute(batch).await?;
        let vector = batch.words(vector);
        Ok(slots.iter().map(|slot| vector[usize::from(slot.0)]).collect())
    }

    /// Completes a commit, or releases its locks.
    async fn decide(&self, entry: &Entry<'_>) -> Result<Resolution, RecoveryError> {
        let EntryHead { number, id, .. } = entry.head;
        let is_marked = is_marked(&self.env, &self.shared, number.slot(), id).await?;
        let verdict = match is_marked && !self.env.mutant(Mutant::RecoverIgnoreMarks) {
            true => Resolution::RollForward,
            false => Resolution::RollBack,
        };
        let undecided = Undecided::of_entry(entry, verdict)
            .ok_or(RecoveryError::lost(vec![number.slot().0]))?;
        // The dead server alone may have known that the number was published. Then others may have
        // written these words again.
        let is_closed = self.env.is_closed(self.shared.oracle.region());
        let may_be_published = is_closed && verdict == Resolution::RollForward;
        if !(may_be_published && undecided.is_installed(&self.env).await?) {
            undecided.carry_out(&self.env).await?;
        }
        if verdict == Resolution::RollBack {
            self.env.note(|| Note::Undoes { number });
        }
        Ok(verdict)
    }

    /// Withdraws the announcement of a slot that is lost, so that horizons and catalog changes do
    /// not wait for its lane. It keeps its owner, so that nobody takes it, and its counter, so that
    /// no snapshot covers the commit.
    async fn withdraw(&self, slot: SlotId) -> Result<(), RecoveryError> {
        let lane = lane_of(&self.shared, slot);
        let mut batch = Batch::new();
        batch.write_word(lane.add_words(u64::from(LANE_WORKING)), 0);
        batch.write_word(lane.add_words(u64::from(LANE_ACTIVE)), 0);
        self.env.execute(batch).await?;
        Ok(())
    }

    /// Raises a slot to `last`, past every number that was drawn from it, withdraws its
    /// announcement, and then frees it.
    async fn retire(&self, slot: SlotId, last: u64) -> Result<(), RecoveryError> {
        let (env, shared) = (&self.env, &*self.shared);
        let lane = lane_of(shared, slot);
        let mut batch = Batch::new();
        batch.write_word(shared.oracle_layout.slot(shared.oracle, slot), last);
        batch.write_word(lane.add_words(u64::from(LANE_WORKING)), 0);
        batch.write_word(lane.add_words(u64::from(LANE_ACTIVE)), 0);
        batch = env.execute(batch).await?;
        shared.note_published(slot, last);
        batch.reset();
        let owner = if last >= COUNTER_LIMIT { OWNER_USED_UP } else { 0 };
        batch.write_word(lane.add_words(u64::from(LANE_OWNER)), owner);
        env.execute(batch).await?;
        Ok(())
    }
}

/// The owners of all slots in use.
async fn read_owners<E: Env>(env: &E, shared: &Shared<E>) -> Result<Vec<u64>, FabricError> {
    let mut batch = Batch::new();
    let oracle = readable(env, shared.oracle);
    let count = batch.read(oracle.add_words(u64::from(SLOT_COUNT)), 1);
    let lanes = batch.read(readable(env, lane_of(shared, SlotId(0))), shared.slots() * LANE_WORDS);
    let batch = env.execute(batch).await?;
    let mut count = batch.word(count.at).min(u64::from(shared.slots())) as usize;
    if env.is_closed(shared.oracle.region()) {
        // The replica may lack an addition.
        count = shared.slots() as usize;
    }
    let lanes = batch.words(lanes).chunks(LANE_WORDS as usize).take(count);
    Ok(lanes.map(|lane| lane[LANE_OWNER as usize]).collect())
}
