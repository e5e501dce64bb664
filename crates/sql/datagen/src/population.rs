//! A load at some scale, ready to be drawn.

use crate::arguments::Way;
use crate::compile::Compiler;
use crate::draw::Distribution;
use crate::error::PopulationError;
use crate::order::Orders;
use crate::rules::Rules;
use sql::{Load, Program, SqlType};
use std::sync::Arc;

/// How much is drawn, and from which seed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scale {
    /// Units of scale, as `workload.toml` counts them.
    pub units: u64,
    /// Everything random follows from it.
    pub seed: u64,
    /// The time that `now = true` gives rows, in microseconds since 2000-01-01.
    pub now_us: i64,
}

/// Rows of another table that a number of rows is estimated by.
const PARENTS_LOOKED_AT: u64 = 10_000;

/// Tables and calls of a workload, ready to be drawn. It is of one thread; others make their own, which draw the same.
#[derive(Clone, Debug)]
pub struct Population {
    pub(crate) scale: Scale,
    pub(crate) tables: Vec<Table>,
    pub(crate) procedures: Vec<Procedure>,
    /// How many columns have values in random orders.
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
    /// What the schema says of its rows.
    pub rules: Arc<Rules>,
    /// How many of the first columns the rows of other tables look at.
    pub looked_at: usize,
}

/// How many rows a table has.
#[derive(Clone, Debug)]
pub(crate) enum Count {
    Rows(u64),
    ForEach { parent: usize, count: Distribution },
}

/// How the arguments of a procedure are drawn.
#[derive(Clone, Debug)]
pub(crate) struct Procedure {
    pub name: String,
    pub frequency: f64,
    pub arguments: Vec<Distribution>,
    /// How each of them is drawn with least effort.
    pub ways: Vec<Way>,
}

impl Population {
    /// Makes a load ready at a scale.
    ///
    /// # Errors
    /// If columns are missing, or a draw does not fit its type or this scale; with place and remedy.
    pub fn new(program: &Program, load: &Load, scale: Scale) -> Result<Self, PopulationError> {
        Compiler::new(program, load, scale).population()
    }

    /// What it was made with.
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// The names of the tables, in the order of `schema.sql`: a table's number is its place here.
    pub fn tables(&self) -> impl Iterator<Item = &str> {
        self.tables.iter().map(|table| &*table.name)
    }

    /// About how many rows a table has: exactly, unless each row of another has as many as is drawn.
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

    /// The number of a table.
    pub fn table(&self, name: &str) -> Option<usize> {
        self.tables.iter().position(|table| table.name == name)
    }

    /// The types of a table's columns.
    ///
    /// # Panics
    /// If there is no table of this number.
    pub fn column_types(&self, table: usize) -> &[SqlType] {
        &self.tables[table].types
    }

    /// The names of a table's columns.
    ///
    /// # Panics
    /// If there is no table of this number.
    pub fn column_names(&self, table: usize) -> &[String] {
        &self.tables[table].names
    }

    /// The name of a procedure by its number, in the order of `procedures.sql`.
    ///
    /// # Panics
    /// If there is no procedure of this number.
    pub fn procedure(&self, number: usize) -> &str {
        &self.procedures[number].name
    }

    /// The tables from which rows of `table` come, the one that is counted first, itself last.
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

    /// How many rows a table has that is counted, or the table has from which its rows come.
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
