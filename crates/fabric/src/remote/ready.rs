//! Which tasks may go on; the only part of an engine that other threads touch.

use rustix::event::{EventfdFlags, eventfd};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Wake, Waker};

/// What is written to ring, in an order of bytes in which it is a number above zero everywhere.
const RING: [u8; 8] = [1; 8];

/// The queue of tasks that were woken, and the bell that wakes a sleeping engine.
pub(super) struct Ready {
    queue: Mutex<Vec<u32>>,
    /// Tasks in the queue, so that an engine that turns takes no lock.
    length: AtomicUsize,
    /// The engine sleeps, or is about to: whoever wakes a task rings.
    is_asleep: AtomicBool,
    bell: OwnedFd,
}

impl Ready {
    pub(super) fn new() -> std::io::Result<Arc<Self>> {
        let bell = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        Ok(Arc::new(Self {
            queue: Mutex::default(),
            length: 0.into(),
            is_asleep: false.into(),
            bell,
        }))
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
        if self.is_asleep.load(Ordering::SeqCst) && self.is_asleep.swap(false, Ordering::SeqCst) {
            // A bell that was rung too often to count further wakes as well.
            let _ = rustix::io::write(&self.bell, &RING);
        }
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
        self.is_asleep.store(true, Ordering::SeqCst);
        self.length.load(Ordering::SeqCst) > 0
    }

    /// The engine is awake.
    pub(super) fn disarm(&self) {
        if !self.is_asleep.swap(false, Ordering::SeqCst) {
            // Somebody rang, or is about to; a bell that rings late costs one look.
            let _ = rustix::io::read(&self.bell, &mut [0_u8; 8]);
        }
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
