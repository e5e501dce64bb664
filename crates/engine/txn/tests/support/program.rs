//! Small transactions as data, and the code that runs them in any world.

use super::history::{Cell, Execution, Observation};
use super::{GROUP, NOTE, SEED, VALUE, group_key, key, note};
use fabric::Env;
use layout::{LongValues, Storage};
use std::collections::BTreeMap;
use txn::{
    Database, IndexId, Isolation, Lane, Outcome, RowId, Scan, ScanSource, TableId, Transaction,
    TxnError,
};

/// The largest key; keys begin at 0.
pub const KEY_MAX: i32 = 11;

/// The table of the programs.
#[derive(Clone, Copy, Debug)]
pub struct Tables {
    pub table: TableId,
    pub by_group: Option<IndexId>,
    pub storage: Storage,
    /// Rows have a long column, whose values every read checks.
    pub has_notes: bool,
    /// Lanes keep leaves, so only the commit of an insert shows whether the key was free.
    pub keeps_leaves: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    Read(i32),
    ReadMany(Vec<i32>),
    /// Reads a range; of a hash table the whole table.
    Scan(i32, i32),
    /// Reads all rows of a group through the index.
    Lookup(i64),
    /// Updates a row, or inserts it if it is absent.
    Put(i32),
    /// Like `Put`; also moves the row to a group.
    PutInto(i32, i64),
    Insert(i32, i64),
    /// Deletes the row if it exists.
    Delete(i32),
    /// Sleeps for a random time up to this number of nanoseconds.
    Pause(u64),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    /// The program's number, which makes its values unique.
    pub number: i64,
    pub isolation: Isolation,
    pub steps: Vec<Step>,
    /// Maximal number of retries after aborts.
    pub retries: u32,
    /// The session collects garbage afterwards.
    pub collects: bool,
    /// The transaction is parked between some of its steps.
    pub parks: bool,
}

impl Program {
    pub fn new(number: i64, isolation: Isolation, steps: Vec<Step>) -> Self {
        Self { number, isolation, steps, retries: 0, collects: false, parks: false }
    }

    /// Puts all of `keys`.
    pub fn filling(keys: impl IntoIterator<Item = i32>) -> Self {
        let steps = keys.into_iter().map(Step::Put).collect();
        Self { retries: 1000, ..Self::new(900, Isolation::Snapshot, steps) }
    }

    /// Reads every row: by key, and in a scan.
    pub fn reading_all() -> Self {
        let steps = vec![Step::ReadMany((0..=KEY_MAX).collect()), Step::Scan(0, KEY_MAX)];
        Self { retries: 1000, ..Self::new(990, Isolation::Snapshot, steps) }
    }
}

/// Runs the programs one after another in one session.
pub async fn execute_all<E: Env>(
    database: &Database<E>,
    tables: Tables,
    session: usize,
    programs: &[Program],
    record: &mut impl FnMut(Execution),
) {
    let mut lane = database.lane().await.expect("there are slots");
    let mut spare = None;
    if programs.iter().any(|program| program.parks) {
        spare = Some(database.lane().await.expect("there are slots"));
        // The first one that is parked may be older than the keeper of pins.
        if let Ok(txn) = lane.begin(Isolation::Snapshot).await {
            let _ = txn.park().await;
        }
    }
    for program in programs {
        let pause = lane.env().random() % 8000;
        lane.env().sleep_ns(pause).await;
        for _ in 0..=program.retries {
            let execution =
                execute_moving((&mut lane, spare.as_mut()), tables, session, program).await;
            let outcome = execution.outcome;
            record(execution);
            match outcome {
                Outcome::Aborted(abort) if abort.is_retryable() => lane.env().yield_now().await,
                _ => break,
            }
        }
        if program.collects {
            // A later collection collects the rest.
            let _ = lane.collect_garbage().await;
        }
    }
}

/// Runs one program once.
pub async fn execute<E: Env>(
    lane: &mut Lane<E>,
    tables: Tables,
    session: usize,
    program: &Program,
) -> Execution {
    execute_moving((lane, None), tables, session, program).await
}

/// Runs one program once; it may move to the other lane and back.
async fn execute_moving<E: Env>(
    (lane, mut spare): (&mut Lane<E>, Option<&mut Lane<E>>),
    tables: Tables,
    session: usize,
    program: &Program,
) -> Execution {
    let mut execution = Execution::new(session, program);
    let mut txn = match lane.begin(program.isolation).await {
        Ok(txn) => txn,
        Err(abort) => {
            execution.outcome = Outcome::Aborted(abort);
            return execution;
        }
    };
    execution.snapshot = Some(txn.snapshot().clone());
    let mut run = Run { tables, own: BTreeMap::new(), number: program.number, statements: 0 };
    for step in &program.steps {
        if let Some(spare) = spare.as_deref_mut().filter(|_| program.parks)
            && txn.env().random() % 2 == 0
        {
            let resumed = match txn.park().await {
                Ok(parked) => {
                    pass_time(lane, tables.table, program.collects).await;
                    std::mem::swap(lane, spare);
                    lane.resume(parked).await.map_err(|(_, abort)| abort)
                }
                Err(abort) => Err(abort),
            };
            txn = match resumed {
                Ok(resumed) => resumed,
                Err(abort) => {
                    execution.outcome = Outcome::Aborted(abort);
                    return execution;
                }
            };
        }
        match run.step(&mut txn, step, &mut execution.observations).await {
            Ok(()) => {}
            Err(TxnError::DuplicateKey { .. }) => unreachable!("handled where it arises"),
            Err(error) => {
                let abort = error.abort().unwrap_or_else(|| panic!("{program:?}: {error}"));
                execution.outcome = Outcome::Aborted(abort);
                return execution;
            }
        }
    }
    execution.outcome = txn.commit().await;
    if execution.outcome == Outcome::Committed && !run.own.is_empty() {
        execution.version = lane.last_commit().expect("the lane is here");
    }
    execution.writes = run.own;
    execution
}

/// A lane that a transaction has left does something else, and time passes.
async fn pass_time<E: Env>(lane: &mut Lane<E>, table: TableId, collects: bool) {
    lane.env().sleep_ns(lane.env().random() % 4000).await;
    if let Ok(mut txn) = lane.begin(Isolation::Snapshot).await {
        let _ = txn.read(table, &key(0)).await;
        let _ = txn.commit().await;
    }
    if collects {
        // A later collection collects the rest.
        let _ = lane.collect_garbage().await;
    }
    let _ = lane.rest().await;
    lane.env().sleep_ns(lane.env().random() % 4000).await;
}

/// A running program.
struct Run {
    tables: Tables,
    /// The transaction's own writes.
    own: BTreeMap<i32, Option<Cell>>,
    number: i64,
    statements: i64,
}

impl Run {
    async fn step<E: Env>(
        &mut self,
        txn: &mut Transaction<'_, E>,
        step: &Step,
        seen: &mut Vec<Observation>,
    ) -> Result<(), TxnError> {
        self.statements += 1;
        match step {
            Step::Read(id) => {
                self.read(txn, *id, seen).await?;
            }
            Step::ReadMany(ids) => {
                let reads: Vec<_> = ids.iter().map(|&id| (self.tables.table, key(id))).collect();
                let mut found = Vec::new();
                txn.read_many(&reads, &mut found).await?;
                self.check_notes(txn, found.iter().flatten().copied()).await?;
                for (&id, row) in ids.iter().zip(found) {
                    self.observe(id, row.map(|row| cell(txn, row)), seen);
                }
            }
            Step::Scan(low, high) => self.scan(txn, *low, *high, seen).await?,
            Step::Lookup(group) => self.lookup(txn, *group, seen).await?,
            Step::Put(id) => self.put(txn, *id, None, seen).await?,
            Step::PutInto(id, group) => self.put(txn, *id, Some(*group), seen).await?,
            Step::Insert(id, group) => self.insert(txn, *id, *group, seen).await?,
            Step::Delete(id) => {
                if let Some(row) = self.read(txn, *id, seen).await? {
                    txn.delete(row);
                    self.own.insert(*id, None);
                }
            }
            Step::Pause(up_to_ns) => {
                let env = txn.env().clone();
                env.sleep_ns(env.random() % up_to_ns).await;
            }
        }
        Ok(())
    }

    /// Records an observation of a row; if the transaction has written the row, checks it instead.
    fn observe(&self, id: i32, found: Option<Cell>, seen: &mut Vec<Observation>) {
        match self.own.get(&id) {
            Some(own) => assert_eq!(*own, found, "a transaction sees its own write of row {id}"),
            None => seen.push(Observation::Row(id, found)),
        }
    }

    async fn read<E: Env>(
        &self,
        txn: &mut Transaction<'_, E>,
        id: i32,
        seen: &mut Vec<Observation>,
    ) -> Result<Option<RowId>, TxnError> {
        let row = txn.read(self.tables.table, &key(id)).await?;
        self.check_notes(txn, row).await?;
        self.observe(id, row.map(|row| cell(txn, row)), seen);
        Ok(row)
    }

    async fn scan<E: Env>(
        &self,
        txn: &mut Transaction<'_, E>,
        low: i32,
        high: i32,
        seen: &mut Vec<Observation>,
    ) -> Result<(), TxnError> {
        let mut found = BTreeMap::new();
        let mut twice = None;
        if self.tables.storage == Storage::Tree {
            let source = ScanSource::Table(self.tables.table);
            let reverse = (low + high) % 2 == 1;
            let (low, high) = (key(low), key(high));
            let scan = Scan { source, low, high, reverse, limit: usize::MAX };
            let mut rows = Vec::new();
            txn.scan(&scan, &mut rows).await?;
            self.check_notes(txn, rows.iter().copied()).await?;
            for row in rows {
                let id = txn.row(row).int(0) as i32;
                twice = twice.or(found.insert(id, cell(txn, row)).map(|_| id));
            }
        } else if self.own.is_empty() {
            let mut visit = |row: layout::RecordRef<'_>| {
                let id = row.int(0) as i32;
                let cell = Cell { value: row.int(VALUE), group: row.int(GROUP) };
                twice = twice.or(found.insert(id, cell).map(|_| id));
                if self.tables.has_notes {
                    let seen = (!row.is_null(NOTE)).then(|| row.text(NOTE).to_owned());
                    assert_eq!(seen, note(row.int(SEED)), "a note is that of its row's seed");
                }
            };
            match self.tables.has_notes {
                true => txn.for_each_long(self.tables.table, &mut visit).await?,
                false => txn.for_each(self.tables.table, &mut visit).await?,
            }
        } else {
            return Ok(());
        }
        if let Some(id) = twice {
            seen.push(Observation::Twice(id));
        }
        for id in low..=high {
            self.observe(id, found.get(&id).copied(), seen);
        }
        Ok(())
    }

    async fn lookup<E: Env>(
        &self,
        txn: &mut Transaction<'_, E>,
        group: i64,
        seen: &mut Vec<Observation>,
    ) -> Result<(), TxnError> {
        let Some(index) = self.tables.by_group else { return Ok(()) };
        let mut rows = Vec::new();
        txn.lookup(index, &group_key(group), &mut rows).await?;
        self.check_notes(txn, rows.iter().copied()).await?;
        let mut found = BTreeMap::new();
        for row in rows {
            let (id, cell) = (txn.row(row).int(0) as i32, cell(txn, row));
            if found.insert(id, cell).is_some() {
                seen.push(Observation::Twice(id));
            }
        }
        for (id, own) in &self.own {
            let expected = own.filter(|cell| cell.group == group);
            assert_eq!(found.remove(id), expected, "a lookup sees own writes, here of row {id}");
        }
        let own = self.own.keys().copied().collect();
        seen.push(Observation::Group { group, found, own });
        Ok(())
    }

    /// Reads the notes of rows and compares them with the rows' seeds.
    async fn check_notes<E: Env>(
        &self,
        txn: &mut Transaction<'_, E>,
        rows: impl IntoIterator<Item = RowId>,
    ) -> Result<(), TxnError> {
        if !self.tables.has_notes {
            return Ok(());
        }
        let wanted: Vec<_> = rows.into_iter().map(|row| (row, NOTE)).collect();
        let mut notes = LongValues::default();
        txn.read_long_many(&wanted, &mut notes).await?;
        for (number, &(row, _)) in wanted.iter().enumerate() {
            let seed = txn.row(row).int(SEED);
            let seen = notes.get(number).map(String::from_utf8_lossy);
            assert_eq!(seen.as_deref(), note(seed).as_deref(), "a note is that of its row's seed");
        }
        Ok(())
    }

    fn next_cell(&self, id: i32, group: i64) -> Cell {
        Cell { value: self.number * 10_000 + self.statements * 100 + i64::from(id), group }
    }

    async fn put<E: Env>(
        &mut self,
        txn: &mut Transaction<'_, E>,
        id: i32,
        group: Option<i64>,
        seen: &mut Vec<Observation>,
    ) -> Result<(), TxnError> {
        let Some(row) = self.read(txn, id, seen).await? else {
            return self.insert(txn, id, group.unwrap_or(0), seen).await;
        };
        let next = self.next_cell(id, group.unwrap_or(txn.row(row).int(GROUP)));
        self.write(txn, row, id, next);
        Ok(())
    }

    async fn insert<E: Env>(
        &mut self,
        txn: &mut Transaction<'_, E>,
        id: i32,
        group: i64,
        seen: &mut Vec<Observation>,
    ) -> Result<(), TxnError> {
        match txn.insert(self.tables.table, &key(id)).await {
            Ok(row) => {
                match self.tables.keeps_leaves && !self.own.contains_key(&id) {
                    true => seen.push(Observation::Free(id)),
                    false => self.observe(id, None, seen),
                }
                let next = self.next_cell(id, group);
                self.write(txn, row, id, next);
                Ok(())
            }
            Err(TxnError::DuplicateKey { .. }) => {
                let own = self.own.get(&id);
                assert!(own.is_none_or(Option::is_some), "an own deletion makes room");
                if own.is_none() {
                    seen.push(Observation::Present(id));
                }
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    fn write<E: Env>(&mut self, txn: &mut Transaction<'_, E>, row: RowId, id: i32, next: Cell) {
        let mut record = txn.update(row);
        record.set_int(VALUE, next.value);
        record.set_int(GROUP, next.group);
        // Every third write keeps the note.
        if self.tables.has_notes && next.value % 3 != 0 {
            record.set_int(SEED, next.value);
            match note(next.value) {
                Some(note) => record.set_bytes(NOTE, note.as_bytes()),
                None => record.set_null(NOTE),
            }
        }
        self.own.insert(id, Some(next));
    }
}

fn cell<E: Env>(txn: &Transaction<'_, E>, row: RowId) -> Cell {
    let record = txn.row(row);
    Cell { value: record.int(VALUE), group: record.int(GROUP) }
}
