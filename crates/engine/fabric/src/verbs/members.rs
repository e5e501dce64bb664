//! The threads that share connections, and their completed operations.
//!
//! Decision: docs/decisions/0104-a-fence-destroys-queue-pairs-by-identity.md

use crate::remote::bell::Bell;
use crate::remote::{Outcome, Ticket};
use std::sync::Arc;

/// The owner of a posted operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Owner {
    /// Index of the thread among those that share the connections.
    pub(super) member: u32,
    /// The ticket of its engine.
    pub(super) ticket: Ticket,
}

/// The threads that share connections. A thread that polls the device handles completions for all
/// of them.
#[derive(Default)]
pub(super) struct Members(Vec<Option<Member>>);

struct Member {
    /// Completed operations that the thread has not taken.
    ended: Vec<(Ticket, Outcome)>,
    bell: Arc<Bell>,
}

impl Members {
    /// Adds a thread that sleeps on `bell`, and returns its index. An index is never reused:
    /// operations left by its thread would complete for the next one.
    pub(super) fn join(&mut self, bell: Arc<Bell>) -> u32 {
        self.0.push(Some(Member { ended: Vec::new(), bell }));
        (self.0.len() - 1) as u32
    }

    /// Removes a thread. Outcomes of its operations are dropped.
    pub(super) fn leave(&mut self, place: u32) {
        self.0[place as usize] = None;
    }

    pub(super) fn count(&self) -> usize {
        self.0.iter().flatten().count()
    }

    /// Whether a thread sleeps until an operation completes.
    pub(super) fn is_any_asleep(&self) -> bool {
        self.0.iter().flatten().any(|member| member.bell.is_asleep())
    }

    /// Stores an outcome for its owner, and wakes it if it sleeps.
    pub(super) fn end(&mut self, owner: Owner, outcome: Outcome) {
        if let Some(member) = &mut self.0[owner.member as usize] {
            member.ended.push((owner.ticket, outcome));
            member.bell.ring();
        }
    }

    /// Whether a thread has completed operations.
    pub(super) fn has_ended(&self, place: u32) -> bool {
        self.0[place as usize].as_ref().is_some_and(|member| !member.ended.is_empty())
    }

    /// Swaps a thread's completed operations with an empty list.
    pub(super) fn take(&mut self, place: u32, empty: &mut Vec<(Ticket, Outcome)>) {
        let member = self.0[place as usize].as_mut().expect("it has not left");
        std::mem::swap(&mut member.ended, empty);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::CallError;
    use layout::NodeId;

    #[test]
    fn what_a_thread_has_left_under_way_ends_for_nobody_else() {
        let mut members = Members::default();
        let bell = || Arc::new(Bell::new().expect("a descriptor"));
        let ticket = Ticket(3);
        let gone = members.join(bell());
        members.leave(gone);
        let next = members.join(bell());
        let outcome = Outcome::Call(Err(CallError::Unreachable(NodeId(0))));
        members.end(Owner { member: gone, ticket }, outcome);
        assert!(!members.has_ended(next) && members.count() == 1);
    }
}
