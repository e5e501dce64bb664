//! The files of the redo log: what a crash leaves of committed transactions.
//!
//! ```text
//! lane 0: begin, rows, end, begin, ...   +--> block --+
//! lane 1: begin, rows, end, ...          +--> block --+--> segment file, then a group record, sync
//! lane 2: begin, rows  (end follows)     +--> block --+         redo-0000000007.log
//! ```
//!
//! - A *lane* appends *entries* to a buffer of its own ([`Lane`]). An entry is one transaction: a
//!   `begin` with its version, the after-images of its rows, and an `end`. It may span buffers,
//!   blocks and segments, and counts only if its end is there.
//! - [`Log::commit_group`] takes all buffers, writes them as *blocks*, writes a *group record* with
//!   an ordinary snapshot that was taken before, and syncs: one group commit.
//! - A restart replays the entries that the last group of their *incarnation* covers, and drops the
//!   others for good. An incarnation is one start of the database.
//! - A *segment* is a file of blocks and group records of one incarnation. Its first page has the
//!   identity of the database and a *sync marker*, which says how far the segment was synced.
//! - Behind the marker an invalid block is a torn tail and is cut. Any other damage is refused with
//!   its place ([`Damage`]), unless the caller accepts the loss ([`OnDamage`]).
//!
//! ```
//! use fabric::run_now;
//! use layout::{SlotId, VersionWord};
//! use redo_log::{Change, Config, DatabaseId, Image, Log, LogError, OnDamage, Position, Row};
//! use sim::disk::{DiskConfig, SimulatedDisk};
//! use storage::Directory;
//!
//! let disk = SimulatedDisk::new(DiskConfig::new(7));
//! let config = Config::new(DatabaseId([1; 16]));
//! let mut log = run_now(async {
//!     let directory = Directory::open(disk.access()).await?;
//!     Log::create(directory, config).await
//! })?;
//! let mut lane = log.lanes().add();
//! let mut entry = lane.begin(VersionWord::new(SlotId(0), 1));
//! let (replaces, image) = (VersionWord::NONE, Image::Whole(b"value"));
//! entry.row(&Row { table: 1, key: b"key", replaces, change: Change::Insert, image });
//! entry.finish();
//! run_now(log.commit_group(&[1]))?; // The snapshot covers number 1 of slot 0.
//!
//! disk.crash();
//! let directory = run_now(Directory::open(disk.access()))?;
//! let start = Position::START;
//! let opened = run_now(Log::open(directory.clone(), config, start, OnDamage::Refuse))?;
//! let mut rows = 0;
//! for segment in 0..opened.survey.segment_count() {
//!     run_now(opened.survey.replay(&directory, config.database, segment, |row| {
//!         rows += u32::from(row.is_covered);
//!         Ok::<(), LogError>(())
//!     }))?;
//! }
//! assert_eq!(rows, 1);
//! # Ok::<(), LogError>(())
//! ```
//!
//! Read [`entry`], [`block`], [`group`], [`segment`] and [`marker`] for the bytes, [`lane`] and
//! [`log`] for writing, [`survey`] for the decisions of a restart, [`open`] for its changes on the
//! disk, [`replay`] for reading entries, [`inspect`] for tools.
//!
//! Decisions:
//! - docs/decisions/0296-a-group-of-commits-is-what-a-snapshot-covers.md
//! - docs/decisions/0297-a-sync-marker-divides-torn-tails-from-damage.md
#![forbid(unsafe_code)]

pub mod block;
mod bytes;
pub mod entry;
pub mod error;
pub mod group;
pub mod inspect;
pub mod lane;
pub mod log;
pub mod marker;
pub mod open;
pub mod position;
pub mod replay;
mod roll;
mod scan;
pub mod segment;
pub mod survey;
mod varint;
mod walk;

pub use entry::{Change, Image, Row};
pub use error::{Damage, LogError, Loss};
pub use lane::{Entry, Lane, Lanes};
pub use log::{Config, Group, Log, remove_segments_before};
pub use open::{OnDamage, Opened};
pub use position::{DatabaseId, Incarnation, Position, file_name, segment_of};
pub use replay::ReplayedRow;
pub use survey::Survey;
