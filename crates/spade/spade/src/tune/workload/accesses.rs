//! What a call of a procedure asks of each table: operations with counts.
//!
//! Decision: docs/decisions/0236-succeeds-scales-what-a-procedure-changes-and-nothing-else.md

use super::branches::{Basis, Branches};
use super::draws::Drawn;
use super::limit::{Limit, limit};
use procedure::node::{Procedure, Workload};
use procedure::operations::{Action, Operation, Origin, Path, Times};

/// How often something is repeated where nobody can tell.
const UNKNOWN_TIMES: f64 = 1.0;
/// Elements of an array that nobody draws.
const UNKNOWN_ELEMENTS: f64 = 10.0;

/// What is asked of a table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// A row by its primary key.
    Lookup,
    /// Rows by all columns of an index, by position.
    IndexLookup(usize),
    /// A range of an index, or of the primary key.
    Scan(Option<usize>),
    /// All rows.
    Everything,
    /// A row that has been read is changed.
    Update,
    /// A row is added.
    Insert,
    /// A row that has been read is deleted.
    Delete,
}

/// An operation of a procedure.
#[derive(Clone, PartialEq, Debug)]
pub struct Ask {
    /// The statement in the procedure, from 1.
    pub statement: u32,
    /// The table by position.
    pub table: usize,
    /// What is done.
    pub kind: Kind,
    /// How often in a call, on the average.
    pub times: f64,
    /// Rows each time: of scans and of lookups by an index.
    pub rows: f64,
    /// Whether arguments name the rows, so that they are read with all others that arguments name.
    pub is_ahead: bool,
    /// Whether repetitions stand in one statement, which reads the rows of all of them together.
    pub is_batch: bool,
    /// Whether rows that one call adds follow each other by key.
    pub follows: bool,
    /// Whether they come in the order of the key as well: it is counted, and no element of an array.
    pub rises: bool,
    /// Whether it is read behind an insert with all other rows that the new ones of the statement refer to.
    pub is_referred: bool,
    /// Whether the commit looks at it again: of serializable procedures all that is read and not changed.
    pub is_validated: bool,
    /// The indexes whose entries change, by position.
    pub touched: Vec<usize>,
    /// The operation itself, by position among the procedure's.
    pub operation: usize,
}

/// A procedure as the tuner sees it.
#[derive(Clone, PartialEq, Debug)]
pub struct Asked {
    /// Its name.
    pub name: String,
    /// Its share of all calls.
    pub share: f64,
    /// The share of its calls that succeeds, if the load says so.
    pub succeeds: Option<f64>,
    /// The names of its variables, arguments first.
    pub variables: Vec<String>,
    /// Its operations as they stand in it.
    pub operations: Vec<Operation>,
    /// What is asked, in the order of the program.
    pub asks: Vec<Ask>,
    /// What had to be assumed, in sentences.
    pub assumptions: Vec<String>,
}

impl Asked {
    /// What a procedure asks, called with such a share.
    pub fn new(workload: &Workload, procedure: &Procedure, share: f64, drawn: Drawn<'_>) -> Self {
        let operations = workload.operations(procedure);
        let branches = Branches::new(&procedure.routine, drawn);
        let name = procedure.routine.name.clone();
        let variables = procedure.routine.variables.iter().map(|of| of.name.clone()).collect();
        let (asks, assumptions) = (Vec::new(), Vec::new());
        let succeeds = None;
        let mut asked = Self { name, share, succeeds, variables, operations, asks, assumptions };
        let operations = std::mem::take(&mut asked.operations);
        let is_serializable = operations.iter().any(|operation| is_kept(workload, operation));
        for (number, operation) in operations.iter().enumerate() {
            let ask = asked.ask((workload, procedure), &operations, number, &branches, drawn);
            let is_unchanged =
                matches!(operation.action, Action::Read { is_for_change: false, .. });
            let is_validated = is_unchanged && is_serializable;
            asked.asks.push(Ask { operation: number, is_validated, ..ask });
            debug_assert!(operation.statement > 0);
        }
        asked.operations = operations;
        asked
    }

    /// The same where the load says which share of its calls succeeds, between two bounds: others raise an error or find nothing, and
    /// are taken to look for all rows and to change none.
    pub fn succeeding(mut self, bounds: Option<(f64, f64)>) -> Self {
        let Some((low, high)) = bounds else { return self };
        let succeeds = (low + high) / 2.0;
        self.succeeds = Some(succeeds);
        let mut writes = self.asks.iter_mut().filter(|ask| ask.kind >= Kind::Update).peekable();
        if succeeds >= 1.0 || writes.peek().is_none() {
            return self;
        }
        writes.for_each(|ask| ask.times *= succeeds);
        self.note(format!(
            "{:.0} of 100 calls succeed, by workload.toml: others are taken to look for all rows and to change none",
            100.0 * succeeds
        ));
        self
    }

    fn ask(
        &mut self,
        (workload, procedure): (&Workload, &Procedure),
        all: &[Operation],
        number: usize,
        branches: &Branches<'_>,
        drawn: Drawn<'_>,
    ) -> Ask {
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
        Ask {
            statement: operation.statement,
            table: operation.table,
            kind,
            // Rows that are changed were counted by the operation that reads them.
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

    /// Rows of a range of which a statement may want fewer.
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
                    "statement {}: its LIMIT is not known, so that all {rows} rows of the range are counted",
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
                    "line {line}: nobody draws the array, it is taken to have {UNKNOWN_ELEMENTS} elements"
                ));
                UNKNOWN_ELEMENTS
            }),
            Times::Number(number) => drawn.number(number).unwrap_or_else(|| {
                self.note(format!("line {line}: how often is not known, it is taken as once"));
                UNKNOWN_TIMES
            }),
            Times::Unknown => {
                self.note(format!("line {line}: how often is not known, it is taken as once"));
                UNKNOWN_TIMES
            }
        }
    }

    fn assume(&mut self, line: u32, basis: Basis) {
        match basis {
            Basis::Drawn => {}
            Basis::Found => self.note(format!(
                "line {line}: statements before it are taken to have found their rows"
            )),
            Basis::Equal => {
                self.note(format!("line {line}: each branch is taken as often as the others"));
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

/// Whether what stands before an operation, but for references, is an insert.
fn is_behind_insert(before: &[Operation]) -> bool {
    let is_change = |of: &&Operation| !matches!(of.action, Action::Read { is_reference: true, .. });
    let change = before.iter().rev().find(is_change);
    change.is_some_and(|change| matches!(change.action, Action::Insert { .. }))
}

/// Whether an operation changes a table whose rows refer to others or are referred to: its procedure is serializable.
fn is_kept(workload: &Workload, operation: &Operation) -> bool {
    let tables = &workload.catalog.tables;
    let is_referred = |table: usize| {
        tables.iter().any(|other| other.foreign_keys.iter().any(|key| key.table == table))
    };
    let refers = |table: usize| !tables[table].foreign_keys.is_empty() || is_referred(table);
    !matches!(operation.action, Action::Read { .. }) && refers(operation.table)
}

/// Whether rows that are added one after the other differ in the last column of their key: no other one is of an array.
fn follows(action: &Action, key: &[usize]) -> bool {
    let Some((_, before)) = key.split_last() else { return false };
    before.iter().all(|column| is_single(action, *column))
}

/// Whether these come in the order of the key: the last column is of no array, either.
fn rises(action: &Action, key: &[usize]) -> bool {
    follows(action, key) && key.last().is_some_and(|column| is_single(action, *column))
}

/// Whether an insert has a value for a column that is no element of an array.
fn is_single(action: &Action, column: usize) -> bool {
    let Action::Insert { values } = action else { return false };
    !matches!(values.get(column), Some(Origin::Element(_)) | None)
}

/// Whether all values of a key are arguments' or constants.
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
