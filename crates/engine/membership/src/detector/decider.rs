//! Swaps the membership record on a thread of its own: the registry may take seconds, and the
//! detector's heartbeats must not wait for it.

use super::inbox::{Inbox, Note};
use super::machine::Evidence;
use super::view::View;
use crate::clock::Moment;
use crate::error::RegistryError;
use crate::eviction::Eviction;
use crate::follower::Waker;
use crate::lease::LeaseState;
use crate::registry::Registry;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex};

pub(super) enum Order {
    /// Evict this member; the observer has decided that at the given time.
    Evict(Eviction, Moment),
    /// Somebody says that this process is no member any more.
    CheckSelf,
}

/// The ends that a decision reaches.
pub(super) struct Decider {
    pub registry: Registry,
    pub own: Arc<LeaseState>,
    pub inbox: Arc<Inbox>,
    pub view: Arc<View>,
    pub wakers: Arc<Mutex<Vec<Waker>>>,
}

impl Decider {
    /// Carries out orders until their sender is gone.
    pub fn run(&self, orders: &Receiver<Order>) {
        while let Ok(order) = orders.recv() {
            match order {
                Order::Evict(eviction, decided) => self.evict(&eviction, decided),
                Order::CheckSelf => self.own.check(&self.registry),
            }
        }
    }

    fn evict(&self, eviction: &Eviction, decided: Moment) {
        let (member, evidence) = (&eviction.member, eviction.evidence);
        let silent_ms = eviction.silent_ms;
        match self.registry.evict(eviction, self.own.member.identity) {
            Ok(is_ours) => {
                let swap_ns = Moment::now().nanoseconds() - decided.nanoseconds();
                let silent_ns = match evidence {
                    Evidence::Silence => silent_ms * 1_000_000,
                    Evidence::ProcessEnded | Evidence::PortRefused | Evidence::Undrained => 0,
                };
                if is_ours {
                    self.view.evictions.fetch_add(1, Relaxed);
                    self.view.last_eviction_ns.store((silent_ns + swap_ns).max(1), Relaxed);
                    tracing::warn!(member, ?evidence, silent_ms, "member evicted");
                }
                self.wakers.lock().expect("no holder panics").iter().for_each(Waker::wake);
            }
            Err(error) => {
                if matches!(error, RegistryError::EvictorGone { .. }) {
                    self.own.check(&self.registry);
                }
                tracing::warn!(member, ?evidence, "member not evicted yet: {error}");
                self.inbox.put(Note::Undecided(eviction.identity));
            }
        }
    }
}
