//! Stored procedures, called by name with bound arguments [SPADE 3.1, listing 3].
//!
//! [`Database::open`] reads a workload folder with tables and procedures in SQL, and creates the
//! tables in this process or uses those of a cluster. Each thread opens a [`Session`], and a
//! [`Call`] per procedure, whose arguments are bound by position or by name.
//!
//! ```no_run
//! use namdb::procedures::{Database, Options};
//!
//! let database = Database::open("workloads/tatp", &Options::default())?;
//! let mut call = database.session()?.call("get_subscriber_data")?;
//! let subscriber = call.bind(0, 7)?.execute()?;
//! let number = subscriber.text(0, "sub_nbr")?.unwrap_or_default();
//! let location = subscriber.int(0, "vlr_location")?.unwrap_or(0);
//! println!("{number} is at {location}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A call is one transaction. Generated code executes it if matching code is built in or linked
//! ([`code()`]); otherwise the plan executor does. On a conflict the call is retried. If it does
//! not commit, [`CallFailure`] says whether the cause was a conflict or the call's data, or that
//! the outcome is unknown.
//!
//! ```text
//! code       generated code of workloads of one's own
//! database   tables and procedures of a folder, opened
//! open       making tables and loading them
//! session    the calls of one thread
//! call       binding arguments, executing, reading rows
//! argument   argument values
//! rows       result values
//! signature  parameters and result columns of procedures
//! error      errors
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
