//! Who may run: one after another, in the order of asking.

use fabric::Env;
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::Mutex;
use std::task::{Poll, Waker};

#[derive(Debug, Default)]
struct Order {
    /// How many have asked.
    asked: u64,
    /// How many have had their turn: whoever asked at this place has it now.
    served: u64,
    waiting: BTreeMap<u64, Waker>,
}

/// The turns of one thread. Whoever has asked takes the turn: nobody leaves the queue.
#[derive(Debug, Default)]
pub(super) struct Turns(Mutex<Order>);

impl Turns {
    fn order(&self) -> std::sync::MutexGuard<'_, Order> {
        self.0.lock().expect("no holder panics")
    }

    /// Waits for a turn.
    pub(super) async fn take<E: Env>(&self, env: &E) {
        let place = {
            let mut order = self.order();
            order.asked += 1;
            order.asked - 1
        };
        // Where nothing waits by futures, other threads have the turn, which end it by themselves.
        while E::IMMEDIATE && self.order().served != place {
            env.yield_now().await;
        }
        poll_fn(|context| {
            let mut order = self.order();
            if order.served == place {
                return Poll::Ready(());
            }
            order.waiting.insert(place, context.waker().clone());
            Poll::Pending
        })
        .await;
    }

    /// Ends the turn.
    pub(super) fn end(&self) {
        let mut order = self.order();
        order.served += 1;
        assert!(order.served <= order.asked, "who ends a turn has had it");
        let next = order.served;
        if let Some(waker) = order.waiting.remove(&next) {
            waker.wake();
        }
    }
}
