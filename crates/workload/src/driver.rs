//! What a benchmark driver needs to know of a workload, and what it gets back.
//!
//! ```text
//! create_tables                      once
//! load_part(0..n)                    on any threads, each with a lane
//! verify_part(0..n)                  likewise, when all parts are loaded
//! terminal(thread)                   one per thread
//! run_one, run_one, ...              until the driver's deadline; add each result to a RunTotals
//! check(totals)                      when all threads have stopped
//! check_rows(before, now, totals)    behind it, with the rows of each table by whoever has counted them
//! ```
//! Latency, verbs, bytes and round trips are measured around [`Workload::run_one`], from the lane's
//! environment: its clock and its counters.

use crate::error::WorkloadError;
use fabric::Env;
use layout::NodeId;
use serde::{Deserialize, Serialize};
use std::future::Future;
use txn::{Abort, Database, Lane};

/// A benchmark: its tables, its transactions, and how to tell that the database kept its promises.
pub trait Workload<E: Env>: Sized {
    /// What one thread keeps between transactions: random state, buffers, its share of the work.
    type Terminal;

    /// The workload's name, as a user types it.
    fn name(&self) -> &'static str;

    /// The names of the transaction types; [`Finished::kind`] is a position in this list.
    fn transaction_types(&self) -> &'static [&'static str];

    /// The names of the tables.
    fn table_names(&self) -> &'static [&'static str];

    /// Rows that loading will insert, over all parts: none, unless the workload begins with some.
    fn load_rows(&self) -> u64 {
        0
    }

    /// The most parts that loading can usefully be split into.
    fn load_parts(&self) -> u64 {
        1
    }

    /// Bytes of remote memory to plan for the loaded database, rows and indexes together, with room
    /// for the growth of a short run.
    fn memory_bytes(&self) -> u64;

    /// The same of all of so many memory servers, of which each may have copies of tables.
    fn memory_bytes_on(&self, _servers: u16) -> u64 {
        self.memory_bytes()
    }

    /// What of the asked-for design of its tables a database with so many memory servers does otherwise, a sentence each.
    fn notes(&self, _servers: usize) -> Vec<String> {
        Vec::new()
    }

    /// Creates tables and indexes.
    fn create_tables(
        &self,
        database: &Database<E>,
    ) -> impl Future<Output = Result<(), WorkloadError>>;

    /// Loads part `part` of `parts`; parts may be loaded side by side. Calls `progress` with the number
    /// of rows inserted since the last call. Where transactions make all rows there is nothing to load.
    fn load_part(
        &self,
        _database: &Database<E>,
        _lane: &mut Lane<E>,
        _part: u64,
        _parts: u64,
        _progress: &dyn Fn(u64),
    ) -> impl Future<Output = Result<(), WorkloadError>> {
        std::future::ready(Ok(()))
    }

    /// Refuses what was loaded if rows of this part ask for others, in whatever part, that are not there. Most workloads have
    /// nothing to look at.
    fn verify_part(
        &self,
        _database: &Database<E>,
        _lane: &mut Lane<E>,
        _part: u64,
        _parts: u64,
    ) -> impl Future<Output = Result<(), WorkloadError>> {
        std::future::ready(Ok(()))
    }

    /// The terminal of thread `thread` of `threads`. Equal seeds give equal inputs.
    fn terminal(
        &self,
        database: &Database<E>,
        thread: u32,
        threads: u32,
        seed: u64,
    ) -> Result<Self::Terminal, WorkloadError>;

    /// Whether it is known of some transactions, before they begin, on which of so many memory servers they have their rows.
    fn has_homes(&self, _servers: usize) -> bool {
        false
    }

    /// Has this process make those transactions whose rows are on its `own` of so many memory servers, but for a share of
    /// `remote`, whose rows are on others. Before any terminal.
    fn settle(&mut self, _own: &[u16], _servers: usize, _remote: f64) {}

    /// Whether transactions are carried out by the owners of their rows where there are so many memory servers, and compute
    /// servers that own what is there.
    fn is_shipping(&self, _servers: usize) -> bool {
        false
    }

    /// Has them carried out there. `owners` has for each memory server the compute server that owns what is there; none
    /// where that is whoever calls, or nobody.
    fn ship_to(&mut self, _owners: Vec<Option<NodeId>>) {}

    /// Whether transactions go on by themselves when an owner is lost, of whose last transaction nobody knows the outcome.
    fn outlives_owners(&self) -> bool {
        false
    }

    /// This process runs part `part` of a run that `parts` processes share: what it numbers is not numbered by
    /// the others. Before any terminal.
    fn take_part(&self, _part: u32, _parts: u32) {}

    /// What the transactions of this process leave to the checks beside the database, for the process that
    /// checks on behalf of all.
    fn testimony(&self) -> String {
        String::new()
    }

    /// Takes what the transactions of another process have left to the checks.
    fn hear(&self, _testimony: &str) -> Result<(), WorkloadError> {
        Ok(())
    }

    /// Draws a transaction and runs it to its end, trying again after aborts. An error ends the run.
    fn run_one(
        &self,
        lane: &mut Lane<E>,
        terminal: &mut Self::Terminal,
    ) -> impl Future<Output = Result<Finished, WorkloadError>>;

    /// Whether the checks count what was done since the load, so that they can only be run by whoever has seen all of
    /// it.
    fn counts_from_load(&self) -> bool {
        true
    }

    /// Whether a transaction with a skipped part has found nothing at all, by which it has failed although it committed.
    fn skips_whole(&self) -> bool {
        false
    }

    /// Whether there are checks that hold right after the load only.
    fn has_load_checks(&self) -> bool {
        false
    }

    /// Checks the whole database while nobody writes. `totals` holds every transaction run since the
    /// load; `after_load` says that there was none, and adds the checks that hold only then.
    fn check(
        &self,
        database: &Database<E>,
        lane: &mut Lane<E>,
        totals: &RunTotals,
        after_load: bool,
    ) -> impl Future<Output = Result<Vec<CheckResult>, WorkloadError>>;

    /// Checks how many rows tables have, in the order of [`Workload::table_names`]: `before` the transactions of `totals`, and
    /// `now`. Whoever counts them anyway does so on behalf of the workload; most workloads count in [`Workload::check`].
    fn check_rows(&self, _before: &[u64], _now: &[u64], _totals: &RunTotals) -> Vec<CheckResult> {
        Vec::new()
    }
}

/// How a transaction ended for its user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TransactionResult {
    /// Its effects are in the database.
    Committed,
    /// It ended without effect because the workload's rules say so: a used-up item, an empty account.
    RolledBack,
    /// The last of all attempts was aborted.
    Aborted(Abort),
    /// Nobody knows; the lane takes no further transaction until that is decided.
    Unknown,
}

/// Where a transaction has its rows, for whoever makes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Whereabouts {
    /// Nothing tells before it begins.
    #[default]
    Anywhere,
    /// On the memory servers that whoever makes it owns.
    Home,
    /// On others.
    Elsewhere,
}

/// What [`Workload::run_one`] did.
#[derive(Clone, Copy, Debug)]
pub struct Finished {
    /// Which transaction: a position in [`Workload::transaction_types`].
    pub kind: usize,
    /// How it ended.
    pub result: TransactionResult,
    /// Attempts beyond the first.
    pub retries: u32,
    /// Parts of the transaction that found nothing to do, such as a district without an open order.
    pub skipped: u32,
    /// Aborted attempts by reason.
    pub aborts: AbortCounts,
    /// Where it had its rows.
    pub whereabouts: Whereabouts,
    /// Whether the owner of its rows has carried it out.
    pub is_shipped: bool,
}

/// Numbers of one transaction's aborts, by reason. In bytes, and aligned, since it is handed on with every transaction: as whole words
/// that nobody has to put together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(align(8))]
pub struct AbortCounts {
    counts: [u8; REASON_COUNT],
}

/// How many reasons there are to be counted.
pub const REASON_COUNT: usize = Abort::ALL.len();

impl AbortCounts {
    /// Counts one abort.
    #[inline]
    pub fn add(&mut self, reason: Abort) {
        self.counts[reason.index()] += 1;
    }

    /// How often this reason was counted.
    pub fn count(&self, reason: Abort) -> u32 {
        u32::from(self.counts[reason.index()])
    }

    /// The counts as they are sent, one byte for each of [`Abort::ALL`].
    pub fn bytes(&self) -> &[u8; REASON_COUNT] {
        &self.counts
    }

    /// Counts that were sent.
    pub const fn from_bytes(counts: [u8; REASON_COUNT]) -> Self {
        Self { counts }
    }

    /// Each reason that occurred, with its count.
    pub fn iter(&self) -> impl Iterator<Item = (Abort, u32)> + '_ {
        Abort::ALL
            .iter()
            .map(|&reason| (reason, self.count(reason)))
            .filter(|&(_, count)| count > 0)
    }
}

/// What became of many transactions of one type.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct KindTotals {
    /// Committed.
    pub committed: u64,
    /// Rolled back by the workload's rules.
    pub rolled_back: u64,
    /// Given up after the last attempt.
    pub aborted: u64,
    /// Without a known outcome.
    pub unknown: u64,
    /// Attempts beyond the first.
    pub retries: u64,
    /// Skipped parts of committed transactions.
    pub skipped: u64,
    /// Those of all that had their rows at home.
    pub home: u64,
    /// And those that had them elsewhere.
    pub elsewhere: u64,
    /// Those that owners of their rows have carried out.
    pub shipped: u64,
}

/// What became of all transactions, by type and abort reason.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct RunTotals {
    kinds: Vec<KindTotals>,
    /// By type, then by reason.
    aborts: Vec<[u64; REASON_COUNT]>,
}

impl RunTotals {
    /// No transactions yet, of `kind_count` types.
    pub fn new(kind_count: usize) -> Self {
        Self {
            kinds: vec![KindTotals::default(); kind_count],
            aborts: vec![[0; REASON_COUNT]; kind_count],
        }
    }

    /// Adds one finished transaction.
    #[inline]
    pub fn add(&mut self, finished: &Finished) {
        let kind = &mut self.kinds[finished.kind];
        match finished.whereabouts {
            Whereabouts::Anywhere => {}
            Whereabouts::Home => kind.home += 1,
            Whereabouts::Elsewhere => kind.elsewhere += 1,
        }
        kind.shipped += u64::from(finished.is_shipped);
        match finished.result {
            TransactionResult::Committed => {
                kind.committed += 1;
                kind.skipped += u64::from(finished.skipped);
            }
            TransactionResult::RolledBack => kind.rolled_back += 1,
            TransactionResult::Aborted(_) => kind.aborted += 1,
            TransactionResult::Unknown => kind.unknown += 1,
        }
        if finished.retries == 0 && finished.result == TransactionResult::Committed {
            return;
        }
        kind.retries += u64::from(finished.retries);
        let aborts = &mut self.aborts[finished.kind];
        for (total, &count) in aborts.iter_mut().zip(&finished.aborts.counts) {
            *total += u64::from(count);
        }
    }

    /// Adds the totals of another thread.
    pub fn merge(&mut self, other: &Self) {
        assert_eq!(self.kinds.len(), other.kinds.len(), "both count the same workload");
        for (mine, theirs) in self.kinds.iter_mut().zip(&other.kinds) {
            mine.committed += theirs.committed;
            mine.rolled_back += theirs.rolled_back;
            mine.aborted += theirs.aborted;
            mine.unknown += theirs.unknown;
            mine.retries += theirs.retries;
            mine.skipped += theirs.skipped;
            mine.home += theirs.home;
            mine.elsewhere += theirs.elsewhere;
            mine.shipped += theirs.shipped;
        }
        for (mine, theirs) in self.aborts.iter_mut().zip(&other.aborts) {
            for (count, further) in mine.iter_mut().zip(theirs) {
                *count += further;
            }
        }
    }

    /// The totals of one type; zeros for a type nobody counted.
    pub fn kind(&self, kind: usize) -> KindTotals {
        self.kinds.get(kind).copied().unwrap_or_default()
    }

    /// Committed transactions of all types.
    pub fn committed(&self) -> u64 {
        self.kinds.iter().map(|kind| kind.committed).sum()
    }

    /// Transactions of all types whose outcome is not known.
    pub fn unknown(&self) -> u64 {
        self.kinds.iter().map(|kind| kind.unknown).sum()
    }

    /// Each abort reason that occurred, with its count.
    pub fn aborts(&self) -> impl Iterator<Item = (Abort, u64)> + '_ {
        let sum = |reason: Abort| self.aborts.iter().map(|kind| kind[reason.index()]).sum();
        Abort::ALL
            .iter()
            .map(move |&reason| (reason, sum(reason)))
            .filter(|&(_, count): &(_, u64)| count > 0)
    }

    /// The abort reasons that occurred in transactions of one type, with their counts.
    pub fn aborts_of(&self, kind: usize) -> impl Iterator<Item = (Abort, u64)> + '_ {
        let count = move |reason: Abort| self.aborts.get(kind).map_or(0, |row| row[reason.index()]);
        Abort::ALL
            .iter()
            .map(move |&reason| (reason, count(reason)))
            .filter(|&(_, count)| count > 0)
    }
}

/// What a check is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum About {
    /// What is in the database: if it does not hold, data are wrong.
    Data,
    /// How often transactions succeed: if it does not hold, other things were asked than is expected, and data are right.
    Rates,
}

/// The verdict of one check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckResult {
    /// What was checked, in words.
    pub name: &'static str,
    /// What it is about.
    pub about: About,
    /// Whether it holds.
    pub ok: bool,
    /// How much was looked at, or the first thing found wrong.
    pub detail: String,
}

impl CheckResult {
    /// A check that holds.
    pub fn holds(name: &'static str, detail: String) -> Self {
        Self { name, about: About::Data, ok: true, detail }
    }

    /// A check that fails.
    pub fn fails(name: &'static str, detail: String) -> Self {
        Self { name, about: About::Data, ok: false, detail }
    }

    /// The same about how often something happens.
    pub fn of_rates(self) -> Self {
        Self { about: About::Rates, ..self }
    }

    /// The check of a look that refuses what is inconsistent, and else tells how much it saw. Other errors
    /// are none of the database's contents.
    pub(crate) fn of(
        name: &'static str,
        look: Result<String, WorkloadError>,
    ) -> Result<Self, WorkloadError> {
        match look {
            Ok(told) => Ok(Self::holds(name, told)),
            Err(WorkloadError::Inconsistent(what)) => Ok(Self::fails(name, what)),
            Err(error) => Err(error),
        }
    }
}
