//! Turns: transactions run one after another, in the order of their requests.

use fabric::Env;
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::Mutex;
use std::task::{Poll, Waker};

#[derive(Debug, Default)]
struct Order {
    /// Number of requests so far.
    asked: u64,
    /// Number of turns that have ended: the request with this number has the turn now.
    served: u64,
    waiting: BTreeMap<u64, Waker>,
}

/// The turns of one thread. Every request is eventually served: none leaves the queue.
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
        // If waiting does not suspend the task, other threads have the turn, and they end it
        // themselves.
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

    pub(super) fn end(&self) {
        let mut order = self.order();
        order.served += 1;
        assert!(order.served <= order.asked, "only the holder of a turn ends it");
        let next = order.served;
        if let Some(waker) = order.waiting.remove(&next) {
            waker.wake();
        }
    }
}
