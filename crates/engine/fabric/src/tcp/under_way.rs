//! Calls whose handlers run as tasks: what has been accepted from a caller may still take effect
//! when the caller is fenced, as long as its handler waits for another server.
//!
//! Decision: docs/decisions/0313-a-fence-waits-for-a-round-of-the-polling-thread.md

use crate::service::CallId;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

/// The running calls of a port. Clones are the same ones, for other threads.
#[derive(Clone, Default, Debug)]
pub struct CallsUnderWay(Arc<Mutex<BTreeMap<CallId, u64>>>);

/// Some running calls.
#[derive(Debug)]
pub struct Begun(Vec<CallId>);

impl CallsUnderWay {
    /// A caller's call begins; `false` if it is under way already.
    pub(super) fn begin(&self, id: CallId, caller: u64) -> bool {
        let mut calls = self.lock();
        let is_new = !calls.contains_key(&id);
        calls.entry(id).or_insert(caller);
        is_new
    }

    pub(super) fn end(&self, id: CallId) {
        self.lock().remove(&id);
    }

    /// The running calls of callers that `is_fenced` selects.
    pub fn of(&self, is_fenced: impl Fn(u64) -> bool) -> Begun {
        let calls = self.lock();
        Begun(calls.iter().filter(|(_, caller)| is_fenced(**caller)).map(|(&id, _)| id).collect())
    }

    /// Whether all of these have ended.
    pub fn have_ended(&self, begun: &mut Begun) -> bool {
        let calls = self.lock();
        begun.0.retain(|id| calls.contains_key(id));
        begun.0.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<CallId, u64>> {
        self.0.lock().expect("no holder panics")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_fenced_callers_are_awaited_and_no_others() {
        let calls = CallsUnderWay::default();
        let [first, second, third] = [1, 2, 3].map(|session| CallId { session, sequence: 1 });
        assert!(calls.begin(first, 70) && calls.begin(second, 71));
        assert!(!calls.begin(first, 70), "it is under way");
        let mut begun = calls.of(|caller| caller == 70);
        assert!(calls.begin(third, 70));
        assert!(!calls.have_ended(&mut begun));
        calls.end(first);
        assert!(calls.have_ended(&mut begun), "the third one began later");
    }
}
