//! A load at some scale, compiled and ready to draw.

use crate::arguments::ArgumentDraw;
use crate::compile::Compiler;
use crate::draw::Distribution;
use crate::error::PopulationError;
use crate::order::Orders;
use crate::rules::Rules;
use sql::{Load, Program, SqlType};
use std::sync::Arc;

/// Scale and seed of a population.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scale {
    /// Units of scale, as in `workload.toml`.
    pub units: u64,
    /// The seed of all random numbers.
    pub seed: u64,
    /// The time that `now = true` draws for rows, in microseconds since 2000-01-01.
    pub now_us: i64,
}

/// Number of parent rows from which a table's row count is estimated.
const PARENTS_LOOKED_AT: u64 = 10_000;

/// Tables and calls of a workload, ready to draw. It belongs to one thread; other threads create
/// their own, which draw the same.
#[derive(Clone, Debug)]
pub struct Population {
    pub(crate) scale: Scale,
    pub(crate) tables: Vec<Table>,
    pub(crate) procedures: Vec<Procedure>,
    /// Number of columns with values in random permutations.
    pub(crate) order_count: usize,
}

/// How the rows of a table are drawn.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub name: String,
    pub count: Count,
    pub columns: Vec<Distribution>,
    pub names: Vec<String>,
    pub types: Vec<SqlType>,
    /// The constraints of the schema.
    pub rules: Arc<Rules>,
    /// Number of leading columns that rows of other tables refer to.
    pub looked_at: usize,
}

/// The row count of a table.
#[derive(Clone, Debug)]
pub(crate) enum Count {
    Rows(u64),
    ForEach { parent: usize, count: Distribution },
}

#[derive(Clone, Debug)]
pub(crate) struct Procedure {
    pub name: String,
    pub frequency: f64,
    pub arguments: Vec<Distribution>,
    /// The fastest way to draw each argument.
    pub argument_draws: Vec<ArgumentDraw>,
}

impl Population {
    /// Compiles a load at a scale.
    ///
    /// # Errors
    /// A column has no draw, or a draw does not fit its type or this scale.
    pub fn new(program: &Program, load: &Load, scale: Scale) -> Result<Self, PopulationError> {
        Compiler::new(program, load, scale).population()
    }

    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// The names of the tables, in the order of `schema.sql`; a table's number is its position
    /// here.
    pub fn tables(&self) -> impl Iterator<Item = &str> {
        self.tables.iter().map(|table| &*table.name)
    }

    /// The row count of a table: exact, or estimated if it is drawn for each row of another table.
    pub fn row_count(&self, table: usize) -> u64 {
        match &self.tables[table].count {
            Count::Rows(rows) => *rows,
            Count::ForEach { parent, .. } => {
                let parents = self.row_count(*parent);
                let parts = parents.div_ceil(PARENTS_LOOKED_AT).max(1);
                (self.rows(table, 0, parts).count() as u64).saturating_mul(parts)
            }
        }
    }

    pub fn table(&self, name: &str) -> Option<usize> {
        self.tables.iter().position(|table| table.name == name)
    }

    /// The types of a table's columns.
    ///
    /// # Panics
    /// The population has no table of this number.
    pub fn column_types(&self, table: usize) -> &[SqlType] {
        &self.tables[table].types
    }

    /// The names of a table's columns.
    ///
    /// # Panics
    /// The population has no table of this number.
    pub fn column_names(&self, table: usize) -> &[String] {
        &self.tables[table].names
    }

    /// The name of a procedure by its position in `procedures.sql`.
    ///
    /// # Panics
    /// The population has no procedure of this number.
    pub fn procedure(&self, number: usize) -> &str {
        &self.procedures[number].name
    }

    /// The chain of parents of `table`, root first, `table` last.
    pub(crate) fn lineage(&self, table: usize) -> Vec<usize> {
        let mut lineage = vec![table];
        let mut next = table;
        while let Count::ForEach { parent, .. } = self.tables[next].count {
            lineage.push(parent);
            next = parent;
        }
        lineage.reverse();
        lineage
    }

    /// The row count of the root of the table's chain of parents.
    pub(crate) fn root_rows(&self, table: usize) -> u64 {
        match self.tables[table].count {
            Count::Rows(rows) => rows,
            Count::ForEach { parent, .. } => self.root_rows(parent),
        }
    }

    pub(crate) fn orders(&self) -> Orders {
        Orders::new(self.scale.seed, self.order_count)
    }
}
