//! Hash tables and B+-trees over remote memory, one file per operation, and a full check for each.
//!
//! Neither depends on transactions: [`hash`] finds buckets and slots and grows the table, [`tree`]
//! finds leaves and makes room in them. The transaction layer locks their insert words and decides.
#![forbid(unsafe_code)]

mod damage;
pub mod error;
pub mod hash;
pub mod tree;

pub use damage::{Damage, Flaw};
pub use error::IndexError;
