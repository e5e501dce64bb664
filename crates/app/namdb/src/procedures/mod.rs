//! Stored procedures, called by name with bound arguments [SPADE 3.1, listing 3].
//!
//! [`Database::open`] takes a workload folder, which has tables and procedures in SQL, and makes them here or finds them in a cluster.
//! A thread takes a [`Session`], and a [`Call`] of it for each procedure, whose arguments are bound by position or by name.
//!
//! ```no_run
//! use namdb::procedures::{Database, Options};
//!
//! let database = Database::open("workloads/tatp", &Options::default())?;
//! let mut call = database.session()?.call("get_subscriber_data")?;
//! let subscriber = call.bind(0, 7)?.execute()?;
//! println!("{} is at {}", subscriber.text(0, "sub_nbr")?.unwrap_or_default(), subscriber.int(0, "vlr_location")?.unwrap_or(0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A call is a transaction, by generated code where some fits that is shipped or linked ([`code()`]), else by the executor of plans. It is tried again while it meets
//! others. If it does not commit, [`CallFailure`] says whether that was contention, its data, or cannot be known.
//!
//! ```text
//! code       generated code of workloads of one's own
//! database   tables and procedures of a folder, opened
//! open       making tables and loading them
//! session    the calls of one thread
//! call       a procedure, its arguments, and how it ended
//! argument   values that are bound
//! rows       values that come back
//! signature  what procedures take and give
//! error      what goes wrong, in sentences
//! ```

mod argument;
mod call;
mod code;
mod database;
mod error;
mod open;
mod rows;
mod session;
mod signature;

pub use argument::{Argument, Decimal, Texts};
pub use call::Call;
pub use code::{Code, code};
pub use database::{Database, Options, Tables};
pub use error::{CallFailure, Misuse, OpenFailure};
pub use procedure_runtime::Counts;
pub use rows::{At, Rows};
pub use session::Session;
pub use signature::{Parameter, Signature};
