//! Slots of the timestamp vector: new lanes take them, and departing compute servers return them.
//!
//! A slot's words name the compute server that owns it, so that its numbers and locks can be
//! recovered when that server dies ([`crate::recovery`]).
//!
//! Where lanes share a slot, the first lane of a compute server takes it and the last one to leave
//! returns it. A returned slot continues its numbers: its last owner has written the last number
//! that it drew to the vector, including those of aborted attempts, so that the next owner draws no
//! number twice.
//!
//! Decision: docs/decisions/0091-a-returned-slot-carries-its-last-number.md

use crate::database::{Database, Shared};
use crate::lane::{COUNTER_LIMIT, LaneIdentity, LaneInner};
use crate::snapshot::shared_slot::{SLOTS_EACH, SharedSlot};
use fabric::{Batch, Env, FabricError, Mutant};
use layout::oracle::{LANE_OWNER, LANE_WORDS, OWNER_USED_UP, SLOT_COUNT};
use layout::{GlobalPtr, SlotId};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Acquire, Ordering::Release};

/// Interval between two attempts to collect the remaining garbage.
const LOOK_INTERVAL_NS: u64 = 1_000_000;

/// Longest wait of a departing compute server for the decisions about its unknown outcomes: its
/// locks would remain.
const DECISIONS_NS_MAX: u64 = 20_000_000_000;

/// A slot, and the last number drawn from it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TakenSlot {
    pub slot: SlotId,
    pub counter: u64,
}

/// The words and the numbers of a lane in the timestamp vector.
pub(crate) struct LanePlace {
    pub slot: SlotId,
    /// The lane's number among the lanes that share the slot.
    pub number: u32,
    /// The last number drawn, if the slot is the lane's own.
    pub counter: u64,
    /// The source of numbers, if lanes share the slot.
    pub shared_slot: Option<Arc<SharedSlot>>,
}

/// Takes a place for a lane: a slot of its own, or a place in its compute server's shared slot.
pub(crate) async fn take_lane_place<E: Env>(
    env: &E,
    shared: &Shared<E>,
) -> Result<Option<LanePlace>, FabricError> {
    if !shared.config.shares_slot {
        let Some(taken) = take_slot(env, shared).await? else { return Ok(None) };
        let counter = taken.counter.max(shared.config.first_counter);
        return Ok(Some(LanePlace { slot: taken.slot, number: 0, counter, shared_slot: None }));
    }
    loop {
        if let Some(place) = join_shared_slot(shared) {
            return Ok(Some(place));
        }
        let Some(_taking) = Taking::begin(&shared.is_taking_slot) else {
            env.yield_now().await;
            continue;
        };
        // Another lane may have just taken the slots.
        if shared.shared_slot().is_none() {
            let Some(slots) = take_slots(env, shared).await? else { return Ok(None) };
            *shared.shared_slot() = Some(Arc::new(SharedSlot::new(slots)));
        }
    }
}

/// Adds a lane to the compute server's shared slot, if there is one. The lock prevents that the
/// last lane returns the slot at the same time.
fn join_shared_slot<E: Env>(shared: &Shared<E>) -> Option<LanePlace> {
    let there = shared.shared_slot();
    let shared_slot = there.as_ref()?.clone();
    let (slot, number) = (shared_slot.slot, shared_slot.add_lane());
    Some(LanePlace { slot, number, counter: 0, shared_slot: Some(shared_slot) })
}

/// While it exists, one of the first lanes of a compute server takes its slots, and the others
/// wait.
struct Taking<'a>(&'a AtomicBool);

impl<'a> Taking<'a> {
    fn begin(is_taking: &'a AtomicBool) -> Option<Self> {
        (!is_taking.swap(true, Acquire)).then(|| Self(is_taking))
    }
}

impl Drop for Taking<'_> {
    fn drop(&mut self) {
        self.0.store(false, Release);
    }
}

/// Takes the slots of a compute server; `None` if too few are free.
async fn take_slots<E: Env>(
    env: &E,
    shared: &Shared<E>,
) -> Result<Option<[TakenSlot; SLOTS_EACH]>, FabricError> {
    let mut slots = [TakenSlot { slot: SlotId(0), counter: 0 }; SLOTS_EACH];
    for number in 0..SLOTS_EACH {
        let Some(taken) = take_slot(env, shared).await? else {
            for unused in &slots[..number] {
                return_unused(env, shared, unused.slot).await?;
            }
            return Ok(None);
        };
        let counter = taken.counter.max(shared.config.first_counter);
        slots[number] = TakenSlot { slot: taken.slot, counter };
    }
    Ok(Some(slots))
}

/// Returns a slot from which no number was drawn.
pub(crate) async fn return_unused<E: Env>(
    env: &E,
    shared: &Shared<E>,
    slot: SlotId,
) -> Result<(), FabricError> {
    let mut batch = Batch::new();
    batch.write_word(lane_of(shared, slot).add_words(u64::from(LANE_OWNER)), 0);
    env.execute(batch).await.map(drop)
}

/// Takes a slot of the vector: one that was never used, else one that was returned, if any.
pub(crate) async fn take_slot<E: Env>(
    env: &E,
    shared: &Shared<E>,
) -> Result<Option<TakenSlot>, FabricError> {
    let mut batch = Batch::new();
    let count = batch.fetch_and_add(shared.oracle.add_words(u64::from(SLOT_COUNT)), 1);
    let batch = env.execute(batch).await?;
    let slot = batch.found(count);
    shared.note_slots(slot.min(u64::from(shared.slots())) as u32 + 1);
    if slot < u64::from(shared.slots()) {
        let (batch, taken) = own_slot(env, shared, batch, SlotId(slot as u16)).await?;
        drop(batch);
        if taken.is_some() {
            return Ok(taken);
        }
    }
    take_free(env, shared).await
}

/// Takes a slot that has no owner: it was returned, or the lane that added it to the vector has
/// died before it owned it.
async fn take_free<E: Env>(env: &E, shared: &Shared<E>) -> Result<Option<TakenSlot>, FabricError> {
    let mut batch = Batch::new();
    let count = batch.read(shared.oracle.add_words(u64::from(SLOT_COUNT)), 1);
    let lanes = batch.read(lane_of(shared, SlotId(0)), shared.slots() * LANE_WORDS);
    let mut batch = env.execute(batch).await?;
    let count = batch.word(count.at).min(u64::from(shared.slots())) as usize;
    let owners = batch.words(lanes).chunks(LANE_WORDS as usize).take(count);
    let owners = owners.map(|lane| lane[LANE_OWNER as usize]);
    let free: Vec<u16> =
        (0..).zip(owners).filter_map(|(slot, owner)| (owner == 0).then_some(slot)).collect();
    for slot in free.into_iter().map(SlotId) {
        let taken;
        (batch, taken) = own_slot(env, shared, batch, slot).await?;
        if taken.is_some() {
            return Ok(taken);
        }
    }
    Ok(None)
}

/// Swaps the owner of a slot that has none; `None` if another compute server was faster.
async fn own_slot<E: Env>(
    env: &E,
    shared: &Shared<E>,
    mut batch: Batch,
    slot: SlotId,
) -> Result<(Batch, Option<TakenSlot>), FabricError> {
    batch.reset();
    let owner = lane_of(shared, slot).add_words(u64::from(LANE_OWNER));
    let swap = batch.compare_and_swap(owner, 0, shared.member());
    // Read behind the swap: the previous owner wrote the number before it gave up the slot.
    let counter = batch.read(shared.oracle_layout.slot(shared.oracle, slot), 1);
    let batch = env.execute(batch).await?;
    if !batch.swapped(swap) {
        return Ok((batch, None));
    }
    let counter = batch.word(counter.at);
    let batch = replicate(env, batch, owner, shared.member()).await?;
    shared.note_published(slot, counter);
    Ok((batch, Some(TakenSlot { slot, counter })))
}

/// Writes a word again that this compute server has swapped, and that nobody else changes now:
/// swaps do not reach replicas.
pub(crate) async fn replicate<E: Env>(
    env: &E,
    mut batch: Batch,
    word: GlobalPtr,
    value: u64,
) -> Result<Batch, FabricError> {
    if !env.has_replicas() || env.mutant(Mutant::ReplicaForgetSwap) {
        return Ok(batch);
    }
    let used = batch.arena_words();
    batch.clear_verbs();
    batch.write_word(word, value);
    let mut batch = env.execute(batch).await?;
    batch.truncate(used as u32);
    Ok(batch)
}

/// Slots for new lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlotSupply {
    /// Slots that no lane owns: never used, or returned.
    pub free: u32,
    /// All slots of the vector.
    pub all: u32,
}

pub(crate) fn lane_of<E: Env>(shared: &Shared<E>, slot: SlotId) -> GlobalPtr {
    shared.oracle_layout.lane(shared.oracle, slot)
}

/// The result of a compute server's departure.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Departure {
    /// Slots returned.
    pub slots: u32,
    /// Old versions, tombstones and index entries that could not be collected in time and remain.
    pub left_behind: u64,
}

impl<E: Env> Database<E> {
    pub(crate) async fn slots_generic(&self) -> Result<SlotSupply, FabricError> {
        let (shared, all) = (&self.shared, self.shared.slots());
        let mut batch = Batch::new();
        let count = batch.read(shared.oracle.add_words(u64::from(SLOT_COUNT)), 1);
        let lanes = batch.read(lane_of(shared, SlotId(0)), shared.slots() * LANE_WORDS);
        let batch = self.env.execute(batch).await?;
        let used = batch.word(count.at).min(u64::from(all)) as u32;
        let lanes = batch.words(lanes).chunks(LANE_WORDS as usize).take(used as usize);
        let returned = lanes.filter(|lane| lane[LANE_OWNER as usize] == 0).count() as u32;
        Ok(SlotSupply { free: all - used + returned, all })
    }

    pub(crate) async fn leave_generic(&self, wait_ns: u64) -> Result<Departure, FabricError> {
        self.wait_for_decisions().await;
        let deadline_ns = self.env.now_ns().saturating_add(wait_ns);
        // Stop the fetcher first: another compute server may take a returned slot, and then
        // announces in its words.
        self.shared.fetched.stop();
        while self.shared.fetched.is_present() {
            self.env.yield_now().await;
        }
        let mut departure = Departure::default();
        loop {
            let Some(mut lane) = self.shared.claim_idle() else {
                if !self.shared.is_any_returning() || self.env.now_ns() >= deadline_ns {
                    departure.slots += self.return_keeper().await?;
                    return Ok(departure);
                }
                self.env.yield_now().await;
                continue;
            };
            departure.left_behind += lane.collect_until(deadline_ns).await;
            departure.slots += lane.return_place().await?;
        }
    }
}

impl<E: Env> Database<E> {
    /// Returns the slot of the keeper of pins, if there is one without pins; returns how many slots
    /// it has given up.
    async fn return_keeper(&self) -> Result<u32, FabricError> {
        let Some(taken) = self.shared.keeper_of_pins.give_up_slot() else { return Ok(0) };
        return_unused(&self.env, &self.shared, taken.slot).await?;
        Ok(1)
    }

    /// Waits until the unknown outcomes of this compute server are decided, for some time at most.
    pub async fn wait_for_decisions(&self) {
        let deadline_ns = self.env.now_ns().saturating_add(DECISIONS_NS_MAX);
        while self.shared.deciding.load(Acquire) > 0 && self.env.now_ns() < deadline_ns {
            self.env.sleep_ns(LOOK_INTERVAL_NS).await;
        }
    }
}

impl<E: Env> LaneInner<E> {
    /// Collects until no garbage is left or the deadline passes; returns how much is left.
    async fn collect_until(&mut self, deadline_ns: u64) -> u64 {
        loop {
            // A failed collection leaves its garbage to the next.
            let _ = self.collect_all().await;
            let left = self.garbage.len() as u64;
            if left == 0 || self.identity.is_poisoned || self.env.now_ns() >= deadline_ns {
                return left;
            }
            self.env.sleep_ns(LOOK_INTERVAL_NS).await;
        }
    }

    /// Returns the lane's place, and with the last lane the slot: writes the last number, and then
    /// that the slot has no owner. A poisoned slot is not returned, because its last
    /// number is not decided; nor is a slot that has hardly any numbers left. Returns how many
    /// slots the compute server has given up.
    pub(crate) async fn return_place(mut self: Box<Self>) -> Result<u32, FabricError> {
        let Some(shared_slot) = self.identity.shared_slot.take() else {
            if !self.identity.is_poisoned {
                let LaneIdentity { slot, counter, .. } = self.identity;
                self.return_slot(TakenSlot { slot, counter }).await?;
            }
            return Ok(1);
        };
        {
            let mut place = self.shared.shared_slot();
            if !shared_slot.remove_lane(self.identity.number) {
                return Ok(0);
            }
            *place = None;
        }
        if !shared_slot.is_poisoned() {
            for drawn in shared_slot.last_drawn() {
                self.return_slot(drawn).await?;
            }
        }
        Ok(SLOTS_EACH as u32)
    }

    async fn return_slot(&mut self, drawn: TakenSlot) -> Result<(), FabricError> {
        let TakenSlot { slot, counter } = drawn;
        let owner = if counter >= COUNTER_LIMIT { OWNER_USED_UP } else { 0 };
        let shared = self.shared.clone();
        let mut batch = self.txn.batch.take();
        batch.reset();
        batch.write_word(shared.oracle_layout.slot(shared.oracle, slot), counter);
        batch.write_word(lane_of(&shared, slot).add_words(u64::from(LANE_OWNER)), owner);
        self.txn.batch.put_back(self.env.execute(batch).await?);
        Ok(())
    }
}
