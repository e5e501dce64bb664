//! The participants of a test, and the words of the fabric by which they synchronise.

use fabric::{Batch, Env};
use layout::{GlobalPtr, RegionId};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

/// Bytes of each of the two memory servers' regions.
pub const REGION_BYTES: u64 = 1 << 18;
/// The first byte after the header of a region.
const FIRST_BYTE: u64 = 4096;
/// The first word of server 1 at which parties meet; the words below are for tests.
const MEETINGS: u64 = 4096;
/// The largest number of rounds in which parties wait for each other, which takes long on a busy
/// machine; each round has 16 words of its own on each server.
pub const STEPS_MAX: u64 = 256;

/// A participant of a test, with an endpoint of its own.
pub struct Party<E> {
    pub env: E,
    /// The number of the party, from 0.
    pub number: u32,
    /// The number of parties.
    pub count: u32,
    /// How often to repeat the tested operation: rarely where many worlds are run, often where
    /// there is one.
    pub rounds: u64,
    /// The longest time that it waits for the others.
    pub patience_ns: u64,
    /// How long a writer continues after its rounds, so that readers see changes: a writer may
    /// finish all of its rounds before the reader gets a processor.
    pub overtime_ns: u64,
}

/// The last value of writers that continue after their rounds; larger than any round.
pub const LAST: u64 = 1 << 40;
/// A reader that has seen the tested event this many times is satisfied.
const ENOUGH: u64 = 10;
/// Rounds of overtime between two checks whether the reader is satisfied.
const LOOK_ROUNDS: u64 = 64;
/// The word of server 1 that a satisfied reader sets.
const SATISFIED: u64 = 4000;

/// Word `index` of memory server `server`, after the region's header.
pub fn word(server: u16, index: u64) -> GlobalPtr {
    GlobalPtr::new(RegionId(server), FIRST_BYTE + index * layout::WORD_BYTES)
}

impl<E: Env> Party<E> {
    /// Posts a batch and waits for it.
    pub async fn execute(&self, batch: Batch) -> Result<Batch, String> {
        let result = self.env.execute(batch).await;
        result.map_err(|error| format!("party {}: {error}", self.number))
    }

    pub async fn read(&self, at: GlobalPtr) -> Result<u64, String> {
        let mut batch = Batch::new();
        let span = batch.read(at, 1);
        Ok(self.execute(batch).await?.words(span)[0])
    }

    pub async fn read_all(&self, at: GlobalPtr, words: u32) -> Result<Vec<u64>, String> {
        let mut batch = Batch::new();
        let span = batch.read(at, words);
        Ok(self.execute(batch).await?.words(span).to_vec())
    }

    pub async fn write(&self, at: GlobalPtr, value: u64) -> Result<(), String> {
        let mut batch = Batch::new();
        batch.write_word(at, value);
        self.execute(batch).await.map(drop)
    }

    pub async fn write_all(&self, at: GlobalPtr, values: &[u64]) -> Result<(), String> {
        let mut batch = Batch::new();
        let span = batch.put(values);
        batch.write(at, span);
        self.execute(batch).await.map(drop)
    }

    /// Adds to a word; returns the previous value.
    pub async fn add(&self, at: GlobalPtr, add: u64) -> Result<u64, String> {
        let mut batch = Batch::new();
        let swap = batch.fetch_and_add(at, add);
        Ok(self.execute(batch).await?.found(swap))
    }

    /// Waits until all parties have reached the barrier `place`; each barrier is used once.
    pub async fn meet(&self, place: u64) -> Result<(), String> {
        let at = word(1, MEETINGS + place);
        self.add(at, 1).await?;
        self.wait_for(at, u64::from(self.count)).await
    }

    /// Waits until the word at `at` is at least `value`.
    pub async fn wait_for(&self, at: GlobalPtr, value: u64) -> Result<(), String> {
        let deadline = self.deadline();
        while self.read(at).await? < value {
            deadline.check(&self.env)?;
            self.env.yield_now().await;
        }
        Ok(())
    }

    /// The next round of a writer that others watch, counted from 1; `None` when it is time for
    /// [`LAST`].
    pub async fn next(&self, pace: &mut Pace) -> Result<Option<u64>, String> {
        pace.round += 1;
        if pace.round > self.rounds {
            let end_ns = *pace.end_ns.get_or_insert_with(|| self.env.now_ns() + self.overtime_ns);
            let is_look = pace.round.is_multiple_of(LOOK_ROUNDS);
            let is_over =
                self.env.now_ns() >= end_ns || is_look && self.read(word(1, SATISFIED)).await? > 0;
            if is_over {
                return Ok(None);
            }
        }
        Ok(Some(pace.round))
    }

    /// Counts the events that a reader has seen, and tells the writer when they are enough.
    pub async fn see(&self, count: &mut u64, is_so: bool) -> Result<(), String> {
        *count += u64::from(is_so);
        if is_so && *count == ENOUGH {
            self.write(word(1, SATISFIED), 1).await?;
        }
        Ok(())
    }

    /// The deadline for a loop that waits for other parties.
    pub fn deadline(&self) -> Deadline {
        let (number, patience_ns) = (self.number, self.patience_ns);
        Deadline { number, patience_ns, at_ns: self.env.now_ns() + patience_ns }
    }

    /// Returns an error unless `is_so`.
    pub fn expect(&self, is_so: bool, what: impl FnOnce() -> String) -> Result<(), String> {
        if is_so { Ok(()) } else { Err(format!("party {}: {}", self.number, what())) }
    }
}

/// The progress of a writer.
#[derive(Default)]
pub struct Pace {
    round: u64,
    end_ns: Option<u64>,
}

/// The time at which a party gives up waiting.
pub struct Deadline {
    number: u32,
    patience_ns: u64,
    at_ns: u64,
}

impl Deadline {
    /// Returns an error once the deadline has passed.
    pub fn check(&self, env: &impl Env) -> Result<(), String> {
        if env.now_ns() < self.at_ns {
            return Ok(());
        }
        let milliseconds = self.patience_ns / 1_000_000;
        Err(format!("party {} gave up waiting for the others after {milliseconds} ms", self.number))
    }
}

/// Waits for `first`, but drops it if `second` is ready before.
pub async fn unless<T>(
    first: impl Future<Output = T>,
    second: impl Future<Output = ()>,
) -> Option<T> {
    let (mut first, mut second) = (pin!(first), pin!(second));
    poll_fn(|context| {
        if let Poll::Ready(value) = first.as_mut().poll(context) {
            return Poll::Ready(Some(value));
        }
        second.as_mut().poll(context).map(|()| None)
    })
    .await
}
