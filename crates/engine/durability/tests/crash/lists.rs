//! Lists that sessions read and append to, in all lives of a directory: the history that the
//! judge decides on. It knows no versions and snapshots, only the answers of the clients.
//!
//! ```text
//! the client has                               outcome in the history
//! an acknowledged commit, or an acknowledged   committed
//! read of durable rows
//! a commit without acknowledgement             unknown
//! a commit that an accepted loss has reached   unknown
//! an abort                                     aborted
//! ```

use crate::machine::Machine;
use crate::support::cluster::Cluster;
use crate::support::mix::{Dice, Mix};
use crate::support::{GROUP, NOTE, SEED, VALUE, key, table, with_notes};
use fabric::{DynEnv, Env};
use history_judge::history::{Ended, Event, Step};
use history_judge::witness::{Witness, operations_in_words, transaction_in_words};
use history_judge::{
    History, HistoryBuilder, Level, Outcome as Known, TransactionId, Verdict, judge,
};
use layout::{LongValues, VersionWord};
use redo_log::Incarnation;
use std::collections::BTreeMap;
use txn::{
    Database, Isolation, Lane, Outcome, RowId, Snapshot, TableId, TableSpec, Transaction, TxnError,
};

/// The name of the table.
pub const TABLE: &str = "lists";
/// Lists in it.
const LISTS: i32 = 3;
/// Transactions of a session.
const TRANSACTIONS: usize = 5;
/// Tries of a transaction.
const TRIES_MAX: u32 = 4;

pub fn spec(mix: &Mix) -> TableSpec {
    with_notes(table(TABLE, mix.storage, Vec::new()), mix.notes_in_row)
}

/// A list that a transaction has read, and the value that it has appended.
#[derive(Clone, Debug)]
struct Access {
    list: i32,
    read: Vec<i64>,
    appended: Option<i64>,
}

/// One try of a transaction.
#[derive(Clone, Debug)]
pub struct Attempt {
    session: i64,
    began: u64,
    ended: u64,
    accesses: Vec<Access>,
    known: Known,
    /// The start of the database.
    incarnation: Incarnation,
    /// The rows that it could read. Empty for reads at a start, which find durable ones.
    snapshot: Snapshot,
    version: Option<VersionWord>,
}

/// The history of the lists.
#[derive(Clone, Debug, Default)]
pub struct Lists {
    clock: u64,
    last_value: i64,
    sessions: i64,
    attempts: Vec<Attempt>,
}

/// The end of a log: the last group's start of the database, and its snapshot.
pub type End = Option<(Incarnation, Snapshot)>;

impl Lists {
    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    fn session(&mut self) -> i64 {
        self.sessions += 1;
        self.sessions
    }

    /// Notes that a loss was accepted, so that the log ends there.
    pub fn lose(&mut self, end: &End) {
        for attempt in &mut self.attempts {
            let is_kept = end.as_ref().is_some_and(|(incarnation, snapshot)| {
                attempt.incarnation < *incarnation
                    || attempt.incarnation == *incarnation
                        && snapshot.includes(&attempt.snapshot)
                        && attempt.version.is_none_or(|version| snapshot.covers(version))
            });
            if !is_kept && attempt.known == Known::Committed {
                attempt.known = Known::Unknown;
            }
        }
    }

    fn history(&self) -> History {
        let mut builder = HistoryBuilder::new();
        let stamps = self.attempts.iter().flat_map(|attempt| {
            let end = (attempt.known != Known::Unknown).then_some(attempt.ended);
            [Some(attempt.began), end].into_iter().flatten()
        });
        let mut stamps: Vec<u64> = stamps.collect();
        stamps.sort_unstable();
        let events: BTreeMap<u64, Event> =
            stamps.into_iter().map(|stamp| (stamp, builder.event(None))).collect();
        let mut attempts: Vec<&Attempt> = self.attempts.iter().collect();
        attempts.sort_by_key(|attempt| attempt.ended);
        for attempt in attempts {
            builder.begin(attempt.known);
            for access in &attempt.accesses {
                let key = builder.integer_key(access.list.into());
                let steps = [Some(Step::ReadList(&access.read)), access.appended.map(Step::Append)];
                for step in steps.into_iter().flatten() {
                    builder.step(key, step, None).expect("all are lists");
                }
            }
            let (invoked, completed) = (events.get(&attempt.began), events.get(&attempt.ended));
            let completed = completed.copied().filter(|_| attempt.known != Known::Unknown);
            let process = Some(attempt.session);
            builder.end(Ended { process, invoked: invoked.copied(), completed, line: 0 });
        }
        builder.finish()
    }

    /// Transactions in the history.
    pub fn count(&self) -> u64 {
        self.attempts.len() as u64
    }

    /// Lets the judge decide whether the history has the isolation of its transactions, also
    /// between sessions and lives: everything that was acknowledged is seen from then on.
    pub fn check(&self, isolation: Isolation) -> Result<(), String> {
        if self.attempts.is_empty() {
            return Ok(()); // Nothing proves that the history has times.
        }
        let history = self.history();
        let report = judge(&history).map_err(|error| format!("no verdict: {error}"))?;
        let level = match isolation {
            Isolation::Serializable => Level::StrictSerializable,
            _ => Level::StrongSnapshot,
        };
        match report.verdict(level) {
            Verdict::Holds => Ok(()),
            verdict => {
                let found = report.against(level).map(|found| in_words(&history, &found.witness));
                let found: Vec<String> = found.collect();
                Err(format!("the lists are not {}: {verdict}: {found:?}", level.name()))
            }
        }
    }

    /// Reads all lists after a start, which has found durable rows only.
    pub fn read_all(
        &mut self,
        cluster: &Cluster,
        table: TableId,
        incarnation: Incarnation,
    ) -> Result<(), String> {
        let (session, began) = (self.session(), self.tick());
        let mut lane = cluster.lane();
        let chosen: Vec<(i32, bool)> = (0..LISTS).map(|list| (list, false)).collect();
        for _ in 0..1000 {
            let Tried { accesses, outcome, .. } =
                cluster.admin(attempt(&mut lane, table, Isolation::Snapshot, &chosen, 0));
            if outcome == Outcome::Committed {
                let (ended, snapshot, version) = (self.tick(), Snapshot::default(), None);
                let known = Known::Committed;
                let attempt = Attempt {
                    session,
                    began,
                    ended,
                    accesses,
                    known,
                    incarnation,
                    snapshot,
                    version,
                };
                self.attempts.push(attempt);
                return Ok(());
            }
        }
        Err("the lists of a restarted database cannot be read".to_owned())
    }
}

/// The transactions that prove an anomaly.
fn in_words(history: &History, witness: &Witness) -> String {
    let transaction = |&id: &TransactionId| {
        let operations = operations_in_words(history, id, &[]).join(", ");
        format!("{}: {operations}", transaction_in_words(history, id))
    };
    let transactions: Vec<String> = witness.transactions.iter().map(transaction).collect();
    format!("{}\n{}", witness.summary, transactions.join("\n"))
}

/// A transaction that was tried.
struct Tried {
    accesses: Vec<Access>,
    outcome: Outcome,
    snapshot: Option<Snapshot>,
    version: Option<VersionWord>,
}

/// Reads the chosen lists, and appends values from `value` on to some of them.
async fn attempt(
    lane: &mut Lane<DynEnv>,
    table: TableId,
    isolation: Isolation,
    chosen: &[(i32, bool)],
    value: i64,
) -> Tried {
    let mut accesses = Vec::new();
    let aborted = |outcome, snapshot| {
        let (accesses, version) = (Vec::new(), None);
        Tried { accesses, outcome, snapshot, version }
    };
    let mut txn = match lane.begin(isolation).await {
        Ok(txn) => txn,
        Err(abort) => return aborted(Outcome::Aborted(abort), None),
    };
    let snapshot = txn.snapshot().clone();
    for (number, &(list, appends)) in chosen.iter().enumerate() {
        let appended = appends.then_some(value + number as i64);
        match access(&mut txn, table, list, appended).await {
            Ok(read) => accesses.push(Access { list, read, appended }),
            Err(error) => {
                let abort = error.abort().unwrap_or_else(|| panic!("list {list}: {error}"));
                return aborted(Outcome::Aborted(abort), Some(snapshot));
            }
        }
    }
    let outcome = txn.commit().await;
    let has_appended = accesses.iter().any(|access| access.appended.is_some());
    let is_commit = outcome == Outcome::Committed && has_appended;
    let version = is_commit.then(|| lane.last_commit().expect("the lane is here"));
    Tried { accesses, outcome, snapshot: Some(snapshot), version }
}

async fn access<E: Env>(
    txn: &mut Transaction<'_, E>,
    table: TableId,
    list: i32,
    appended: Option<i64>,
) -> Result<Vec<i64>, TxnError> {
    let row = txn.read(table, &key(list)).await?;
    let read = match row {
        Some(row) => values(txn, row).await?,
        None => Vec::new(),
    };
    if let Some(value) = appended {
        let row = match row {
            Some(row) => row,
            None => txn.insert(table, &key(list)).await?,
        };
        let words: Vec<String> = read.iter().chain([&value]).map(i64::to_string).collect();
        let mut record = txn.update(row);
        record.set_int(VALUE, value);
        record.set_int(GROUP, 0);
        record.set_int(SEED, words.len() as i64);
        record.set_bytes(NOTE, words.join(" ").as_bytes());
    }
    Ok(read)
}

async fn values<E: Env>(txn: &mut Transaction<'_, E>, row: RowId) -> Result<Vec<i64>, TxnError> {
    let mut texts = LongValues::default();
    txn.read_long_many(&[(row, NOTE)], &mut texts).await?;
    let text = texts.get(0).map(String::from_utf8_lossy).unwrap_or_default();
    let value = |word: &str| word.parse().expect("a list has numbers");
    Ok(text.split_whitespace().map(value).collect())
}

impl Machine {
    /// Reads and appends to lists. A relaxed session does not wait for its appends.
    pub async fn append(
        &self,
        database: &Database<DynEnv>,
        table: TableId,
        isolation: Isolation,
        is_relaxed: bool,
        mut dice: Dice,
    ) {
        let mut lane = database.lane().await.expect("there are slots");
        let session = self.lists.borrow_mut().session();
        for _ in 0..TRANSACTIONS {
            let pause = lane.env().random() % 40_000;
            lane.env().sleep_ns(pause).await;
            let first = dice.below(LISTS as u64) as i32;
            let count = 1 + dice.below(LISTS as u64) as i32;
            let chosen = (0..count).map(|number| ((first + number) % LISTS, dice.below(2) == 0));
            let chosen: Vec<(i32, bool)> = chosen.collect();
            for _ in 0..TRIES_MAX {
                while self.acknowledgements.is_full() {
                    lane.env().sleep_ns(50_000).await;
                }
                let (began, value) = {
                    let lists = &mut *self.lists.borrow_mut();
                    lists.last_value += i64::from(LISTS);
                    (lists.tick(), lists.last_value)
                };
                let tried = attempt(&mut lane, table, isolation, &chosen, value).await;
                let outcome = tried.outcome;
                let is_over = self.record(session, began, tried, is_relaxed).await;
                match outcome {
                    _ if is_over => return,
                    Outcome::Aborted(abort) if abort.is_retryable() => {}
                    _ => break,
                }
            }
        }
    }

    /// Records a try, as soon as its outcome is known; returns whether the disk has failed.
    async fn record(&self, session: i64, began: u64, tried: Tried, is_relaxed: bool) -> bool {
        let Tried { accesses, outcome, snapshot, version } = tried;
        let Some(snapshot) = snapshot else { return false };
        let ticket = match version {
            Some(version) => self.acknowledgements.of_commit(version),
            None => self.acknowledgements.of_snapshot(&snapshot),
        };
        let is_waiting = outcome == Outcome::Committed && !(is_relaxed && version.is_some());
        let is_durable = is_waiting && self.acknowledgements.durable(ticket).await.is_ok();
        let known = match outcome {
            Outcome::Aborted(_) => Known::Aborted,
            _ if is_durable => Known::Committed,
            _ => Known::Unknown,
        };
        let lists = &mut *self.lists.borrow_mut();
        let (ended, incarnation) = (lists.tick(), self.incarnation);
        let attempt =
            Attempt { session, began, ended, accesses, known, incarnation, snapshot, version };
        lists.attempts.push(attempt);
        is_waiting && !is_durable
    }
}
