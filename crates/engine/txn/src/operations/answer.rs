//! The result of an operation in any world.

use fabric::{Env, run_now};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The result of an operation: a value where verbs complete at once, a boxed future elsewhere.
#[must_use = "an operation elsewhere than in this process does nothing unless it is awaited"]
pub enum Answer<'a, T> {
    /// `None` after it was polled.
    Ready(Option<T>),
    /// The verbs are in flight.
    Pending(Pin<Box<dyn Future<Output = T> + 'a>>),
}

impl<'a, T> Answer<'a, T> {
    #[inline(always)]
    pub(crate) fn of<E: Env>(future: impl Future<Output = T> + 'a) -> Self {
        match E::IMMEDIATE {
            true => Self::Ready(Some(run_now(future))),
            false => Self::Pending(Box::pin(future)),
        }
    }
}

// `poll` moves the value out of `Ready` and never polls it in place.
impl<T> Unpin for Answer<'_, T> {}

impl<T> Future for Answer<'_, T> {
    type Output = T;

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        match self.get_mut() {
            Self::Ready(value) => {
                Poll::Ready(value.take().expect("a completed future is not polled"))
            }
            Self::Pending(future) => future.as_mut().poll(context),
        }
    }
}
