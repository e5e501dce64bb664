//! Running calls of a server, and the connections for their answers.

use crate::service::CallId;
use std::collections::BTreeMap;

/// Running calls, each with the serial number of its connection.
#[derive(Default)]
pub(super) struct Running(BTreeMap<CallId, u32>);

impl Running {
    /// Registers a call from `serial`. Returns whether to execute it: a repeat waits for the first,
    /// whose answer then goes to the repeat's connection, since the caller has given up on the
    /// earlier one.
    pub(super) fn begin(&mut self, id: CallId, serial: u32) -> bool {
        self.0.insert(id, serial).is_none()
    }

    /// Removes a call that is answered. Returns the connection for its answer.
    ///
    /// # Panics
    /// If it was not running.
    pub(super) fn end(&mut self, id: CallId) -> u32 {
        self.0.remove(&id).expect("only calls that have begun are answered")
    }

    /// Number of running calls of connection `serial`.
    pub(super) fn count_of(&self, serial: u32) -> usize {
        self.0.values().filter(|&&other| other == serial).count()
    }

    /// Whether every running call belongs to an open connection.
    pub(super) fn are_all_of(&self, is_connected: impl Fn(u32) -> bool) -> bool {
        self.0.values().all(|&serial| is_connected(serial))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeat_over_a_new_connection_is_answered_there_and_carried_out_once() {
        let mut running = Running::default();
        let id = CallId { session: 3, sequence: 7 };
        assert!(running.begin(id, 1));
        assert!(!running.begin(id, 2));
        assert!(running.begin(CallId { sequence: 8, ..id }, 1));
        assert_eq!([1, 2, 3].map(|serial| running.count_of(serial)), [1, 1, 0]);
        assert!(!running.are_all_of(|serial| serial == 2));
        assert_eq!(running.end(CallId { sequence: 8, ..id }), 1);
        assert!(running.are_all_of(|serial| serial == 2));
        assert_eq!(running.end(id), 2);
        assert!(running.begin(id, 2), "it is not under way any more");
    }
}
