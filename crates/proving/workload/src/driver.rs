//! The interface between a benchmark driver and a workload.
//!
//! ```text
//! create_tables                      once
//! load_part(0..n)                    on any threads, each with a lane
//! verify_part(0..n)                  likewise, when all parts are loaded
//! terminal(thread)                   one per thread
//! run_one, run_one, ...              until the driver's deadline; add each result to a RunTotals
//! check(totals)                      when all threads have stopped
//! check_rows(before, now, totals)    then, with the row count of each table before the run and now
//! ```
//! The driver measures latency, verbs, bytes and round trips around [`Workload::run_one`], with the
//! clock and the counters of the lane's environment.

use crate::error::WorkloadError;
use fabric::Env;
use layout::NodeId;
use serde::{Deserialize, Serialize};
use std::future::Future;
use txn::{Abort, Database, Lane};

/// A benchmark: its tables, its transactions, and its checks of the database's promises.
pub trait Workload<E: Env>: Sized {
    /// The state of one thread between transactions: random generator, buffers, its share of the
    /// work.
    type Terminal;

    /// The workload's name on the command line.
    fn name(&self) -> &'static str;

    /// The names of the transaction types; [`Finished::kind`] is a position in this list.
    fn transaction_types(&self) -> &'static [&'static str];

    /// The names of the tables.
    fn table_names(&self) -> &'static [&'static str];

    /// Number of rows that the load inserts, over all parts: 0 if transactions insert all rows.
    fn load_rows(&self) -> u64 {
        0
    }

    /// The largest useful number of parts of the load.
    fn load_parts(&self) -> u64 {
        1
    }

    /// Bytes of remote memory to plan for the loaded database, rows and indexes together, with room
    /// for the growth of a short run.
    fn memory_bytes(&self) -> u64;

    /// The same in total for `servers` memory servers; each of them may have copies of tables.
    fn memory_bytes_on(&self, _servers: u16) -> u64 {
        self.memory_bytes()
    }

    /// Differences between the requested design of the tables and the one on this many memory
    /// servers, one sentence each.
    fn notes(&self, _servers: usize) -> Vec<String> {
        Vec::new()
    }

    fn create_tables(
        &self,
        database: &Database<E>,
    ) -> impl Future<Output = Result<(), WorkloadError>>;

    /// Loads part `part` of `parts`; parts may be loaded concurrently. Calls `progress` with the
    /// number of rows inserted since the last call. Does nothing if transactions insert all rows.
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

    /// Reports an error if rows of this part refer to rows, of any part, that do not exist. Most
    /// workloads have no references to verify.
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

    /// Whether the memory servers of a transaction's rows are known before it begins, for some
    /// transactions, given the number of memory servers.
    fn has_homes(&self, _servers: usize) -> bool {
        false
    }

    /// Makes this process run transactions whose rows are on the memory servers `own`, except for a
    /// share of `remote` whose rows are on others. Call before any terminal.
    fn settle(&mut self, _own: &[u16], _servers: usize, _remote: f64) {}

    /// Whether the owners of the rows execute transactions, with this many memory servers and with
    /// compute servers that own them.
    fn is_shipping(&self, _servers: usize) -> bool {
        false
    }

    /// Ships transactions to the owners of their rows. `owners` has for each memory server the
    /// compute server that owns it; `None` if that is the caller, or if there is none.
    fn ship_to(&mut self, _owners: Vec<Option<NodeId>>) {}

    /// Whether the workload continues after it loses an owner, whose last transaction then has an
    /// unknown outcome.
    fn outlives_owners(&self) -> bool {
        false
    }

    /// This process runs part `part` of a run that `parts` processes share: it uses numbers that
    /// the others do not use. Call before any terminal.
    fn take_part(&self, _part: u32, _parts: u32) {}

    /// The data about this process's transactions that the checks need beside the database, for the
    /// process that checks on behalf of all.
    fn testimony(&self) -> String {
        String::new()
    }

    /// Takes the data of another process's [`Workload::testimony`].
    fn hear(&self, _testimony: &str) -> Result<(), WorkloadError> {
        Ok(())
    }

    /// Draws a transaction and runs it to its end, with retries after aborts. An error ends the
    /// run.
    fn run_one(
        &self,
        lane: &mut Lane<E>,
        terminal: &mut Self::Terminal,
    ) -> impl Future<Output = Result<Finished, WorkloadError>>;

    /// Whether the checks need the totals of all transactions since the load, so that only a
    /// process with these totals can run them.
    fn counts_from_load(&self) -> bool {
        true
    }

    /// Whether a transaction with a skipped part counts as failed, because it has found nothing
    /// although it committed.
    fn skips_whole(&self) -> bool {
        false
    }

    /// Whether some checks hold only right after the load.
    fn has_load_checks(&self) -> bool {
        false
    }

    /// Checks the whole database while no transaction writes. `totals` has every transaction since
    /// the load; `after_load` says that there was none, and adds the checks that hold only then.
    fn check(
        &self,
        database: &Database<E>,
        lane: &mut Lane<E>,
        totals: &RunTotals,
        after_load: bool,
    ) -> impl Future<Output = Result<Vec<CheckResult>, WorkloadError>>;

    /// Checks the row counts of the tables, in the order of [`Workload::table_names`]: `before` the
    /// transactions of `totals`, and `now`. For drivers that count rows anyway; most workloads
    /// count in [`Workload::check`].
    fn check_rows(&self, _before: &[u64], _now: &[u64], _totals: &RunTotals) -> Vec<CheckResult> {
        Vec::new()
    }
}

/// The result of a transaction for its user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TransactionResult {
    /// Its effects are in the database.
    Committed,
    /// It ended without effect by the workload's rules: an item that is used up, an empty account.
    RolledBack,
    /// The last attempt was aborted.
    Aborted(Abort),
    /// The outcome is unknown; the lane takes no further transaction until it is decided.
    Unknown,
}

/// The location of a transaction's rows, relative to the process that runs it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Whereabouts {
    /// Unknown before it begins.
    #[default]
    Anywhere,
    /// On the memory servers that the process owns.
    Home,
    /// On other memory servers.
    Elsewhere,
}

/// The result of [`Workload::run_one`].
#[derive(Clone, Copy, Debug)]
pub struct Finished {
    /// The transaction type: a position in [`Workload::transaction_types`].
    pub kind: usize,
    pub result: TransactionResult,
    /// Number of attempts after the first.
    pub retries: u32,
    /// Number of parts that found nothing to do, such as a district without an open order.
    pub skipped: u32,
    /// Aborted attempts by reason.
    pub aborts: AbortCounts,
    /// The location of its rows.
    pub whereabouts: Whereabouts,
    /// Whether the owner of its rows has executed it.
    pub is_shipped: bool,
}

/// Numbers of one transaction's aborts, by reason: in bytes, and aligned, because every transaction
/// returns them, and so they are copied as whole words.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(align(8))]
pub struct AbortCounts {
    counts: [u8; REASON_COUNT],
}

pub const REASON_COUNT: usize = Abort::ALL.len();

impl AbortCounts {
    #[inline]
    pub fn add(&mut self, reason: Abort) {
        self.counts[reason.index()] += 1;
    }

    /// How often this reason was counted.
    pub fn count(&self, reason: Abort) -> u32 {
        u32::from(self.counts[reason.index()])
    }

    /// The counts as one byte for each of [`Abort::ALL`].
    pub fn bytes(&self) -> &[u8; REASON_COUNT] {
        &self.counts
    }

    /// The counts from [`Self::bytes`].
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

/// Totals of the transactions of one type.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct KindTotals {
    pub committed: u64,
    /// Rolled back by the workload's rules.
    pub rolled_back: u64,
    /// Given up after the last attempt.
    pub aborted: u64,
    /// With unknown outcome.
    pub unknown: u64,
    /// Number of attempts after the first.
    pub retries: u64,
    /// Skipped parts of committed transactions.
    pub skipped: u64,
    /// Number of them whose rows were at home.
    pub home: u64,
    /// Number of them whose rows were elsewhere.
    pub elsewhere: u64,
    /// Number of them that the owners of their rows have executed.
    pub shipped: u64,
}

/// Totals of all transactions, by type and abort reason.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct RunTotals {
    kinds: Vec<KindTotals>,
    /// By type, then by reason.
    aborts: Vec<[u64; REASON_COUNT]>,
}

impl RunTotals {
    /// Totals without transactions, of `kind_count` types.
    pub fn new(kind_count: usize) -> Self {
        Self {
            kinds: vec![KindTotals::default(); kind_count],
            aborts: vec![[0; REASON_COUNT]; kind_count],
        }
    }

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

    /// The totals of one type; zeros for a type without counts.
    pub fn kind(&self, kind: usize) -> KindTotals {
        self.kinds.get(kind).copied().unwrap_or_default()
    }

    /// Committed transactions of all types.
    pub fn committed(&self) -> u64 {
        self.kinds.iter().map(|kind| kind.committed).sum()
    }

    /// Transactions of all types with unknown outcome.
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

/// The subject of a check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum About {
    /// The content of the database: if it fails, data are wrong.
    Data,
    /// The success rates of transactions: if it fails, the inputs deviate from the expectation, but
    /// data are right.
    Rates,
}

/// The result of one check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckResult {
    /// The checked property, in words.
    pub name: &'static str,
    pub about: About,
    /// Whether it holds.
    pub ok: bool,
    /// The amount of data checked, or the first defect.
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

    /// The same check with [`About::Rates`].
    pub fn of_rates(self) -> Self {
        Self { about: About::Rates, ..self }
    }

    /// The check for a read that returns [`WorkloadError::Inconsistent`] on a defect, and a
    /// description otherwise. Other errors are not about the database's content.
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
