//! The record of a life: its transactions and its promises, which a disk image must keep.

use crate::support::history::{Execution, State, state_at};
use crate::support::program::Program;
use durability::{Acknowledgements, Control};
use fabric::run_now;
use layout::VersionWord;
use redo_log::{Config, DatabaseId, Incarnation, Log, OnDamage};
use sim::disk::SimulatedDisk;
use std::collections::BTreeMap;
use storage::Directory;
use txn::{Isolation, Outcome, Snapshot};

pub const DATABASE: DatabaseId = DatabaseId([7; 16]);
/// Small, so that the log rolls.
pub const SEGMENT_BYTES: u64 = 1 << 13;

/// The rows of each table, by its number.
pub type Contents = BTreeMap<u32, State>;

/// The record of one life.
#[derive(Default)]
pub struct Ledger {
    /// The start of the database, once it is known.
    pub incarnation: Option<Incarnation>,
    /// The executions on each table; the first one stands for the rows that the life began with.
    pub histories: BTreeMap<u32, Vec<Execution>>,
    /// Commits that were acknowledged.
    pub commits: Vec<VersionWord>,
    /// Snapshots whose reads were acknowledged.
    pub reads: Vec<Snapshot>,
    /// Number and snapshot of the last group that was acknowledged.
    pub durable: Option<(u64, Vec<u64>)>,
    pub was_closed: bool,
    /// Tables whose creation, and whose deletion, was acknowledged.
    pub created: BTreeMap<u32, String>,
    pub dropped: BTreeMap<u32, String>,
    /// A change of the catalog whose result is unknown: a name that may be there or not.
    pub in_doubt: Option<String>,
    pub checkpoints: u64,
}

/// The rows that a life began with, as the execution of a transaction that all others have seen.
fn loaded(state: &State) -> Execution {
    let program = Program::new(0, Isolation::Snapshot, Vec::new());
    Execution {
        writes: state.iter().map(|(&id, &cell)| (id, Some(cell))).collect(),
        outcome: Outcome::Committed,
        ..Execution::new(usize::MAX - 1, &program)
    }
}

impl Ledger {
    pub fn of(contents: &Contents) -> Self {
        let histories = contents.iter().map(|(&table, state)| (table, vec![loaded(state)]));
        Self { histories: histories.collect(), ..Self::default() }
    }

    /// The history of a table.
    pub fn history(&mut self, table: u32) -> &mut Vec<Execution> {
        self.histories.entry(table).or_insert_with(|| vec![loaded(&State::new())])
    }

    /// Notes the last group that the flusher has acknowledged.
    pub fn note_groups(&mut self, acknowledgements: &Acknowledgements) {
        let last = acknowledgements.last_group();
        self.durable = last.map(|(group, counters)| (group.number, counters));
    }

    /// The contents of the directory after a crash, as the log's last group decides them. An error
    /// if something is missing that was acknowledged, or if the group is none of this life.
    pub fn settle(&self, disk: &SimulatedDisk, seed: u64) -> Result<Contents, String> {
        let fork = disk.fork(seed);
        let told = |error: &dyn std::fmt::Display| format!("a crash leaves: {error}");
        let directory = run_now(Directory::open(fork.access())).map_err(|error| told(&error))?;
        let control = run_now(Control::read(&directory)).map_err(|error| told(&error))?;
        let Some(control) = control else {
            let is_new = self.histories.is_empty() && self.durable.is_none();
            return if is_new { Ok(Contents::new()) } else { Err("no control file".to_owned()) };
        };
        let config = Config { segment_bytes: SEGMENT_BYTES, ..Config::new(DATABASE) };
        let opened = Log::open(directory, config, control.replay_from(), OnDamage::Refuse);
        let opened = run_now(opened).map_err(|error| told(&error))?;
        let survey = opened.survey;
        if self.was_closed && !survey.is_closed() {
            return Err("the log of a closed database is open".to_owned());
        }
        let group = survey.last_group();
        let group = group.filter(|group| Some(group.record.incarnation) == self.incarnation);
        let last = group.map(|group| (group.number, &group.record.counters[..]));
        self.check_promises(last)?;
        self.check_tables(&control)?;
        let snapshot = last.map(|(_, counters)| snapshot(counters));
        let state = |table: u32| match (self.histories.get(&table), &snapshot) {
            (None, _) => Ok(State::new()),
            (Some(history), Some(snapshot)) => state_at(history, snapshot),
            (Some(history), None) => {
                Ok(history[0].writes.iter().filter_map(|(&id, &cell)| Some((id, cell?))).collect())
            }
        };
        control.tables.iter().map(|table| Ok((table.number, state(table.number)?))).collect()
    }

    /// Checks that the last group is the last acknowledged one or the one under way, and covers
    /// everything that was acknowledged.
    fn check_promises(&self, last: Option<(u64, &[u64])>) -> Result<(), String> {
        if let Some((number, counters)) = &self.durable {
            let Some((found, found_counters)) = last else {
                return Err(format!("group {number} was acknowledged and is gone"));
            };
            if !(*number..=number + 1).contains(&found) {
                return Err(format!("group {number} was the last one, found {found}"));
            }
            if !snapshot(found_counters).includes(&snapshot(counters)) {
                return Err(format!("group {found} covers less than the last acknowledged one"));
            }
        }
        let covering = last.map_or_else(Snapshot::default, |(_, counters)| snapshot(counters));
        if let Some(lost) = self.commits.iter().find(|&&version| !covering.covers(version)) {
            return Err(format!("commit {lost:?} was acknowledged and is lost"));
        }
        match self.reads.iter().find(|read| !covering.includes(read)) {
            Some(read) => Err(format!("{:?} was read and is lost", read.counters())),
            None => Ok(()),
        }
    }

    /// Checks the catalog: what was acknowledged, with or without the change under way.
    fn check_tables(&self, control: &Control) -> Result<(), String> {
        let has = |number: u32| control.table(number).is_some();
        let in_doubt = |name: &String| self.in_doubt.as_ref() == Some(name);
        let is_dropped = |number: &u32| self.dropped.contains_key(number);
        let lost = |(number, name): &(&u32, &String)| {
            !has(**number) && !is_dropped(number) && !in_doubt(name)
        };
        if let Some((_, name)) = self.created.iter().find(lost) {
            return Err(format!("table {name} was created and is lost"));
        }
        match self.dropped.iter().find(|(number, _)| has(**number)) {
            Some((_, name)) => Err(format!("table {name} was dropped and is there")),
            None => Ok(()),
        }
    }
}

fn snapshot(counters: &[u64]) -> Snapshot {
    let mut snapshot = Snapshot::default();
    snapshot.set(counters, 0);
    snapshot
}
