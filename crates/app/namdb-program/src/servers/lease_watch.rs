//! Looks after a process' lease until the process ends or leaves, and warns before it is lost.
//!
//! Decisions:
//! - docs/decisions/0093-a-death-concerns-only-the-dead-member.md
//! - docs/decisions/0099-a-process-ends-with-its-lease.md

use membership::LeaseClock;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Between two looks.
const LOOK_MS: u64 = 20;

/// A lease as its clock shows it.
#[derive(Clone)]
pub struct LeaseTime {
    left: Arc<dyn Fn() -> Option<Duration> + Send + Sync>,
    /// With less left, two renewals have failed.
    little: Duration,
}

impl LeaseTime {
    /// Of a lease that is granted for so long at a time.
    pub fn new(clock: LeaseClock, lease_seconds: u64) -> Self {
        Self::by(Duration::from_secs(lease_seconds), move || clock.left())
    }

    /// Of a lease that is granted for `whole` at a time, of which `left` says what is left; none if only the end of
    /// the process ends it.
    pub fn by(
        whole: Duration,
        left: impl Fn() -> Option<Duration> + Send + Sync + 'static,
    ) -> Self {
        Self { left: Arc::new(left), little: whole / 3 }
    }

    /// What is left, if that is little.
    pub fn little_left(&self) -> Option<Duration> {
        (self.left)().filter(|left| *left < self.little)
    }
}

/// Waits until `stop` is set or the lease is lost; answers whether it is.
pub fn watch(lease: &LeaseTime, stop: &AtomicBool) -> bool {
    let mut is_warned = false;
    while !stop.load(Ordering::Acquire) {
        let little = lease.little_left();
        if little == Some(Duration::ZERO) {
            // Whoever leaves lets its lease end.
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
        namdb::host::sleep_ms(LOOK_MS);
    }
    false
}
