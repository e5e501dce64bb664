//! The right to be a member, which ends unless it is renewed.

use crate::clock::{self, Moment};
use crate::error::RegistryError;
use crate::member::Member;
use crate::registry::Registry;
use crate::store::{Hold, Renewal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// Renewals in the time of a lease: two may fail.
const RENEWALS_PER_LEASE: u32 = 3;
/// Pause after a renewal that failed.
const RETRY_PAUSE: Duration = Duration::from_millis(200);

/// Membership of one server. A thread of its own renews it.
///
/// [`Lease::is_lost`] turns true before any other member can learn that this one is gone, even if the
/// registry cannot be reached at all: a server that has lost its lease stops. [`Lease::leave`] is the orderly
/// end. A lease that is only dropped ends as if the process had died.
#[must_use = "a server whose lease is dropped is a member no more"]
pub struct Lease {
    registry: Registry,
    kept: Arc<Kept>,
    keeper: Option<JoinHandle<()>>,
}

struct Kept {
    member: Member,
    hold: Hold,
    /// When the lease ends by this process's clock; none if only the end of the process ends it.
    until: Mutex<Option<Moment>>,
    is_lost: AtomicBool,
    is_stopped: Mutex<bool>,
    stopped: Condvar,
}

/// How long a lease lasts. Clones are the same clock.
#[derive(Clone)]
pub struct LeaseClock(Arc<Kept>);

impl LeaseClock {
    /// Time until the server has to stop unless the lease is renewed, nothing of it if it is lost; none if only the
    /// end of the process ends the lease.
    pub fn left(&self) -> Option<Duration> {
        if self.0.is_lost() {
            return Some(Duration::ZERO);
        }
        let until = *self.0.until.lock().expect("no holder panics");
        until.map(Moment::left)
    }
}

impl Lease {
    /// Starts to renew what was granted until then.
    pub(crate) fn keep(
        registry: Registry,
        member: Member,
        hold: Hold,
        until: Option<Moment>,
    ) -> Result<Self, RegistryError> {
        let kept = Arc::new(Kept {
            member,
            hold,
            until: Mutex::new(until),
            is_lost: AtomicBool::new(false),
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

    /// The server as it joined, with its number.
    pub fn member(&self) -> &Member {
        &self.kept.member
    }

    /// Whether the server is a member no more. Once true it stays so.
    pub fn is_lost(&self) -> bool {
        self.kept.is_lost()
    }

    /// Tells how long the lease lasts, to whoever outlives it.
    pub fn clock(&self) -> LeaseClock {
        LeaseClock(self.kept.clone())
    }

    /// Ends the membership: the next map is without this server, and tells that it has left. Nothing of it may be
    /// under way any more: nobody fences who has left.
    pub fn leave(mut self) -> Result<(), RegistryError> {
        self.stop();
        let left = self.registry.remove(&self.kept.member);
        self.registry.release(&self.kept.hold);
        left
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

impl Kept {
    fn is_lost(&self) -> bool {
        let until = *self.until.lock().expect("no holder panics");
        if until.is_some_and(Moment::is_past) {
            self.is_lost.store(true, Ordering::SeqCst);
        }
        self.is_lost.load(Ordering::SeqCst)
    }

    fn renew_until_lost(&self, registry: &Registry) {
        let between = registry.lease_time() / RENEWALS_PER_LEASE;
        let mut pause = between;
        while !self.is_stopped_after(pause) && !self.is_lost() {
            pause = match registry.renew(&self.hold, &self.member) {
                Ok(Renewal::Until(until)) => {
                    // A lease that ended meanwhile stays lost: others may act on it.
                    if !self.is_lost() {
                        *self.until.lock().expect("no holder panics") = until;
                    }
                    between
                }
                Ok(Renewal::Gone) => {
                    self.is_lost.store(true, Ordering::SeqCst);
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
