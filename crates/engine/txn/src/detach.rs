//! Work that runs to its end even if the caller drops its future.
//!
//! Decisions:
//! - docs/decisions/0056-a-version-buffer-in-the-pool-has-an-empty-list.md
//! - docs/decisions/0141-rows-may-keep-the-memory-of-their-old-versions.md

use crate::lane::LaneInner;
use fabric::Env;
use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// Runs `work` in a task of its own and waits for it. If the caller drops this future, the work
/// goes on, and `unclaimed` gets its result.
pub(crate) async fn detached<E: Env, T: 'static>(
    env: &E,
    work: impl Future<Output = T> + 'static,
    unclaimed: fn(T),
) -> T {
    let state = State { done: None, waker: None, is_abandoned: false };
    let receiver = Receiver { state: Rc::new(RefCell::new(state)), unclaimed };
    let sender = receiver.state.clone();
    env.spawn(async move {
        let value = work.await;
        let mut state = sender.borrow_mut();
        if state.is_abandoned {
            drop(state);
            unclaimed(value);
            return;
        }
        state.done = Some(value);
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
    });
    std::future::poll_fn(|context| receiver.poll(context)).await
}

/// Runs `work` on a lane to its end, as [`detached`] does. The lane's owned part moves into the
/// task and comes back with the result; if the caller has dropped the future, the task returns it
/// to the pool of idle lanes. `None` if it is not here.
pub(crate) async fn run_lane_detached<E: Env, T: 'static>(
    owned: &mut Option<Box<LaneInner<E>>>,
    work: impl AsyncFnOnce(&mut LaneInner<E>) -> T + 'static,
) -> Option<T> {
    let mut inner = owned.take()?;
    let env = inner.env.clone();
    let travel = async move {
        let value = work(&mut inner).await;
        (inner, value)
    };
    let give_back = |(inner, _): (Box<LaneInner<E>>, T)| inner.shared.clone().take_back(inner);
    let (inner, value) = detached(&env, travel, give_back).await;
    *owned = Some(inner);
    Some(value)
}

struct State<T> {
    done: Option<T>,
    waker: Option<Waker>,
    is_abandoned: bool,
}

struct Receiver<T> {
    state: Rc<RefCell<State<T>>>,
    unclaimed: fn(T),
}

impl<T> Receiver<T> {
    fn poll(&self, context: &mut Context<'_>) -> Poll<T> {
        let mut state = self.state.borrow_mut();
        if let Some(value) = state.done.take() {
            return Poll::Ready(value);
        }
        state.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let done = {
            let mut state = self.state.borrow_mut();
            state.is_abandoned = true;
            state.done.take()
        };
        if let Some(value) = done {
            (self.unclaimed)(value);
        }
    }
}
