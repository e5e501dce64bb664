//! TPC-C for the baselines: the inputs of the crate `workload`, rows of the specification's
//! lengths, and the five transactions as the rows that they read and then write.
//!
//! A transaction's profile is two functions, from its input to the rows that it reads and from
//! those to its writes, so that engines differ only in how they access rows. A warehouse is a
//! partition; items are never written, and every server has all of them.
//!
//! Columns that no transaction uses are present as padding of the right length.
//!
//! Decision: docs/decisions/0135-tpc-c-transactions-are-functions-for-the-baselines.md

pub mod check;
pub mod delivery;
pub mod input;
pub mod keys;
pub mod load;
pub mod new_order;
pub mod one_sided;
pub mod order_status;
pub mod payment;
pub mod procedure;
mod row;
pub mod serial;
pub mod stock_level;
pub mod terminal;

pub use input::Input;
pub use one_sided::OneSided;
pub use procedure::Tpcc;
pub use serial::SerialNewOrder;
pub use terminal::Terminal;

use crate::trad_si::partition::Write;

/// Rows as an engine has found them, in the order of the keys.
pub type Rows = [Option<Vec<u8>>];

/// The writes of a transaction; `None`: it rolls back.
pub type Writes = Option<Vec<Write>>;
