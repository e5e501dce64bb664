//! The load of a workload: `workload.toml`.
//!
//! It gives the frequency of each procedure, the draws of its arguments, the row counts of the
//! tables, and the machines to run on. Every table of `schema.sql` needs an entry, and so does
//! every procedure of `procedures.sql` with each of its `IN` parameters. Unknown keys are refused
//! with their line.
//!
//! # Example
//!
//! ```toml
//! name = "shop"
//! unit = "branch"      # what the workload scales by
//! units = 4            # the default scale
//!
//! [machines]           # optional, as is each key; the default is the measured cluster
//! count = 4
//! threads = 16         # per machine
//! memory_gib = 64.0    # per machine, the limit for the design
//! profile = "connectx-3"
//!
//! [tables]
//! # An amount is an integer, or a formula of integers, `units`, `TABLE.rows` and + - * / without
//! # parentheses.
//! branch = { rows = "units" }
//! item = { rows = 100_000 }
//!
//! [tables.customer]
//! rows = "3000 * units"
//! # Columns are optional for a workload with its own loader. Otherwise they say how rows are
//! # loaded, with the same draws as arguments. `sequence` counts rows: c_branch is 1, 1, ... and
//! # c_number is 1, 2, ..., 3000, 1, ...
//! columns.c_branch = { sequence = [1, "units"], each = 3000 }
//! columns.c_number = { sequence = [1, 3000] }
//! columns.c_name = { text = [8, 16], alphabet = "letters" }
//!
//! # A table may have some rows for each row of another table, its parent. `TABLE.COLUMN` is then
//! # that column of the parent row.
//! [tables.basket]
//! for_each = "customer"
//! rows = { uniform = [0, 3] }
//! columns.b_branch = { same = "customer.c_branch" }
//! columns.b_customer = { same = "customer.c_number" }
//! columns.b_number = { sequence = [1, 3] }                   # counts a customer's baskets
//! columns.b_shelf = { uniform = [1, 9], distinct = true }    # differs between them
//! [tables.basket.columns.b_paid]
//! by = "customer.c_number"
//! cases = [{ below = 2101, draw = { constant = true } }, { draw = { constant = false } }]
//!
//! [procedures.buy]
//! frequency = 45       # relative to the others; 0: called by hand only, and needs no arguments
//! succeeds = 0.99      # share of calls that return rows, if they can, and raise no error; or
//!                      # [0.98, 1.0]; checked after a run
//! rows.basket = -1     # rows that each such call adds to a table, or deletes if negative;
//!                      # checked after a run
//! [procedures.buy.arguments]
//! branch = { uniform = [1, "units"] }
//! customer = { nurand = { a = 1023, c = 259, range = [1, 3000] } }
//! items.array = { uniform = [1, "item.rows"] }
//! items.length = { uniform = [5, 15] }
//! items.distinct = true
//! quantities = { array = { uniform = [1, 10] }, length_of = "items" }
//!
//! [procedures.pay]
//! frequency = 43
//! [procedures.pay.arguments]
//! branch = { uniform = [1, "units"] }
//! amount = { uniform = [100, 500_000], decimals = 2 }       # 1.00 to 5000.00
//! by_name = { chance = 0.6 }
//! # Null without a matching case.
//! customer = { by = "by_name", cases = [{ is = false, draw = { uniform = [1, 3000] } }] }
//! name = { by = "by_name", cases = [{ is = true, draw = { text = [8, 16] } }] }
//! ```
//!
//! # Draws
//!
//! A distribution is a TOML table with the key of one draw, the further keys of that draw, and
//! optionally `null = 0.1`, the share of nulls.
//!
//! - `uniform = [low, high]`: whole numbers, uniform; the bounds are amounts and inclusive.
//!   `decimals`: how many of the last digits are decimal places. `except = "ARGUMENT"`: excludes
//!   the value of that argument, if there are others. `distinct = true`: see below.
//! - `nurand = { a, c, range = [low, high] }`: TPC-C's skewed number; `c` defaults to 0.
//! - `zipf = { range = [low, high], theta = 0.99 }`: the n-th number with weight 1 / n^theta.
//!   Inside, `scrambled = true` scatters the ranks over the range.
//! - `sequence = [low, high]`: consecutive numbers by the running number of the row or call,
//!   cyclic. `each`: how often each number is repeated.
//! - `constant = 5`: always this value.
//! - `one_of = ["A", "B"]`: a value of the list. `weights = [9, 1]`, or `distinct = true`.
//! - `chance = 0.6`: true with this probability, otherwise false.
//! - `text = [8, 16]`: random characters, with minimum and maximum length. `alphabet`: `letters`,
//!   `digits` or `alphanumeric` (the default). `containing = "WORD"`: a word at a random position.
//!   `ending = "WORD"`: a suffix.
//! - `digits = { ... }`: a drawn number in decimal. `width = 15`: padded with zeros to this width.
//! - `last_name = { ... }`: TPC-C's last name of a number from 0 to 999.
//! - `same = "ARGUMENT"`: the value of an earlier argument.
//! - `column = "TABLE.COLUMN"`: that column of a loaded row, for a foreign key; the table has no
//!   `for_each`. `row = { ... }`: the row's number, from 1; otherwise uniform.
//! - `mixture = [{ weight = 85, draw = { ... } }, ...]`: one of several draws.
//! - `cases = [{ is = true, draw = { ... } }, ...]`: depends on the earlier argument of the
//!   required key `by = "ARGUMENT"`: the first case that matches, or null. `below = 2101` may
//!   replace `is`; the last case may have no condition.
//! - `array = { ... }`: an array of drawn elements. `length = { ... }` or `length_of = "ARGUMENT"`;
//!   `distinct = true`.
//! - `now = true`: the time of the call.
//!
//! With `distinct = true` a column takes the values in a random order, one per row, and then in
//! another random order: each block of that many rows has a permutation. Rows of one parent have
//! different values if there are enough. In an array, `distinct` makes all elements different.
//!
//! Rows are numbered within the table; with `for_each`, within the rows of one parent row. Calls
//! are numbered per procedure and client, and each client has its own part of the range of a
//! `sequence`: no two clients draw the same number if the range is large enough.
//!
//! "Earlier" follows the order of the procedure's parameters, or of the table's columns; the
//! columns of a parent table come before both. A literal (`constant`, `one_of`, `is`) is a TOML
//! boolean, integer, float or string. Decimals, dates and times are strings in PostgreSQL's syntax.
//!
//! Decision: docs/decisions/0199-the-load-says-which-arguments-may-be-null-and-how-many.md

mod amount;
mod convert;
mod distribution;
mod expectation;
mod raw;
mod read;
mod rows;
mod written;

pub use amount::Amount;
pub use distribution::{Alphabet, ArrayLength, Condition, Distribution, Draw, Literal, Range};
pub use expectation::Expectation;
pub(crate) use read::read;
pub use read::read_load;

/// `workload.toml`, checked against schema and procedures.
#[derive(Clone, PartialEq, Debug)]
pub struct Load {
    pub name: String,
    /// The name of a unit of scale.
    pub unit: String,
    /// The default number of units.
    pub units: u64,
    pub machines: Machines,
    /// The tables, in the order of `schema.sql`.
    pub tables: Vec<TableLoad>,
    /// The procedures, in the order of `procedures.sql`.
    pub procedures: Vec<ProcedureLoad>,
}

/// The machines that a design is computed for.
#[derive(Clone, PartialEq, Debug)]
pub struct Machines {
    /// Number of machines; defaults to the measured number.
    pub count: Option<u32>,
    /// Threads per machine that run transactions; defaults to the measured number.
    pub threads: Option<u32>,
    /// Memory per machine for tables and indexes, in GiB; unlimited by default.
    pub memory_gib: Option<f64>,
    /// Name of a hardware profile.
    pub profile: Option<String>,
}

/// Row count and columns of a table.
#[derive(Clone, PartialEq, Debug)]
pub struct TableLoad {
    pub table: String,
    /// The line of `workload.toml` where its section begins.
    pub line: u32,
    /// The row count after loading.
    pub rows: Rows,
    /// The draws of the columns, in the table's order; empty if the workload has its own loader.
    pub columns: Vec<(String, Distribution)>,
}

/// The row count of a table.
#[derive(Clone, PartialEq, Debug)]
pub enum Rows {
    Counted(Amount),
    /// Rows for each row of another table.
    ForEach {
        parent: String,
        /// How the number of rows is drawn, from columns of the parent row; null and negative
        /// numbers mean 0.
        count: Distribution,
    },
}

impl TableLoad {
    /// The draw of a column.
    pub fn column(&self, name: &str) -> Option<&Distribution> {
        self.columns.iter().find(|(column, _)| column == name).map(|(_, distribution)| distribution)
    }
}

impl Load {
    /// The load of a table.
    pub fn table(&self, name: &str) -> Option<&TableLoad> {
        self.tables.iter().find(|table| table.table == name)
    }
}

/// Frequency and arguments of a procedure.
#[derive(Clone, PartialEq, Debug)]
pub struct ProcedureLoad {
    pub procedure: String,
    /// Relative to the other procedures.
    pub frequency: f64,
    /// The share of calls that succeed, as minimum and maximum; `None` if it is not checked. A call
    /// succeeds if it returns rows (if it can) and its own exception does not end it.
    pub succeeds: Option<(f64, f64)>,
    /// The rows that each successful call adds to a table; negative if it deletes rows.
    pub rows: Vec<(String, i64)>,
    /// One draw for each `IN` parameter, in order; empty if the frequency is 0.
    pub arguments: Vec<(String, Distribution)>,
}
