//! Configuration of a database, and the retry policy of transactions.

use crate::host;
use durability::DurabilityError;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;
use storage::Failure;
use txn::local::OpenConfig;
use txn::{DatabaseConfig, Oracle};

/// Smallest memory of a memory server; less cannot hold the catalog and one extent per lane.
pub const SERVER_BYTES_MIN: u64 = 16 << 20;
const _: () = assert!(SERVER_BYTES_MIN == 16 << 20, "the message below says 16 MiB");
/// Maximal number of memory servers in one process.
pub const SERVER_COUNT_MAX: u16 = 64;
/// Maximal number of concurrent transactions: the number of slots of a double-collect snapshot.
pub const LANE_COUNT_MAX: u32 = 64;
/// Smallest limit on a transaction's duration; even a short transaction may exceed less.
pub const TRANSACTION_TIME_MIN_MS: u64 = 1;
/// Largest limit on a transaction's duration, one day: a transaction that hangs keeps all old
/// versions until the limit has passed.
pub const TRANSACTION_TIME_MAX_MS: u64 = 24 * 60 * 60 * 1000;

/// Shortest and longest interval of [`Durability::Periodic`].
const PERIODS: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_secs(60);
/// Smallest and largest growth of the redo log until a checkpoint begins.
const CHECKPOINT_LOGS: RangeInclusive<u64> = 1 << 20..=1 << 40;

/// Configuration of a database inside this process. Its memory servers are regions shared by all
/// threads.
///
/// ```
/// let config = namdb::Config { server_bytes: 64 << 20, ..namdb::Config::default() };
/// let db = namdb::open(config)?;
/// # Ok::<(), namdb::OpenError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Number of memory servers, 1 to 64. Default 1. Several servers spread the rows and change
    /// nothing else.
    pub servers: u16,
    /// Bytes of each memory server. The address space is reserved at once; the kernel allocates
    /// pages at first use. Default: half of the available memory at the time of the call, at most
    /// 64 GiB.
    pub server_bytes: u64,
    /// Maximal number of concurrent transactions, 1 to 64. Default 48. Further transactions wait.
    pub lanes: u32,
    /// Maximal duration of a transaction, in milliseconds: 1 to 86,400,000 (one day). Default
    /// 10,000. Old versions are kept at least this long for a running transaction. A longer one
    /// aborts if a version that it reads has been collected. Changes of the catalog wait at most
    /// this long for transactions that do not know of the change.
    pub transaction_time_max_ms: u64,
    /// How transactions take snapshots. Default: double collect, which is cheaper on one machine,
    /// and the only way with a directory.
    pub oracle: Oracle,
    /// Seed of the random numbers for placement and back-off. Default 1.
    pub seed: u64,
    /// The directory that keeps the data. It is created if it is missing; its parent must exist.
    /// Default `None`: the data is lost when the database is dropped.
    pub directory: Option<PathBuf>,
    /// When a commit counts, for a database with a directory. Default: when it is on the disk.
    pub durability: Durability,
    /// Opens a damaged directory without the commits behind the damage, about which
    /// [`Db::accepted_loss`](crate::Db::accepted_loss) then reports. Default false: damage is an
    /// error.
    pub accept_loss: bool,
    /// Growth of the redo log in bytes until the next checkpoint begins, 1 MiB to 1 TiB; at least a
    /// quarter of the newest checkpoint's size. Default 256 MiB. More means fewer checkpoints and a
    /// longer restart, like `max_wal_size` of PostgreSQL.
    pub checkpoint_log_bytes: u64,
}

/// The commits that a power failure or the end of the process may take from a database with a
/// directory.
///
/// A clean end, when the last clone of a [`Db`](crate::Db) is dropped, loses nothing but with
/// [`Durability::None`].
///
/// ```
/// # let path = std::env::temp_dir().join(format!("namdb-durability-{}", std::process::id()));
/// use namdb::{Config, Durability};
/// use std::time::Duration;
///
/// // A crash may lose the commits of the last 20 ms.
/// let db = namdb::open(Config {
///     server_bytes: 64 << 20,
///     directory: Some(path.clone()),
///     durability: Durability::Periodic(Duration::from_millis(20)),
///     ..Default::default()
/// })?;
/// # drop(db);
/// # std::fs::remove_dir_all(path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Durability {
    /// Nothing that was reported: [`Session::transaction`](crate::Session::transaction) returns
    /// when the commit, or what the transaction has read, is on the disk. Commits that wait at the
    /// same time share a sync.
    #[default]
    Synchronous,
    /// At most the commits of this interval, and never a part of a transaction, nor a transaction
    /// without those whose writes it has read or replaced.
    Periodic(Duration),
    /// All commits since the database was opened: they are not logged at all.
    None,
}

impl Default for Config {
    fn default() -> Self {
        let half = host::available_memory_bytes() / 2;
        let server_bytes = half.clamp(SERVER_BYTES_MIN, 64 << 30);
        Self {
            servers: 1,
            server_bytes,
            lanes: 48,
            transaction_time_max_ms: DatabaseConfig::default().transaction_time_max_ns / 1_000_000,
            oracle: Oracle::DoubleCollect,
            seed: 1,
            directory: None,
            durability: Durability::default(),
            accept_loss: false,
            checkpoint_log_bytes: 256 << 20,
        }
    }
}

/// Why a database could not be opened.
///
/// ```
/// use namdb::{Config, OpenError};
///
/// let refused = namdb::open(Config { lanes: 65, ..Default::default() }).err();
/// assert!(matches!(refused, Some(OpenError::LaneCount(65))));
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// `servers` is out of range.
    #[error("a database has 1 to {SERVER_COUNT_MAX} memory servers, {0} were asked for")]
    ServerCount(u16),
    /// `server_bytes` is too small.
    #[error("a memory server needs at least {SERVER_BYTES_MIN} bytes (16 MiB), {0} were asked for")]
    ServerBytes(u64),
    /// `lanes` is out of range.
    #[error("1 to {LANE_COUNT_MAX} transactions can run at a time, {0} were asked for")]
    LaneCount(u32),
    /// `transaction_time_max_ms` is out of range.
    #[error(
        "a transaction may run for {TRANSACTION_TIME_MIN_MS} to {TRANSACTION_TIME_MAX_MS} milliseconds, {0} were asked for"
    )]
    TransactionTime(u64),
    /// The interval of [`Durability::Periodic`] is out of range.
    #[error("the disk may be written every 1 ms to 60 s, {0:?} was asked for")]
    Period(Duration),
    /// `checkpoint_log_bytes` is out of range.
    #[error(
        "a checkpoint may begin after 1 MiB to 1 TiB of the redo log, {0} bytes were asked for"
    )]
    CheckpointLog(u64),
    /// [`connect`](crate::connect) could not join the cluster of a file.
    #[error("cannot join the cluster of {file}: {fault}")]
    Connect {
        /// The cluster file.
        file: String,
        /// The cause and its remedy.
        fault: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The directory cannot be opened or created.
    #[error("the directory `{}` cannot be opened: {reason}", path.display())]
    Path {
        /// The directory.
        path: PathBuf,
        /// The system's words.
        reason: String,
    },
    /// The database in a directory cannot be opened.
    #[error(transparent)]
    Directory(#[from] DurabilityError),
    /// The memory could not be reserved or initialised.
    #[error("the memory servers could not be started: {0}")]
    Start(String),
}

impl OpenError {
    /// The error of a directory that was to be created unless it is there.
    pub(crate) fn created(path: &Path, failure: Failure) -> Self {
        let lacks_parent =
            path.parent().is_some_and(|parent| !parent.as_os_str().is_empty() && !parent.is_dir());
        let remedy = if lacks_parent { "; its parent must exist" } else { "" };
        let reason = format!("{}{remedy}", failure.reason);
        Self::Path { path: path.to_owned(), reason }
    }
}

impl Config {
    /// The engine's part of it.
    pub(crate) fn engine(&self) -> OpenConfig {
        let database = DatabaseConfig {
            oracle: self.oracle,
            lanes: self.lanes,
            transaction_time_max_ns: self.transaction_time_max_ms * 1_000_000,
            ..DatabaseConfig::default()
        };
        let Self { servers, server_bytes, seed, .. } = *self;
        OpenConfig { servers, server_bytes, seed, database }
    }

    /// Checks that every value is in its range.
    ///
    /// ```
    /// let refused = namdb::Config { servers: 0, ..Default::default() }.validate();
    /// assert!(refused.is_err_and(|error| error.to_string().contains("1 to 64 memory servers")));
    /// ```
    pub fn validate(&self) -> Result<(), OpenError> {
        if !(1..=SERVER_COUNT_MAX).contains(&self.servers) {
            return Err(OpenError::ServerCount(self.servers));
        }
        if self.server_bytes < SERVER_BYTES_MIN {
            return Err(OpenError::ServerBytes(self.server_bytes));
        }
        if !(1..=LANE_COUNT_MAX).contains(&self.lanes) {
            return Err(OpenError::LaneCount(self.lanes));
        }
        if let Durability::Periodic(interval) = self.durability
            && !PERIODS.contains(&interval)
        {
            return Err(OpenError::Period(interval));
        }
        if !CHECKPOINT_LOGS.contains(&self.checkpoint_log_bytes) {
            return Err(OpenError::CheckpointLog(self.checkpoint_log_bytes));
        }
        let times_ms = TRANSACTION_TIME_MIN_MS..=TRANSACTION_TIME_MAX_MS;
        if !times_ms.contains(&self.transaction_time_max_ms) {
            return Err(OpenError::TransactionTime(self.transaction_time_max_ms));
        }
        Ok(())
    }
}

/// Retry policy: how often an aborted transaction is retried, and how long to wait between
/// attempts.
///
/// Only conflicts with other transactions are retried. A rollback by the caller and an unknown
/// outcome are not. Each wait is drawn at random between zero and a bound that doubles per attempt,
/// so that two transactions that conflicted once do not conflict again.
///
/// The default is [`Retry::for_ms`] with 10,000: a deadline and no limit on attempts. The number of
/// attempts that a transaction needs depends on how many others write the same rows, so no fixed
/// number suits all: if four threads move money between the same two rows, one move in 1,000 fails
/// ten times. A deadline hides such conflicts from the caller, but still reports a row that stays
/// locked.
///
/// ```
/// use namdb::Retry;
///
/// let patient = Retry::for_ms(60_000);
/// let slow = Retry { wait_max_us: 20_000, ..Retry::attempts(100) };
/// assert!(patient.allows(1_000, 0) && !slow.allows(100, 0) && !Retry::NEVER.allows(1, 0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// Maximal number of attempts, at least 1.
    pub attempts: u32,
    /// Upper bound of the first wait, in microseconds.
    pub wait_first_us: u64,
    /// Upper bound of every wait, in microseconds.
    pub wait_max_us: u64,
    /// No attempt begins later than this after the end of the first one, in milliseconds. `None`:
    /// no deadline.
    pub time_max_ms: Option<u64>,
}

impl Default for Retry {
    fn default() -> Self {
        Self::for_ms(10_000)
    }
}

impl Retry {
    /// Makes one attempt only.
    pub const NEVER: Self =
        Self { attempts: 1, wait_first_us: 0, wait_max_us: 0, time_max_ms: None };

    /// At most this many attempts, with waits from 2 microseconds to 1 millisecond.
    ///
    /// ```
    /// let retry = namdb::Retry::attempts(3);
    /// assert!(retry.allows(2, 0) && !retry.allows(3, 0));
    /// ```
    pub const fn attempts(attempts: u32) -> Self {
        assert!(attempts > 0, "a transaction is tried at least once");
        Self { attempts, wait_first_us: 2, wait_max_us: 1000, time_max_ms: None }
    }

    /// Attempts until this many milliseconds after the end of the first one, with waits from 2
    /// microseconds to 1 millisecond.
    ///
    /// ```
    /// let retry = namdb::Retry::for_ms(100);
    /// assert!(retry.allows(1_000, 99_000_000) && !retry.allows(1, 100_000_000));
    /// ```
    pub const fn for_ms(time_max_ms: u64) -> Self {
        Self { time_max_ms: Some(time_max_ms), ..Self::attempts(u32::MAX) }
    }

    /// Whether another attempt may follow the first `attempts`, `elapsed_ns` after the end of the
    /// first one.
    /// [`Retry`] has an example.
    pub fn allows(&self, attempts: u32, elapsed_ns: u64) -> bool {
        let time_max_ns = self.time_max_ms.map_or(u64::MAX, |ms| ms.saturating_mul(1_000_000));
        attempts < self.attempts && elapsed_ns < time_max_ns
    }

    /// Upper bound of the wait after `failed` attempts, in nanoseconds.
    ///
    /// ```
    /// let retry = namdb::Retry::attempts(10);
    /// assert_eq!([1, 2, 40].map(|failed| retry.wait_bound_ns(failed)), [2_000, 4_000, 1_000_000]);
    /// ```
    pub fn wait_bound_ns(&self, failed: u32) -> u64 {
        let doubled = self.wait_first_us.saturating_mul(1 << failed.saturating_sub(1).min(32));
        doubled.min(self.wait_max_us).saturating_mul(1000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_opened_is_refused_in_a_sentence() {
        let refusal = |config: Config| config.validate().expect_err("refused").to_string();
        let config = Config { server_bytes: 64 << 20, ..Config::default() };
        assert!(config.validate().is_ok());
        assert!(
            refusal(Config { servers: 0, ..config.clone() }).contains("1 to 64 memory servers")
        );
        assert!(refusal(Config { server_bytes: 1000, ..config.clone() }).contains("16 MiB"));
        for checkpoint_log_bytes in [0, (1 << 20) - 1, (1 << 40) + 1] {
            let absurd = Config { checkpoint_log_bytes, ..config.clone() };
            assert!(refusal(absurd).contains("1 MiB to 1 TiB"));
        }
        assert!(refusal(Config { lanes: 65, ..config.clone() }).contains("1 to 64 transactions"));
        for transaction_time_max_ms in [0, TRANSACTION_TIME_MAX_MS + 1, u64::MAX] {
            let absurd = Config { transaction_time_max_ms, ..config.clone() };
            assert!(refusal(absurd).contains("1 to 86400000 milliseconds"));
        }
    }

    #[test]
    fn waits_double_up_to_their_bound() {
        let retry = Retry::attempts(10);
        assert_eq!([1, 2, 3].map(|failed| retry.wait_bound_ns(failed)), [2_000, 4_000, 8_000]);
        assert_eq!(retry.wait_bound_ns(40), 1_000_000);
        assert_eq!(Retry::NEVER.wait_bound_ns(1), 0);
        let patient =
            Retry { wait_first_us: 1 << 60, wait_max_us: u64::MAX, ..Retry::attempts(100) };
        assert_eq!([1, 40].map(|failed| patient.wait_bound_ns(failed)), [u64::MAX; 2]);
    }

    #[test]
    fn attempts_end_by_their_number_or_by_time() {
        assert!(!Retry::NEVER.allows(1, 0));
        assert!(Retry::attempts(3).allows(2, u64::MAX - 1) && !Retry::attempts(3).allows(3, 0));
        let default = Retry::default();
        assert!(default.allows(1_000_000, 9_999_999_999) && !default.allows(1, 10_000_000_000));
        assert!(Retry::for_ms(u64::MAX).allows(1, u64::MAX - 1));
    }

    /// Four threads move money between the same two rows: under the default policy every move
    /// commits.
    #[test]
    fn the_default_outlasts_conflicts_on_hot_rows() {
        const THREADS: u64 = 4;
        const MOVES: u64 = 5_000;
        let config = Config { server_bytes: 64 << 20, ..Config::default() };
        let db = crate::open(config).expect("64 MiB can be had");
        let table = crate::KeyValueTable::create(&db, "account", 8, 8, Default::default());
        let table = table.expect("the table is new");
        let money = |value: Option<Vec<u8>>| {
            value.map_or(0, |value| i64::from_le_bytes(value.try_into().expect("eight bytes")))
        };
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let mut session = db.session();
                scope.spawn(move || {
                    let (from, to) =
                        if thread.is_multiple_of(2) { (b"a", b"b") } else { (b"b", b"a") };
                    for _ in 0..MOVES {
                        let moved = session.transaction(
                            txn::Isolation::Serializable,
                            Retry::default(),
                            |txn| {
                                let (left, right) =
                                    (txn.read_value(table, from)?, txn.read_value(table, to)?);
                                txn.write_value(table, from, &(money(left) - 1).to_le_bytes())?;
                                txn.write_value(table, to, &(money(right) + 1).to_le_bytes())
                            },
                        );
                        moved.expect("the default outlasts conflicts");
                    }
                });
            }
        });
        let sums = db.session().transaction(txn::Isolation::Snapshot, Retry::NEVER, |txn| {
            crate::Ok((money(txn.read_value(table, b"a")?), money(txn.read_value(table, b"b")?)))
        });
        assert_eq!(sums.expect("nobody else writes"), (0, 0), "as many moves each way");
    }
}
