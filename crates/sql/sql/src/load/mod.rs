//! The load of a workload: `workload.toml`.
//!
//! It says how often each procedure is called, how its arguments are drawn, how many rows tables have, and on what
//! machines it is to run. Every table of `schema.sql`, and every procedure of `procedures.sql` with each of its `IN`
//! parameters, has its entry; keys that do not exist are refused with their line.
//!
//! # Example
//!
//! ```toml
//! name = "shop"
//! unit = "branch"      # what the workload is scaled by
//! units = 4            # how many, if nobody says otherwise
//!
//! [machines]           # may be left out, and so may each of these: then it is the cluster that was measured
//! count = 4
//! threads = 16         # of each machine
//! memory_gib = 64.0    # of each machine, what the design may take
//! profile = "connectx-3"
//!
//! [tables]
//! # An amount is an integer, or a formula of integers, `units`, `TABLE.rows` and + - * / without parentheses.
//! branch = { rows = "units" }
//! item = { rows = 100_000 }
//!
//! [tables.customer]
//! rows = "3000 * units"
//! # Columns may be left out, where a workload has a loader of its own. Otherwise they say what is loaded, with
//! # the same draws as arguments. `sequence` counts rows: here c_branch is 1, 1, ... and c_number 1, 2, ..., 3000, 1, ...
//! columns.c_branch = { sequence = [1, "units"], each = 3000 }
//! columns.c_number = { sequence = [1, 3000] }
//! columns.c_name = { text = [8, 16], alphabet = "letters" }
//!
//! # Rows of another table may come with some each. `TABLE.COLUMN` is then the value of that column in the parent's row.
//! [tables.basket]
//! for_each = "customer"
//! rows = { uniform = [0, 3] }
//! columns.b_branch = { same = "customer.c_branch" }
//! columns.b_customer = { same = "customer.c_number" }
//! columns.b_number = { sequence = [1, 3] }                   # counts the baskets of one customer
//! columns.b_shelf = { uniform = [1, 9], distinct = true }    # no two of one customer stand on the same
//! columns.b_paid = { by = "customer.c_number", cases = [{ below = 2101, draw = { constant = true } }, { draw = { constant = false } }] }
//!
//! [procedures.buy]
//! frequency = 45       # relative to the others; 0: only called by hand, and needs no arguments
//! succeeds = 0.99      # share of the calls that give rows, if they may, and raise nothing; or [0.98, 1.0]. Checked after a run
//! rows.basket = -1     # rows that each of these adds to a table; it takes some if this is negative. Checked after a run
//! [procedures.buy.arguments]
//! branch = { uniform = [1, "units"] }
//! customer = { nurand = { a = 1023, c = 259, range = [1, 3000] } }
//! items = { array = { uniform = [1, "item.rows"] }, length = { uniform = [5, 15] }, distinct = true }
//! quantities = { array = { uniform = [1, 10] }, length_of = "items" }
//!
//! [procedures.pay]
//! frequency = 43
//! [procedures.pay.arguments]
//! branch = { uniform = [1, "units"] }
//! amount = { uniform = [100, 500_000], decimals = 2 }       # 1.00 to 5000.00
//! by_name = { chance = 0.6 }
//! customer = { by = "by_name", cases = [{ is = false, draw = { uniform = [1, 3000] } }] }   # else null
//! name = { by = "by_name", cases = [{ is = true, draw = { text = [8, 16] } }] }
//! ```
//!
//! # Draws
//!
//! A distribution is a table with the key of one draw, what belongs to that, and optionally `null = 0.1`: the share of
//! nulls among the values.
//!
//! | key | draws | further keys |
//! |---|---|---|
//! | `uniform = [low, high]` | every whole number alike, bounds included, which are amounts | `decimals`: that many last digits are behind the point; `except = "ARGUMENT"`: never the value of that one, if there are others; `distinct = true` |
//! | `nurand = { a, c, range = [low, high] }` | TPC-C's skewed number; `c` may be left out and is 0 | |
//! | `zipf = { range = [low, high], theta = 0.99 }` | the n-th number with weight 1 / n^theta | inside: `scrambled = true` spreads the ranks over the range |
//! | `sequence = [low, high]` | numbers one after the other by the count of rows or calls, and again from the beginning | `each`: how often each is repeated |
//! | `constant = 5` | always that | |
//! | `one_of = ["A", "B"]` | one of the list | `weights = [9, 1]`, or `distinct = true` |
//! | `chance = 0.6` | true with that probability, else false | |
//! | `text = [8, 16]` | random characters, from so many to so many | `alphabet`: `letters`, `digits` or `alphanumeric`, which is the default; `containing = "WORD"`: somewhere among them; `ending = "WORD"`: behind them |
//! | `digits = { ... }` | a drawn number in decimal | `width = 15`: zeros in front up to that |
//! | `last_name = { ... }` | the last name that TPC-C makes of a number from 0 to 999 | |
//! | `same = "ARGUMENT"` | the value of an earlier argument | |
//! | `column = "TABLE.COLUMN"` | that column of a row which is loaded, of a table that has no `for_each`: a foreign key | `row = { ... }`: which row, from 1; otherwise all alike |
//! | `mixture = [{ weight = 85, draw = { ... } }, ...]` | as one of several | |
//! | `cases = [{ is = true, draw = { ... } }, ...]` | depends on an earlier argument; the first case that fits counts, and null if none does. Instead of `is` there may be `below = 2101`, or nothing in the last case | `by = "ARGUMENT"`, required |
//! | `array = { ... }` | an array with such elements | `length = { ... }` or `length_of = "ARGUMENT"`; `distinct = true` |
//! | `now = true` | the time of the call | |
//!
//! `distinct = true` puts the values of a column into a random order, takes them one after the other by the count of rows, and
//! then puts them into another order. So a column has a random permutation for each so many rows, and rows of one parent have
//! different values as long as there are enough. Of an array it is said that no two of its elements are alike.
//!
//! Rows are counted over the table, those of a table with `for_each` over one row of the other table. Calls are counted over the
//! calls of that procedure by one client, and each client has its own part of the range of a `sequence`: no two draw the same
//! number as long as there are enough.
//!
//! "Earlier" is by the order of parameters in the procedure, and of columns in the table, before which come the columns of the
//! other table if there is one. A literal (`constant`, `one_of`,
//! `is`) is a TOML boolean, integer, float or string; decimals, dates and times are strings, as PostgreSQL reads them.
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

/// What `workload.toml` says, checked against schema and procedures.
#[derive(Clone, PartialEq, Debug)]
pub struct Load {
    /// The workload's name.
    pub name: String,
    /// What one unit of scale is.
    pub unit: String,
    /// How many units there are if nobody says otherwise.
    pub units: u64,
    /// Where it is to run.
    pub machines: Machines,
    /// The tables, in the order of `schema.sql`.
    pub tables: Vec<TableLoad>,
    /// The procedures, in the order of `procedures.sql`.
    pub procedures: Vec<ProcedureLoad>,
}

/// The machines that a design is made for.
#[derive(Clone, PartialEq, Debug)]
pub struct Machines {
    /// How many; as many as were measured if nothing is said.
    pub count: Option<u32>,
    /// Threads of each that run transactions; as many as were measured with if nothing is said.
    pub threads: Option<u32>,
    /// Memory of each for tables and indexes, in GiB; as much as is needed if nothing is said.
    pub memory_gib: Option<f64>,
    /// A hardware profile by name.
    pub profile: Option<String>,
}

/// How many rows a table has, and which.
#[derive(Clone, PartialEq, Debug)]
pub struct TableLoad {
    /// The table.
    pub table: String,
    /// The line of `workload.toml` that its section begins in.
    pub line: u32,
    /// Its rows after loading.
    pub rows: Rows,
    /// How columns are drawn, in the table's order; none where the workload has a loader of its own.
    pub columns: Vec<(String, Distribution)>,
}

/// How many rows a table has.
#[derive(Clone, PartialEq, Debug)]
pub enum Rows {
    /// So many.
    Counted(Amount),
    /// Some for each row of another table.
    ForEach {
        /// That table.
        parent: String,
        /// How their number is drawn, from columns of the parent's row; null and less than 0 are none.
        count: Distribution,
    },
}

impl TableLoad {
    /// How a column is drawn.
    pub fn column(&self, name: &str) -> Option<&Distribution> {
        self.columns.iter().find(|(column, _)| column == name).map(|(_, distribution)| distribution)
    }
}

impl Load {
    /// What is said of a table.
    pub fn table(&self, name: &str) -> Option<&TableLoad> {
        self.tables.iter().find(|table| table.table == name)
    }
}

/// How often a procedure is called, and with what.
#[derive(Clone, PartialEq, Debug)]
pub struct ProcedureLoad {
    /// The procedure.
    pub procedure: String,
    /// Relative to the others'.
    pub frequency: f64,
    /// The share of calls that find what they look for: give rows if they may give any, and are not ended by an
    /// exception of their own. From the least to the most that is expected; nothing if nobody expects anything.
    pub succeeds: Option<(f64, f64)>,
    /// Of tables, how many rows each call that succeeds adds; it takes some if that is negative.
    pub rows: Vec<(String, i64)>,
    /// One for each `IN` parameter, in order; none if the frequency is 0.
    pub arguments: Vec<(String, Distribution)>,
}
