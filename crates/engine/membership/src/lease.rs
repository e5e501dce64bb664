//! The right to be a member, which ends unless it is renewed.
//!
//! Decision: docs/decisions/0067-any-member-removes-expired-members.md

use crate::clock::{self, Moment};
use crate::error::RegistryError;
use crate::eviction::Eviction;
use crate::member::Member;
use crate::registry::Registry;
use crate::root::DatabaseRoot;
use crate::store::{Hold, Renewal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

/// Renewals per lease time: two may fail.
const RENEWALS_PER_LEASE: u32 = 3;
/// Pause after a failed renewal.
const RETRY_PAUSE: Duration = Duration::from_millis(200);

/// Membership of one server, renewed by a thread of its own.
///
/// [`Lease::is_lost`] becomes true before the lease of the registry ends, even if the registry is
/// unreachable: a server that has lost its lease must stop. A member that others have evicted
/// learns of it from them ([`crate::Detector`]) or at the next renewal, and memory servers have
/// fenced it before anything of it is undone. [`Lease::leave`] is the orderly end. Dropping a lease
/// is like the death of the process.
#[must_use = "a server whose lease is dropped is no longer a member"]
pub struct Lease {
    registry: Registry,
    kept: Arc<LeaseState>,
    keeper: Option<JoinHandle<()>>,
}

pub(crate) struct LeaseState {
    pub(crate) member: Member,
    hold: Hold,
    /// When the lease ends on this process's clock; `None` if it ends only with the process.
    until: Mutex<Option<Moment>>,
    is_lost: AtomicBool,
    /// Why others have evicted the member, if they have.
    eviction: OnceLock<Eviction>,
    is_stopped: Mutex<bool>,
    stopped: Condvar,
}

/// The remaining time of a lease. Clones share the clock.
#[derive(Clone)]
pub struct LeaseClock(Arc<LeaseState>);

impl LeaseClock {
    /// Returns the time until the server must stop unless the lease is renewed; zero if the lease
    /// is lost, `None` if it ends only with the process.
    pub fn left(&self) -> Option<Duration> {
        if self.0.is_lost() {
            return Some(Duration::ZERO);
        }
        let until = *self.0.until.lock().expect("no holder panics");
        until.map(Moment::left)
    }

    /// Why others have evicted this process, if they have and it has learned of it.
    pub fn eviction(&self) -> Option<&Eviction> {
        self.0.eviction.get()
    }
}

impl Lease {
    /// Starts renewing a lease that was granted until `until`.
    pub(crate) fn keep(
        registry: Registry,
        member: Member,
        hold: Hold,
        until: Option<Moment>,
    ) -> Result<Self, RegistryError> {
        let kept = Arc::new(LeaseState {
            member,
            hold,
            until: Mutex::new(until),
            is_lost: AtomicBool::new(false),
            eviction: OnceLock::new(),
            is_stopped: Mutex::new(false),
            stopped: Condvar::new(),
        });
        let mut lease = Self { registry, kept, keeper: None };
        let (registry, kept) = (lease.registry.clone(), lease.kept.clone());
        let keeper = clock::spawn("lease", move || kept.renew_until_lost(&registry));
        lease.keeper = Some(keeper.map_err(|error| RegistryError::Directory {
            path: lease.registry.place().to_owned(),
            why: format!("no thread can be started for the lease ({error})"),
        })?);
        Ok(lease)
    }

    /// Returns the server as it joined, with its number.
    pub fn member(&self) -> &Member {
        &self.kept.member
    }

    /// Whether the lease is lost. Once true it stays true.
    pub fn is_lost(&self) -> bool {
        self.kept.is_lost()
    }

    /// Returns a clock that may outlive the lease.
    pub fn clock(&self) -> LeaseClock {
        LeaseClock(self.kept.clone())
    }

    pub(crate) fn state(&self) -> Arc<LeaseState> {
        self.kept.clone()
    }

    /// Ends the membership: the next map is without this server, and lists it as having left. No
    /// operation of the server may still be running: servers that have left are not fenced.
    pub fn leave(mut self) -> Result<(), RegistryError> {
        self.stop();
        let left = self.registry.remove(&self.kept.member);
        self.registry.release(&self.kept.hold);
        left.map(drop)
    }

    /// Ends the membership as [`Self::leave`] does, also if the lease is lost already. Returns the
    /// root and the epoch without this server, if there is a database.
    ///
    /// # Errors
    /// The registry is unreachable.
    pub fn depart(mut self) -> Result<Option<(DatabaseRoot, u64)>, RegistryError> {
        self.stop();
        let left = self.registry.remove(&self.kept.member);
        self.registry.release(&self.kept.hold);
        left.map(|record| record.root.map(|root| (root, record.epoch)))
    }

    fn stop(&mut self) {
        *self.kept.is_stopped.lock().expect("no holder panics") = true;
        self.kept.stopped.notify_all();
        if let Some(keeper) = self.keeper.take() {
            keeper.join().expect("the keeper does not panic");
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.stop();
    }
}

impl LeaseState {
    fn is_lost(&self) -> bool {
        let until = *self.until.lock().expect("no holder panics");
        if until.is_some_and(Moment::is_past) {
            self.is_lost.store(true, Ordering::SeqCst);
        }
        self.is_lost.load(Ordering::SeqCst)
    }

    /// Asks the registry whether this is still a member; if not, the lease is lost.
    pub(crate) fn check(&self, registry: &Registry) {
        let Ok(map) = registry.map() else { return };
        if map.member(self.member.identity).is_none() {
            self.lose(map.eviction(self.member.identity));
        }
    }

    fn lose(&self, eviction: Option<&Eviction>) {
        if let Some(eviction) = eviction {
            let _ = self.eviction.set(eviction.clone());
        }
        // Last: a thread that sees the loss can read its reason.
        self.is_lost.store(true, Ordering::SeqCst);
    }

    fn renew_until_lost(&self, registry: &Registry) {
        let between = registry.lease_time() / RENEWALS_PER_LEASE;
        let mut pause = between;
        while !self.is_stopped_after(pause) && !self.is_lost() {
            pause = match registry.renew(&self.hold, &self.member) {
                Ok(Renewal::Until(until)) => {
                    // A lost lease stays lost, even if a renewal succeeds: others may act on it.
                    if !self.is_lost() {
                        *self.until.lock().expect("no holder panics") = until;
                    }
                    between
                }
                Ok(Renewal::Gone) => {
                    let map = registry.map().ok();
                    self.lose(map.as_ref().and_then(|map| map.eviction(self.member.identity)));
                    between
                }
                Err(_) => RETRY_PAUSE,
            };
        }
    }

    fn is_stopped_after(&self, pause: Duration) -> bool {
        let is_stopped = self.is_stopped.lock().expect("no holder panics");
        let waited = self.stopped.wait_timeout_while(is_stopped, pause, |is_stopped| !*is_stopped);
        *waited.expect("no holder panics").0
    }
}
