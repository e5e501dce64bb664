//! The rows of a table, part by part.
//!
//! A row of a table with a given row count follows from its number. A row of a table with
//! `for_each` follows from its parent row and its number within that. A part of such a table has
//! the rows below a part of its root table.
//!
//! Decisions:
//! - docs/decisions/0180-loads-draw-rows-per-parent-row-and-values-in-random-orders.md
//! - docs/decisions/0181-a-row-follows-from-its-parents-row-and-its-number-there.md

use crate::order::Orders;
use crate::population::{Count, Population};
use crate::sample::Site;
use fabric::random::{Random, step};
use sql_value::Value;
use std::ops::Range;

/// The first random stream of numbers of child rows.
const COUNT_STREAM: u32 = 1 << 28;

/// The rows of a part of a table, in order.
pub struct TableRows<'a> {
    population: &'a Population,
    orders: Orders,
    /// Remaining row numbers of the root table.
    left: Range<u64>,
    /// The table's chain of parents, root first.
    levels: Vec<Level>,
}

/// A table with its current row.
struct Level {
    table: usize,
    /// Number of leading columns to draw.
    columns: usize,
    values: Vec<Value>,
    /// The seed of the current row's draws and of the rows below it.
    identity: u64,
    /// Remaining rows of the current parent row; unused in the first level.
    left: Range<u64>,
}

impl Population {
    /// The rows of part `part` of `parts` of a table. All parts together have each row once.
    ///
    /// # Panics
    /// There is no such table or part.
    pub fn rows(&self, table: usize, part: u64, parts: u64) -> TableRows<'_> {
        assert!(part < parts, "parts are counted from 0");
        let lineage = self.lineage(table);
        let all = self.root_rows(table);
        let begin = |part: u64| (u128::from(all) * u128::from(part) / u128::from(parts)) as u64;
        let level = |of: &usize| Level {
            table: *of,
            columns: match *of == table {
                true => self.tables[*of].columns.len(),
                false => self.tables[*of].looked_at,
            },
            values: Vec::new(),
            identity: 0,
            left: 0..0,
        };
        TableRows {
            population: self,
            orders: self.orders(),
            left: begin(part)..begin(part + 1),
            levels: lineage.iter().map(level).collect(),
        }
    }
}

impl TableRows<'_> {
    /// Moves to the next row of a level; false if there is none.
    fn advance(&mut self, level: usize) -> bool {
        let Some(above) = level.checked_sub(1) else {
            let Some(row) = self.left.next() else { return false };
            let Level { table, columns, values, identity, .. } = &mut self.levels[0];
            self.population.counted_row(*table, row, *columns, &mut self.orders, values);
            *identity = row;
            return true;
        };
        loop {
            if let Some(number) = self.levels[level].left.next() {
                self.draw(level, number);
                return true;
            }
            if !self.advance(above) {
                return false;
            }
            self.levels[level].left = 0..self.children(level);
        }
    }

    /// Number of child rows of the current row of the level above.
    fn children(&mut self, level: usize) -> u64 {
        let table = self.levels[level].table;
        let Count::ForEach { count, .. } = &self.population.tables[table].count else { return 0 };
        let parent = &self.levels[level - 1];
        let seed = self.population.scale.seed;
        let mut site = Site {
            random: Random::stream(seed, COUNT_STREAM + table as u32, parent.identity),
            count: 0,
            group: parent.identity,
            client: None,
            now_us: self.population.scale.now_us,
            parent: &parent.values,
        };
        match self.population.value(count, &mut site, &mut self.orders, &[]) {
            Value::Int(count) => u64::try_from(count).unwrap_or(0),
            _ => 0,
        }
    }

    fn draw(&mut self, level: usize, number: u64) {
        let (above, below) = self.levels.split_at_mut(level);
        let (parent, row) = (&above[level - 1], &mut below[0]);
        row.identity = step(step(parent.identity).1 ^ number).1;
        let scale = self.population.scale;
        let mut site = Site {
            random: Random::stream(scale.seed, row.table as u32, row.identity),
            count: number,
            group: parent.identity,
            client: None,
            now_us: scale.now_us,
            parent: &parent.values,
        };
        let columns = &self.population.tables[row.table].columns[..row.columns];
        self.population.draw_all(columns, &mut site, &mut self.orders, &mut row.values);
    }
}

impl Iterator for TableRows<'_> {
    type Item = Vec<Value>;

    fn next(&mut self) -> Option<Vec<Value>> {
        let last = self.levels.len() - 1;
        self.advance(last).then(|| std::mem::take(&mut self.levels[last].values))
    }

    /// Counts without drawing rows of the last level, which may be very many.
    fn count(mut self) -> usize {
        let last = self.levels.len() - 1;
        let begun = &self.levels[last].left;
        let mut all = begun.end - begun.start;
        match last {
            0 => all = self.left.end - self.left.start,
            _ => {
                while self.advance(last - 1) {
                    all = all.saturating_add(self.children(last));
                }
            }
        }
        usize::try_from(all).unwrap_or(usize::MAX)
    }
}
