//! Hardware as numbers: what network cards, links, cores and memory are able to do, each number with the
//! source it was taken from.
//!
//! A profile is a file of `profiles`, read strictly: a key that is missing, unknown or out of range is refused
//! with a sentence. Each number says what it rests on ([`Basis`]); one that was fitted to a published result
//! names it, so that nobody takes this result for a prediction afterwards.
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
//! The files to read: [`card`] for the model of a card, [`core`] and [`memory`], then `sheet` for how a
//! file becomes numbers. There is no I/O here and no clock.
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
