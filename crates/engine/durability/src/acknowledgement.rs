//! Acknowledgement: who waits for which group of the redo log.
//!
//! A transaction publishes first and waits after it, so that a hot row does not wait for the disk.
//! It may be reported once the snapshot of a durable group covers it; one that has only read, once
//! such a snapshot is at or after its own.
//!
//! Sessions wait for a *number of a group*, not for a snapshot: the flusher numbers its groups
//! before it takes their snapshots, so the group after the last number covers everything that was
//! published by now, and often the group under way does already.
//!
//! Decision: docs/decisions/0302-publish-before-the-sync-and-acknowledge-after-it.md

use layout::VersionWord;
use redo_log::Group;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use txn::Snapshot;

/// The number of the group that acknowledges a transaction. 0: it is durable already.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
#[must_use = "a transaction may be reported when its ticket is durable"]
pub struct Ticket(u64);

impl Ticket {
    /// The ticket of what need not be waited for.
    pub const DURABLE: Self = Self(0);

    /// Whether it was durable when it was drawn.
    pub const fn is_durable(self) -> bool {
        self.0 == 0
    }
}

/// The reason why nothing can be acknowledged now.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// No more room; commits succeed again when there is some.
    #[error("{0}; commits are refused until there is room")]
    Full(String),
    /// A write or sync has failed. Nothing is acknowledged any more.
    #[error("{0}; no commit is acknowledged any more, so open the database again")]
    Ended(String),
    /// The database was closed.
    #[error("the database is closed")]
    Closed,
}

impl Refusal {
    /// Whether nothing is acknowledged any more.
    pub const fn is_final(&self) -> bool {
        !matches!(self, Self::Full(_))
    }
}

#[derive(Default)]
struct State {
    /// The number of the last group that was begun. Its snapshot is taken after that.
    begun: u64,
    /// The snapshot of the group under way, with the group's number.
    taken: Option<(u64, Vec<u64>)>,
    /// The last durable group.
    durable: u64,
    /// Its snapshot.
    counters: Vec<u64>,
    /// Its place in the log.
    group: Option<Group>,
    /// Sessions that wait for a group.
    waiting: Vec<(u64, Waker)>,
    refusal: Option<Refusal>,
    /// Somebody waits for a group that is not begun.
    is_wanted: bool,
    /// The flusher shall end.
    is_stopping: bool,
    /// Only tests remove guards.
    planted: Planted,
}

/// Guards that are removed.
#[derive(Clone, Copy, Default)]
pub(crate) struct Planted {
    pub any_group_under_way: bool,
    pub readers_not_held: bool,
}

impl State {
    fn is_final(&self) -> bool {
        self.refusal.as_ref().is_some_and(Refusal::is_final)
    }

    /// The first group whose snapshot passes `covers`, at the latest the next one.
    fn ticket(&mut self, covers: impl Fn(&[u64]) -> bool) -> Ticket {
        if covers(&self.counters) {
            return Ticket::DURABLE;
        }
        match &self.taken {
            Some((group, counters)) if self.planted.any_group_under_way || covers(counters) => {
                Ticket(*group)
            }
            _ => {
                self.is_wanted = true;
                Ticket(self.begun + 1)
            }
        }
    }
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// The flusher's state has changed.
    work: Condvar,
}

/// The acknowledgements of one start of a database. Clones share them.
#[derive(Clone, Default)]
pub struct Acknowledgements(Arc<Shared>);

/// The next task of a flusher.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Work {
    /// Somebody waits for a group.
    Group,
    /// Nobody has requested anything in this time.
    Idle,
    /// Commit a last group and end.
    Stop,
}

impl Acknowledgements {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().expect("no holder panics")
    }

    /// Removes guards.
    pub(crate) fn plant(&self, planted: Planted) {
        self.lock().planted = planted;
    }

    /// The ticket of a commit that was published. Its group is wanted from now on; who waits for it
    /// wakes the flusher's thread.
    pub fn of_commit(&self, version: VersionWord) -> Ticket {
        let (slot, counter) = (usize::from(version.slot().0), version.counter());
        self.ticket(|counters| counters.get(slot).is_some_and(|&durable| counter <= durable))
    }

    /// The ticket of what a transaction with this snapshot has read.
    pub fn of_snapshot(&self, snapshot: &Snapshot) -> Ticket {
        if self.lock().planted.readers_not_held {
            return Ticket::DURABLE;
        }
        let read = snapshot.counters();
        self.ticket(|counters| {
            let durable = counters.iter().copied().chain(std::iter::repeat(0));
            read.iter().zip(durable).all(|(&read, durable)| read <= durable)
        })
    }

    /// The ticket of the next group.
    pub fn of_next_group(&self) -> Ticket {
        self.ticket(|_| false)
    }

    /// The last durable group and its snapshot.
    pub fn last_group(&self) -> Option<(Group, Vec<u64>)> {
        let state = self.lock();
        Some((state.group?, state.counters.clone()))
    }

    fn ticket(&self, covers: impl Fn(&[u64]) -> bool) -> Ticket {
        self.lock().ticket(covers)
    }

    /// Waits until the group is durable. It never is after a refusal that is final.
    pub fn durable(&self, ticket: Ticket) -> Durable {
        Durable { acknowledgements: self.clone(), ticket }
    }

    /// Whether the group is durable by now.
    pub fn is_durable(&self, ticket: Ticket) -> bool {
        self.lock().durable >= ticket.0
    }

    /// The reason why a commit should not be tried now.
    pub fn refusal(&self) -> Option<Refusal> {
        self.lock().refusal.clone()
    }

    /// Whether commits are refused because there is no room.
    pub fn is_full(&self) -> bool {
        matches!(self.lock().refusal, Some(Refusal::Full(_)))
    }

    /// Refuses commits although there is still room for those under way, or admits them again.
    pub(crate) fn set_room(&self, full: Option<Refusal>) {
        let mut state = self.lock();
        if state.is_final() {
            return;
        }
        if full.is_some() && state.refusal.is_none() {
            // The flusher's thread looks for room from now on, although no commit wakes it.
            state.is_wanted = true;
            self.0.work.notify_one();
        }
        state.refusal = full;
    }

    /// Whether the last durable group covers this version.
    pub fn covers(&self, version: VersionWord) -> bool {
        let counter = self.lock().counters.get(usize::from(version.slot().0)).copied();
        counter.is_some_and(|counter| version.counter() <= counter)
    }

    /// Ends the flusher after a last group.
    pub fn stop(&self) {
        self.lock().is_stopping = true;
        self.0.work.notify_one();
    }

    /// The flusher's thread waits here for work, at most for this time.
    pub fn wait_for_work(&self, limit: Duration) -> Work {
        let is_idle = |state: &mut State| !state.is_wanted && !state.is_stopping;
        let waited = self.0.work.wait_timeout_while(self.lock(), limit, is_idle);
        let (state, _) = waited.expect("no holder panics");
        match *state {
            State { is_stopping: true, .. } => Work::Stop,
            State { is_wanted: true, .. } => Work::Group,
            _ => Work::Idle,
        }
    }

    /// Whether somebody waits for a group.
    pub fn is_wanted(&self) -> bool {
        self.lock().is_wanted
    }

    /// Number of sessions that wait.
    pub fn waiting(&self) -> usize {
        self.lock().waiting.len()
    }

    /// Wakes all waiting tasks if no group has become durable since this call returned `last`, so
    /// that they look at their clocks; returns the last durable group.
    pub fn wake_if_stalled(&self, last: Option<u64>) -> u64 {
        let (durable, stalled) = {
            let mut state = self.lock();
            let is_stalled = last == Some(state.durable);
            let stalled = if is_stalled { std::mem::take(&mut state.waiting) } else { Vec::new() };
            (state.durable, stalled)
        };
        wake(stalled);
        durable
    }

    /// Begins the next group. Its snapshot must be taken after this call.
    pub(crate) fn begin(&self) {
        let mut state = self.lock();
        state.begun += 1;
        state.taken = None;
        state.is_wanted = false;
    }

    /// Tells the snapshot of the group under way.
    pub(crate) fn taken(&self, counters: &[u64]) {
        let mut state = self.lock();
        state.taken = Some((state.begun, counters.to_vec()));
    }

    /// The group under way is durable.
    pub(crate) fn completed(&self, written: Option<Group>) {
        let ready = {
            let mut state = self.lock();
            let Some((group, counters)) = state.taken.take() else { return };
            (state.durable, state.counters, state.refusal) = (group, counters, None);
            state.group = written.or(state.group);
            let all = std::mem::take(&mut state.waiting);
            let (ready, rest) = all.into_iter().partition(|(waits_for, _)| *waits_for <= group);
            state.waiting = rest;
            ready
        };
        wake(ready);
    }

    /// The group under way could not be written. Nobody is woken unless that is final.
    pub(crate) fn refuse(&self, refusal: Refusal) {
        let ready = {
            let mut state = self.lock();
            // The next group covers what this one was to cover.
            state.taken = None;
            state.is_wanted = !refusal.is_final();
            let is_final = refusal.is_final();
            state.refusal = Some(refusal);
            if is_final { std::mem::take(&mut state.waiting) } else { Vec::new() }
        };
        wake(ready);
    }
}

fn wake(ready: Vec<(u64, Waker)>) {
    ready.into_iter().for_each(|(_, waker)| waker.wake());
}

/// A future that ends when a group is durable.
pub struct Durable {
    acknowledgements: Acknowledgements,
    ticket: Ticket,
}

impl Future for Durable {
    type Output = Result<(), Refusal>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.acknowledgements.lock();
        if state.durable >= self.ticket.0 {
            return Poll::Ready(Ok(()));
        }
        if state.is_final() {
            return Poll::Ready(Err(state.refusal.clone().expect("it is final")));
        }
        // One entry per waiting task, however often it is polled.
        match state.waiting.iter_mut().find(|(_, waker)| waker.will_wake(context.waker())) {
            Some((group, _)) => *group = (*group).min(self.ticket.0),
            None => {
                state.waiting.push((self.ticket.0, context.waker().clone()));
                if state.is_wanted {
                    self.acknowledgements.0.work.notify_one();
                }
            }
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fabric::run_now;
    use layout::SlotId;

    fn version(counter: u64) -> VersionWord {
        VersionWord::new(SlotId(1), counter)
    }

    fn group(acknowledgements: &Acknowledgements, counters: &[u64]) {
        acknowledgements.begin();
        acknowledgements.taken(counters);
        acknowledgements.completed(None);
    }

    #[test]
    fn a_group_acknowledges_what_its_snapshot_covers() {
        let all = Acknowledgements::default();
        group(&all, &[0, 5]);
        assert!(all.of_commit(version(5)).is_durable() && !all.is_wanted());
        let later = all.of_commit(version(6));
        assert!(!all.is_durable(later) && all.is_wanted());
        group(&all, &[0, 6]);
        assert!(all.is_durable(later));
        assert_eq!(run_now(all.durable(later)), Ok(()));
    }

    #[test]
    fn a_commit_joins_the_group_under_way_only_if_its_snapshot_covers_it() {
        let all = Acknowledgements::default();
        all.begin();
        // The snapshot may have been read before this commit was published.
        let early = all.of_commit(version(5));
        all.taken(&[0, 5]);
        let covered = all.of_commit(version(5));
        let late = all.of_commit(version(6));
        all.completed(None);
        assert!(!all.is_durable(early), "the group may not have had it");
        assert!(all.is_durable(covered) && !all.is_durable(late));
        group(&all, &[0, 6]);
        assert!(all.is_durable(early) && all.is_durable(late));
    }

    #[test]
    fn readers_wait_for_what_they_have_read() {
        let all = Acknowledgements::default();
        group(&all, &[3, 5]);
        let mut snapshot = Snapshot::default();
        snapshot.set(&[3, 5], 1);
        assert!(all.of_snapshot(&snapshot).is_durable());
        snapshot.set(&[3, 5, 1], 2);
        let ticket = all.of_snapshot(&snapshot);
        assert!(!ticket.is_durable(), "a slot that the group did not know");
        group(&all, &[3, 5, 1]);
        assert!(all.is_durable(ticket));
    }

    #[test]
    fn a_full_disk_delays_and_a_failed_one_ends() {
        let all = Acknowledgements::default();
        let ticket = all.of_commit(version(1));
        all.begin();
        all.taken(&[0, 1]);
        all.refuse(Refusal::Full("full".to_owned()));
        assert!(all.is_wanted() && all.refusal().is_some_and(|refusal| !refusal.is_final()));
        all.begin();
        all.taken(&[0, 1]);
        all.completed(None);
        assert!(all.refusal().is_none(), "there is room again");
        assert!(!all.is_durable(Ticket(3)) && all.is_durable(ticket));
        let ticket = all.of_commit(version(2));
        all.begin();
        all.taken(&[0, 2]);
        all.refuse(Refusal::Ended("broken".to_owned()));
        assert!(run_now(all.durable(ticket)).is_err());
    }

    #[test]
    fn a_stalled_disk_wakes_the_tasks_that_wait_for_it() {
        let all = Acknowledgements::default();
        let wait = std::pin::pin!(all.durable(Ticket(2)));
        let mut context = Context::from_waker(Waker::noop());
        assert!(wait.poll(&mut context).is_pending());
        let last = all.wake_if_stalled(None);
        assert_eq!((last, all.waiting()), (0, 1), "nothing is known yet");
        group(&all, &[1]);
        assert_eq!((all.wake_if_stalled(Some(last)), all.waiting()), (1, 1), "it goes on");
        assert_eq!((all.wake_if_stalled(Some(1)), all.waiting()), (1, 0));
    }

    #[test]
    fn a_flusher_is_told_what_to_do() {
        let all = Acknowledgements::default();
        let no_time = Duration::from_millis(1);
        assert_eq!(all.wait_for_work(no_time), Work::Idle);
        let _ = all.of_commit(version(1));
        assert_eq!(all.wait_for_work(no_time), Work::Group);
        all.stop();
        assert_eq!(all.wait_for_work(no_time), Work::Stop);
    }
}
