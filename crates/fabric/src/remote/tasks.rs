//! The tasks of an engine: futures that nobody waits for.

use crate::remote::ready::{Ready, TaskWaker};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Waker;

pub(super) type TaskFuture = Pin<Box<dyn Future<Output = ()>>>;

/// All tasks, by place.
#[derive(Default)]
pub(super) struct Tasks {
    places: Vec<Place>,
    free: Vec<u32>,
}

/// What stays from task to task. A waker that outlives its task wakes its successor, which costs that one a
/// look and nothing else.
struct Place {
    /// Not here while it runs.
    running: Option<Running>,
    task: Arc<TaskWaker>,
}

/// A task that is taken from its place to run.
pub(super) struct Running {
    pub(super) future: TaskFuture,
    pub(super) waker: Waker,
}

impl Tasks {
    /// Puts a task in a place and wakes it.
    pub(super) fn add(&mut self, ready: &Arc<Ready>, future: TaskFuture) {
        let place = self.free.pop().unwrap_or(self.places.len() as u32);
        let (task, waker) = match self.places.get(place as usize) {
            Some(known) => (known.task.clone(), Waker::from(known.task.clone())),
            None => ready.waker(place),
        };
        waker.wake_by_ref();
        let entry = Place { running: Some(Running { future, waker }), task };
        match self.places.get_mut(place as usize) {
            Some(known) => *known = entry,
            None => self.places.push(entry),
        }
    }

    /// Takes a task to run it; none if it has ended since it was woken.
    pub(super) fn take(&mut self, place: u32) -> Option<Running> {
        let place = &mut self.places[place as usize];
        place.task.runs();
        place.running.take()
    }

    /// Puts a task back that waits.
    pub(super) fn put_back(&mut self, place: u32, running: Running) {
        self.places[place as usize].running = Some(running);
    }

    /// A task has ended.
    pub(super) fn end(&mut self, place: u32) {
        self.free.push(place);
    }

    /// Takes all tasks: dropping them runs code that may use the engine.
    pub(super) fn clear(&mut self) -> Vec<TaskFuture> {
        let futures = |place: &mut Place| place.running.take().map(|running| running.future);
        self.places.iter_mut().filter_map(futures).collect()
    }

    /// Tasks that have not ended.
    pub(super) fn count(&self) -> usize {
        self.places.len() - self.free.len()
    }
}
