//! The record of a life: its transactions and its promises, which a disk image must keep.

use crate::lists::End;
use crate::support::history::{Execution, State, state_at};
use crate::support::program::Program;
use durability::{Acknowledgements, Control, DurabilityError};
use fabric::run_now;
use layout::VersionWord;
use redo_log::{Config, DatabaseId, Incarnation, Log, OnDamage, Survey};
use sim::disk::SimulatedDisk;
use std::collections::{BTreeMap, BTreeSet};
use storage::Directory;
use txn::{Isolation, Outcome, Snapshot};

pub const DATABASE: DatabaseId = DatabaseId([7; 16]);
/// Small, so that the log rolls.
pub const SEGMENT_BYTES: u64 = 5 << 10;

/// The contents of a directory.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Contents {
    /// The rows of each table, by its number.
    pub rows: BTreeMap<u32, State>,
    /// All numbers of tables, of dropped ones too, are lower.
    pub next_table: u32,
}

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
    /// The snapshots of all groups that were acknowledged.
    pub groups: BTreeMap<u64, Vec<u64>>,
    pub was_closed: bool,
    /// Tables that must be there.
    pub tables: BTreeSet<u32>,
    /// Tables that must not be there.
    pub dropped: BTreeSet<u32>,
    /// All numbers of tables before this life were lower.
    next_table: u32,
    /// Broken promises that were noticed while the database ran.
    pub wrong: Vec<String>,
    /// Copies of the directory.
    pub copies: Vec<SimulatedDisk>,
    pub checkpoints: u64,
    pub changes: u64,
    /// How often commits were refused because the disk was full.
    pub refusals: u64,
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
        let Contents { rows, next_table } = contents;
        let histories = rows.iter().map(|(&table, state)| (table, vec![loaded(state)]));
        let (histories, tables) = (histories.collect(), rows.keys().copied().collect());
        Self { histories, tables, next_table: *next_table, ..Self::default() }
    }

    /// Notes a table that was created.
    pub fn create(&mut self, table: u32) {
        self.changes += 1;
        self.tables.insert(table);
        if table < self.next_table {
            self.wrong.push(format!("the number {table} was given to a table before"));
        }
    }

    /// Notes that a table is about to be dropped: from now on it may be there or not.
    pub fn begin_drop(&mut self, table: u32) {
        self.tables.remove(&table);
    }

    /// Notes that a table was dropped.
    pub fn end_drop(&mut self, table: u32) {
        self.changes += 1;
        self.dropped.insert(table);
    }

    /// The history of a table.
    pub fn history(&mut self, table: u32) -> &mut Vec<Execution> {
        self.histories.entry(table).or_insert_with(|| vec![loaded(&State::new())])
    }

    /// Notes the last group that the flusher has acknowledged.
    pub fn note_groups(&mut self, acknowledgements: &Acknowledgements) {
        let last = acknowledgements.last_group();
        self.durable = last.map(|(group, counters)| (group.number, counters));
        self.groups.extend(self.durable.clone());
    }

    /// Forgets the promises that the log does not keep up to this group of this life, since the
    /// loss of the others was accepted.
    pub fn forgive(&mut self, group: u64, counters: &[u64], contents: &Contents) {
        let kept = snapshot(counters);
        self.durable = Some((group, counters.to_vec()));
        self.groups.retain(|&number, _| number <= group);
        self.commits.retain(|&version| kept.covers(version));
        self.reads.retain(|read| kept.includes(read));
        self.was_closed = false;
        self.tables = contents.rows.keys().copied().collect();
        self.dropped.clear();
    }

    /// The contents of the directory after a crash, as the log's last group decides them. An error
    /// if something is missing that was acknowledged, or if the group is none of this life.
    pub fn settle(&mut self, disk: &SimulatedDisk, seed: u64) -> Result<Contents, String> {
        let told = |error| format!("a crash leaves: {error}");
        let Some((control, survey)) = survey(disk, seed).map_err(told)? else {
            let is_new = self.histories.is_empty() && self.durable.is_none();
            let lost = || Err("no control file".to_owned());
            return if is_new { Ok(Contents::default()) } else { lost() };
        };
        if self.was_closed && !survey.is_closed() {
            return Err("the log of a closed database is open".to_owned());
        }
        let last = self.last_group(&survey);
        self.check_promises(last)?;
        self.groups.extend(last.map(|(group, counters)| (group, counters.to_vec())));
        self.check_tables(&control)?;
        self.contents(&control, last.map(|(_, counters)| counters))
    }

    /// The contents of a copy that was made during this life, and the end of its log.
    pub fn contents_of_copy(
        &self,
        copy: &SimulatedDisk,
        seed: u64,
    ) -> Result<(Contents, End), String> {
        let told = |error| format!("a copy has: {error}");
        let (control, survey) = survey(copy, seed).map_err(told)?.ok_or("a copy is empty")?;
        let counters = self.last_group(&survey).map(|(_, counters)| counters);
        let last = survey.last_group().map(|group| &group.record);
        let end = last.map(|record| (record.incarnation, snapshot(&record.counters)));
        Ok((self.contents(&control, counters)?, end))
    }

    /// Number and snapshot of the last group of this life.
    fn last_group<'a>(&self, survey: &'a Survey) -> Option<(u64, &'a [u64])> {
        let group = survey.last_group()?;
        let is_of_this_life = Some(group.record.incarnation) == self.incarnation;
        is_of_this_life.then_some((group.number, &group.record.counters[..]))
    }

    /// The rows that the last group of this life covers; without one, those that it began with.
    pub fn contents(
        &self,
        control: &Control,
        counters: Option<&[u64]>,
    ) -> Result<Contents, String> {
        let snapshot = counters.map(snapshot);
        let state = |table: u32| match (self.histories.get(&table), &snapshot) {
            (None, _) => Ok(State::new()),
            (Some(history), Some(snapshot)) => state_at(history, snapshot),
            (Some(history), None) => {
                Ok(history[0].writes.iter().filter_map(|(&id, &cell)| Some((id, cell?))).collect())
            }
        };
        let rows = control.tables.iter().map(|table| Ok((table.number, state(table.number)?)));
        let rows = rows.collect::<Result<_, String>>()?;
        Ok(Contents { rows, next_table: control.next_table })
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
        let has = |number: &&u32| control.table(**number).is_some();
        if let Some(lost) = self.tables.iter().find(|number| !has(number)) {
            return Err(format!("table {lost} was created and is lost"));
        }
        match self.dropped.iter().find(has) {
            Some(back) => Err(format!("table {back} was dropped and is there")),
            None => Ok(()),
        }
    }
}

/// Reads control file and log of a disk, without changing it; `None` if there is no control file.
pub fn survey(
    disk: &SimulatedDisk,
    seed: u64,
) -> Result<Option<(Control, Survey)>, DurabilityError> {
    let fork = disk.fork(seed);
    let config = Config { segment_bytes: SEGMENT_BYTES, ..Config::new(DATABASE) };
    run_now(async {
        let directory = Directory::open(fork.access()).await?;
        let Some(control) = Control::read(&directory).await? else { return Ok(None) };
        let start = control.replay_from();
        let opened = Log::open(directory, config, start, OnDamage::Refuse).await?;
        Ok(Some((control, opened.survey)))
    })
}

pub fn snapshot(counters: &[u64]) -> Snapshot {
    let mut snapshot = Snapshot::default();
    snapshot.set(counters, 0);
    snapshot
}
