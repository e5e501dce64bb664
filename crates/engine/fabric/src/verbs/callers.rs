//! The callers of a memory server over RDMA, for threads other than the polling one.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

/// The polling thread has not removed the callers in time: it may be overloaded or stopped, or run
/// one of their calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "the queue pairs of removed callers are still open after {waited_ms} ms, or their calls have not ended"
)]
pub struct FenceError {
    pub waited_ms: u64,
}

/// The admitted callers of a memory server; for threads other than the polling one.
#[derive(Debug, Default)]
pub struct VerbsCallers {
    fence: Mutex<Fence>,
    is_up: Condvar,
    connections: AtomicU64,
}

#[derive(Debug, Default)]
struct Fence {
    living: Living,
    /// The epoch that the polling thread has applied.
    known: u64,
}

/// The callers that stay in an epoch, whenever they connected.
#[derive(Clone, Debug, Default)]
pub(super) struct Living {
    pub(super) epoch: u64,
    pub(super) identities: BTreeSet<u64>,
}

impl VerbsCallers {
    /// Starts `epoch`: from now on only callers with an identity in `living`, and callers that know
    /// this epoch, read and write. Closes the queue pairs of all others, which the card no longer
    /// serves once this returns, and refuses them later. None of their calls is running then.
    ///
    /// # Errors
    /// If that has not happened `within`.
    pub fn fence(
        &self,
        epoch: u64,
        living: BTreeSet<u64>,
        within: Duration,
    ) -> Result<(), FenceError> {
        let mut fence = self.lock();
        if epoch > fence.living.epoch {
            fence.living = Living { epoch, identities: living };
        }
        let is_down = |fence: &mut Fence| fence.known < epoch;
        let waited = self.is_up.wait_timeout_while(fence, within, is_down);
        match waited.expect("no holder panics").1.timed_out() {
            true => Err(FenceError { waited_ms: within.as_millis() as u64 }),
            false => Ok(()),
        }
    }

    /// Number of open queue pairs.
    pub fn connection_count(&self) -> u64 {
        self.connections.load(Relaxed)
    }

    pub(super) fn set_connection_count(&self, count: usize) {
        self.connections.store(count as u64, Relaxed);
    }

    /// The remaining callers, if they have changed since `epoch`.
    pub(super) fn living_after(&self, epoch: u64) -> Option<Living> {
        let fence = self.lock();
        (fence.living.epoch > epoch).then(|| fence.living.clone())
    }

    /// Confirms that only callers of `epoch` are served.
    pub(super) fn closed(&self, epoch: u64) {
        self.lock().known = epoch;
        self.is_up.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Fence> {
        self.fence.lock().expect("no holder panics")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_is_up_when_the_polling_thread_has_closed_it() {
        let callers = VerbsCallers::default();
        let refused = callers.fence(2, BTreeSet::from([7]), Duration::from_millis(1));
        assert_eq!(refused, Err(FenceError { waited_ms: 1 }));
        let living = callers.living_after(1).expect("it has changed");
        assert_eq!((living.epoch, living.identities), (2, BTreeSet::from([7])));
        callers.closed(2);
        assert_eq!(callers.fence(2, BTreeSet::new(), Duration::ZERO), Ok(()));
        assert!(callers.living_after(2).is_none());
    }
}
