//! Calls that a memory server carries out at the moment, and the connections that their answers go to.

use crate::service::CallId;
use std::collections::BTreeMap;

/// Calls under way, each with the serial number of its caller's end of a connection.
#[derive(Default)]
pub(super) struct Running(BTreeMap<CallId, u32>);

impl Running {
    /// A call has come from `serial`. Whether it is to be carried out: a repeat waits for the first, and has the answer
    /// go where it came from, since the caller has given up the connection before.
    pub(super) fn begin(&mut self, id: CallId, serial: u32) -> bool {
        self.0.insert(id, serial).is_none()
    }

    /// A call is answered. Returns where to.
    ///
    /// # Panics
    /// If it was not under way.
    pub(super) fn end(&mut self, id: CallId) -> u32 {
        self.0.remove(&id).expect("only calls that have begun are answered")
    }

    /// Calls under way whose answers go to `serial`.
    pub(super) fn count_of(&self, serial: u32) -> usize {
        self.0.values().filter(|&&other| other == serial).count()
    }

    /// Whether every call under way is of somebody who is connected.
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
