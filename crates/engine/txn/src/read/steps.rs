//! Scans and visits in steps, for callers that need some rows at a time, or none any more.
//!
//! Between two steps only keys are known, so other statements of the transaction may run, and the
//! transaction may forget the rows that it has read.

use crate::abort::TxnError;
use crate::catalog::TableId;
use crate::lane::LaneInner;
use crate::read::access::RowId;
use crate::read::cursor::Cursor;
use crate::read::scan::Scan;
use crate::read::value::Visitor;
use crate::read::visit::VisitPart;
use fabric::Env;
use layout::Key;

/// A scan in steps, see [`Transaction::scan_step`](crate::Transaction::scan_step).
pub struct ScanSteps {
    scan: Scan,
    /// The parts of a divided table that are still to be scanned, the next one last; `None` before
    /// the first step.
    parts: Option<Vec<Scan>>,
    cursor: Option<Box<Cursor>>,
}

impl std::fmt::Debug for ScanSteps {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ScanSteps").field("scan", &self.scan).finish_non_exhaustive()
    }
}

impl ScanSteps {
    /// A scan before its first step. Each step has its own limit instead of that of `scan`.
    pub fn new(scan: Scan) -> Self {
        Self { scan, parts: None, cursor: None }
    }
}

/// A visit of a whole table in steps, see
/// [`Transaction::visit_step`](crate::Transaction::visit_step).
#[derive(Debug)]
pub struct VisitSteps {
    table: TableId,
    /// The parts of a divided table that are still to be visited, the next one last; `None` before
    /// the first step.
    parts: Option<Vec<u32>>,
    /// The position in the last of them.
    position: Option<VisitPart>,
    /// The keys of the rows that were shown, if somebody takes notes.
    shown: Vec<Key>,
}

impl VisitSteps {
    /// A visit before its first step.
    pub fn new(table: TableId) -> Self {
        Self { table, parts: None, position: None, shown: Vec::new() }
    }
}

impl<E: Env> LaneInner<E> {
    /// [`Transaction::scan_step`](crate::Transaction::scan_step).
    pub(crate) async fn scan_step(
        &mut self,
        steps: &mut ScanSteps,
        (pause, limit): (usize, usize),
        rows: &mut Vec<RowId>,
    ) -> Result<bool, TxnError> {
        rows.clear();
        self.begin_statement()?;
        let scanned = self.scan_on(steps, (pause, limit), rows).await;
        self.end_statement(scanned)
    }

    async fn scan_on(
        &mut self,
        steps: &mut ScanSteps,
        (pause, limit): (usize, usize),
        rows: &mut Vec<RowId>,
    ) -> Result<bool, TxnError> {
        self.txn.read_count += 2;
        let mut parts = match steps.parts.take() {
            Some(parts) => parts,
            None => self.scans_of_parts(&steps.scan)?,
        };
        let has_more = loop {
            let mut cursor = match (steps.cursor.take(), parts.pop()) {
                (Some(cursor), part) => {
                    parts.extend(part);
                    cursor
                }
                (None, Some(part)) => Box::new(Cursor::new(&part, self.open_range(&part).await?)),
                (None, None) => break false,
            };
            cursor.bound(pause, limit);
            let (rest, before) = (cursor.rest(), rows.len());
            self.run_to_pause(&mut cursor, rows).await?;
            let (owner, _) = cursor.source();
            let has_paused = !cursor.is_over() || rows.len() >= limit;
            self.note_scan(owner, &rest, has_paused, &rows[before..]);
            if rows.len() >= limit {
                break false;
            }
            if !cursor.is_over() {
                steps.cursor = Some(cursor);
                break true;
            }
            if rows.len() >= pause {
                break !parts.is_empty();
            }
        };
        steps.parts = Some(if has_more { parts } else { Vec::new() });
        Ok(has_more)
    }

    /// The scans of the parts of a table or index, the first one last.
    fn scans_of_parts(&mut self, scan: &Scan) -> Result<Vec<Scan>, TxnError> {
        let scan = Scan { limit: usize::MAX, ..*scan };
        let Some(parts) = self.open.scanned_parts(&scan)? else { return Ok(vec![scan]) };
        let mut scans: Vec<Scan> = parts.map(|position| self.part_scan(&scan, position)).collect();
        if !scan.reverse {
            scans.reverse();
        }
        Ok(scans)
    }

    /// [`Transaction::visit_step`](crate::Transaction::visit_step).
    pub(crate) async fn visit_step(
        &mut self,
        steps: &mut VisitSteps,
        mut visitor: Visitor<'_>,
    ) -> Result<bool, TxnError> {
        self.begin_statement()?;
        let visited = self.visit_on(steps, &mut visitor).await;
        self.end_statement(visited)
    }

    async fn visit_on(
        &mut self,
        steps: &mut VisitSteps,
        visit: &mut Visitor<'_>,
    ) -> Result<bool, TxnError> {
        self.open_table(steps.table).await?;
        let parts =
            steps.parts.get_or_insert_with(|| match self.open.info(steps.table).parts.as_ref() {
                Some(parts) => parts.of_all_rows().iter().rev().copied().collect(),
                None => vec![steps.table.0],
            });
        let Some(&number) = parts.last() else { return Ok(false) };
        let table = TableId(number);
        let part = match steps.position.take() {
            Some(part) => part,
            None => self.first_part(table).await?,
        };
        self.scratch.shown.clear();
        steps.position = self.visit_part(table, part, visit).await?;
        steps.shown.append(&mut self.scratch.shown);
        if steps.position.is_none() {
            parts.pop();
            std::mem::swap(&mut self.scratch.shown, &mut steps.shown);
            self.note_visit(table);
            steps.shown.clear();
        }
        Ok(!parts.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::{OpenConfig, open};
    use crate::{Database, Isolation, Lane, Outcome, ScanSource, TableSpec, Transaction};
    use fabric::{Counts, Fabric, LocalEnv, run_now};
    use layout::{Column, ColumnType, KeyBuilder, PhysicalDesign, Schema, Storage};

    const ROWS: i64 = 6000;

    fn filled(storage: Storage) -> (Database<LocalEnv>, TableId) {
        let config = OpenConfig { server_bytes: 64 << 20, ..OpenConfig::default() };
        let database = open(&config).expect("memory");
        let columns = vec![Column::new("id", ColumnType::Int8)];
        let schema = Schema::new("t", columns, &[0]).expect("a valid schema");
        let design = PhysicalDesign { storage, ..PhysicalDesign::default() };
        let spec = TableSpec { schema, design, indexes: Vec::new() };
        let table = run_now(database.create_table(spec)).expect("created");
        let mut lane = run_now(database.lane()).expect("a lane");
        let mut transaction = begin(&mut lane);
        for id in 0..ROWS {
            let key = KeyBuilder::new().int8(id * 7919 % ROWS).key();
            run_now(transaction.insert(table, &key)).expect("is free");
        }
        assert_eq!(run_now(transaction.commit()), Outcome::Committed);
        (database, table)
    }

    fn begin(lane: &mut Lane<LocalEnv>) -> Transaction<'_, LocalEnv> {
        run_now(lane.begin(Isolation::Snapshot)).expect("begins")
    }

    fn scan(table: TableId, reverse: bool) -> Scan {
        let (low, high) = (KeyBuilder::new().int8(10).key(), KeyBuilder::new().int8(5500).key());
        Scan { source: ScanSource::Table(table), low, high, reverse, limit: usize::MAX }
    }

    /// Scans in steps; returns the rows, and what it took. Forgets the rows after each step if they
    /// take more bytes than given.
    fn in_steps(
        transaction: &mut Transaction<'_, LocalEnv>,
        scan: Scan,
        bounds: (usize, usize),
        bytes: usize,
    ) -> (Vec<i64>, Counts) {
        let before = transaction.env().counters().counts();
        let (mut steps, mut found, mut ids) = (ScanSteps::new(scan), Vec::new(), Vec::new());
        loop {
            let has_more = run_now(transaction.scan_step(&mut steps, bounds, &mut found));
            ids.extend(found.iter().map(|row| transaction.row(*row).int(0)));
            assert!(found.iter().all(|row| transaction.holds(*row)));
            if transaction.forget_rows(bytes) {
                assert!(!found.iter().any(|row| transaction.holds(*row)));
            }
            if !has_more.expect("it scans") {
                break;
            }
        }
        (ids, transaction.env().counters().counts() - before)
    }

    #[test]
    fn steps_find_the_rows_of_a_scan_in_as_many_round_trips() {
        let (database, table) = filled(Storage::Tree);
        let mut lane = run_now(database.lane()).expect("a lane");
        for reverse in [false, true] {
            let scan = scan(table, reverse);
            // The first scan fills the leaf cache.
            for _ in 0..2 {
                let (all, _) =
                    in_steps(&mut begin(&mut lane), scan, (usize::MAX, usize::MAX), usize::MAX);
                assert_eq!(all.len(), 5491);
            }
            let (all, whole) =
                in_steps(&mut begin(&mut lane), scan, (usize::MAX, usize::MAX), usize::MAX);
            let (some, many) =
                in_steps(&mut begin(&mut lane), scan, (1024, usize::MAX), usize::MAX);
            assert_eq!((&some, many.round_trips), (&all, whole.round_trips));
            assert_eq!(many.verbs, whole.verbs);
            for pause in [1, 7, 100] {
                let mut transaction = begin(&mut lane);
                assert_eq!(in_steps(&mut transaction, scan, (pause, usize::MAX), 4096).0, all);
            }
            let mut transaction = begin(&mut lane);
            let before = transaction.env().counters().counts();
            let (mut steps, mut found) = (ScanSteps::new(scan), Vec::new());
            let has_more = run_now(transaction.scan_step(&mut steps, (5, usize::MAX), &mut found));
            assert!(has_more.expect("it scans") && (5..8).contains(&found.len()));
            let cost = transaction.env().counters().counts() - before;
            assert!(cost.verbs <= 9, "{cost:?}");
        }
    }

    #[test]
    fn a_limit_ends_a_scan() {
        let (database, table) = filled(Storage::Tree);
        let mut lane = run_now(database.lane()).expect("a lane");
        let mut transaction = begin(&mut lane);
        let (mut steps, mut found) = (ScanSteps::new(scan(table, false)), Vec::new());
        let has_more = run_now(transaction.scan_step(&mut steps, (20, 3), &mut found));
        assert_eq!((has_more.expect("it scans"), found.len()), (false, 3));
    }

    #[test]
    fn steps_of_a_visit_show_every_row_once() {
        for storage in [Storage::HashInlined, Storage::HashOutside, Storage::Tree] {
            let (database, table) = filled(storage);
            let mut lane = run_now(database.lane()).expect("a lane");
            let mut transaction = begin(&mut lane);
            let mut ids = Vec::new();
            let before = transaction.env().counters().counts();
            run_now(transaction.for_each(table, &mut |row| ids.push(row.int(0)))).expect("visits");
            let whole = transaction.env().counters().counts() - before;
            let (mut steps, mut shown, mut count) = (VisitSteps::new(table), Vec::new(), 0);
            let before = transaction.env().counters().counts();
            loop {
                let show = &mut |row: layout::RecordRef<'_>| shown.push(row.int(0));
                count += 1;
                if !run_now(transaction.visit_step(&mut steps, show)).expect("visits") {
                    break;
                }
            }
            assert!(count > 3, "{storage:?}");
            assert_eq!(shown, ids);
            let stepped = transaction.env().counters().counts() - before;
            assert_eq!(stepped.round_trips, whole.round_trips, "{storage:?}");
        }
    }

    #[test]
    fn a_transaction_that_writes_or_validates_forgets_nothing() {
        let (database, table) = filled(Storage::Tree);
        let mut lane = run_now(database.lane()).expect("a lane");
        let key = KeyBuilder::new().int8(11).key();
        for isolation in [Isolation::Snapshot, Isolation::Serializable] {
            let mut transaction = run_now(lane.begin(isolation)).expect("begins");
            let row = run_now(transaction.read(table, &key)).expect("reads").expect("exists");
            if isolation == Isolation::Snapshot {
                transaction.delete(row);
            }
            assert!(!transaction.forget_rows(0) && transaction.holds(row));
        }
    }
}
