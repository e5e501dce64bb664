//! Helpers that several tests need.

use fabric::FailurePoint;
use layout::{GlobalPtr, RegionId};
use sim::{Endpoint, SimConfig, World};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

/// Word `index` of region `region`, behind the region's header.
pub fn word(region: u16, index: u64) -> GlobalPtr {
    GlobalPtr::new(RegionId(region), 4096 + 8 * index)
}

/// A hostile world with two small memory servers.
pub fn hostile(seed: u64, scenario: &str) -> SimConfig {
    SimConfig::hostile(seed).named(scenario).with_servers(&[2048, 2048])
}

/// An endpoint on compute node `index`.
pub fn client(world: &World, index: u16) -> Endpoint {
    world.endpoint(world.compute_node(index))
}

/// Waits for `first`, but drops it if `second` is ready before.
pub async fn unless<T>(
    first: impl Future<Output = T>,
    second: impl Future<Output = ()>,
) -> Option<T> {
    let (mut first, mut second) = (pin!(first), pin!(second));
    poll_fn(|context| {
        if let Poll::Ready(value) = first.as_mut().poll(context) {
            return Poll::Ready(Some(value));
        }
        second.as_mut().poll(context).map(|()| None)
    })
    .await
}

/// Waits for both.
pub async fn both<T, U>(first: impl Future<Output = T>, second: impl Future<Output = U>) -> (T, U) {
    let (mut first, mut second) = (pin!(first), pin!(second));
    let (mut one, mut two) = (None, None);
    poll_fn(|context| {
        if one.is_none()
            && let Poll::Ready(value) = first.as_mut().poll(context)
        {
            one = Some(value);
        }
        if two.is_none()
            && let Poll::Ready(value) = second.as_mut().poll(context)
        {
            two = Some(value);
        }
        match (one.take(), two.take()) {
            (Some(one), Some(two)) => Poll::Ready((one, two)),
            (left, right) => {
                (one, two) = (left, right);
                Poll::Pending
            }
        }
    })
    .await
}

/// The failure points of these tests.
#[derive(Clone, Copy)]
pub enum Step {
    First,
    Second,
}

impl FailurePoint for Step {
    fn name(self) -> &'static str {
        match self {
            Self::First => "test::First",
            Self::Second => "test::Second",
        }
    }
}
