//! Snapshots that a task of the compute server fetches for all its lanes [ZB17 §4.2, dedicated
//! fetch thread].
//!
//! A fetcher reads the newest vector that the collector has frozen, over and over, and its lanes
//! begin with the fetched vector: a snapshot costs no verb and no round trip. Frozen vectors are
//! comparable, whichever lane read them, so an older one costs only freshness. A transaction that
//! begins waits until the fetched vector covers everything that this compute server has published.
//! Nothing is ever merged into a fetched vector: that would make a long fork.
//!
//! Where the database has copies of the vectors, each fetcher reads the copy that its slot's number
//! selects, so that fetchers are spread evenly. A copy may lag behind the oracle's ring, which also
//! costs only freshness.
//!
//! The fetcher announces for all lanes, running or not, with its first round and then at an
//! interval:
//!
//! ```text
//!   active       = min(stamps of running lanes, stamp of the fetched vector)
//!   acknowledged = min(epochs of running lanes, epoch of the fetched vector)
//! ```
//!
//! Stamps and epochs of the fetched vector only rise, and a lane that begins takes them or later
//! ones. So either bound holds for ever from the moment when it is computed, however late its write
//! arrives.
//!
//! Decisions:
//! - docs/decisions/0139-a-fetcher-takes-vectors-for-all-lanes-of-a-compute-server.md
//! - docs/decisions/0147-fetchers-announce-ten-times-per-millisecond.md

use crate::abort::Abort;
use crate::database::{Database, Oracle};
use crate::lane::LaneInner;
use crate::snapshot::Snapshot;
use crate::snapshot::oracle::newest_intact;
use crate::snapshot::packed::{SkippedChecks, Unpacker, Vector};
use crate::snapshot::shared_slot::{Bounds, SLOTS_EACH, SharedSlot};
use crate::snapshot::slot::TakenSlot;
use fabric::{Batch, Env, FabricError, Mutant};
use layout::GlobalPtr;
use layout::oracle::{LANE_ACKNOWLEDGED, LANE_ACTIVE, NEWEST};
use layout::vector_copy::{BASE_PLACES, COPY_NEWEST};
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard};
use std::task::{Poll, Waker};

/// A fetcher ends after this number of rounds without a newer vector.
const IDLE_ROUNDS_MAX: u32 = 1000;
/// Interval at which a fetcher checks for the first lane of its compute server.
const LOOK_INTERVAL_NS: u64 = 1_000;
/// Interval between two announcements. Only horizons and catalog changes may wait for one.
const ANNOUNCE_INTERVAL_NS: u64 = 100_000;

/// The newest fetched vector, and the lanes that wait for a newer one.
#[derive(Default)]
pub(crate) struct Fetched {
    is_present: AtomicBool,
    is_running: AtomicBool,
    is_stopped: AtomicBool,
    newest: Mutex<Newest>,
}

#[derive(Default)]
struct Newest {
    snapshot: Snapshot,
    epoch: u64,
    collected: Option<u64>,
    waiting: Vec<(Wanted, Waker)>,
}

/// Requirements of a snapshot.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    stamp_min: u64,
    /// The last numbers that this compute server has published.
    published: [TakenSlot; SLOTS_EACH],
}

impl Wanted {
    fn is_in(&self, snapshot: &Snapshot) -> bool {
        let covers = |of: &TakenSlot| snapshot.counter(of.slot) >= of.counter;
        snapshot.stamp >= self.stamp_min && self.published.iter().all(covers)
    }
}

impl Fetched {
    /// Whether a fetcher runs.
    #[inline]
    pub(crate) fn is_running(&self) -> bool {
        self.is_running.load(Relaxed)
    }

    /// Whether a fetcher may still write announcements.
    pub(crate) fn is_present(&self) -> bool {
        self.is_present.load(Relaxed)
    }

    /// Stops the fetcher for good.
    pub(crate) fn stop(&self) {
        self.is_stopped.store(true, Relaxed);
    }

    /// Lower bounds of every future snapshot.
    pub(crate) fn bounds(&self) -> Bounds {
        let newest = self.newest();
        Bounds { stamp: newest.snapshot.stamp, epoch: newest.epoch }
    }

    /// The stamp up to which the collector has raised the collected-up-to words of all regions, if
    /// the collector does that and publishes it. Every running transaction has at least this stamp,
    /// or has run for longer than E.
    pub(crate) fn collected(&self) -> Option<u64> {
        self.newest().collected
    }

    /// Stores a fetched vector and wakes the lanes that wait for it.
    fn put(&self, vector: Vector<'_>) {
        let mut guard = self.newest();
        let newest = &mut *guard;
        if vector.number <= newest.snapshot.stamp {
            return;
        }
        newest.snapshot.set(vector.counters, vector.number);
        (newest.epoch, newest.collected) = (vector.epoch, vector.collected);
        let snapshot = &newest.snapshot;
        let served = newest.waiting.extract_if(.., |(wanted, _)| wanted.is_in(snapshot));
        let served: Vec<_> = served.collect();
        drop(guard);
        served.into_iter().for_each(|(_, waker)| waker.wake());
    }

    fn newest(&self) -> MutexGuard<'_, Newest> {
        self.newest.lock().expect("no holder panics")
    }
}

/// While it exists, a fetcher may write announcements.
struct Present<'a>(&'a Fetched);

impl Drop for Present<'_> {
    fn drop(&mut self) {
        self.0.is_present.store(false, Relaxed);
    }
}

/// While it exists, lanes begin with the fetched vector.
struct Running<'a>(&'a Fetched);

impl<'a> Running<'a> {
    fn begin(fetched: &'a Fetched) -> Self {
        fetched.is_running.store(true, Relaxed);
        Self(fetched)
    }
}

impl Drop for Running<'_> {
    /// Wakes the waiting lanes, which must take a snapshot without the fetcher. No lane begins with
    /// the fetched vector any more, since no fetcher announces for it.
    fn drop(&mut self) {
        self.0.is_running.store(false, Relaxed);
        let left = std::mem::take(&mut *self.0.newest());
        left.waiting.into_iter().for_each(|(_, waker)| waker.wake());
    }
}

impl<E: Env> LaneInner<E> {
    /// Takes the fetched vector once it covers what this compute server has published by now and is
    /// not older than the lane's last snapshot; `None` if no fetcher runs any more.
    pub(crate) async fn newest_fetched(&mut self) -> Result<Option<u64>, Abort> {
        let shared_slot =
            self.identity.shared_slot.clone().expect("fetchers are for lanes that share a slot");
        let shared = self.shared.clone();
        // Announce before looking at the vector. If the fetcher computes a bound that does not
        // include this lane, the bound is the stamp of the vector that was in memory then, which is
        // no newer.
        while shared_slot
            .announce(self.identity.number, self.snapshot.stamp.max(shared.fetched.bounds().stamp))
            .is_none()
        {
            self.env.yield_now().await;
        }
        let overlooks = self.env.mutant(Mutant::OracleOverlookOwnCommit);
        let published = |slot| {
            let counter = if overlooks { 0 } else { shared.published(slot) };
            TakenSlot { slot, counter }
        };
        let stamp_min = self.snapshot.stamp + u64::from(self.identity.wants_newer);
        let stamp_min = stamp_min.max(shared_slot.stamp_of(self.identity.number));
        let published = shared_slot.slots().map(published);
        let wanted = Wanted { stamp_min: stamp_min.max(1), published };
        let snapshot = &mut self.snapshot;
        let mut take = |waker: Option<&Waker>| -> Poll<Option<u64>> {
            let mut newest = shared.fetched.newest();
            if wanted.is_in(&newest.snapshot) {
                snapshot.clone_from(&newest.snapshot);
                return Poll::Ready(Some(newest.epoch));
            }
            if !shared.fetched.is_running() {
                return Poll::Ready(None);
            }
            newest.waiting.extend(waker.map(|waker| (wanted, waker.clone())));
            Poll::Pending
        };
        if E::IMMEDIATE {
            loop {
                match take(None) {
                    Poll::Ready(epoch) => return Ok(epoch),
                    // The fetcher is on another thread, and ends if it cannot go on.
                    Poll::Pending => std::hint::spin_loop(),
                }
            }
        }
        Ok(poll_fn(|context| take(Some(context.waker()))).await)
    }
}

impl<E: Env> Database<E> {
    pub(crate) async fn fetch_vectors_generic(
        &self,
        is_wanted: &dyn Fn() -> bool,
    ) -> Result<(), FabricError> {
        let (fetched, config) = (&self.shared.fetched, &self.shared.config);
        assert!(config.shares_slot && config.oracle == Oracle::Frozen, "there is nothing to fetch");
        assert!(!fetched.is_present.swap(true, Relaxed), "a compute server has one fetcher");
        let _present = Present(fetched);
        let running = Running::begin(fetched);
        let ended = self.fetch_until(is_wanted).await;
        drop(running);
        ended.and(self.withdraw_for_all().await)
    }

    /// Fetches round after round, until it is not wanted or finds no newer vector any more.
    async fn fetch_until(&self, is_wanted: &dyn Fn() -> bool) -> Result<(), FabricError> {
        let fetched = &self.shared.fetched;
        let skipped = SkippedChecks {
            torn: self.env.mutant(Mutant::OracleTornCopy),
            base: self.env.mutant(Mutant::OracleOtherBase),
        };
        let mut unpacker = Unpacker::new(self.shared.oracle_layout.copies(), skipped);
        let (mut batch, mut idle_rounds, mut newest, mut announce_ns) = (Batch::new(), 0, 0, 0);
        while is_wanted() && !fetched.is_stopped.load(Relaxed) && idle_rounds < IDLE_ROUNDS_MAX {
            batch.reset();
            let Some(slot) = self.shared.shared_slot().clone() else {
                self.env.sleep_ns(LOOK_INTERVAL_NS).await;
                continue;
            };
            if self.env.now_ns() >= announce_ns {
                if !self.announce_for_all(&slot, &mut batch) {
                    self.env.sleep_ns(LOOK_INTERVAL_NS).await;
                    continue;
                }
                announce_ns = self.env.now_ns() + ANNOUNCE_INTERVAL_NS;
            }
            batch = match self.copy_of(&slot) {
                None => self.fetch_vector(batch).await?,
                Some(copy) => self.fetch_copied(batch, copy, &mut unpacker).await?,
            };
            let stamp = fetched.bounds().stamp;
            idle_rounds = if stamp > newest { 0 } else { idle_rounds + 1 };
            newest = stamp;
        }
        Ok(())
    }

    /// Withdraws the common announcement if no lane runs. Lanes that begin from now on announce
    /// themselves, and the last running lane withdraws when it rests.
    async fn withdraw_for_all(&self) -> Result<(), FabricError> {
        let Some(slot) = self.shared.shared_slot().clone() else {
            return Ok(());
        };
        let Some(_withdrawal) = slot.begin_withdrawal() else {
            return Ok(());
        };
        let lane = self.shared.oracle_layout.lane(self.shared.oracle, slot.slot);
        let mut batch = Batch::new();
        batch.write_word(lane.add_words(u64::from(LANE_ACTIVE)), 0);
        self.env.execute(batch).await.map(drop)
    }

    /// Posts the announcement of all lanes, running or not; returns false while one is being
    /// withdrawn.
    fn announce_for_all(&self, slot: &SharedSlot, batch: &mut Batch) -> bool {
        let shared = &self.shared;
        let Bounds { stamp, epoch } = shared.fetched.bounds();
        let bounds = Bounds { stamp: stamp.max(1), epoch };
        let Some(running) = slot.bounds_of_running(bounds) else { return false };
        let lane = shared.oracle_layout.lane(shared.oracle, slot.slot);
        let both = batch.put(&[running.stamp, running.epoch]);
        const { assert!(LANE_ACKNOWLEDGED == LANE_ACTIVE + 1) };
        batch.write(lane.add_words(u64::from(LANE_ACTIVE)), both);
        true
    }

    /// The copy of vectors that this compute server reads, if there are copies.
    fn copy_of(&self, slot: &SharedSlot) -> Option<GlobalPtr> {
        let copies = &self.shared.copies;
        let number = usize::from(slot.slot.0) / SLOTS_EACH;
        (!copies.is_empty()).then(|| copies[number % copies.len()])
    }

    /// Reads the newest number, and then the vector with that number. An announcement that is
    /// already in the batch executes with the first read.
    async fn fetch_vector(&self, mut batch: Batch) -> Result<Batch, FabricError> {
        let (oracle, shape) = (self.shared.oracle, self.shared.oracle_layout);
        let newest = batch.read(oracle.add_words(u64::from(NEWEST)), 1);
        batch = self.env.execute(batch).await?;
        let number = batch.word(newest.at);
        batch.clear_verbs();
        let place = batch.read(shape.frozen(oracle, number), shape.frozen_words());
        batch = self.env.execute(batch).await?;
        if let Some(vector) = newest_intact(&self.env, shape, batch.words(place)) {
            let (number, epoch) = (vector[0], vector[1]);
            let counters = &vector[2..vector.len() - 1];
            self.shared.fetched.put(Vector { number, epoch, collected: None, counters });
        }
        Ok(batch)
    }

    /// Does the same from a copy, if the copy has a newer vector than the fetched one. Reads the
    /// base too, if it differs from the last vector's. If the collector is replacing that base, the
    /// next round finds newer ones.
    async fn fetch_copied(
        &self,
        mut batch: Batch,
        copy: GlobalPtr,
        unpacker: &mut Unpacker,
    ) -> Result<Batch, FabricError> {
        let (env, shape) = (&self.env, self.shared.oracle_layout.copies());
        let newest = batch.read(copy.add_words(u64::from(COPY_NEWEST)), 1);
        batch = env.execute(batch).await?;
        let number = batch.word(newest.at);
        if number <= self.shared.fetched.bounds().stamp {
            return Ok(batch);
        }
        batch.clear_verbs();
        let place = batch.read(shape.packed(copy, number), shape.packed_words());
        batch = env.execute(batch).await?;
        if let Some(wanted) = unpacker.wanted_base(batch.words(place)) {
            batch.clear_verbs();
            let bases = batch.read(shape.base(copy, 0), BASE_PLACES * shape.base_words());
            batch = env.execute(batch).await?;
            unpacker.take_base(wanted, batch.words(bases));
        }
        if let Some(vector) = unpacker.unpack(batch.words(place)) {
            self.shared.fetched.put(vector);
        }
        Ok(batch)
    }
}
