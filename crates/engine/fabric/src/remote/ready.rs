//! The queue of woken tasks; the only part of an engine that other threads access.

use crate::remote::bell::Bell;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Wake, Waker};

/// Woken tasks, and the bell that wakes a sleeping engine.
pub(super) struct Ready {
    queue: Mutex<Vec<u32>>,
    /// Length of the queue, so that a spinning engine takes no lock.
    length: AtomicUsize,
    /// Rung by every wake-up.
    bell: Bell,
}

impl Ready {
    pub(super) fn new() -> std::io::Result<Arc<Self>> {
        Ok(Arc::new(Self { queue: Mutex::default(), length: 0.into(), bell: Bell::new()? }))
    }

    /// Creates the waker of the task at `place`; all later tasks there use it too.
    pub(super) fn waker(self: &Arc<Self>, place: u32) -> (Arc<TaskWaker>, Waker) {
        let task = Arc::new(TaskWaker { place, is_queued: false.into(), ready: self.clone() });
        (task.clone(), Waker::from(task))
    }

    fn push(&self, place: u32) {
        let mut queue = self.queue.lock().expect("no holder panics");
        queue.push(place);
        self.length.store(queue.len(), Ordering::SeqCst);
        drop(queue);
        self.bell.ring();
    }

    /// Swaps the queue with an empty one.
    pub(super) fn take(&self, empty: &mut Vec<u32>) {
        if self.length.load(Ordering::SeqCst) == 0 {
            return;
        }
        let mut queue = self.queue.lock().expect("no holder panics");
        std::mem::swap(&mut *queue, empty);
        self.length.store(0, Ordering::SeqCst);
    }

    /// Announces that the engine is about to sleep. Returns whether a task was woken meanwhile.
    pub(super) fn arm(&self) -> bool {
        self.bell.arm();
        self.length.load(Ordering::SeqCst) > 0
    }

    /// Announces that the engine is awake.
    pub(super) fn disarm(&self) {
        self.bell.disarm();
    }

    /// Becomes readable when the bell rings.
    pub(super) fn bell(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

/// Wakes the task at one place. Created once per place, so that waking allocates nothing.
pub(super) struct TaskWaker {
    place: u32,
    is_queued: AtomicBool,
    ready: Arc<Ready>,
}

impl TaskWaker {
    /// Marks the task as running: later wake-ups queue it again.
    pub(super) fn runs(&self) {
        self.is_queued.store(false, Ordering::SeqCst);
    }
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.is_queued.swap(true, Ordering::SeqCst) {
            self.ready.push(self.place);
        }
    }
}
