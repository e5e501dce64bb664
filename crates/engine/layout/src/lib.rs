//! The bytes of every structure in remote memory, and nothing else: no I/O, no clock, no async.
//!
//! Each structure has one file with a byte table, a sentence per field (who writes it, with which
//! verb), its invariants, and assertions that the compiler checks. The reading order: [`address`],
//! [`version`], [`row`], [`bucket`], [`leaf`], [`oracle`], [`vector_copy`], [`region`],
//! [`extent_list`], [`value`], [`long_cell`]; then the user's view: [`column`], [`schema`],
//! [`place`], [`record`], [`key`], [`design`].
#![forbid(unsafe_code)]

pub mod address;
pub mod bucket;
pub mod column;
pub mod design;
pub mod extent_list;
pub mod journal;
pub mod key;
mod key_part;
pub mod leaf;
pub mod long_cell;
pub mod oracle;
pub mod part;
pub mod place;
pub mod record;
pub mod region;
pub mod row;
pub mod schema;
pub mod schema_error;
pub mod upkeep_entry;
pub mod value;
pub mod vector_copy;
pub mod version;

pub use address::{GlobalPtr, NodeId, RegionId, WORD_BYTES};
pub use bucket::BucketLayout;
pub use column::{Column, ColumnType, Value};
pub use design::{IndexDesign, IndexKind, PhysicalDesign, Placement, Storage};
pub use key::{KEY_WORDS_MAX, Key, KeyBuilder, hash_words};
pub use leaf::LeafLayout;
pub use oracle::OracleLayout;
pub use part::{PARTS_MAX, Part, PartRule};
pub use place::{Place, Slot};
pub use record::{RecordMut, RecordRef, for_changed_columns, set_changed_column};
pub use row::RowLayout;
pub use schema::Schema;
pub use schema_error::SchemaError;
pub use value::{LongStage, LongValues, OutOfLine, StageMark, ValueLayout};
pub use vector_copy::CopyLayout;
pub use version::{SlotId, VersionWord};
