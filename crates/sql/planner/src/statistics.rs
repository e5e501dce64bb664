//! Statistics about the rows of tables.

/// Statistics of all tables.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Statistics {
    /// By position in the catalog; tables beyond have the defaults.
    pub tables: Vec<TableStatistics>,
}

/// Statistics of a table, and how its indexes are stored.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TableStatistics {
    /// Number of rows; `None` if unknown.
    pub rows: Option<f64>,
    /// By position; columns beyond have the defaults.
    pub columns: Vec<ColumnStatistics>,
    /// Which indexes can be read in order.
    pub order: TableOrder,
}

/// Which indexes of a table can be read in order.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum TableOrder {
    /// All that the schema does not declare as hash indexes: the tables are created for the plans.
    #[default]
    Free,
    /// As stored: the number of leading columns that a range must fix by equality, `None` if the
    /// index is a hash table. First that of the primary key, then those of the indexes.
    Stored(Vec<Option<usize>>),
}

/// Statistics of a column.
#[derive(Clone, PartialEq, Debug)]
pub struct ColumnStatistics {
    /// Number of distinct values; `None` if unknown.
    pub distinct: Option<f64>,
    /// Fraction of nulls, 0 to 1.
    pub null_fraction: f64,
    /// The most common values with their fractions of all rows, 0 to 1.
    pub common: Vec<(Constant, f64)>,
    /// Bounds of parts with equally many of the other rows, in order: at least two, or none.
    pub histogram: Vec<Constant>,
}

impl Default for ColumnStatistics {
    fn default() -> Self {
        Self { distinct: None, null_fraction: 0.0, common: Vec::new(), histogram: Vec::new() }
    }
}

/// A value in statistics.
#[derive(Clone, PartialEq, PartialOrd, Debug)]
pub enum Constant {
    /// A number; a truth value is 0 or 1.
    Number(f64),
    Text(String),
}

/// Rows of a table without statistics: many, because a plan for many rows does well with few.
pub(crate) const ROWS: f64 = 100_000.0;
/// Distinct values of a column without statistics, as in PostgreSQL.
pub(crate) const DISTINCT: f64 = 200.0;

static UNKNOWN: ColumnStatistics = ColumnStatistics {
    distinct: None,
    null_fraction: 0.0,
    common: Vec::new(),
    histogram: Vec::new(),
};

impl Statistics {
    pub(crate) fn rows(&self, table: usize) -> f64 {
        let rows = self.tables.get(table).and_then(|table| table.rows);
        rows.unwrap_or(ROWS).max(1.0)
    }

    pub(crate) fn column(&self, table: usize, column: usize) -> &ColumnStatistics {
        let table = self.tables.get(table);
        table.and_then(|table| table.columns.get(column)).unwrap_or(&UNKNOWN)
    }

    /// How many leading columns a range of an index must fix by equality; `None` if it cannot be
    /// read in order. `index` is `None` for the primary key.
    pub(crate) fn named(&self, table: usize, index: Option<usize>, is_hash: bool) -> Option<usize> {
        match self.tables.get(table).map(|table| &table.order) {
            None | Some(TableOrder::Free) => (!is_hash).then_some(0),
            Some(TableOrder::Stored(named)) => {
                named.get(index.map_or(0, |index| index + 1)).copied().flatten()
            }
        }
    }
}

impl ColumnStatistics {
    /// Fraction of the rows that are less than `value`; `None` without a histogram.
    pub(crate) fn below(&self, value: &Constant) -> Option<f64> {
        let parts = self.histogram.len().checked_sub(1).filter(|parts| *parts > 0)?;
        let before = self.histogram.partition_point(|bound| bound < value);
        let position = match before {
            0 => 0.0,
            before if before > parts => parts as f64,
            before => {
                let (low, high) = (&self.histogram[before - 1], &self.histogram[before]);
                let inside = match (low, high, value) {
                    (Constant::Number(low), Constant::Number(high), Constant::Number(value))
                        if high > low =>
                    {
                        (value - low) / (high - low)
                    }
                    _ => 0.5,
                };
                (before - 1) as f64 + inside
            }
        };
        let of_common: f64 = self
            .common
            .iter()
            .filter(|(common, _)| common < value)
            .map(|(_, fraction)| fraction)
            .sum();
        let common: f64 = self.common.iter().map(|(_, fraction)| fraction).sum();
        let others = (1.0 - self.null_fraction - common).max(0.0);
        Some(of_common + others * position / parts as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_gives_the_fraction_below_a_value() {
        let number = |number: i32| Constant::Number(f64::from(number));
        let column = ColumnStatistics {
            null_fraction: 0.2,
            common: vec![(number(5), 0.3)],
            histogram: vec![number(0), number(10), number(100)],
            ..ColumnStatistics::default()
        };
        let below = |value| column.below(&number(value)).expect("it has a histogram");
        let is = |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-9, "{found}");
        is(below(-1), 0.0);
        // Half of the first part, which has half of the other half of the rows.
        is(below(5), 0.125);
        is(below(10), 0.3 + 0.25);
        is(below(1000), 0.3 + 0.5);
        assert_eq!(ColumnStatistics::default().below(&number(1)), None);
    }

    #[test]
    fn unknown_tables_have_defaults() {
        let statistics = Statistics::default();
        assert!((statistics.rows(7) - ROWS).abs() < 1e-9);
        assert_eq!(statistics.named(0, None, false), Some(0));
        assert_eq!(statistics.named(0, Some(0), true), None);
        let order = TableOrder::Stored(vec![None, Some(1)]);
        let tables = vec![TableStatistics { order, ..TableStatistics::default() }];
        let stored = Statistics { tables };
        assert_eq!(stored.named(0, None, false), None);
        assert_eq!(stored.named(0, Some(0), false), Some(1));
    }
}
