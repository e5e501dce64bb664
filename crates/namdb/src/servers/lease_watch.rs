//! Looks after a server's lease until the server ends, and warns before it is lost.

use membership::{Lease, LeaseClock};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Between two looks.
const LOOK_MS: u64 = 20;

/// Waits until the user wants the server to end, or the lease is lost; answers whether it is.
pub fn watch(lease: &Lease, lease_seconds: u64, stop: &AtomicBool) -> bool {
    let mut warning = Warning::new(lease.clock(), lease_seconds);
    while !stop.load(Ordering::Relaxed) {
        namdb::host::sleep_ms(LOOK_MS);
        if lease.is_lost() {
            return true;
        }
        warning.look();
    }
    false
}

/// Says once that the lease is nearly lost, and once that it is not any more.
struct Warning {
    clock: LeaseClock,
    /// With less left, two renewals have failed.
    little: Duration,
    is_given: bool,
}

impl Warning {
    fn new(clock: LeaseClock, lease_seconds: u64) -> Self {
        Self { clock, little: Duration::from_secs(lease_seconds) / 3, is_given: false }
    }

    fn look(&mut self) {
        let left = self.clock.left();
        let is_little = left.is_some_and(|left| left < self.little);
        if is_little == self.is_given {
            return;
        }
        self.is_given = is_little;
        let left_ms = left.unwrap_or_default().as_millis() as u64;
        if is_little {
            tracing::warn!(left_ms, "lease nearly lost: the registry has not renewed it");
        } else {
            tracing::info!(left_ms, "lease renewed");
        }
    }
}
