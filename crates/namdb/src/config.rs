//! What a database is opened with, and how often a transaction is tried.

use crate::host;
use txn::{DatabaseConfig, Oracle};

/// Least memory of a memory server: less would not hold the catalog and one extent per lane.
pub const SERVER_BYTES_MIN: u64 = 16 << 20;
const _: () = assert!(SERVER_BYTES_MIN == 16 << 20, "the message below says 16 MiB");
/// Most memory servers of one process.
pub const SERVER_COUNT_MAX: u16 = 64;
/// Most transactions at a time: as many as a snapshot by double collect may have slots.
pub const LANE_COUNT_MAX: u32 = 64;
/// Least maximal time of a transaction: in less, not even a short one is sure to end.
pub const TRANSACTION_TIME_MIN_MS: u64 = 1;
/// Largest maximal time of a transaction, one day: for so long one that hangs may keep all old versions.
pub const TRANSACTION_TIME_MAX_MS: u64 = 24 * 60 * 60 * 1000;

/// A database inside this process: its memory servers are regions that all its threads share.
///
/// ```
/// let config = namdb::Config { server_bytes: 64 << 20, ..namdb::Config::default() };
/// let db = namdb::open(config)?;
/// # Ok::<(), namdb::OpenError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Memory servers. Default 1; more of them change where rows lie, not what they mean.
    pub servers: u16,
    /// Bytes of each memory server. Address space is reserved at once, memory as it is touched.
    /// Default: half of the memory that is available when this is called, at most 64 GiB.
    pub server_bytes: u64,
    /// Transactions that may run at a time, 1 to 64. Default 48. Further ones wait for their turn.
    pub lanes: u32,
    /// How long a transaction may run, in milliseconds; 1 to 86,400,000, which is a day. Default 10,000. Old
    /// versions are kept for so long for one that runs; one that runs longer may find what it reads
    /// collected, and is aborted then. Changes of the catalog wait for so long for those that do not know
    /// of them.
    pub transaction_time_max_ms: u64,
    /// How snapshots are taken. Default by double collect, the cheaper way on one machine.
    pub oracle: Oracle,
    /// Seed of the randomness used for placement and back-off. Default 1.
    pub seed: u64,
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
        }
    }
}

/// Why a database could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Too few servers or too many.
    #[error("a database has 1 to {SERVER_COUNT_MAX} memory servers, {0} were asked for")]
    ServerCount(u16),
    /// Too little memory.
    #[error("a memory server needs at least {SERVER_BYTES_MIN} bytes (16 MiB), {0} were asked for")]
    ServerBytes(u64),
    /// Too few lanes or too many.
    #[error("1 to {LANE_COUNT_MAX} transactions can run at a time, {0} were asked for")]
    LaneCount(u32),
    /// Transactions could not end in time, or old versions would be kept for too long.
    #[error(
        "a transaction may run for {TRANSACTION_TIME_MIN_MS} to {TRANSACTION_TIME_MAX_MS} milliseconds, {0} were asked for"
    )]
    TransactionTime(u64),
    /// The memory could not be had, or not be laid out.
    #[error("the memory servers could not be started: {0}")]
    Start(String),
}

impl Config {
    /// Refuses what cannot be opened, in a sentence.
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
        let times_ms = TRANSACTION_TIME_MIN_MS..=TRANSACTION_TIME_MAX_MS;
        if !times_ms.contains(&self.transaction_time_max_ms) {
            return Err(OpenError::TransactionTime(self.transaction_time_max_ms));
        }
        Ok(())
    }
}

/// How often a transaction that aborts is tried again, and how long it waits in between.
///
/// Only aborts that another attempt can cure are retried: conflicts with others, not roll-backs of the
/// caller, and never an unknown outcome. The wait is drawn from zero up to a bound that doubles, so that
/// transactions that met once do not meet again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// Attempts in all, at least 1.
    pub attempts: u32,
    /// Bound of the first wait, in microseconds.
    pub wait_first_us: u64,
    /// Bound of all waits, in microseconds.
    pub wait_max_us: u64,
}

impl Retry {
    /// One attempt only.
    pub const NEVER: Self = Self { attempts: 1, wait_first_us: 0, wait_max_us: 0 };

    /// This many attempts in all, with waits from 2 microseconds to a millisecond.
    pub const fn attempts(attempts: u32) -> Self {
        assert!(attempts > 0, "a transaction is tried at least once");
        Self { attempts, wait_first_us: 2, wait_max_us: 1000 }
    }

    /// The bound of the wait after `failed` attempts, in nanoseconds.
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
        let patient = Retry { attempts: 100, wait_first_us: 1 << 60, wait_max_us: u64::MAX };
        assert_eq!([1, 40].map(|failed| patient.wait_bound_ns(failed)), [u64::MAX; 2]);
    }
}
