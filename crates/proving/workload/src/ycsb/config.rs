//! The parameters of YCSB: the number and size of records, the operations, and the distribution of
//! keys.

use std::str::FromStr;
use txn::Isolation;

/// Bytes of YCSB's record: ten fields of a hundred bytes.
pub const RECORD_BYTES_DEFAULT: u32 = 1000;
/// The largest number of bytes of all fields of a record; a row must fit its slot.
pub const RECORD_BYTES_MAX: u32 = 7 * 1024;
/// Bytes of a field; the last one is shorter if the record's size requires it.
pub const FIELD_BYTES: u32 = 100;
/// The largest number of operations of a transaction.
pub const OPERATIONS_MAX: u32 = 64;
/// The largest number of records of a scan; lengths are uniform from 1 on.
pub const SCAN_LENGTH_MAX: u64 = 100;
/// The skew of YCSB's default distribution.
pub const THETA_DEFAULT: f64 = 0.99;

#[derive(Clone, Debug, PartialEq)]
pub struct YcsbConfig {
    /// Number of records loaded before the run.
    pub records: u64,
    /// Bytes of a record's fields together, without key and counter.
    pub record_bytes: u32,
    /// The mix of operations.
    pub mix: Mix,
    /// The distribution of keys.
    pub distribution: Distribution,
    /// Number of operations of a transaction, on distinct records.
    pub operations_per_transaction: u32,
    /// The isolation level.
    pub isolation: Isolation,
}

impl Default for YcsbConfig {
    fn default() -> Self {
        Self {
            records: 100_000,
            record_bytes: RECORD_BYTES_DEFAULT,
            mix: Mix::A,
            distribution: Distribution::Zipf { theta: THETA_DEFAULT },
            operations_per_transaction: 1,
            isolation: Isolation::Snapshot,
        }
    }
}

/// The percentage of each operation; together 100.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mix {
    /// Read a record.
    pub read: u32,
    /// Read a record, increment its counter and rewrite one of its fields.
    pub update: u32,
    /// Insert a record after the last one.
    pub insert: u32,
    /// Read the records from a key on.
    pub scan: u32,
}

impl Mix {
    /// Update heavy.
    pub const A: Self = Self { read: 50, update: 50, insert: 0, scan: 0 };
    /// Read mostly.
    pub const B: Self = Self { read: 95, update: 5, insert: 0, scan: 0 };
    /// Read only.
    pub const C: Self = Self { read: 100, update: 0, insert: 0, scan: 0 };
    /// Read latest: new records, and reads that prefer them.
    pub const D: Self = Self { read: 95, update: 0, insert: 5, scan: 0 };
    /// Short ranges.
    pub const E: Self = Self { read: 0, update: 0, insert: 5, scan: 95 };
    /// Read-modify-write. Every update of ours reads first, so that its counter can be checked; F
    /// therefore equals A.
    pub const F: Self = Self::A;

    /// Reads and updates only.
    ///
    /// # Panics
    /// If the share is over 100 percent.
    pub fn reads_and_updates(read: u32) -> Self {
        assert!(read <= 100, "a share is at most the whole");
        Self { read, update: 100 - read, insert: 0, scan: 0 }
    }

    pub fn total(&self) -> u32 {
        self.read + self.update + self.insert + self.scan
    }
}

/// YCSB's letters for its mixes, each with its distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Letter {
    A,
    B,
    C,
    D,
    E,
    F,
}

impl Letter {
    pub fn mix(self) -> Mix {
        match self {
            Self::A => Mix::A,
            Self::B => Mix::B,
            Self::C => Mix::C,
            Self::D => Mix::D,
            Self::E => Mix::E,
            Self::F => Mix::F,
        }
    }

    /// The letter's distribution with skew `theta`.
    pub fn distribution(self, theta: f64) -> Distribution {
        match self {
            Self::D => Distribution::Latest { theta },
            _ => Distribution::Zipf { theta },
        }
    }
}

impl FromStr for Letter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.to_ascii_uppercase().as_str() {
            "A" => Ok(Self::A),
            "B" => Ok(Self::B),
            "C" => Ok(Self::C),
            "D" => Ok(Self::D),
            "E" => Ok(Self::E),
            "F" => Ok(Self::F),
            _ => Err("the workloads of YCSB are A, B, C, D, E and F".to_owned()),
        }
    }
}

/// The popularity of records.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    Uniform,
    /// Few records are hot, scattered over the key space.
    Zipf {
        /// The skew.
        theta: f64,
    },
    /// The most recently inserted records are hot.
    Latest {
        /// The skew.
        theta: f64,
    },
}

/// The reason why a configuration is invalid.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum YcsbConfigError {
    /// Percentages that do not add up to 100.
    #[error("the percentages of the operations add up to {0}; they must add up to 100")]
    Shares(u32),
    /// A record without bytes, or with too many.
    #[error("a record has 1 to {RECORD_BYTES_MAX} bytes, {0} were asked for")]
    RecordBytes(u32),
    /// No operations, or too many.
    #[error("a transaction has 1 to {OPERATIONS_MAX} operations, {0} were asked for")]
    Operations(u32),
    /// Too few records for the transactions.
    #[error(
        "{records} records are too few for transactions of {operations} operations on different ones; \
         there must be twice as many"
    )]
    Records { records: u64, operations: u32 },
    /// A skew outside its range.
    #[error("the skew theta must be from 0 to 2, {0:?} was asked for")]
    Theta(f64),
}

impl YcsbConfig {
    /// Reports an error if the configuration is invalid.
    pub fn validate(&self) -> Result<(), YcsbConfigError> {
        if self.mix.total() != 100 {
            return Err(YcsbConfigError::Shares(self.mix.total()));
        }
        if !(1..=RECORD_BYTES_MAX).contains(&self.record_bytes) {
            return Err(YcsbConfigError::RecordBytes(self.record_bytes));
        }
        let operations = self.operations_per_transaction;
        if !(1..=OPERATIONS_MAX).contains(&operations) {
            return Err(YcsbConfigError::Operations(operations));
        }
        // Twice as many, because otherwise drawing distinct ones would take long.
        if self.records < 2 * u64::from(operations) {
            return Err(YcsbConfigError::Records { records: self.records, operations });
        }
        match self.distribution {
            Distribution::Zipf { theta } | Distribution::Latest { theta }
                if !(0.0..=2.0).contains(&theta) =>
            {
                Err(YcsbConfigError::Theta(theta))
            }
            _ => Ok(()),
        }
    }

    pub fn field_count(&self) -> u32 {
        self.record_bytes.div_ceil(FIELD_BYTES)
    }

    pub fn field_bytes(&self, index: u32) -> u32 {
        (self.record_bytes - index * FIELD_BYTES).min(FIELD_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_run_is_refused() {
        let refused = |change: &dyn Fn(&mut YcsbConfig)| {
            let mut config = YcsbConfig::default();
            change(&mut config);
            config.validate().is_err()
        };
        assert!(!refused(&|_| ()));
        assert!(refused(&|config| config.mix.scan = 1));
        assert!(refused(&|config| config.record_bytes = 0));
        assert!(refused(&|config| config.record_bytes = RECORD_BYTES_MAX + 1));
        assert!(refused(&|config| config.operations_per_transaction = 0));
        assert!(refused(&|config| config.records = 1));
        assert!(refused(&|config| config.distribution = Distribution::Zipf { theta: f64::NAN }));
    }

    #[test]
    fn fields_fill_the_record() {
        for record_bytes in [1, 99, 100, 101, 1000, 1024] {
            let config = YcsbConfig { record_bytes, ..YcsbConfig::default() };
            let total: u32 = (0..config.field_count()).map(|index| config.field_bytes(index)).sum();
            assert_eq!(total, record_bytes);
        }
    }

    #[test]
    fn letters_are_read_in_both_cases() {
        assert_eq!("d".parse(), Ok(Letter::D));
        assert!("G".parse::<Letter>().is_err());
        for letter in [Letter::A, Letter::B, Letter::C, Letter::D, Letter::E, Letter::F] {
            assert_eq!(letter.mix().total(), 100);
        }
    }
}
