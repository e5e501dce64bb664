//! The profile of a procedure: which operations a call executes on each table, and how often.
//!
//! Decision: docs/decisions/0236-succeeds-scales-what-a-procedure-changes-and-nothing-else.md

use super::branches::{Basis, Branches};
use super::draws::Drawn;
use super::limit::{Limit, limit};
use procedure::node::{Procedure, Workload};
use procedure::operations::{Action, Operation, Origin, Path, Times};

/// Assumed number of repetitions if it is unknown.
const UNKNOWN_TIMES: f64 = 1.0;
/// Assumed elements of an array that the load does not draw.
const UNKNOWN_ELEMENTS: f64 = 10.0;

/// The kind of an operation on a table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// A row by primary key.
    Lookup,
    /// Rows by all columns of an index.
    IndexLookup(usize),
    /// A range of an index; `None` is the primary key.
    Scan(Option<usize>),
    Everything,
    /// Update of a row that the call has read.
    Update,
    Insert,
    /// Deletion of a row that the call has read.
    Delete,
}

/// An operation of a procedure, with its frequency.
#[derive(Clone, PartialEq, Debug)]
pub struct Request {
    /// The number of the statement in the procedure, from 1.
    pub statement: u32,
    pub table: usize,
    pub kind: Kind,
    /// Mean number of executions per call.
    pub times: f64,
    /// Rows per execution of a scan or index lookup.
    pub rows: f64,
    /// Whether the key consists of arguments, so that one batch reads this row with others of that
    /// kind.
    pub is_ahead: bool,
    /// Whether one statement repeats the operation, and reads all rows in one batch.
    pub is_batch: bool,
    /// Whether the rows that one call inserts have adjacent keys.
    pub follows: bool,
    /// Whether they are also inserted in key order: the last column is counted, and is not an array
    /// element.
    pub rises: bool,
    /// Whether it checks a foreign key after an insert; one batch reads all referenced rows of the
    /// statement.
    pub is_referred: bool,
    /// Whether the commit validates it: reads of serializable procedures that are not followed by a
    /// write.
    pub is_validated: bool,
    /// Indexes whose entries change.
    pub touched: Vec<usize>,
    /// The position of the operation in the procedure.
    pub operation: usize,
}

/// The profile of a procedure.
#[derive(Clone, PartialEq, Debug)]
pub struct Profile {
    pub name: String,
    pub share: f64,
    /// The share of its calls that succeeds, if the load defines it.
    pub succeeds: Option<f64>,
    /// Names of its variables, arguments first.
    pub variables: Vec<String>,
    /// Its operations in program order.
    pub operations: Vec<Operation>,
    /// The operations with their frequencies, in program order.
    pub requests: Vec<Request>,
    /// Assumptions made, as sentences for the report.
    pub assumptions: Vec<String>,
}

impl Profile {
    /// The profile of a procedure; `share` is its share of all calls.
    pub fn new(workload: &Workload, procedure: &Procedure, share: f64, drawn: Drawn<'_>) -> Self {
        let operations = workload.operations(procedure);
        let branches = Branches::new(&procedure.routine, drawn);
        let name = procedure.routine.name.clone();
        let variables = procedure.routine.variables.iter().map(|of| of.name.clone()).collect();
        let (requests, assumptions) = (Vec::new(), Vec::new());
        let succeeds = None;
        let mut profile =
            Self { name, share, succeeds, variables, operations, requests, assumptions };
        let operations = std::mem::take(&mut profile.operations);
        let is_serializable = operations.iter().any(|operation| is_kept(workload, operation));
        for (number, operation) in operations.iter().enumerate() {
            let request =
                profile.request((workload, procedure), &operations, number, &branches, drawn);
            let is_unchanged =
                matches!(operation.action, Action::Read { is_for_change: false, .. });
            let is_validated = is_unchanged && is_serializable;
            profile.requests.push(Request { operation: number, is_validated, ..request });
            debug_assert!(operation.statement > 0);
        }
        profile.operations = operations;
        profile
    }

    /// Applies the share of successful calls that the load defines, given as bounds. Other calls
    /// raise an error or find nothing; they are assumed to read all rows and to write none.
    pub fn succeeding(mut self, bounds: Option<(f64, f64)>) -> Self {
        let Some((low, high)) = bounds else { return self };
        let succeeds = (low + high) / 2.0;
        self.succeeds = Some(succeeds);
        let mut writes =
            self.requests.iter_mut().filter(|request| request.kind >= Kind::Update).peekable();
        if succeeds >= 1.0 || writes.peek().is_none() {
            return self;
        }
        writes.for_each(|request| request.times *= succeeds);
        self.note(format!(
            "{:.0} of 100 calls succeed according to workload.toml; the others are assumed to read all rows and to write none",
            100.0 * succeeds
        ));
        self
    }

    fn request(
        &mut self,
        (workload, procedure): (&Workload, &Procedure),
        all: &[Operation],
        number: usize,
        branches: &Branches<'_>,
        drawn: Drawn<'_>,
    ) -> Request {
        let operation = &all[number];
        let mut times = 1.0;
        for branch in &operation.branches {
            let (share, basis) = branches.share(branch);
            times *= share;
            self.assume(branch.line, basis);
        }
        let mut procedure_loops = 0;
        for repeat in &operation.repeats {
            times *= self.repetitions(&repeat.times, repeat.line, drawn);
            procedure_loops += usize::from(!matches!(repeat.times, Times::Count(_)));
        }
        let table = &workload.catalog.tables[operation.table];
        let (kind, rows) = kind_of(&operation.action, operation.rows);
        let rows = match kind {
            Kind::IndexLookup(_) | Kind::Scan(_) | Kind::Everything => {
                self.limited(procedure, operation, rows, drawn)
            }
            _ => rows,
        };
        let is_write = kind >= Kind::Update;
        let is_reference = matches!(operation.action, Action::Read { is_reference: true, .. });
        let touched = (0..table.indexes.len()).filter(|index| match &operation.action {
            Action::Insert { .. } | Action::Delete { .. } => true,
            Action::Update { columns, .. } => {
                table.indexes[*index].columns.iter().any(|column| columns.contains(column))
            }
            Action::Read { .. } => false,
        });
        Request {
            statement: operation.statement,
            table: operation.table,
            kind,
            // The number of rows is that of the operation that reads them.
            times: if is_write { times * operation.rows.max(1) as f64 } else { times },
            rows,
            is_ahead: kind == Kind::Lookup && is_named(&operation.action) && !is_reference,
            is_referred: is_reference && kind == Kind::Lookup && is_behind_insert(&all[..number]),
            is_validated: false,
            is_batch: !operation.repeats.is_empty() && procedure_loops == 0,
            follows: follows(&operation.action, &table.primary_key),
            rises: rises(&operation.action, &table.primary_key),
            touched: touched.collect(),
            operation: number,
        }
    }

    /// The rows of a range that a statement reads before its limit stops it.
    fn limited(
        &mut self,
        of: &Procedure,
        operation: &Operation,
        rows: f64,
        drawn: Drawn<'_>,
    ) -> f64 {
        let statement = of.statements.get((operation.statement as usize).wrapping_sub(1));
        let found =
            statement.map_or(Limit::No, |statement| limit(&statement.root, operation.table));
        let (number, rows) = match found {
            Limit::No => return rows,
            Limit::Argument(variable, there) => {
                (drawn.number(&Origin::Argument(variable)), there as f64)
            }
            Limit::Unknown(there) => (None, there as f64),
        };
        match number {
            Some(number) => rows.min(number.max(1.0)),
            None => {
                self.note(format!(
                    "statement {}: its LIMIT is unknown; all {rows} rows of the range are counted",
                    operation.statement
                ));
                rows
            }
        }
    }

    fn repetitions(&mut self, times: &Times, line: u32, drawn: Drawn<'_>) -> f64 {
        match times {
            Times::Count(count) => *count as f64,
            Times::Elements(array) => drawn.elements(array).unwrap_or_else(|| {
                self.note(format!(
                    "line {line}: the load does not draw the array; {UNKNOWN_ELEMENTS} elements are assumed"
                ));
                UNKNOWN_ELEMENTS
            }),
            Times::Number(number) => drawn.number(number).unwrap_or_else(|| {
                self.note(format!("line {line}: the number of repetitions is unknown; one is assumed"));
                UNKNOWN_TIMES
            }),
            Times::Unknown => {
                self.note(format!("line {line}: the number of repetitions is unknown; one is assumed"));
                UNKNOWN_TIMES
            }
        }
    }

    fn assume(&mut self, line: u32, basis: Basis) {
        match basis {
            Basis::Drawn => {}
            Basis::Found => {
                self.note(format!("line {line}: earlier statements are assumed to find their rows"))
            }
            Basis::Equal => {
                self.note(format!("line {line}: all branches are assumed to be equally likely"));
            }
        }
    }

    fn note(&mut self, what: String) {
        if !self.assumptions.contains(&what) {
            self.assumptions.push(what);
        }
    }
}

fn kind_of(action: &Action, rows: u64) -> (Kind, f64) {
    let rows = rows.max(1) as f64;
    match action {
        Action::Read { path: Path::Key, .. } => (Kind::Lookup, 1.0),
        Action::Read { path: Path::Lookup(index), .. } => (Kind::IndexLookup(*index), rows),
        Action::Read { path: Path::Range(index), .. } => (Kind::Scan(*index), rows),
        Action::Read { path: Path::All, .. } => (Kind::Everything, rows),
        Action::Insert { .. } => (Kind::Insert, 1.0),
        Action::Update { .. } => (Kind::Update, 1.0),
        Action::Delete { .. } => (Kind::Delete, 1.0),
    }
}

/// Whether the last operation before this one, except foreign key checks, is an insert.
fn is_behind_insert(before: &[Operation]) -> bool {
    let is_change = |of: &&Operation| !matches!(of.action, Action::Read { is_reference: true, .. });
    let change = before.iter().rev().find(is_change);
    change.is_some_and(|change| matches!(change.action, Action::Insert { .. }))
}

/// Whether an operation writes a table that has foreign keys or is referenced by one. Its procedure
/// is serializable then.
fn is_kept(workload: &Workload, operation: &Operation) -> bool {
    let tables = &workload.catalog.tables;
    let is_referred = |table: usize| {
        tables.iter().any(|other| other.foreign_keys.iter().any(|key| key.table == table))
    };
    let refers = |table: usize| !tables[table].foreign_keys.is_empty() || is_referred(table);
    !matches!(operation.action, Action::Read { .. }) && refers(operation.table)
}

/// Whether the rows that a call inserts differ only in the last key column: no other column is an
/// array element.
fn follows(action: &Action, key: &[usize]) -> bool {
    let Some((_, before)) = key.split_last() else { return false };
    before.iter().all(|column| is_single(action, *column))
}

/// Whether these rows are inserted in key order: the last column is not an array element either.
fn rises(action: &Action, key: &[usize]) -> bool {
    follows(action, key) && key.last().is_some_and(|column| is_single(action, *column))
}

/// Whether an insert sets a column to a value that is not an array element.
fn is_single(action: &Action, column: usize) -> bool {
    let Action::Insert { values } = action else { return false };
    !matches!(values.get(column), Some(Origin::Element(_)) | None)
}

/// Whether all key values are arguments or constants.
fn is_named(action: &Action) -> bool {
    match action {
        Action::Read { keys, .. } => keys.iter().all(|key| is_given(&key.origin)),
        _ => false,
    }
}

fn is_given(origin: &Origin) -> bool {
    match origin {
        Origin::Argument(_) | Origin::Constant => true,
        Origin::Element(array) => is_given(array),
        _ => false,
    }
}
