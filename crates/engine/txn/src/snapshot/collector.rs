//! The collector of vectors: a task beside the oracle's memory that freezes one vector after
//! another, for compute servers that rely on it.
//!
//! With one batch, each vector goes to the oracle's ring and, packed, to the copies of the database
//! ([`crate::snapshot::packed`]). With C compute servers, a vector of V bytes and k copies, the
//! oracle's server sends k V per vector and a server with a copy C/k V; k = sqrt(C) minimises the
//! load of the busiest. Copies of copies would send still less, but add the delay of a vector per
//! level; packed, one level is enough for a thousand machines. The collector writes the copies
//! itself: if their servers fetched the vectors, the oracle's server would send as much, and also
//! receive the requests.
//!
//! Where copies exist, the collector also advances collection for all compute servers. Otherwise
//! each does that for itself, with reads of all lanes' words and swaps on all servers. The number
//! of both grows with the square of the cluster. The collector finds the stamp that all lanes have
//! passed, raises the collected-up-to words to it, a few with each vector, and writes to the copies
//! how far they have been raised.
//!
//! The collector holds the try-lock as long as it runs. So a lane that does not rely on it freezes
//! nothing either, and finds its vectors in the ring: two vectors of one number would not be
//! comparable.
//!
//! Decisions:
//! - docs/decisions/0137-a-collector-freezes-vectors-on-large-clusters.md
//! - docs/decisions/0146-the-collector-computes-the-horizon-for-everybody.md

use crate::database::{Database, Shared};
use crate::detach::detached;
use crate::snapshot::freezer::{FreezeError, HeldFreezer, Patience, Taken, WAIT_NS};
use crate::snapshot::oracle::{post_vector, read_vector};
use crate::snapshot::packed::Packer;
use fabric::{Batch, Env, FabricError, Mutant, Span, Swap};
use layout::oracle::{LANE_ACTIVE, LANE_WORDS};
use layout::{RegionId, SlotId, region};
use std::sync::Arc;

/// Interval between two reads of the lanes' announcements.
const LOOK_INTERVAL_NS: u64 = 100_000;
/// Number of collected-up-to words that are raised with one vector. The swaps travel while the
/// vector is written.
const RAISED_PER_VECTOR: usize = 32;

/// The stamp that all lanes have passed, and the progress of raising the collected-up-to words to
/// it.
struct Collected {
    /// The last known word of each server.
    found: Vec<u64>,
    /// The stamp to which the words are being raised: every lane has passed it, or has run for
    /// longer than E.
    target: u64,
    /// Number of servers, counted from the first, whose word has reached the target.
    raised: usize,
    /// The stamp that the words of all servers have reached.
    stamp: u64,
    /// A vector's number. Once it is older than E, collection no longer waits for transactions with
    /// an older vector.
    aging: u64,
    /// The time at which `aging` was the newest vector.
    aging_since_ns: u64,
    due_ns: u64,
}

impl Collected {
    fn new(servers: usize, now_ns: u64) -> Self {
        Self {
            found: vec![0; servers],
            target: 0,
            raised: servers,
            stamp: 0,
            aging: 0,
            aging_since_ns: now_ns,
            due_ns: now_ns,
        }
    }

    /// Whether it is time to read the lanes' announcements.
    fn is_due(&self, now_ns: u64) -> bool {
        self.raised == self.found.len() && now_ns >= self.due_ns
    }

    /// Records the stamps that lanes announce; 0 means idle. Idle lanes begin with vector `newest`
    /// or a later one.
    fn note_lanes(
        &mut self,
        announced: impl Iterator<Item = u64>,
        newest: u64,
        now_ns: u64,
        time_max_ns: u64,
    ) {
        let oldest = announced.filter(|&stamp| stamp > 0).min();
        let mut passed = oldest.map_or(newest, |stamp| stamp.min(newest));
        if now_ns.saturating_sub(self.aging_since_ns) > time_max_ns {
            passed = passed.max(self.aging);
            (self.aging, self.aging_since_ns) = (newest, now_ns);
        }
        self.due_ns = now_ns + LOOK_INTERVAL_NS;
        if passed > self.target {
            (self.target, self.raised) = (passed, 0);
        }
    }

    /// Claims that words are raised which are not. For a mutant.
    #[cold]
    fn claim(&mut self) {
        (self.raised, self.stamp) = (self.found.len(), self.target);
    }

    /// The servers whose words are raised next.
    fn next(&self) -> std::ops::Range<usize> {
        self.raised..self.found.len().min(self.raised + RAISED_PER_VECTOR)
    }

    /// The expected word of a server, and the one that replaces it. A lane without a fetcher may
    /// have raised it beyond the target.
    fn swap(&self, place: usize) -> (u64, u64) {
        let found = self.found[place];
        (found, found.max(self.target))
    }

    /// Records the words that the swaps on the next servers found. Lanes without a fetcher raise
    /// these words too.
    fn note_swaps(&mut self, found: impl Iterator<Item = u64>) {
        for (place, found) in self.next().zip(found) {
            let is_raised = found == self.found[place] || found >= self.target;
            self.found[place] = if is_raised { found.max(self.target) } else { found };
        }
        while self.raised < self.found.len() && self.found[self.raised] >= self.target {
            self.raised += 1;
        }
        if self.raised == self.found.len() {
            self.stamp = self.target;
        }
    }
}

struct Collector<E: Env> {
    env: E,
    shared: Arc<Shared<E>>,
    packer: Packer,
    collected: Collected,
    /// The number of the last vector written.
    newest: u64,
    /// The try-lock; `None` for a mutant.
    held: Option<HeldFreezer<E>>,
}

impl<E: Env> Collector<E> {
    /// Freezes the next vector, even if the caller drops this future. After a failure, and for a
    /// caller that is gone, the collector is dropped with the try-lock, which is then released.
    async fn freeze_to_end(mut self, batch: Batch) -> Result<(Self, Batch), FabricError> {
        if E::IMMEDIATE {
            let batch = self.freeze(batch).await?;
            return Ok((self, batch));
        }
        let env = self.env.clone();
        let freeze = async move {
            let batch = self.freeze(batch).await?;
            Ok((self, batch))
        };
        detached(&env, freeze, drop).await
    }

    /// Freezes the next vector.
    async fn freeze(&mut self, mut batch: Batch) -> Result<Batch, FabricError> {
        let (oracle, shape) = (self.shared.oracle, self.shared.oracle_layout);
        let has_copies = !self.shared.copies.is_empty();
        batch.reset();
        let lanes = match has_copies && self.newest > 0 {
            true => self.post_lane_read(&mut batch),
            false => None,
        };
        let vector;
        (batch, vector) = read_vector(&self.env, batch, oracle, shape).await?;
        if let Some(lanes) = lanes {
            self.note_announcements(&batch, lanes);
        }
        batch.clear_verbs();
        post_vector(&mut batch, oracle, shape, vector);
        let mut swaps = Vec::new();
        if has_copies {
            if self.env.mutant(Mutant::CollectTellUnraised) {
                self.collected.claim();
            }
            let packed = self.packer.pack(&mut batch, vector, self.collected.stamp);
            for &copy in &self.shared.copies {
                self.packer.post(&mut batch, copy, &packed);
            }
            swaps = self.post_swaps(&mut batch);
        }
        let number = batch.word(vector.at);
        batch = self.env.execute(batch).await?;
        self.newest = number;
        self.collected.note_swaps(swaps.iter().map(|&swap| batch.found(swap)));
        Ok(batch)
    }

    /// Posts a read of the lanes' words, if one is due.
    fn post_lane_read(&self, batch: &mut Batch) -> Option<Span> {
        let first = self.shared.oracle_layout.lane(self.shared.oracle, SlotId(0));
        let is_due = self.collected.is_due(self.env.now_ns());
        is_due.then(|| batch.read(first, self.shared.slots() * LANE_WORDS))
    }

    fn note_announcements(&mut self, batch: &Batch, lanes: Span) {
        let ignores = self.env.mutant(Mutant::CollectIgnoreLanes);
        let lanes = batch.words(lanes).chunks_exact(LANE_WORDS as usize);
        let announced = lanes.map(|lane| if ignores { 0 } else { lane[LANE_ACTIVE as usize] });
        let now_ns = self.env.now_ns();
        let time_max_ns = self.shared.config.transaction_time_max_ns;
        self.collected.note_lanes(announced, self.newest, now_ns, time_max_ns);
    }

    fn post_swaps(&self, batch: &mut Batch) -> Vec<Swap> {
        let lowers = self.env.mutant(Mutant::CollectLowerWord);
        let post = |place: usize| {
            let word = region::collected(RegionId(self.shared.servers[place].0));
            let (found, raised) = self.collected.swap(place);
            batch.compare_and_swap(word, found, if lowers { self.collected.target } else { raised })
        };
        self.collected.next().map(post).collect()
    }
}

impl<E: Env> Database<E> {
    pub(crate) async fn collect_vectors_generic(
        &self,
        is_wanted: &dyn Fn() -> bool,
    ) -> Result<(), FreezeError> {
        let held = match self.env.mutant(Mutant::OracleCollectUnlocked) {
            true => None,
            false => match self.wait_for_freezer(is_wanted).await? {
                Some(held) => Some(held),
                None => return Ok(()),
            },
        };
        let shared = self.shared.clone();
        let mut collector = Collector {
            env: self.env.clone(),
            packer: Packer::new(shared.oracle_layout.copies()),
            collected: Collected::new(shared.servers.len(), self.env.now_ns()),
            newest: 0,
            held,
            shared,
        };
        let mut batch = Batch::new();
        while is_wanted() {
            (collector, batch) = collector.freeze_to_end(batch).await?;
            self.env.yield_now().await;
        }
        match collector.held.take() {
            Some(held) => Ok(held.release().await?),
            None => Ok(()),
        }
    }

    /// Takes the try-lock; `None` if it is not wanted any more.
    async fn wait_for_freezer(
        &self,
        is_wanted: &dyn Fn() -> bool,
    ) -> Result<Option<HeldFreezer<E>>, FreezeError> {
        let mut patience = Patience::new(&self.env, WAIT_NS);
        while is_wanted() {
            let (env, shared) = (self.env.clone(), self.shared.clone());
            let take = async move { HeldFreezer::take(&env, &shared, None, Batch::new()).await };
            let taken =
                if E::IMMEDIATE { take.await } else { detached(&self.env, take, drop).await };
            match taken?.1 {
                Taken::Held(held) => return Ok(Some(held)),
                Taken::Busy(_) if patience.wait(&self.env).await => {}
                Taken::Busy(holder) => return Err(FreezeError::of_word(holder)),
            }
        }
        Ok(None)
    }

    /// From now on, lanes of this compute server take the vectors that a collector freezes, and
    /// freeze none themselves.
    pub fn rely_on_collector(&self) {
        self.shared.rely_on_collector();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const E_NS: u64 = 1_000_000;

    fn looked(collected: &mut Collected, announced: &[u64], newest: u64, now_ns: u64) -> u64 {
        collected.note_lanes(announced.iter().copied(), newest, now_ns, E_NS);
        collected.target
    }

    #[test]
    fn words_are_raised_to_the_stamp_that_all_lanes_have_passed() {
        let mut collected = Collected::new(1, 0);
        assert_eq!(looked(&mut collected, &[0, 0], 5, 0), 5, "idle lanes begin with the newest");
        assert_eq!(looked(&mut collected, &[9, 7, 0], 8, 0), 7);
        assert_eq!(looked(&mut collected, &[9, 6], 9, 0), 7, "it never falls");
        assert_eq!(looked(&mut collected, &[1], 20, E_NS + 1), 7, "no vector is older than E yet");
        assert_eq!(looked(&mut collected, &[1], 30, 2 * E_NS + 2), 20, "vector 20 is older than E");
    }

    #[test]
    fn the_published_stamp_is_raised_on_every_server() {
        let servers = RAISED_PER_VECTOR + 2;
        let mut collected = Collected::new(servers, 0);
        looked(&mut collected, &[], 5, 0);
        assert!(!collected.is_due(LOOK_INTERVAL_NS), "not before all are raised");
        assert_eq!(collected.next(), 0..RAISED_PER_VECTOR);
        // Another lane has raised two words: one less far than the target, one further.
        collected.note_swaps(
            (0..RAISED_PER_VECTOR).map(|place| [0, 3, 6][place.min(2)] * u64::from(place < 3)),
        );
        assert_eq!((collected.next().start, collected.stamp), (1, 0));
        collected.note_swaps(
            std::iter::once(3).chain((2..servers).map(|place| if place == 2 { 6 } else { 5 })),
        );
        assert_eq!((collected.next().len(), collected.stamp), (1, 0));
        collected.note_swaps(std::iter::once(0));
        assert_eq!((collected.next().len(), collected.stamp), (0, 5));
        assert!(collected.is_due(LOOK_INTERVAL_NS) && !collected.is_due(LOOK_INTERVAL_NS - 1));
    }

    #[test]
    fn a_word_that_a_lane_has_raised_further_does_not_fall() {
        let mut collected = Collected::new(1, 0);
        looked(&mut collected, &[], 5, 0);
        collected.note_swaps(std::iter::once(9));
        assert_eq!((collected.stamp, looked(&mut collected, &[], 7, LOOK_INTERVAL_NS)), (5, 7));
        assert_eq!(collected.swap(0), (9, 9));
        looked(&mut collected, &[], 10, 2 * LOOK_INTERVAL_NS);
        assert_eq!(collected.swap(0), (9, 10));
    }
}
