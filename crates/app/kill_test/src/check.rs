//! Compares a database that was opened after a kill with what is known.

use crate::expected::{Expected, Presence, check_number};
use crate::plan::{self, CELLS_EVERY, Step};
use crate::tables::{
    ACCOUNTS, CELLS, ENTRIES, EXTRAS, Entry, Extra, Mark, Note, PLACES, TWINS, Tables, WORKERS,
    indexed,
};
use anyhow::{Context, Result, ensure};
use namdb::{Db, Isolation, Record, RecordTable, Retry, Transaction, TransactionError};

/// Counts of one check.
#[derive(Clone, Copy, Default, Debug)]
pub struct Found {
    /// Commits that are there although the child was killed before it reported them.
    pub unreported: u64,
    /// Commits that were reported without waiting for the disk, and are gone.
    pub forgotten: u64,
}

/// Checks everything, and takes the database's state as known.
pub fn check(db: &Db, expected: &mut Expected) -> Result<Found> {
    let tables = Tables::open_or_create(db)?;
    let all = Rows::read(db, &tables)?;
    if !all.is_set_up {
        ensure!(!expected.is_set_up, "LOST: the first rows are gone");
        ensure!(all.is_empty(), "the first rows are missing, but others are there");
        return Ok(Found::default());
    }
    expected.is_set_up = true;
    let found = advance(expected, &all)?;
    check_accounts(expected, &all)?;
    check_notes(db, expected, &all)?;
    check_marks(db, expected, &all)?;
    check_cells(expected, &all)?;
    check_twins(db, expected, &all)?;
    check_extra(db, expected, &all)?;
    Ok(found)
}

/// All rows, in the order of their keys.
struct Rows {
    is_set_up: bool,
    /// Number and round of each worker.
    counters: Vec<(u64, u64)>,
    accounts: Vec<(i64, u64)>,
    entries: Vec<Entry>,
    notes: Vec<Note>,
    marks: Vec<Mark>,
    cells: Vec<(u32, u64)>,
    names: Vec<u32>,
    /// The generation of the last table that was dropped.
    kept: u64,
}

impl Rows {
    fn read(db: &Db, tables: &Tables) -> Result<Self> {
        read(db, |txn| {
            let (mut counters, mut accounts) = (Vec::new(), Vec::new());
            for worker in 0..WORKERS {
                let counter = txn.get(tables.counters, worker)?;
                counters.extend(counter.map(|counter| (counter.number, counter.round)));
            }
            for account in 0..ACCOUNTS {
                let row = txn.get(tables.accounts, account)?;
                accounts.extend(row.map(|row| (row.balance, row.entries)));
            }
            let cells = all_of(txn, tables.cells)?;
            let twins = all_of(txn, tables.twins)?;
            let kept = txn.get(tables.kept, 0)?;
            Ok(Self {
                is_set_up: !counters.is_empty(),
                counters,
                accounts,
                entries: all_of(txn, tables.entries)?,
                notes: all_of(txn, tables.notes)?,
                marks: all_of(txn, tables.marks)?,
                cells: cells.into_iter().map(|cell| (cell.worker, cell.number)).collect(),
                names: twins.into_iter().map(|twin| twin.name).collect(),
                kept: kept.map_or(0, |kept| kept.generation),
            })
        })
    }

    fn is_empty(&self) -> bool {
        let Self { accounts, entries, notes, marks, cells, names, .. } = self;
        let counts = [accounts.len(), entries.len(), notes.len(), marks.len(), cells.len()];
        counts == [0; 5] && names.is_empty()
    }
}

fn read<T>(
    db: &Db,
    body: impl FnMut(&mut Transaction<'_>) -> Result<T, TransactionError>,
) -> Result<T> {
    let read = db.session().transaction(Isolation::Snapshot, Retry::default(), body);
    read.context("cannot read after the opening")
}

fn all_of<R: Record>(txn: &mut Transaction<'_>, table: RecordTable<R>) -> namdb::Result<Vec<R>> {
    txn.range(table, ..).collect()
}

/// Compares the counters, and brings the parent's picture to them.
fn advance(expected: &mut Expected, all: &Rows) -> Result<Found> {
    let mut found = Found::default();
    ensure!(all.counters.len() == WORKERS as usize, "counters are missing: {:?}", all.counters);
    for (worker, &(number, round)) in (0..).zip(&all.counters) {
        let (seed, last_running) = (expected.seed, expected.last_running);
        let known = &mut expected.workers[worker as usize];
        check_number(worker, known, number)?;
        let committed_by = if number > known.reported { Some(last_running) } else { known.round };
        if let Some(committed_by) = committed_by.filter(|_| number >= known.reported) {
            ensure!(
                round == committed_by,
                "transaction {number} of worker {worker} is that of round {round}, which was \
                 dropped, and not that of round {committed_by}"
            );
        }
        found.unreported += number.saturating_sub(known.reported);
        found.forgotten += known.reported.saturating_sub(number);
        for number in known.applied + 1..=number {
            match plan::step(seed, worker, number) {
                Step::Transfer { from, to, amount } => {
                    for (account, amount) in [(from, -amount), (to, amount)] {
                        let (balance, entries) = &mut expected.accounts[account as usize];
                        (*balance, *entries) = (*balance + amount, *entries + 1);
                    }
                }
                Step::Note { from, to } => {
                    let changes = plan::note_changes(&known.notes, from, to, number);
                    plan::change(&mut known.notes, &changes);
                }
                Step::Toggle { mark } => expected.marks[mark as usize] ^= true,
                Step::Cells => {}
            }
        }
        (known.applied, known.certain, known.reported) = (number, number, number);
        known.round = Some(round);
    }
    Ok(found)
}

/// The last transaction of a worker that may have left traces.
fn last(expected: &Expected, worker: u32) -> Result<u64> {
    let known = expected.workers.get(worker as usize);
    Ok(known.with_context(|| format!("there is no worker {worker}"))?.applied)
}

/// Balances, and the history of each account as a chain.
fn check_accounts(expected: &Expected, all: &Rows) -> Result<()> {
    for (account, (&found, &known)) in all.accounts.iter().zip(&expected.accounts).enumerate() {
        ensure!(
            found == known,
            "account {account} has (balance, entries) {found:?}, and the transactions give {known:?}"
        );
    }
    ensure!(all.accounts.len() == ACCOUNTS as usize, "accounts are missing");
    let mut entries = all.entries.iter();
    for (account, &(balance, count)) in (0..).zip(&expected.accounts) {
        let mut after = None;
        let mut newest = vec![0; WORKERS as usize];
        for sequence in (count.saturating_sub(ENTRIES) + 1)..=count {
            let entry = entries.next().context("entries are missing")?;
            let at = format!("{entry:?}, where account {account} has entry {sequence}");
            ensure!((entry.account, entry.sequence) == (account, sequence), "found {at}");
            let step = plan::step(expected.seed, entry.worker, entry.number);
            let fits = match step {
                Step::Transfer { from, to, amount } => {
                    let of_from = (from, -amount) == (account, entry.amount);
                    of_from || (to, amount) == (account, entry.amount)
                }
                _ => false,
            };
            ensure!(fits, "found {at}; its transaction is {step:?}");
            ensure!(entry.number <= last(expected, entry.worker)?, "found {at} of the future");
            let newest = &mut newest[entry.worker as usize];
            ensure!(entry.number > *newest, "found {at} behind {newest} of its worker");
            *newest = entry.number;
            ensure!(
                after.is_none_or(|before: i64| before + entry.amount == entry.balance),
                "found {at}, but the balance before it was {after:?}"
            );
            after = Some(entry.balance);
        }
        ensure!(
            after.is_none_or(|after| after == balance),
            "the history of account {account} ends with {after:?}, its balance is {balance}"
        );
    }
    let more = entries.next();
    ensure!(more.is_none(), "an entry is too much: {more:?}");
    Ok(())
}

/// Notes of each worker, and the unique index of their titles.
fn check_notes(db: &Db, expected: &Expected, all: &Rows) -> Result<()> {
    let mut notes = Vec::new();
    let mut titles = Vec::new();
    for (worker, known) in (0..).zip(&expected.workers) {
        for (place, state) in (0..PLACES).zip(known.notes) {
            notes.extend(state.map(|state| plan::note(expected.seed, worker, place, state)));
        }
        titles.extend((0..PLACES).map(|title| plan::title(worker, title)));
    }
    for (found, known) in all.notes.iter().zip(&notes) {
        ensure!(found == known, "found the note {}, not {}", shown(found), shown(known));
    }
    ensure!(all.notes.len() == notes.len(), "{} notes, not {}", all.notes.len(), notes.len());
    let by_title = Note::by_title(db)?;
    let found = read(db, |txn| {
        titles.iter().map(|title| txn.index(by_title).get(&**title)).collect::<Result<Vec<_>, _>>()
    })?;
    for (title, found) in titles.iter().zip(found) {
        let known = notes.iter().find(|note| note.title == *title);
        ensure!(found.as_ref() == known, "the index is wrong about the note `{title}`");
    }
    Ok(())
}

fn shown(note: &Note) -> String {
    let Note { worker, place, title, written_by, text, .. } = note;
    let bytes = text.len();
    format!("({worker}, {place}) `{title}` of {written_by} with {bytes} bytes")
}

/// Rows that come and go, and their index if it is there.
fn check_marks(db: &Db, expected: &mut Expected, all: &Rows) -> Result<()> {
    let mut is_there = vec![false; expected.marks.len()];
    for row in &all.marks {
        let step = plan::step(expected.seed, row.worker, row.number);
        let mark = row.mark;
        ensure!(step == Step::Toggle { mark }, "found {row:?}; its transaction is {step:?}");
        ensure!(row.number <= last(expected, row.worker)?, "found {row:?} of the future");
        is_there[mark as usize] = true;
    }
    ensure!(
        is_there == expected.marks,
        "marks there: {is_there:?}, and the transactions give {:?}",
        expected.marks
    );
    let has_index = db.index("mark", "by_worker").is_some();
    settle("the index of marks", &mut expected.mark_index, has_index)?;
    if !has_index {
        return Ok(());
    }
    let by_worker = indexed::Mark::by_worker(db)?;
    for worker in 0..WORKERS {
        let found = read(db, |txn| txn.index(by_worker).get(worker))?;
        let found: Vec<u32> = found.iter().map(|row| row.mark).collect();
        let rows = all.marks.iter().filter(|row| row.worker == worker);
        let known: Vec<u32> = rows.map(|row| row.mark).collect();
        ensure!(found == known, "the index finds marks {found:?} of {worker}, not {known:?}");
    }
    Ok(())
}

/// Rows that one transaction writes together.
fn check_cells(expected: &Expected, all: &Rows) -> Result<()> {
    let Some(&(worker, number)) = all.cells.first() else {
        let is_written = expected.workers.iter().any(|known| known.applied >= CELLS_EVERY);
        ensure!(!is_written, "LOST: all cells are gone");
        return Ok(());
    };
    ensure!(all.cells.len() == CELLS as usize, "half there: {} cells", all.cells.len());
    let other = all.cells.iter().find(|cell| **cell != (worker, number));
    ensure!(other.is_none(), "half there: cells of {:?} and {other:?}", (worker, number));
    let last = last(expected, worker)?;
    ensure!(
        number == last - last % CELLS_EVERY,
        "the cells are of transaction {number} of worker {worker}, which is at {last}"
    );
    Ok(())
}

/// The table whose unique index comes and goes.
fn check_twins(db: &Db, expected: &mut Expected, all: &Rows) -> Result<()> {
    let names = &all.names;
    ensure!(names.len() == TWINS as usize, "{} twins", names.len());
    let count = names.iter().collect::<std::collections::BTreeSet<_>>().len() as u32;
    ensure!(count == 1 || count == TWINS, "half there: the twins' names are {names:?}");
    let has_index = db.index("twin", "by_name").is_some();
    settle("the unique index of twins", &mut expected.twin_index, has_index)?;
    if !has_index {
        return Ok(());
    }
    ensure!(count == TWINS, "a unique index over the names {names:?}");
    let by_name = indexed::Twin::by_name(db)?;
    for (twin, &name) in (0..).zip(names) {
        let found = read(db, |txn| txn.index(by_name).get(name))?;
        let found = found.map(|row| row.twin);
        ensure!(found == Some(twin), "the unique index finds {found:?} for twin {twin}");
    }
    Ok(())
}

/// The table that comes and goes.
fn check_extra(db: &Db, expected: &mut Expected, all: &Rows) -> Result<()> {
    let before = expected.extra;
    let is_there = db.table("extra").is_some();
    if let (Presence::Present(created) | Presence::Dropping(created), false) = (before, is_there) {
        expected.dropped = expected.dropped.max(created);
    }
    ensure!(
        all.kept >= expected.dropped,
        "LOST: table `extra` of creation {} was dropped, its rows were kept as of {}",
        expected.dropped,
        all.kept
    );
    settle("the table `extra`", &mut expected.extra, is_there)?;
    if !is_there {
        return Ok(());
    }
    let table = RecordTable::<Extra>::open(db)?;
    let rows = read(db, |txn| {
        (0..EXTRAS).map(|extra| txn.get(table, extra)).collect::<Result<Vec<_>, _>>()
    })?;
    let rows: Vec<u64> = rows.into_iter().flatten().map(|row| row.generation).collect();
    let Presence::Present(generation) = expected.extra else { unreachable!("it is there") };
    let is_whole = rows == vec![generation; EXTRAS as usize];
    let may_be_empty = matches!(before, Presence::Creating(_));
    ensure!(
        is_whole || rows.is_empty() && may_be_empty,
        "the table `extra` of creation {generation} is {before:?} and has rows of {rows:?}"
    );
    if !is_whole {
        expected.extra = Presence::Creating(generation);
    }
    Ok(())
}

/// Compares and records whether an object is there.
fn settle(what: &str, presence: &mut Presence, is_there: bool) -> Result<()> {
    ensure!(presence.allows(is_there), "{what} is {presence:?}, found: {is_there}");
    *presence = presence.seen(is_there);
    Ok(())
}
