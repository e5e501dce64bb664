//! Directories as files: copy, check and look into them without opening the database.
//!
//! [`back_up`] may copy a directory that a running program has open; [`verify`] and [`inspect`]
//! read one without changing it, and see the state of its files at that moment.

use crate::config::{Config, OpenError};
use crate::durable::{self, OpenProgress};
use crate::host::Moment;
use durability::{DurabilityError, control_of, copy_directory, read_directory};
use fabric::run_now;
use redo_log::Damage;
use redo_log::inspect::SegmentInfo;
use std::path::Path;
use storage::{Directory, RealDisk};

pub use durability::Copied;
pub use durability::control::{Control, StoredCheckpoint, StoredFile, StoredTable};
pub use redo_log::inspect::{BlockInfo, Content};
pub use redo_log::marker::State as SegmentState;
pub use txn::{HeldLock, LockKind, StructureReport};

fn existing(path: &Path) -> Result<Directory<RealDisk>, OpenError> {
    let disk = RealDisk::open(path)
        .map_err(|failure| OpenError::Path { path: path.to_owned(), reason: failure.reason })?;
    Ok(Directory::read_only(disk))
}

/// Copies the database in `from`, which may be in use, to `to`, which is created and must be empty.
/// The copy has everything that was acknowledged before the call. `note` gets the number of bytes
/// of each piece.
///
/// ```
/// # let base = std::env::temp_dir().join(format!("namdb-backup-{}", std::process::id()));
/// # std::fs::create_dir(&base)?;
/// # let config = |name: &str| namdb::Config {
/// #     server_bytes: 64 << 20,
/// #     directory: Some(base.join(name)),
/// #     ..Default::default()
/// # };
/// let db = namdb::open(config("data"))?;
/// namdb::KeyValueTable::create(&db, "setting", 8, 8, Default::default())?;
/// let copied = namdb::directory::back_up(&base.join("data"), &base.join("copy"), |_| {})?;
/// assert_eq!(copied.tables, 1);
/// assert!(namdb::open(config("copy"))?.table("setting").is_some());
/// # drop(db);
/// # std::fs::remove_dir_all(base)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn back_up(from: &Path, to: &Path, note: impl FnMut(u64)) -> Result<Copied, OpenError> {
    let source = existing(from)?;
    let disk = RealDisk::create(to).map_err(|failure| OpenError::created(to, failure))?;
    let target = run_now(Directory::open(disk)).map_err(DurabilityError::from)?;
    Ok(run_now(copy_directory(&source, &target, note))?)
}

/// The result of [`verify`].
/// [`verify`] has an example.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Verification {
    /// Tables in the control file.
    pub tables: usize,
    /// Rows that a restart loads.
    pub rows: u64,
    /// Entries of the log behind the checkpoint.
    pub log_entries: u64,
    /// Seconds of loading, without the check of the structures.
    pub load_s: f64,
    /// Bytes behind the last group of the log, which the next opening drops. A crash leaves them.
    pub torn_bytes: u64,
    /// The structures in memory: faults of tables and indexes.
    pub structures: StructureReport,
}

/// Reads every byte of a directory, loads all rows into memory, and compares indexes with rows.
/// Nothing is changed. Memory is as in [`Config`].
///
/// ```
/// # let path = std::env::temp_dir().join(format!("namdb-verify-{}", std::process::id()));
/// # let config = namdb::Config {
/// #     server_bytes: 64 << 20,
/// #     directory: Some(path.clone()),
/// #     ..Default::default()
/// # };
/// namdb::open(config.clone())?.close()?;
/// let verified = namdb::directory::verify(&path, &config, &|_| {})?;
/// assert_eq!((verified.tables, verified.structures.errors.len()), (0, 0));
/// # std::fs::remove_dir_all(path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`OpenError::Directory`] names the first damaged file.
pub fn verify(
    path: &Path,
    config: &Config,
    progress: &dyn Fn(OpenProgress),
) -> Result<Verification, OpenError> {
    config.validate()?;
    let directory = existing(path)?;
    let (control, survey, restore) = run_now(read_directory(&directory))?;
    let memory = durable::in_memory(config, 0)?;
    let start = Moment::now();
    durable::load(&restore, &memory, progress)?;
    let load_s = start.elapsed_s();
    let structures =
        run_now(memory.check()).map_err(|error| OpenError::Start(error.to_string()))?;
    Ok(Verification {
        tables: control.tables.len(),
        rows: restore.rows(),
        log_entries: restore.log_entries(),
        load_s,
        torn_bytes: survey.torn_bytes,
        structures,
    })
}

/// The files of a directory.
/// [`inspect`] has an example.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Inspection {
    /// Tables and the newest checkpoint.
    pub control: Control,
    /// The segments of the log from where replay begins, each with its blocks.
    pub segments: Vec<(SegmentInfo, Vec<BlockInfo>)>,
    /// The damage that a restart would refuse, in a sentence.
    pub damage: Option<String>,
}

/// Reads the control file and the log of a directory.
///
/// ```
/// # let path = std::env::temp_dir().join(format!("namdb-inspect-{}", std::process::id()));
/// # let config = namdb::Config {
/// #     server_bytes: 64 << 20,
/// #     directory: Some(path.clone()),
/// #     ..Default::default()
/// # };
/// namdb::open(config)?.close()?;
/// let inspection = namdb::directory::inspect(&path)?;
/// assert_eq!((inspection.control.tables.len(), inspection.damage), (0, None));
/// # std::fs::remove_dir_all(path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If there is no database, or its control file is damaged. Damage of the log is part of the
/// result.
pub fn inspect(path: &Path) -> Result<Inspection, OpenError> {
    let directory = existing(path)?;
    let control = run_now(control_of(&directory))?;
    let (identity, start) = (control.identity(), control.replay_from());
    let survey = redo_log::survey::survey(&directory, identity, start);
    let (survey, damage) = run_now(survey).map_err(DurabilityError::from)?;
    let mut segments = Vec::new();
    for (index, info) in survey.segments().enumerate() {
        let blocks = run_now(survey.blocks(&directory, identity, index));
        segments.push((info, blocks.map_err(DurabilityError::from)?));
    }
    let damage = damage.or_else(|| survey.early_end(&directory, control.reached_group()));
    let needed_group = control.needed_group();
    let damage = damage.map(|damage| Damage { needed_group, ..damage }.to_string());
    Ok(Inspection { control, segments, damage })
}
