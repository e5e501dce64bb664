//! Whether a server works, for health probes and for clients.

use super::lease_watch::LeaseTime;
use membership::RegistryError;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock};

/// A server's state, shared by many threads.
pub struct Health {
    /// Set when the server must stop.
    stop: &'static AtomicBool,
    /// Set once the server is a member.
    lease: OnceLock<LeaseTime>,
    /// Why the database is lost.
    loss: Mutex<Option<RegistryError>>,
}

impl Health {
    /// The state of a server that is starting and stops once `stop` is set.
    pub fn new(stop: &'static AtomicBool) -> Self {
        Self { stop, lease: OnceLock::new(), loss: Mutex::new(None) }
    }

    /// Records that the server is a member.
    ///
    /// # Panics
    /// If it was a member before: a server joins once.
    pub fn joined(&self, lease: LeaseTime) {
        assert!(self.lease.set(lease).is_ok(), "a server joins once");
    }

    /// Records what the newest cluster map says of the database.
    pub fn note_database(&self, state: Result<(), RegistryError>) {
        *self.loss.lock().expect("no holder panics") = state.err();
    }

    /// Why the database is lost; `None` if it is not.
    pub fn loss(&self) -> Option<RegistryError> {
        self.loss.lock().expect("no holder panics").clone()
    }

    /// Whether the server must stop.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }

    /// Whether the server must stop or has no database to work on.
    pub fn is_over(&self) -> bool {
        self.is_stopped() || self.loss().is_some()
    }

    /// Why the server does not work; `None` if it does.
    pub fn problem(&self) -> Option<String> {
        if self.is_stopped() {
            return Some("the server is stopping".to_owned());
        }
        if let Some(loss) = self.loss() {
            return Some(loss.to_string());
        }
        let Some(lease) = self.lease.get() else {
            return Some("the server is not yet a member of its cluster".to_owned());
        };
        let left = lease.little_left()?;
        Some(format!("the lease ends in {:.1} s unless the registry renews it", left.as_secs_f64()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_server_is_ill_before_it_joins_without_its_database_and_while_it_ends() {
        static STOP: AtomicBool = AtomicBool::new(false);
        let health = Health::new(&STOP);
        let says = |words: &str| {
            let problem = health.problem().unwrap_or_default();
            assert!(problem.contains(words), "no `{words}` in `{problem}`");
        };
        says("not yet a member");
        health.joined(LeaseTime::by(Duration::from_secs(3), || None));
        assert_eq!((health.problem(), health.is_over()), (None, false));
        health.note_database(Err(RegistryError::DatabaseLost { lost: "1".to_owned() }));
        says("the database is lost with memory server 1");
        assert!(health.is_over());
        health.note_database(Ok(()));
        assert_eq!(health.problem(), None);
        STOP.store(true, Relaxed);
        says("is stopping");
        assert!(health.is_over());
    }

    #[test]
    fn a_server_is_ill_with_less_than_a_third_of_its_lease_left() {
        static STOP: AtomicBool = AtomicBool::new(false);
        let problem = |left_ms| {
            let health = Health::new(&STOP);
            let left = Duration::from_millis(left_ms);
            health.joined(LeaseTime::by(Duration::from_secs(3), move || Some(left)));
            health.problem()
        };
        assert_eq!(problem(1001), None);
        let ill = problem(999).expect("two renewals have failed");
        assert!(ill.contains("the lease ends in") && ill.contains("1.0 s"), "{ill}");
    }
}
