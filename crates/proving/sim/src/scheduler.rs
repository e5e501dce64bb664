//! Virtual time: the event queue, and the tasks that events wake.

use crate::random::Random;
use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::task::{Wake, Waker};

/// An event at a moment of virtual time. Numbers are places in the tables of `state`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Happening {
    /// An atomic reads its word, and writes it if it has no window.
    Atomic { flight: u32, verb: u32 },
    /// The window of an atomic closes.
    AtomicEnd { flight: u32, verb: u32 },
    /// The verbs of a batch to one server take effect.
    Part { flight: u32, server: u16 },
    /// A phase of a coherent read ends.
    Step { flight: u32, verb: u32 },
    /// The owner of a batch learns of the end of a segment.
    Landed { flight: u32, number: u32 },
    /// A sleeper wakes, unless its node's clock was changed since.
    Timer { timer: u32, plan: u32 },
    /// A woken task runs, or begins to wait for a core.
    Run { task: TaskId },
    /// A task has had its time on a core.
    OnCore { task: TaskId },
    /// A core of a machine is free for a task that waits.
    Turn { machine: u32 },
    /// A call arrives at its service.
    Request { call: u64 },
    /// An answer arrives at its caller.
    Answer { call: u64 },
    /// A caller gives up on a dead node.
    Unanswered { call: u64 },
    /// A pause ends, unless it has ended before.
    Resume { group: u32, pause: u32 },
}

/// A task; another generation reuses its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TaskId {
    pub(crate) place: u32,
    pub(crate) generation: u32,
}

/// The place of the future that `block_on` waits for; never stored.
pub(crate) const MAIN: u32 = u32::MAX;

struct Event {
    time_ns: u64,
    order: u64,
    what: Happening,
}

impl Ord for Event {
    /// The greatest event is the earliest one, because the heap returns its greatest.
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        (other.time_ns, other.order).cmp(&(self.time_ns, self.order))
    }
}

impl PartialOrd for Event {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Event {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.order == other.order
    }
}

impl Eq for Event {}

/// All future events. Events of one moment happen in the order of planning; the order between verbs
/// of one batch relies on that.
#[derive(Default)]
pub(crate) struct Queue {
    heap: BinaryHeap<Event>,
    planned: u64,
}

impl Queue {
    #[inline]
    pub(crate) fn push(&mut self, time_ns: u64, what: Happening) {
        self.planned += 1;
        self.heap.push(Event { time_ns, order: self.planned, what });
    }

    /// The next event at or before `deadline_ns`.
    #[inline]
    pub(crate) fn pop(&mut self, deadline_ns: u64) -> Option<(u64, Happening)> {
        if self.heap.peek()?.time_ns > deadline_ns {
            return None;
        }
        self.heap.pop().map(|event| (event.time_ns, event.what))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
}

/// Tasks that were woken and are not yet planned to run. Wakers must be `Send`, so this is the only
/// lock; it is never contended.
#[derive(Default)]
pub(crate) struct WokenTasks {
    tasks: Mutex<Vec<TaskId>>,
    /// Whether there are any: most events wake no task.
    is_any: AtomicBool,
}

impl WokenTasks {
    fn add(&self, task: TaskId) {
        self.tasks.lock().expect("no holder panics").push(task);
        self.is_any.store(true, Relaxed);
    }

    /// Plans every woken task to run after a short random wait, so that tasks woken together run in
    /// any order.
    #[inline]
    pub(crate) fn plan(
        &self,
        queue: &mut Queue,
        now_ns: u64,
        wake: crate::config::Interval,
        random: &mut Random,
    ) {
        if !self.is_any.load(Relaxed) {
            return;
        }
        self.is_any.store(false, Relaxed);
        for task in self.tasks.lock().expect("no holder panics").drain(..) {
            queue.push(now_ns + wake.draw(random), Happening::Run { task });
        }
    }

    /// Appends every woken task to those that run next, now.
    #[inline]
    pub(crate) fn move_to(&self, next: &mut VecDeque<TaskId>) {
        if self.is_any.load(Relaxed) {
            self.is_any.store(false, Relaxed);
            next.extend(self.tasks.lock().expect("no holder panics").drain(..));
        }
    }
}

/// Wakes one task, at most once until it has run.
pub(crate) struct TaskWaker {
    task: TaskId,
    is_woken: AtomicBool,
    woken: Arc<WokenTasks>,
}

impl TaskWaker {
    pub(crate) fn new(task: TaskId, woken: &Arc<WokenTasks>) -> Arc<Self> {
        Arc::new(Self { task, is_woken: AtomicBool::new(false), woken: woken.clone() })
    }

    /// The task runs now: from here on it can be woken again.
    pub(crate) fn running(&self) {
        self.is_woken.store(false, Relaxed);
    }
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.is_woken.swap(true, Relaxed) {
            self.woken.add(self.task);
        }
    }
}

/// A detached future.
pub(crate) type TaskFuture = Pin<Box<dyn Future<Output = ()>>>;

struct Task {
    generation: u32,
    group: u32,
    waker: Option<Arc<TaskWaker>>,
    future: Option<TaskFuture>,
}

/// All tasks but the one of `block_on`.
#[derive(Default)]
pub(crate) struct Tasks {
    places: Vec<Task>,
    free: Vec<u32>,
    /// The group of the `block_on` that is running.
    pub(crate) main_group: u32,
}

impl Tasks {
    /// Adds a task of `group`, woken for its first run.
    pub(crate) fn add(&mut self, group: u32, future: TaskFuture, woken: &Arc<WokenTasks>) {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(Task { generation: 0, group, waker: None, future: None });
            (self.places.len() - 1) as u32
        });
        let task = &mut self.places[place as usize];
        assert!(task.future.is_none());
        let waker = TaskWaker::new(TaskId { place, generation: task.generation }, woken);
        waker.wake_by_ref();
        task.group = group;
        task.waker = Some(waker);
        task.future = Some(future);
    }

    /// Takes a task out to run it; `None` if it has ended meanwhile.
    pub(crate) fn take(&mut self, id: TaskId) -> Option<(TaskFuture, Waker)> {
        let task = &mut self.places[id.place as usize];
        if task.generation != id.generation {
            return None;
        }
        let waker = task.waker.as_ref()?;
        waker.running();
        let waker = Waker::from(waker.clone());
        task.future.take().map(|future| (future, waker))
    }

    /// Puts a waiting task back; returns it if its group was killed while it ran.
    pub(crate) fn put_back(&mut self, id: TaskId, future: TaskFuture) -> Option<TaskFuture> {
        let task = &mut self.places[id.place as usize];
        if task.generation != id.generation {
            return Some(future);
        }
        task.future = Some(future);
        None
    }

    /// The group of a task that has not ended.
    pub(crate) fn group_of(&self, id: TaskId) -> Option<u32> {
        if id.place == MAIN {
            return Some(self.main_group);
        }
        let task = &self.places[id.place as usize];
        (task.generation == id.generation).then_some(task.group)
    }

    pub(crate) fn remove(&mut self, id: TaskId) {
        if self.places[id.place as usize].generation == id.generation {
            self.end(id.place);
        }
    }

    fn end(&mut self, place: u32) -> Option<TaskFuture> {
        let task = &mut self.places[place as usize];
        task.generation += 1;
        task.waker = None;
        self.free.push(place);
        task.future.take()
    }

    /// Ends all tasks of `group` and returns their futures: dropping them runs the protocols' own
    /// code, which must find nothing borrowed.
    pub(crate) fn kill(&mut self, group: u32, dead: &mut Vec<TaskFuture>) {
        for place in 0..self.places.len() as u32 {
            let task = &self.places[place as usize];
            if task.group == group && task.waker.is_some() {
                dead.extend(self.end(place));
            }
        }
    }

    pub(crate) fn kill_all(&mut self) -> Vec<TaskFuture> {
        let places = 0..self.places.len() as u32;
        places.filter_map(|place| self.places[place as usize].future.take()).collect()
    }

    pub(crate) fn count(&self) -> usize {
        self.places.len() - self.free.len()
    }
}
