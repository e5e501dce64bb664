//! The state of a call, and buffers that all calls of a lane reuse.

use crate::control::{Begin, Blocks, Caller, Cursors, Notice};
use crate::interrupt::Watch;
use crate::memory::{Memory, Reservation};
use crate::plan::Statement;
use crate::row_lock::HeldLocker;
use crate::rows::Rows;
use crate::run::{HeldRows, Meter};
use crate::single::{Callees, Planner, Sequences};
use layout::Key;
use sql_value::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use txn::{IndexId, RowId, TableId};

/// The state of a call.
#[derive(Default, Debug)]
pub(crate) struct Frame {
    pub variables: Vec<Value>,
    /// First columns of the rows of executed sub plans.
    pub results: Vec<Option<Vec<Value>>>,
    /// Rows of plans that several nodes read.
    pub shared: Vec<Option<Arc<Rows>>>,
    /// The memory of the results and rows of plans.
    pub memory_of_plans: Vec<Reservation>,
    pub memory: Memory,
    /// The memory of rows that were collected in arrays, by the numbers of their statements.
    pub collected: BTreeMap<usize, Reservation>,
    /// Measurements of nodes, by their numbers, if they are wanted.
    pub meters: Option<Vec<Meter>>,
    /// Results of the aggregates of the current group.
    pub aggregates: Vec<Value>,
    /// Number of rows that the last statement changed or delivered.
    pub processed: u64,
    /// The routines whose calls are running, innermost last.
    pub callers: Vec<Caller>,
    pub blocks: Blocks,
    /// The open cursors of the transaction.
    pub cursors: Cursors,
    /// Number of cursors that got their names when they were opened.
    pub unnamed_cursors: u64,
    /// When the transaction began, in microseconds since 2000-01-01.
    pub began_us: i64,
    /// Offset from the environment's clock to microseconds since 2000-01-01.
    pub clock_us: i64,
    /// Rows that the call has inserted into tables that a statement scans fully. Statements of a
    /// session may have catalogs with other positions of tables.
    pub inserted: Vec<(TableId, Key)>,
    /// The last index lookup, until a statement changes rows, and the rows that it found.
    pub looked_up: Option<(IndexId, Key)>,
    pub found: Vec<RowId>,
    /// The next key of a table without a primary key.
    pub hidden_key: i64,
    /// Whether the call neither changes nor locks rows and is not validated, so that its reads need
    /// not be kept.
    pub only_looks: bool,
    /// Rows that were read ahead.
    pub known: Vec<Option<RowId>>,
    /// For each statement with rows that were read ahead: where they are.
    pub places: Vec<AheadRows>,
    pub pending_inserts: PendingInserts,
    pub scratch: Scratch,
    /// Whether the call is the whole transaction, which it may then roll back.
    pub may_roll_back: bool,
    /// Where the call has begun, if it may be rolled back.
    pub undo: Option<Begin>,
    pub sequences: Option<HeldSequences>,
    /// Plans computed texts.
    pub planner: Option<HeldPlanner>,
    /// Knows the routines that statements call.
    pub callees: Option<HeldCallees>,
    /// Number of nodes that wait for the end of the routine.
    pub height: usize,
    /// Their maximum number: each takes some of the thread's stack.
    pub height_max: usize,
    /// Rows of routines, by the numbers of their nodes.
    pub called: Vec<(usize, Arc<HeldRows>)>,
    /// The last rows of the recursions that are running, by their numbers, innermost last.
    pub work_tables: Vec<(usize, Arc<HeldRows>)>,
    /// The messages raised, except exceptions.
    pub notices: Vec<Notice>,
    /// Tables whose rows handlers of errors do not show.
    pub hidden: Vec<usize>,
    /// Rows that were locked in a snapshot that the transaction keeps, and may have changed since.
    pub locked_late: Vec<RowId>,
    /// Grants the locks of rows; without it statements take none.
    pub locker: Option<HeldLocker>,
    pub watch: Watch,
}

/// The sequences of the session.
pub(crate) struct HeldSequences(pub Arc<dyn Sequences>);

impl std::fmt::Debug for HeldSequences {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("sequences")
    }
}

/// The planner of the session.
#[derive(Clone)]
pub(crate) struct HeldPlanner(pub Arc<dyn Planner>);

impl std::fmt::Debug for HeldPlanner {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("planner")
    }
}

/// The routines of the catalog.
#[derive(Clone)]
pub(crate) struct HeldCallees(pub Arc<dyn Callees>);

impl std::fmt::Debug for HeldCallees {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("callees")
    }
}

/// Where a statement finds the rows that were read ahead for it: one for each execution.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct AheadRows {
    pub next: usize,
    /// Distance from one execution's row to the next; 0 if the statement is executed once.
    pub stride: usize,
    pub end: usize,
}

/// Inserts waiting to be executed together, see [`crate::run`].
#[derive(Default, Debug)]
pub(crate) struct PendingInserts {
    /// Their tables, by position among the bound tables.
    pub tables: Vec<usize>,
    pub keys: Vec<(TableId, Key)>,
    /// The values of all rows, concatenated.
    pub values: Vec<Value>,
    pub rows: Vec<RowId>,
}

impl PendingInserts {
    pub fn clear(&mut self) {
        self.tables.clear();
        self.keys.clear();
        self.rows.clear();
        self.values.clear();
    }
}

/// Buffers that operators reuse.
#[derive(Default, Debug)]
pub(crate) struct Scratch {
    pub values: Vec<Value>,
    pub ids: Vec<RowId>,
    pub rows: Rows,
    /// Rows of inputs, no longer in use.
    pub inputs: Vec<Rows>,
    /// Keys that are read together, the positions of the rows that they belong to, and the rows
    /// found.
    pub reads: Vec<(TableId, Key)>,
    pub places: Vec<usize>,
    pub found: Vec<Option<RowId>>,
}

/// Maximum number of row buffers that are kept for reuse.
const INPUTS_MAX: usize = 8;

impl Scratch {
    /// Returns an empty buffer for rows of this width.
    pub fn input(&mut self, width: usize) -> Rows {
        let mut rows = self.inputs.pop().unwrap_or_default();
        rows.reset(width);
        rows
    }

    /// Keeps a buffer for reuse.
    pub fn give_back(&mut self, rows: Rows) {
        if self.inputs.len() < INPUTS_MAX {
            self.inputs.push(rows);
        }
    }
}

impl Frame {
    /// Prepares for a call of a procedure with this many variables.
    pub fn begin(&mut self, variables: usize, now_us: i64) {
        self.variables.resize(variables, Value::Null);
        self.variables.iter_mut().for_each(|variable| variable.put(Value::Null));
        self.processed = 0;
        self.began_us = now_us;
        self.inserted.clear();
        self.looked_up = None;
        self.collected.clear();
        self.pending_inserts.clear();
    }

    /// Returns the row that was read ahead for a statement, if it was; `Some(None)` if no row has
    /// the key.
    #[inline]
    pub fn known_row(&mut self, place: usize) -> Option<Option<RowId>> {
        let place = &mut self.places[place];
        if place.next >= place.end {
            return None;
        }
        let row = self.known[place.next];
        place.next += place.stride;
        Some(row)
    }

    /// Forgets the last index lookup if the statement changes rows.
    #[inline]
    pub fn note_changes(&mut self, statement: &Statement) {
        if statement.writes {
            self.looked_up = None;
        }
    }

    /// The frame of a routine that a statement with a plan of this height calls. It has what
    /// belongs to the transaction and the session, until [`Self::end_call`].
    pub fn begin_call(&mut self, height: usize, variables: usize) -> Self {
        let (height, height_max) = (self.height + height, self.height_max);
        let mut called = Self { height, height_max, ..Self::default() };
        called.variables.resize(variables, Value::Null);
        self.exchange(&mut called);
        called
    }

    /// The routine has ended.
    pub fn end_call(&mut self, mut called: Self) {
        self.exchange(&mut called);
        self.looked_up = None;
    }

    fn exchange(&mut self, other: &mut Self) {
        use std::mem::swap;
        other.memory = self.memory.clone();
        swap(&mut self.began_us, &mut other.began_us);
        swap(&mut self.clock_us, &mut other.clock_us);
        swap(&mut self.inserted, &mut other.inserted);
        swap(&mut self.hidden_key, &mut other.hidden_key);
        swap(&mut self.sequences, &mut other.sequences);
        swap(&mut self.planner, &mut other.planner);
        swap(&mut self.callees, &mut other.callees);
        swap(&mut self.notices, &mut other.notices);
        swap(&mut self.cursors, &mut other.cursors);
        swap(&mut self.unnamed_cursors, &mut other.unnamed_cursors);
        swap(&mut self.hidden, &mut other.hidden);
        swap(&mut self.locked_late, &mut other.locked_late);
        swap(&mut self.locker, &mut other.locker);
        swap(&mut self.watch, &mut other.watch);
    }

    #[inline]
    pub fn begin_statement(&mut self, statement: &Statement) {
        let plans = statement.plans.len();
        self.results.clear();
        self.shared.clear();
        self.called.clear();
        self.work_tables.clear();
        self.memory_of_plans.clear();
        self.note_changes(statement);
        if plans > 0 {
            self.memory_of_plans.resize_with(plans, Reservation::default);
            self.results.resize(plans, None);
            self.shared.resize(plans, None);
        }
    }
}
