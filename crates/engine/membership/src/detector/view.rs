//! The numbers of a detector, for metrics and status.

use super::machine::Opinion;
use crate::clock::Moment;
use crate::member::Member;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Counters since the start, and the detector's view of each member.
#[derive(Debug, Default)]
pub struct View {
    pub(super) suspicions: AtomicU64,
    pub(super) withdrawn: AtomicU64,
    pub(super) evictions: AtomicU64,
    pub(super) last_eviction_ns: AtomicU64,
    members: Mutex<Vec<Seen>>,
}

#[derive(Clone, Debug)]
struct Seen {
    is_memory_server: bool,
    number: u16,
    heard_ns: u64,
    has_spoken: bool,
    is_suspected: bool,
}

/// A member as this process sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sighting {
    pub is_memory_server: bool,
    pub number: u16,
    /// Time since its last heartbeat or answer, or since it is watched.
    pub age: Duration,
    /// Whether a heartbeat or an answer has come.
    pub has_spoken: bool,
    pub is_suspected: bool,
}

impl View {
    /// Suspicions of members: silences of a lease.
    pub fn suspicions(&self) -> u64 {
        self.suspicions.load(Relaxed)
    }

    /// Suspicions that ended with a sign of life.
    pub fn withdrawn(&self) -> u64 {
        self.withdrawn.load(Relaxed)
    }

    /// Members that this process has evicted.
    pub fn evictions(&self) -> u64 {
        self.evictions.load(Relaxed)
    }

    /// Time from the last sign of life, or from the end of the process where the kernel reports it,
    /// to the epoch without the member; of the last eviction by this process.
    pub fn last_eviction(&self) -> Option<Duration> {
        let time_ns = self.last_eviction_ns.load(Relaxed);
        (time_ns > 0).then(|| Duration::from_nanos(time_ns))
    }

    /// The members that this process watches.
    pub fn members(&self) -> Vec<Sighting> {
        let now_ns = Moment::now().nanoseconds();
        let members = self.members.lock().expect("no holder panics").clone();
        let sighting = |seen: Seen| Sighting {
            is_memory_server: seen.is_memory_server,
            number: seen.number,
            age: Duration::from_nanos(now_ns.saturating_sub(seen.heard_ns)),
            has_spoken: seen.has_spoken,
            is_suspected: seen.is_suspected,
        };
        members.into_iter().map(sighting).collect()
    }

    pub(super) fn update<'a>(
        &self,
        now_ns: u64,
        opinions: impl Iterator<Item = Opinion>,
        members: &BTreeMap<u64, impl AsRef<Member> + 'a>,
    ) {
        let seen = opinions.filter_map(|opinion| {
            let member = members.get(&opinion.member)?.as_ref();
            Some(Seen {
                is_memory_server: member.is_memory_server(),
                number: member.number,
                heard_ns: now_ns.saturating_sub(opinion.age_ns),
                has_spoken: opinion.has_spoken,
                is_suspected: opinion.is_suspected,
            })
        });
        let mut known = self.members.lock().expect("no holder panics");
        known.clear();
        known.extend(seen);
    }
}
