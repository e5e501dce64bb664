//! Sleepers: they wait for their node's clock.

use crate::scheduler::Happening;
use crate::state::Core;
use layout::NodeId;
use std::task::Waker;

/// All sleepers. A place is free again when its time has come, awaited or not.
#[derive(Default)]
pub(crate) struct Timers {
    places: Vec<Timer>,
    free: Vec<u32>,
}

#[derive(Default)]
struct Timer {
    waker: Option<Waker>,
    is_awaited: bool,
    is_over: bool,
    node: u16,
    /// The clock value at which the sleeper wakes.
    shown_ns: u64,
    /// The number of the latest plan of the wake-up; earlier plans are void.
    plan: u32,
}

impl Timers {
    fn add(&mut self, node: NodeId, shown_ns: u64) -> (u32, u32) {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(Timer::default());
            (self.places.len() - 1) as u32
        });
        let timer = &mut self.places[place as usize];
        let plan = timer.plan + 1;
        *timer = Timer { is_awaited: true, node: node.0, shown_ns, plan, ..Timer::default() };
        (place, plan)
    }

    /// Whether this plan of a wake-up is void, so that its event can be skipped.
    pub(crate) fn is_idle(&mut self, timer: u32, plan: u32) -> bool {
        let place = &self.places[timer as usize];
        if place.plan != plan {
            return true;
        }
        if place.is_awaited {
            return false;
        }
        self.fire(timer);
        true
    }

    /// The time has come.
    pub(crate) fn fire(&mut self, timer: u32) {
        let place = &mut self.places[timer as usize];
        place.is_over = true;
        match place.waker.take() {
            _ if !place.is_awaited => self.free.push(timer),
            Some(waker) => waker.wake(),
            None => {}
        }
    }

    /// Whether the time has come; if not, `waker` is woken then.
    pub(crate) fn poll(&mut self, timer: u32, waker: &Waker) -> bool {
        let place = &mut self.places[timer as usize];
        if !place.is_over {
            place.waker = Some(waker.clone());
        }
        place.is_over
    }

    /// The sleeper was dropped.
    pub(crate) fn forget(&mut self, timer: u32) {
        let place = &mut self.places[timer as usize];
        place.is_awaited = false;
        place.waker = None;
        if place.is_over {
            self.free.push(timer);
        }
    }
}

impl Core {
    /// Plans a wake-up `duration_ns` from now by the clock of `node`.
    pub(crate) fn start_timer(&mut self, node: NodeId, duration_ns: u64) -> u32 {
        let clock = self.nodes[usize::from(node.0)].clock;
        let now_ns = self.now_ns + self.turns.spent_ns();
        let shown_ns = clock.shows(now_ns).saturating_add(duration_ns);
        let (timer, plan) = self.timers.add(node, shown_ns);
        let time_ns = clock.reaches(shown_ns, now_ns);
        self.queue.push(time_ns, Happening::Timer { timer, plan });
        timer
    }

    /// The clock of `node` was changed: plans the wake-ups of its sleepers again.
    pub(crate) fn plan_timers_again(&mut self, node: NodeId) {
        let clock = self.nodes[usize::from(node.0)].clock;
        for (place, timer) in self.timers.places.iter_mut().enumerate() {
            if timer.node == node.0 && timer.is_awaited && !timer.is_over {
                timer.plan += 1;
                let time_ns = clock.reaches(timer.shown_ns, self.now_ns);
                let (timer, plan) = (place as u32, timer.plan);
                self.queue.push(time_ns, Happening::Timer { timer, plan });
            }
        }
    }
}
