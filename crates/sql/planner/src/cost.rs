//! The cost model.
//!
//! A cost is a time in nanoseconds. The units are parameters, so that they can be measured: a
//! remote access costs a round trip, the transfer of its bytes and the work on its rows.
//!
//! ```text
//! row by primary key            1 round trip
//! rows by a whole index key     1 round trip for the index, 1 for the rows
//! range of the primary key      1 round trip to the first leaf, 1 for each further chunk
//! range of another index        the same, and 1 for each batch of rows
//! whole table                   1 round trip for each chunk
//! loop, inner row by key        1 round trip for each batch of outer rows
//! loop, otherwise               the inner input once for each outer row
//! equal join                    both inputs once; the inner rows are sorted
//! ```

/// Unit costs, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Costs {
    /// A one-sided read until its completion.
    pub round_trip: f64,
    /// The transfer of a byte.
    pub byte: f64,
    /// Handing a row from node to node.
    pub row: f64,
    /// An operation of an expression.
    pub operation: f64,
    /// Maximum number of rows that are read together in a round trip.
    pub batch_rows: f64,
    /// Bytes that a scan reads in a round trip.
    pub chunk_bytes: f64,
}

impl Default for Costs {
    /// A network with 2 us per round trip and 5 GB/s.
    fn default() -> Self {
        Self {
            round_trip: 2000.0,
            byte: 0.2,
            row: 100.0,
            operation: 10.0,
            batch_rows: 64.0,
            chunk_bytes: 4096.0,
        }
    }
}

/// Bytes of an entry of an index, with its pointer.
const ENTRY_BYTES: f64 = 24.0;

impl Costs {
    /// Reads rows whose places are known.
    fn fetch(&self, rows: f64, bytes: f64) -> f64 {
        (rows / self.batch_rows).ceil() * self.round_trip + self.rows(rows, bytes)
    }

    /// Transfer of rows and work on them.
    fn rows(&self, rows: f64, bytes: f64) -> f64 {
        rows * (bytes * self.byte + self.row)
    }

    /// A row by its primary key.
    pub(crate) fn key(&self, bytes: f64) -> f64 {
        self.round_trip + self.rows(1.0, bytes)
    }

    /// Rows by a whole key of an index.
    pub(crate) fn lookup(&self, rows: f64, bytes: f64) -> f64 {
        let rows = rows.max(1.0);
        self.round_trip + self.rows(rows, ENTRY_BYTES) + self.fetch(rows, bytes)
    }

    /// A range of an index; `of_rows` if the index holds the rows themselves.
    pub(crate) fn range(&self, rows: f64, bytes: f64, of_rows: bool) -> f64 {
        let entry = if of_rows { bytes } else { ENTRY_BYTES };
        let chunks = (rows * entry / self.chunk_bytes).ceil().max(1.0);
        let entries = chunks * self.round_trip;
        match of_rows {
            true => entries + self.rows(rows, bytes),
            false => entries + self.rows(rows, ENTRY_BYTES) + self.fetch(rows, bytes),
        }
    }

    /// All rows of a table.
    pub(crate) fn all(&self, rows: f64, bytes: f64) -> f64 {
        (rows * bytes / self.chunk_bytes).ceil().max(1.0) * self.round_trip + self.rows(rows, bytes)
    }

    /// A loop over outer rows whose inner rows are found by primary key.
    pub(crate) fn keyed_loop(&self, outer: f64, bytes: f64) -> f64 {
        self.fetch(outer.max(1.0), bytes)
    }

    pub(crate) fn sort(&self, rows: f64) -> f64 {
        rows * (rows.max(2.0).log2() * self.operation + self.row)
    }

    /// An equal join, without its inputs.
    pub(crate) fn equal_join(&self, outer: f64, inner: f64, pairs: usize) -> f64 {
        let pairs = pairs as f64;
        let searched = outer * (inner.max(2.0).log2() * self.operation + self.row);
        let keys = (outer + inner) * pairs * self.operation;
        if pairs == 0.0 { outer * self.row } else { self.sort(inner) + searched + keys }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_rows_and_bytes_cost_less() {
        let costs = Costs::default();
        assert!(costs.key(100.0) < costs.lookup(1.0, 100.0));
        assert!(costs.range(10.0, 100.0, true) < costs.range(10.0, 100.0, false));
        assert!(costs.range(10.0, 100.0, true) < costs.range(1000.0, 100.0, true));
        assert!(costs.all(10.0, 100.0) < costs.all(10.0, 10_000.0));
        let apart = 100.0 * costs.key(100.0);
        assert!(costs.keyed_loop(100.0, 100.0) < apart / 5.0, "keys are read together");
    }
}
