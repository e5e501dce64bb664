//! Hardware as numbers: the capabilities of network cards, links, cores and memory, each number
//! with its source.
//!
//! A profile is a file of `profiles`. The parser is strict: it refuses a key that is missing,
//! unknown or out of range, and the message names the key. Each number records its basis
//! ([`Basis`]); a number that was fitted to a published result names that result, so that no
//! reader mistakes the result for a prediction.
//!
//! ```
//! let profile = hardware::profile("connect-ib-2xfdr").expect("it is built in");
//! assert_eq!(profile.card.ports, 2);
//! // Serving a small read takes a card 8.9 ns.
//! assert_eq!(profile.card.serve_ps(hardware::Kind::Read), 8_900);
//! let number = profile.number("card.wire_ns").expect("every profile has it");
//! assert_eq!(number.basis, hardware::Basis::Fitted);
//! ```
//!
//! Read [`card`] for the model of a card, then [`core`] and [`memory`], then `sheet` for the
//! parser. The crate does no I/O and has no clock.
#![forbid(unsafe_code)]

pub mod card;
pub mod core;
pub mod memory;
pub mod number;
mod problem;
mod profile;
mod sheet;

pub use card::{Card, Kind};
pub use core::Core;
pub use memory::Memory;
pub use number::{Basis, Number};
pub use problem::HardwareError;
pub use profile::{NAMES, Profile, profile};
