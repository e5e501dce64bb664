//! The detached tasks of an engine.
//!
//! Decision: docs/decisions/0080-an-engine-is-a-queue-a-slab-and-a-loop.md

use crate::remote::ready::{Ready, TaskWaker};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Waker;

pub(super) type TaskFuture = Pin<Box<dyn Future<Output = ()>>>;

#[derive(Default)]
pub(super) struct Tasks {
    places: Vec<TaskEntry>,
    free: Vec<u32>,
}

/// An entry that consecutive tasks reuse. A waker that outlives its task wakes the next one, which
/// costs one spurious poll.
struct TaskEntry {
    /// `None` while it runs.
    running: Option<Running>,
    task: Arc<TaskWaker>,
}

/// A task that was taken out to run.
pub(super) struct Running {
    pub(super) future: TaskFuture,
    pub(super) waker: Waker,
}

impl Tasks {
    /// Stores a task and wakes it.
    pub(super) fn add(&mut self, ready: &Arc<Ready>, future: TaskFuture) {
        let place = self.free.pop().unwrap_or(self.places.len() as u32);
        let (task, waker) = match self.places.get(place as usize) {
            Some(known) => (known.task.clone(), Waker::from(known.task.clone())),
            None => ready.waker(place),
        };
        waker.wake_by_ref();
        let entry = TaskEntry { running: Some(Running { future, waker }), task };
        match self.places.get_mut(place as usize) {
            Some(known) => *known = entry,
            None => self.places.push(entry),
        }
    }

    /// Takes a task to run it; `None` if it has ended since its wake-up.
    pub(super) fn take(&mut self, place: u32) -> Option<Running> {
        let place = &mut self.places[place as usize];
        place.task.runs();
        place.running.take()
    }

    /// Puts a waiting task back.
    pub(super) fn put_back(&mut self, place: u32, running: Running) {
        self.places[place as usize].running = Some(running);
    }

    pub(super) fn end(&mut self, place: u32) {
        self.free.push(place);
    }

    /// Takes all tasks: dropping them runs code that may use the engine.
    pub(super) fn clear(&mut self) -> Vec<TaskFuture> {
        let futures = |place: &mut TaskEntry| place.running.take().map(|running| running.future);
        self.places.iter_mut().filter_map(futures).collect()
    }

    /// Number of unfinished tasks.
    pub(super) fn count(&self) -> usize {
        self.places.len() - self.free.len()
    }
}
