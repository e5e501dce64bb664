//! A worker of the child: its transactions, one after the other, each reported when acknowledged.

use crate::pipe::{Message, Sender};
use crate::plan::{self, NoteChange, NoteState, Notes, Step};
use crate::tables::{Account, CELLS, Cell, Counter, ENTRIES, Entry, Mark, Tables, WORKERS};
use anyhow::{Context, Result};
use namdb::asynchronous::block_on;
use namdb::host::Moment;
use namdb::{AsyncSession, Db, Isolation, Retry, Session, Transaction, TransactionError};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// One in this number of transactions does the opposite of the database's level: it does not wait
/// for the disk, or it does.
const OPPOSITE_EVERY: u64 = 8;
/// Retries before a worker looks whether its time is over.
const TRY_MS: u64 = 100;
/// How long conflicts may keep a transaction from its commit.
const CONFLICT_MS_MAX: u64 = 20_000;
/// After this number of transactions a worker looks at all counters.
const LOOK_EVERY: u64 = 4;

/// Parameters of all workers of a child.
#[derive(Clone, Copy)]
pub struct Setting {
    pub tables: Tables,
    pub seed: u64,
    pub round: u64,
    /// Whether transactions wait for the disk, if they are not the exception.
    pub is_synchronous: bool,
    /// A planted bug: transactions are reported before they are on the disk.
    pub acknowledges_early: bool,
}

/// Why a transaction of the test fails.
#[derive(Debug)]
enum Failure {
    Database(TransactionError),
    /// The database contradicts the worker's own knowledge.
    Contradiction(String),
    /// On purpose: the counters that were read, before all changes are rolled back.
    Looked(Vec<u64>),
}

impl From<TransactionError> for Failure {
    fn from(error: TransactionError) -> Self {
        Self::Database(error)
    }
}

impl Failure {
    /// Whether another transaction was in the way.
    fn is_conflict(&self) -> bool {
        match self {
            Self::Database(error) => error.abort().is_some_and(namdb::Abort::is_retryable),
            Self::Contradiction(_) | Self::Looked(_) => false,
        }
    }

    fn into_error(self) -> anyhow::Error {
        match self {
            Self::Database(error) => error.into(),
            Self::Contradiction(what) => anyhow::anyhow!(what),
            Self::Looked(_) => anyhow::anyhow!("a transaction ended for no reason"),
        }
    }
}

/// One transaction.
#[derive(Clone)]
struct Work {
    setting: Setting,
    worker: u32,
    number: u64,
    step: Step,
    notes: Vec<NoteChange>,
    is_certain: bool,
}

impl Work {
    fn isolation(&self) -> Isolation {
        if self.number.is_multiple_of(3) { Isolation::Serializable } else { Isolation::Snapshot }
    }

    fn apply(&self, txn: &mut Transaction<'_>) -> Result<(), Failure> {
        let Self { setting: Setting { tables, round, .. }, worker, number, .. } = *self;
        txn.set_synchronous(self.is_certain && !self.setting.acknowledges_early);
        let before = txn.update(tables.counters, &Counter { worker, number, round })?;
        let before = before.map(|counter| counter.number);
        if before != Some(number - 1) {
            let what = format!("worker {worker} finds {before:?} before its number {number}");
            return Err(Failure::Contradiction(what));
        }
        match self.step {
            Step::Transfer { from, to, amount } => {
                self.enter(txn, from, -amount)?;
                self.enter(txn, to, amount)
            }
            Step::Note { .. } => self.notes.iter().try_for_each(|&change| self.note(txn, change)),
            Step::Toggle { mark } => match txn.get(tables.marks, mark)? {
                Some(_) => Ok(txn.delete(tables.marks, mark).map(drop)?),
                None => Ok(txn.insert(tables.marks, &Mark { mark, worker, number })?),
            },
            Step::Cells => (0..CELLS).try_for_each(|cell| {
                Ok(txn.upsert(tables.cells, &Cell { cell, worker, number }).map(drop)?)
            }),
        }
    }

    /// Changes a balance, and writes the history of the account.
    fn enter(&self, txn: &mut Transaction<'_>, account: u32, amount: i64) -> Result<(), Failure> {
        let Self { setting: Setting { tables, .. }, worker, number, .. } = *self;
        let missing = || Failure::Contradiction(format!("account {account} is missing"));
        let old = txn.get(tables.accounts, account)?.ok_or_else(missing)?;
        let (balance, sequence) = (old.balance + amount, old.entries + 1);
        txn.update(tables.accounts, &Account { account, balance, entries: sequence })?;
        txn.insert(tables.entries, &Entry { account, sequence, worker, number, amount, balance })?;
        if sequence > ENTRIES {
            let removed = txn.delete(tables.entries, (account, sequence - ENTRIES))?;
            removed.ok_or_else(|| {
                Failure::Contradiction(format!("account {account} lacks an entry of its history"))
            })?;
        }
        Ok(())
    }

    fn note(&self, txn: &mut Transaction<'_>, change: NoteChange) -> Result<(), Failure> {
        let Self { setting: Setting { tables, seed, .. }, worker, .. } = *self;
        match change {
            NoteChange::Remove(place) => {
                txn.delete(tables.notes, (worker, place))?;
            }
            NoteChange::Put(place, state) => {
                txn.upsert(tables.notes, &plan::note(seed, worker, place, state))?;
            }
        }
        Ok(())
    }
}

/// A worker, as it runs.
pub struct Worker<'child> {
    setting: Setting,
    worker: u32,
    /// Its last transaction.
    number: u64,
    notes: Notes,
    session: Session,
    /// For those that hand their transactions to engine threads.
    asynchronous: AsyncSession,
    sender: &'child Sender,
}

impl<'child> Worker<'child> {
    /// Resumes behind the last transaction in the database. `notes` are those of the database.
    pub fn new(
        db: &Db,
        asynchronous: AsyncSession,
        setting: Setting,
        (worker, number, notes): (u32, u64, Notes),
        sender: &'child Sender,
    ) -> Self {
        let session = db.session();
        Self { setting, worker, number, notes, session, asynchronous, sender }
    }

    pub fn run(&mut self, is_over: &AtomicBool) -> Result<()> {
        while !is_over.load(Relaxed) {
            self.commit_next()?;
            if self.number.is_multiple_of(LOOK_EVERY) && self.setting.is_synchronous {
                self.look()?;
            }
        }
        Ok(())
    }

    fn commit_next(&mut self) -> Result<()> {
        let Self { setting, worker, .. } = *self;
        let number = self.number + 1;
        let step = plan::step(setting.seed, worker, number);
        let notes = match step {
            Step::Note { from, to } => plan::note_changes(&self.notes, from, to, number),
            _ => Vec::new(),
        };
        let is_opposite = number % OPPOSITE_EVERY == u64::from(worker) % OPPOSITE_EVERY;
        let is_certain = setting.is_synchronous != is_opposite;
        let work = Work { setting, worker, number, step, notes, is_certain };
        let context = || format!("transaction {number} of worker {worker}, {step:?}");
        self.commit(&work).with_context(context)?;
        self.number = number;
        plan::change(&mut self.notes, &work.notes);
        self.sender.send(Message::Committed { worker, number, is_certain })
    }

    /// Commits with all retries. A conflict must end, also when all other workers rest.
    fn commit(&mut self, work: &Work) -> Result<()> {
        let start = Moment::now();
        loop {
            let failure = match self.try_for_a_while(work) {
                Ok(()) => return Ok(()),
                Err(failure) => failure,
            };
            if !failure.is_conflict() || start.elapsed_ms() > CONFLICT_MS_MAX {
                return Err(failure.into_error());
            }
        }
    }

    /// Each third of the workers uses another interface.
    fn try_for_a_while(&mut self, work: &Work) -> Result<(), Failure> {
        let (isolation, retry) = (work.isolation(), Retry::for_ms(TRY_MS));
        match self.worker % 3 {
            0 => self.session.transaction(isolation, retry, |txn| work.apply(txn)),
            1 => {
                let work = work.clone();
                block_on(
                    self.asynchronous.transaction(isolation, retry, move |txn| work.apply(txn)),
                )
            }
            // As a program does that begins and commits by itself.
            _ => {
                let attempt = self.attempt(work);
                self.session.rest();
                attempt
            }
        }
    }

    fn attempt(&mut self, work: &Work) -> Result<(), Failure> {
        let mut txn = self.session.begin(work.isolation())?;
        work.apply(&mut txn)?;
        Ok(txn.commit()?)
    }

    /// Reads all counters and reports them: by a transaction that commits, or, by turns, by one
    /// that is rolled back after it has written.
    fn look(&mut self) -> Result<()> {
        let Self { setting, worker, number, .. } = *self;
        let is_rolled_back = (number / LOOK_EVERY).is_multiple_of(2);
        let look = move |txn: &mut Transaction<'_>| -> Result<Vec<u64>, Failure> {
            txn.set_synchronous(!setting.acknowledges_early);
            let counters = numbers(txn, &setting.tables)?;
            if is_rolled_back {
                let wrong = Counter { worker, number: u64::MAX, round: 0 };
                txn.update(setting.tables.counters, &wrong)?;
                return Err(Failure::Looked(counters));
            }
            Ok(counters)
        };
        let (isolation, retry) = (Isolation::Snapshot, Retry::default());
        let looked = if worker % 3 == 1 {
            block_on(self.asynchronous.transaction(isolation, retry, look))
        } else {
            self.session.transaction(isolation, retry, look)
        };
        let seen = match looked {
            Ok(seen) | Err(Failure::Looked(seen)) => seen,
            Err(failure) => return Err(failure.into_error()).context("a look at all counters"),
        };
        for (worker, number) in (0..).zip(seen) {
            self.sender.send(Message::Seen { worker, number })?;
        }
        Ok(())
    }
}

/// The counters of all workers.
fn numbers(txn: &mut Transaction<'_>, tables: &Tables) -> Result<Vec<u64>, TransactionError> {
    let number = |worker| {
        let counter = txn.get(tables.counters, worker)?;
        Ok(counter.map_or(0, |counter| counter.number))
    };
    (0..WORKERS).map(number).collect()
}

/// The numbers with which workers resume.
pub fn read_numbers(db: &Db, tables: &Tables) -> Result<Vec<u64>> {
    let read =
        db.session().transaction(Isolation::Snapshot, Retry::default(), |txn| numbers(txn, tables));
    read.context("cannot read the counters")
}

/// The notes of a worker in the database.
pub fn read_notes(db: &Db, tables: &Tables, worker: u32) -> Result<Notes> {
    let read = db.session().transaction(Isolation::Snapshot, Retry::default(), |txn| {
        let mut notes = Notes::default();
        for (place, note) in (0..).zip(&mut notes) {
            let row = txn.get(tables.notes, (worker, place))?;
            *note =
                row.map(|row| NoteState { title: row.title_number, written_by: row.written_by });
        }
        namdb::Ok(notes)
    });
    read.context("cannot read the notes")
}
