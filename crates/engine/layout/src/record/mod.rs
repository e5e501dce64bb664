//! Reads and writes the columns of a row in place: no copy, no allocation for numbers.
//!
//! Decisions:
//! - docs/decisions/0008-old-versions-have-the-shape-of-rows-and-are-read.md
//! - docs/decisions/0009-an-old-version-stores-its-successor.md
//! - docs/decisions/0201-columns-are-constants-compared-with-the-schema-when-tables.md

mod changed;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub(crate) use changed::words_of;
pub use changed::{for_changed_columns, set_changed_column};
pub use read::{RecordRef, copy_key_bytes};
pub use write::RecordMut;

const _: () =
    assert!(cfg!(target_endian = "little"), "payload columns are little-endian, in place");
