//! Who is connected to a memory server by RDMA, for threads other than the polling one.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

/// The callers were told to go, and the polling thread has not said in time that they are: it may be overloaded or
/// stopped, or carry out what they have called.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "the queue pairs of those who left are not closed after {waited_ms} ms, or what they called has not ended"
)]
pub struct FenceError {
    /// How long was waited.
    pub waited_ms: u64,
}

/// Who may be connected to a memory server; for threads other than the polling one.
#[derive(Debug, Default)]
pub struct VerbsCallers {
    fence: Mutex<Fence>,
    is_up: Condvar,
    connections: AtomicU64,
}

#[derive(Debug, Default)]
struct Fence {
    living: Living,
    /// The epoch of those whom the polling thread last knew.
    known: u64,
}

/// Those who go on in an epoch, whenever they connected.
#[derive(Clone, Debug, Default)]
pub(super) struct Living {
    pub(super) epoch: u64,
    pub(super) identities: BTreeSet<u64>,
}

impl VerbsCallers {
    /// Sees to it that in `epoch` only `living`, the identities that callers said in their first message, read and
    /// write, and whoever says that it is of that epoch itself. Closes the queue pairs of all others, which the
    /// card does not serve any more once this returns, and has them refused. Of what they called nothing is under
    /// way then.
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

    /// Queue pairs at this moment.
    pub fn connection_count(&self) -> u64 {
        self.connections.load(Relaxed)
    }

    pub(super) fn set_connection_count(&self, count: usize) {
        self.connections.store(count as u64, Relaxed);
    }

    /// Who goes on, if that has changed since `epoch`.
    pub(super) fn living_after(&self, epoch: u64) -> Option<Living> {
        let fence = self.lock();
        (fence.living.epoch > epoch).then(|| fence.living.clone())
    }

    /// Nobody else is served since `epoch` any more.
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
