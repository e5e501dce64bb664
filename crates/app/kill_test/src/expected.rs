//! The parent's knowledge of the database, from the child's reports and its own checks.

use crate::pipe::{Message, Task};
use crate::plan::Notes;
use crate::tables::{ACCOUNTS, BALANCE, MARKS, WORKERS};
use anyhow::{Result, ensure};
use std::collections::VecDeque;

/// A worker's numbers, which rise from `applied` to `reported`.
#[derive(Clone, Debug, Default)]
pub struct KnownWorker {
    /// The parent's own picture of the database is after this transaction.
    pub applied: u64,
    /// The database may not forget this transaction.
    pub certain: u64,
    /// The last transaction that was reported. One more may have committed.
    pub reported: u64,
    /// The round that committed `reported`, if that is known.
    pub round: Option<u64>,
    /// Its notes after `applied`.
    pub notes: Notes,
}

/// Whether a table or an index is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Presence {
    Absent,
    /// Created by the task with this number.
    Present(u64),
    /// The child may have been killed while it created it, or dropped it.
    Creating(u64),
    Dropping(u64),
}

/// The expectations.
pub struct Expected {
    pub seed: u64,
    pub round: u64,
    /// The last round whose workers began.
    pub last_running: u64,
    /// The first rows were committed.
    pub is_set_up: bool,
    pub workers: Vec<KnownWorker>,
    /// Balances and numbers of entries, after what was applied.
    pub accounts: Vec<(i64, u64)>,
    /// Which marks are there, after what was applied.
    pub marks: Vec<bool>,
    pub extra: Presence,
    /// The last creation of `extra` that was whole, and was dropped.
    pub dropped: u64,
    pub mark_index: Presence,
    pub twin_index: Presence,
    /// For counts of groups: the numbers that were reported before the count was read.
    counts: VecDeque<(u64, Vec<u64>)>,
    /// The numbers that were reported before the last count arrived.
    at_last_count: Vec<u64>,
}

impl Expected {
    /// Of an empty directory.
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            round: 0,
            last_running: 0,
            is_set_up: false,
            workers: vec![KnownWorker::default(); WORKERS as usize],
            accounts: vec![(BALANCE, 0); ACCOUNTS as usize],
            marks: vec![false; MARKS as usize],
            extra: Presence::Absent,
            dropped: 0,
            mark_index: Presence::Absent,
            twin_index: Presence::Absent,
            counts: VecDeque::new(),
            at_last_count: vec![0; WORKERS as usize],
        }
    }

    pub fn begin_round(&mut self, round: u64) {
        self.round = round;
        self.counts.clear();
        self.at_last_count.fill(0);
    }

    /// Takes note of a report, which may contradict earlier ones.
    pub fn note(&mut self, message: Message) -> Result<()> {
        match message {
            Message::Resumed { worker, number } => self.resumed(worker, number),
            Message::Running => {
                self.is_set_up = true;
                self.last_running = self.round;
                Ok(())
            }
            Message::Committed { worker, number, is_certain } => {
                self.committed(worker, number, is_certain)
            }
            Message::Seen { worker, number } => self.seen(worker, number),
            Message::Groups { count } => {
                self.counted(count);
                Ok(())
            }
            Message::Begin { task, generation } => {
                self.begun(task, generation);
                Ok(())
            }
            Message::End { task, generation } => {
                self.ended(task, generation);
                Ok(())
            }
            Message::Opening | Message::Loading | Message::Opened | Message::Quiet => Ok(()),
        }
    }

    /// A database that was opened has these numbers on the disk.
    fn resumed(&mut self, worker: u32, number: u64) -> Result<()> {
        let last_running = self.last_running;
        let known = &mut self.workers[worker as usize];
        check_number(worker, known, number)?;
        known.round = match number.checked_sub(known.reported) {
            Some(0) => known.round,
            Some(_) => Some(last_running),
            None => None,
        };
        (known.certain, known.reported) = (number, number);
        Ok(())
    }

    fn committed(&mut self, worker: u32, number: u64, is_certain: bool) -> Result<()> {
        let known = &mut self.workers[worker as usize];
        ensure!(
            number == known.reported + 1,
            "worker {worker} reports {number} after {}",
            known.reported
        );
        (known.reported, known.round) = (number, Some(self.round));
        if is_certain {
            known.certain = number;
        }
        Ok(())
    }

    fn seen(&mut self, worker: u32, number: u64) -> Result<()> {
        let known = &mut self.workers[worker as usize];
        ensure!(
            number <= known.reported + 1,
            "a transaction has read {number} of worker {worker}, which has committed {}",
            known.reported
        );
        known.certain = known.certain.max(number);
        Ok(())
    }

    /// A commit that was reported before the count `c` was read is durable with the group `c + 2`:
    /// the group after `c` may have begun before, the next one has not.
    fn counted(&mut self, count: u64) {
        while let Some((read, _)) = self.counts.front()
            && read + 2 <= count
        {
            let (_, numbers) = self.counts.pop_front().expect("it was just there");
            for (known, number) in self.workers.iter_mut().zip(numbers) {
                known.certain = known.certain.max(number);
            }
        }
        let numbers = self.workers.iter().map(|known| known.reported).collect();
        let before = std::mem::replace(&mut self.at_last_count, numbers);
        self.counts.push_back((count, before));
    }

    /// Everything that was reported must be there: the interval is over.
    pub fn interval_is_over(&mut self) {
        for known in &mut self.workers {
            known.certain = known.reported;
        }
    }

    fn presence(&mut self, task: Task) -> Option<&mut Presence> {
        match task {
            Task::Checkpoint => None,
            Task::CreateTable | Task::DropTable => Some(&mut self.extra),
            Task::CreateIndex | Task::DropIndex => Some(&mut self.mark_index),
            Task::CreateUnique | Task::DropUnique => Some(&mut self.twin_index),
        }
    }

    fn begun(&mut self, task: Task, generation: u64) {
        let Some(presence) = self.presence(task) else { return };
        *presence = match *presence {
            _ if task.creates() => Presence::Creating(generation),
            Presence::Present(created) => Presence::Dropping(created),
            uncertain => uncertain,
        };
    }

    fn ended(&mut self, task: Task, generation: u64) {
        if task == Task::DropTable
            && let Presence::Dropping(created) = self.extra
        {
            self.dropped = self.dropped.max(created);
        }
        let Some(presence) = self.presence(task) else { return };
        *presence = match task.creates() {
            true => Presence::Present(generation),
            false => Presence::Absent,
        };
    }
}

/// Whether a worker's number in the database fits what is known.
pub fn check_number(worker: u32, known: &KnownWorker, number: u64) -> Result<()> {
    ensure!(
        number >= known.certain,
        "LOST: worker {worker} is at transaction {number}, but {} was acknowledged",
        known.certain
    );
    ensure!(
        number <= known.reported + 1,
        "worker {worker} is at transaction {number}, but has begun none after {}",
        known.reported + 1
    );
    Ok(())
}

impl Presence {
    /// Whether an object that is there, or is not, fits.
    pub fn allows(self, is_there: bool) -> bool {
        match self {
            Self::Absent => !is_there,
            Self::Present(_) => is_there,
            Self::Creating(_) | Self::Dropping(_) => true,
        }
    }

    /// The presence after the object was seen.
    pub fn seen(self, is_there: bool) -> Self {
        match self {
            Self::Present(by) | Self::Creating(by) | Self::Dropping(by) if is_there => {
                Self::Present(by)
            }
            _ => Self::Absent,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn committed(number: u64, is_certain: bool) -> Message {
        Message::Committed { worker: 2, number, is_certain }
    }

    fn note(expected: &mut Expected, messages: &[Message]) {
        for &message in messages {
            expected.note(message).expect("it fits");
        }
    }

    #[test]
    fn a_relaxed_commit_is_certain_after_two_more_groups() {
        let mut expected = Expected::new(1);
        note(&mut expected, &[committed(1, true), committed(2, false)]);
        let certain = |expected: &Expected| expected.workers[2].certain;
        assert_eq!(certain(&expected), 1);
        note(&mut expected, &[Message::Groups { count: 4 }, Message::Groups { count: 5 }]);
        note(&mut expected, &[Message::Groups { count: 6 }]);
        assert_eq!(certain(&expected), 1, "the commit may have missed group 6");
        note(&mut expected, &[Message::Groups { count: 7 }]);
        assert_eq!(certain(&expected), 2);
    }

    #[test]
    fn a_lost_commit_and_one_from_nowhere_are_errors() {
        let mut expected = Expected::new(1);
        note(&mut expected, &[committed(1, true), committed(2, true)]);
        let resumed = |number| Message::Resumed { worker: 2, number };
        assert!(expected.note(resumed(1)).expect_err("2 is lost").to_string().contains("LOST"));
        assert!(expected.note(resumed(4)).is_err(), "3 was never acknowledged");
        note(&mut expected, &[resumed(3)]);
        assert!(expected.note(Message::Seen { worker: 2, number: 5 }).is_err());
        note(&mut expected, &[Message::Seen { worker: 2, number: 4 }]);
        assert!(expected.note(resumed(3)).is_err(), "somebody has read 4");
    }

    #[test]
    fn an_object_may_be_there_while_it_is_created_or_dropped() {
        let mut expected = Expected::new(1);
        let (task, generation) = (Task::CreateTable, 7);
        note(&mut expected, &[Message::Begin { task, generation }]);
        assert!(expected.extra.allows(true) && expected.extra.allows(false));
        note(&mut expected, &[Message::End { task, generation }]);
        assert!(!expected.extra.allows(false));
        let (task, generation) = (Task::DropTable, 8);
        note(&mut expected, &[Message::Begin { task, generation }]);
        assert_eq!(expected.extra, Presence::Dropping(7));
        note(&mut expected, &[Message::End { task, generation }]);
        assert!(!expected.extra.allows(true));
    }
}
