//! Who uses connections that several threads share, and what has ended for each.

use crate::remote::bell::Bell;
use crate::remote::{Outcome, Ticket};
use std::sync::Arc;

/// What was posted, and by whom.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Owner {
    /// Place of the thread among those that share the connections.
    pub(super) member: u32,
    /// What its engine calls it.
    pub(super) ticket: Ticket,
}

/// The threads that share connections. Whoever looks at the device learns what has ended for all of them.
#[derive(Default)]
pub(super) struct Members(Vec<Option<Member>>);

struct Member {
    /// What has ended and was not handed over.
    ended: Vec<(Ticket, Outcome)>,
    bell: Arc<Bell>,
}

impl Members {
    /// Adds a thread that sleeps by `bell`, and says its place.
    pub(super) fn join(&mut self, bell: Arc<Bell>) -> u32 {
        let member = Some(Member { ended: Vec::new(), bell });
        let place = self.0.iter().position(Option::is_none).unwrap_or(self.0.len());
        match self.0.get_mut(place) {
            Some(free) => *free = member,
            None => self.0.push(member),
        }
        place as u32
    }

    /// A thread is gone. What it has under way ends for nobody.
    pub(super) fn leave(&mut self, place: u32) {
        self.0[place as usize] = None;
    }

    pub(super) fn count(&self) -> usize {
        self.0.iter().flatten().count()
    }

    /// Whether somebody sleeps until something ends.
    pub(super) fn is_any_asleep(&self) -> bool {
        self.0.iter().flatten().any(|member| member.bell.is_asleep())
    }

    /// Keeps an outcome for its owner, and wakes that if it sleeps.
    pub(super) fn end(&mut self, owner: Owner, outcome: Outcome) {
        if let Some(member) = &mut self.0[owner.member as usize] {
            member.ended.push((owner.ticket, outcome));
            member.bell.ring();
        }
    }

    /// Whether something has ended for a thread.
    pub(super) fn has_ended(&self, place: u32) -> bool {
        self.0[place as usize].as_ref().is_some_and(|member| !member.ended.is_empty())
    }

    /// Exchanges what has ended for a thread for an empty list.
    pub(super) fn take(&mut self, place: u32, empty: &mut Vec<(Ticket, Outcome)>) {
        let member = self.0[place as usize].as_mut().expect("it has not left");
        std::mem::swap(&mut member.ended, empty);
    }
}
