//! Where expressions find their values while a statement runs.

use crate::cell::BoundColumn;
use crate::frame::Frame;
use fabric::Env;
use layout::RecordRef;
use sql::expression::ColumnRef;
use sql::function::Function;
use sql_value::{Decimal, Scope, Value};

/// A row that expressions refer to.
#[derive(Clone, Copy)]
pub(crate) enum Source<'v> {
    /// A row of a table, in the transaction's access set.
    Record(&'v RecordRef<'v>, &'v [BoundColumn]),
    /// The same, with a mapping from the expressions' columns to the table's.
    Mapped(&'v RecordRef<'v>, &'v [BoundColumn], &'v [usize]),
    Values(&'v [Value]),
}

pub(crate) const NOTHING: Source<'static> = Source::Values(&[]);

impl Source<'_> {
    #[inline]
    fn int(&self, at: usize) -> Option<i64> {
        match self {
            Self::Values(values) => values[at].as_int(),
            Self::Record(record, columns) => columns[at].read_int(**record, at),
            Self::Mapped(record, columns, map) => columns[map[at]].read_int(**record, map[at]),
        }
    }

    #[inline]
    fn numeric(&self, at: usize) -> Option<Decimal> {
        match self {
            Self::Values(values) => values[at].as_numeric(),
            Self::Record(record, columns) => columns[at].read_numeric(**record, at),
            Self::Mapped(record, columns, map) => columns[map[at]].read_numeric(**record, map[at]),
        }
    }

    #[inline]
    fn column(&self, at: usize) -> sql_value::Result<Value> {
        match self {
            Self::Values(values) => Ok(values[at].clone()),
            Self::Record(record, columns) => columns[at].read(**record, at),
            Self::Mapped(record, columns, map) => columns[map[at]].read(**record, map[at]),
        }
    }
}

/// The enclosing rows, innermost first.
#[derive(Clone, Copy)]
pub(crate) struct Outer<'v> {
    pub sources: [&'v [Value]; 2],
    pub next: Option<&'v Outer<'v>>,
}

/// The scope of a node's expressions.
pub(crate) struct View<'v, E: Env> {
    pub frame: &'v Frame,
    pub env: &'v E,
    pub sources: [Source<'v>; 2],
    pub outer: Option<&'v Outer<'v>>,
    pub element: &'v Value,
}

impl<E: Env> View<'_, E> {
    /// Returns a column of an enclosing row.
    #[inline]
    fn outer_column(&self, column: ColumnRef) -> Option<&Value> {
        let outer = (1..column.level).fold(self.outer, |outer, _| outer.and_then(|row| row.next));
        outer.and_then(|outer| outer.sources[column.source].get(column.column))
    }

    /// Returns a column of one of the two rows of level 0.
    #[inline]
    pub fn source_column(&self, source: usize, column: usize) -> sql_value::Result<Value> {
        self.sources[source].column(column)
    }
}

impl<E: Env> Scope for View<'_, E> {
    #[inline]
    fn variable(&self, variable: usize) -> &Value {
        &self.frame.variables[variable]
    }

    #[inline]
    fn column(&self, column: ColumnRef) -> sql_value::Result<Value> {
        if column.level == 0 {
            return self.sources[column.source].column(column.column);
        }
        Ok(self.outer_column(column).cloned().unwrap_or(Value::Null))
    }

    #[inline]
    fn int_column(&self, column: ColumnRef) -> Option<i64> {
        match column.level {
            0 => self.sources[column.source].int(column.column),
            _ => self.outer_column(column).and_then(Value::as_int),
        }
    }

    #[inline]
    fn numeric_column(&self, column: ColumnRef) -> Option<Decimal> {
        match column.level {
            0 => self.sources[column.source].numeric(column.column),
            _ => self.outer_column(column).and_then(Value::as_numeric),
        }
    }

    fn element(&self) -> &Value {
        self.element
    }

    fn sub_plan(&self, plan: usize) -> Option<&[Value]> {
        self.frame.results.get(plan)?.as_deref()
    }

    fn aggregate(&self, aggregate: usize) -> &Value {
        self.frame.aggregates.get(aggregate).unwrap_or(&Value::Null)
    }

    fn now(&self) -> i64 {
        self.frame.began_us
    }

    fn clock(&self) -> i64 {
        self.frame.clock_us + microseconds(self.env)
    }

    fn sequence(&self, function: Function, arguments: &[Value]) -> sql_value::Result<Value> {
        match &self.frame.sequences {
            Some(sequences) => sequences.0.call(function, arguments),
            None => {
                let message = format!("{} is not supported here", function.name());
                Err(sql_value::Error::new("0A000", message))
            }
        }
    }

    fn random(&self) -> f64 {
        // 53 bits, the precision of a float.
        (self.env.random() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Reads the environment's clock, in microseconds.
pub(crate) fn microseconds<E: Env>(env: &E) -> i64 {
    (env.now_ns() / 1_000) as i64
}
