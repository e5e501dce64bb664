//! Procedures that are carried out by the owner of their rows, a compute server, for whoever calls them [SPADE 4.2].
//!
//! ```text
//! host      the compute server that carries them out
//! shipper   whoever calls them there
//! message   what goes between both
//! ```

mod host;
mod message;
mod shipper;

pub use host::{CALL, Host, OPEN, SERVICES};
pub use shipper::{Opening, Owners, Shipped, Shipper};
