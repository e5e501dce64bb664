//! Counters of verbs, bytes and round trips, and the trace of a transaction.

use crate::batch::Batch;
use crate::verb::Verb;
use std::fmt::Write;
use std::ops::{Add, AddAssign, Sub};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Traffic of an endpoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Verbs posted, calls included; adjacent rows that one request reads count once.
    pub verbs: u64,
    pub bytes: u64,
    pub round_trips: u64,
    /// Calls, which `verbs` includes.
    pub calls: u64,
    /// Request messages, on fabrics that send messages; the server answers each with one.
    pub messages: u64,
}

impl Sub for Counts {
    type Output = Self;
    #[inline]
    fn sub(self, earlier: Self) -> Self {
        Self {
            verbs: self.verbs - earlier.verbs,
            bytes: self.bytes - earlier.bytes,
            round_trips: self.round_trips - earlier.round_trips,
            calls: self.calls - earlier.calls,
            messages: self.messages - earlier.messages,
        }
    }
}

impl Add for Counts {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self {
            verbs: self.verbs + other.verbs,
            bytes: self.bytes + other.bytes,
            round_trips: self.round_trips + other.round_trips,
            calls: self.calls + other.calls,
            messages: self.messages + other.messages,
        }
    }
}

impl AddAssign for Counts {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// The counters of one endpoint. Only its own thread counts; any thread may read.
#[derive(Debug, Default)]
pub struct Counters {
    verbs: AtomicU64,
    bytes: AtomicU64,
    round_trips: AtomicU64,
    calls: AtomicU64,
    messages: AtomicU64,
    tracing: AtomicBool,
    trace: Mutex<String>,
}

impl Counters {
    #[inline]
    pub fn counts(&self) -> Counts {
        Counts {
            verbs: self.verbs.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
            round_trips: self.round_trips.load(Relaxed),
            calls: self.calls.load(Relaxed),
            messages: self.messages.load(Relaxed),
        }
    }

    /// Counts a batch. Only the endpoint's own thread calls this, so load and store suffice.
    #[inline]
    pub fn count_batch(&self, batch: &Batch) {
        bump(&self.verbs, batch.verb_count());
        bump(&self.bytes, batch.bytes());
        bump(&self.round_trips, batch.round_trips());
    }

    /// Counts a call; `bytes` are those of request and answer.
    pub fn count_call(&self, bytes: u64) {
        bump(&self.verbs, 1);
        bump(&self.bytes, bytes);
        bump(&self.round_trips, 1);
        bump(&self.calls, 1);
    }

    /// Counts messages sent for a batch or a call.
    pub fn count_messages(&self, messages: u32) {
        bump(&self.messages, u64::from(messages));
    }

    /// Starts or stops tracing of every verb.
    pub fn set_tracing(&self, tracing: bool) {
        self.tracing.store(tracing, Relaxed);
    }

    #[inline]
    pub fn is_tracing(&self) -> bool {
        self.tracing.load(Relaxed)
    }

    /// Takes the trace since the last call.
    pub fn take_trace(&self) -> String {
        std::mem::take(&mut *self.trace.lock().expect("no holder of the trace panics"))
    }

    /// Adds a remark to the trace, such as a protocol step.
    pub fn trace_remark(&self, remark: &str) {
        if self.is_tracing() {
            let mut trace = self.trace.lock().expect("no holder of the trace panics");
            let _ = writeln!(trace, "-- {remark}");
        }
    }

    /// Adds a completed batch to the trace: each verb with the words it read or wrote.
    #[cold]
    pub fn trace_batch(&self, batch: &Batch) {
        let mut trace = self.trace.lock().expect("no holder of the trace panics");
        let count = batch.verb_count();
        let ending = if count == 1 { "" } else { "s" };
        let _ = writeln!(trace, "round trip ({count} verb{ending}, {} bytes)", batch.bytes());
        for verb in batch.verbs() {
            let _ = write!(trace, "   {verb:?}");
            match *verb {
                Verb::CompareAndSwap { at, expected, .. } => {
                    let held = batch.word(at) == expected;
                    let _ = writeln!(trace, " -> {}", if held { "swapped" } else { "refused" });
                }
                Verb::Read { at, .. } | Verb::FetchAndAdd { at, .. } => {
                    let _ = writeln!(trace, " -> {:#x}", batch.word(at));
                }
                Verb::ReadRow { at, .. } => {
                    let _ = writeln!(
                        trace,
                        " -> header {:#x} version {:#x}",
                        batch.word(at),
                        batch.word(at + 1)
                    );
                }
                _ => {
                    let _ = writeln!(trace);
                }
            }
        }
    }
}

#[inline]
fn bump(counter: &AtomicU64, by: u64) {
    counter.store(counter.load(Relaxed).wrapping_add(by), Relaxed);
}
