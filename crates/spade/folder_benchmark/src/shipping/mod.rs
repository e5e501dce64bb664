//! Procedures that are shipped to the owner of their rows, a compute server [SPADE 4.2].
//!
//! ```text
//! host      the compute server that executes them
//! shipper   the caller
//! message   encoding of calls and responses
//! ```

mod host;
mod message;
mod shipper;

pub use host::{CALL, Host, OPEN, SERVICES};
pub use shipper::{Opening, Owners, Shipped, Shipper};
