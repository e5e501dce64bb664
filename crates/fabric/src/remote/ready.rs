//! Which tasks may go on; the only part of an engine that other threads touch.

use crate::remote::bell::Bell;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Wake, Waker};

/// The queue of tasks that were woken, and the bell that wakes a sleeping engine.
pub(super) struct Ready {
    queue: Mutex<Vec<u32>>,
    /// Tasks in the queue, so that an engine that turns takes no lock.
    length: AtomicUsize,
    /// Whoever wakes a task rings.
    bell: Bell,
}

impl Ready {
    pub(super) fn new() -> std::io::Result<Arc<Self>> {
        Ok(Arc::new(Self { queue: Mutex::default(), length: 0.into(), bell: Bell::new()? }))
    }

    /// A waker of the task at `place`, to be kept for all tasks that will ever be there.
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

    /// Exchanges the queue for an empty one.
    pub(super) fn take(&self, empty: &mut Vec<u32>) {
        if self.length.load(Ordering::SeqCst) == 0 {
            return;
        }
        let mut queue = self.queue.lock().expect("no holder panics");
        std::mem::swap(&mut *queue, empty);
        self.length.store(0, Ordering::SeqCst);
    }

    /// The engine is about to sleep. Whether it must not, because a task was woken.
    pub(super) fn arm(&self) -> bool {
        self.bell.arm();
        self.length.load(Ordering::SeqCst) > 0
    }

    /// The engine is awake.
    pub(super) fn disarm(&self) {
        self.bell.disarm();
    }

    /// Becomes readable when the bell rings.
    pub(super) fn bell(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

/// Wakes the task at one place. Made once per place, so that waking allocates nothing.
pub(super) struct TaskWaker {
    place: u32,
    is_queued: AtomicBool,
    ready: Arc<Ready>,
}

impl TaskWaker {
    /// The task is about to run: whoever wakes it from now on means its next run.
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
