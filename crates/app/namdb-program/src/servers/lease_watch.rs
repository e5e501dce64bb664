//! Watches a process's lease until the process exits or leaves, and warns before the lease is lost.
//!
//! Decisions:
//! - docs/decisions/0093-a-death-concerns-only-the-dead-member.md
//! - docs/decisions/0099-a-process-ends-with-its-lease.md

use membership::LeaseClock;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Polling interval.
const POLL_MS: u64 = 20;

/// The remaining time of a lease.
#[derive(Clone)]
pub struct LeaseTime {
    left: Arc<dyn Fn() -> Option<Duration> + Send + Sync>,
    /// If less is left, two renewals have failed.
    little: Duration,
}

impl LeaseTime {
    /// A lease that is renewed for this many seconds each time.
    pub fn new(clock: LeaseClock, lease_seconds: u64) -> Self {
        Self::by(Duration::from_secs(lease_seconds), move || clock.left())
    }

    /// A lease of duration `whole`; `left` returns the remaining time, or `None` if the lease only
    /// ends with the process.
    pub fn by(
        whole: Duration,
        left: impl Fn() -> Option<Duration> + Send + Sync + 'static,
    ) -> Self {
        Self { left: Arc::new(left), little: whole / 3 }
    }

    /// The remaining time, if it is short.
    pub fn little_left(&self) -> Option<Duration> {
        (self.left)().filter(|left| *left < self.little)
    }
}

/// Waits until `stop` is set or the lease is lost; true if it is lost.
pub fn watch(lease: &LeaseTime, stop: &AtomicBool) -> bool {
    let mut is_warned = false;
    while !stop.load(Ordering::Acquire) {
        let little = lease.little_left();
        if little == Some(Duration::ZERO) {
            // A process that leaves lets its lease end.
            return !stop.load(Ordering::Acquire);
        }
        if little.is_some() != is_warned {
            is_warned = little.is_some();
            let left_ms = little.or((lease.left)()).unwrap_or_default().as_millis() as u64;
            match is_warned {
                true => {
                    tracing::warn!(left_ms, "lease nearly lost: the registry has not renewed it");
                }
                false => tracing::info!(left_ms, "lease renewed"),
            }
        }
        namdb::host::sleep_ms(POLL_MS);
    }
    false
}
