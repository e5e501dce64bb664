//! What a call keeps between its statements, and lists that are made once for all calls of a lane.

use crate::plan::Statement;
use crate::rows::Rows;
use layout::Key;
use std::rc::Rc;
use txn::{IndexId, RowId, TableId};
use value::Value;

/// The state of a call.
#[derive(Default, Debug)]
pub(crate) struct Frame {
    /// The procedure's variables.
    pub variables: Vec<Value>,
    /// First columns of the rows of sub plans that were carried out.
    pub results: Vec<Option<Vec<Value>>>,
    /// Rows of plans that several nodes read.
    pub shared: Vec<Option<Rc<Rows>>>,
    /// What the aggregates of the group at hand have come to.
    pub aggregates: Vec<Value>,
    /// Rows that the last statement changed or delivered.
    pub processed: u64,
    /// When the transaction began, in microseconds since 2000-01-01.
    pub began_us: i64,
    /// What the world's clock has to be put forward by to show that.
    pub clock_us: i64,
    /// Rows that the call has inserted into tables that a statement reads as a whole.
    pub inserted: Vec<(usize, Key)>,
    /// The last look-up of a key in an index, as long as no statement has changed anything, and what it has found.
    pub looked_up: Option<(IndexId, Key)>,
    pub found: Vec<RowId>,
    /// The next key of a table without a primary key.
    pub hidden_key: i64,
    /// Whether the call changes and locks nothing, and is not validated: rows that it reads need not be kept.
    pub only_looks: bool,
    /// Rows that were read ahead.
    pub known: Vec<Option<RowId>>,
    /// Of each statement for which some were, where.
    pub places: Vec<Place>,
    pub later: Later,
    pub scratch: Scratch,
}

/// Where a statement finds the rows that were read for it: one each time it is carried out.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Place {
    pub next: usize,
    /// From one to the next; 0 if it is carried out once.
    pub stride: usize,
    pub end: usize,
}

/// Rows that wait to be added, see [`crate::run`].
#[derive(Default, Debug)]
pub(crate) struct Later {
    /// Their tables, by position among those that are bound.
    pub tables: Vec<usize>,
    pub keys: Vec<(TableId, Key)>,
    /// Their values, those of one row behind those of another.
    pub values: Vec<Value>,
    /// Those that were added.
    pub rows: Vec<RowId>,
}

impl Later {
    pub fn clear(&mut self) {
        self.tables.clear();
        self.keys.clear();
        self.rows.clear();
        self.values.clear();
    }
}

/// Lists that operators fill and empty.
#[derive(Default, Debug)]
pub(crate) struct Scratch {
    pub values: Vec<Value>,
    pub ids: Vec<RowId>,
    pub rows: Rows,
    /// Rows of inputs that were looked at.
    pub inputs: Vec<Rows>,
    /// Keys that are read together, the places of the rows that they were made of, and what was found.
    pub reads: Vec<(TableId, Key)>,
    pub places: Vec<usize>,
    pub found: Vec<Option<RowId>>,
}

/// Most lists of rows that are kept for further inputs.
const INPUTS_MAX: usize = 8;

impl Scratch {
    /// An empty list for rows of this width.
    pub fn input(&mut self, width: usize) -> Rows {
        let mut rows = self.inputs.pop().unwrap_or_default();
        rows.reset(width);
        rows
    }

    /// Keeps a list that nobody looks at any more.
    pub fn give_back(&mut self, rows: Rows) {
        if self.inputs.len() < INPUTS_MAX {
            self.inputs.push(rows);
        }
    }
}

impl Frame {
    /// Ready for a call of a procedure with so many variables.
    pub fn begin(&mut self, variables: usize, now_us: i64) {
        self.variables.resize(variables, Value::Null);
        self.variables.iter_mut().for_each(|variable| variable.put(Value::Null));
        self.processed = 0;
        self.began_us = now_us;
        self.inserted.clear();
        self.looked_up = None;
        self.later.clear();
    }

    /// The row that was read for a statement, if it was: none if there is no such row.
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

    /// What was found before a statement that changes rows may be something else behind it.
    #[inline]
    pub fn note_changes(&mut self, statement: &Statement) {
        if statement.writes {
            self.looked_up = None;
        }
    }

    /// Ready for a statement.
    #[inline]
    pub fn begin_statement(&mut self, statement: &Statement) {
        let plans = statement.plans.len();
        self.results.clear();
        self.shared.clear();
        self.note_changes(statement);
        if plans > 0 {
            self.results.resize(plans, None);
            self.shared.resize(plans, None);
        }
    }
}
