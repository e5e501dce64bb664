//! What YCSB runs: how many records, of what size, which operations, and which records they touch.

use std::str::FromStr;
use txn::Isolation;

/// Bytes of YCSB's record: ten fields of a hundred bytes.
pub const RECORD_BYTES_DEFAULT: u32 = 1000;
/// Most bytes of all fields of a record; a row has to fit its slot.
pub const RECORD_BYTES_MAX: u32 = 7 * 1024;
/// Bytes of a field; the last one is shorter where the record's size asks for it.
pub const FIELD_BYTES: u32 = 100;
/// Most operations of one transaction.
pub const OPERATIONS_MAX: u32 = 64;
/// Most records a scan delivers; lengths are uniform from 1 on.
pub const SCAN_LENGTH_MAX: u64 = 100;
/// The skew of YCSB's default distribution.
pub const THETA_DEFAULT: f64 = 0.99;

/// A run of YCSB.
#[derive(Clone, Debug, PartialEq)]
pub struct YcsbConfig {
    /// Records loaded before the run.
    pub records: u64,
    /// Bytes of a record's fields together; key and counter come on top.
    pub record_bytes: u32,
    /// What is done.
    pub mix: Mix,
    /// To which records.
    pub distribution: Distribution,
    /// Operations of one transaction, on records that differ.
    pub operations_per_transaction: u32,
    /// How strictly transactions are kept apart.
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

/// The share of each operation, in percent; together 100.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mix {
    /// Deliver a record.
    pub read: u32,
    /// Read a record, count it up and rewrite one of its fields.
    pub update: u32,
    /// Add a record behind the last one.
    pub insert: u32,
    /// Deliver the records from a key on.
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
    /// Read-modify-write. Every update of ours reads first, so that its counter can be checked; F is
    /// therefore A under another name.
    pub const F: Self = Self::A;

    /// Reads and updates only.
    ///
    /// # Panics
    /// If the share is over 100 percent.
    pub fn reads_and_updates(read: u32) -> Self {
        assert!(read <= 100, "a share is at most the whole");
        Self { read, update: 100 - read, insert: 0, scan: 0 }
    }

    /// The sum of all shares.
    pub fn total(&self) -> u32 {
        self.read + self.update + self.insert + self.scan
    }
}

/// YCSB's letters for its mixes and the distribution that goes with each.
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
    /// The letter's operations.
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

    /// The letter's distribution at skew `theta`.
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

/// Which records are popular.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    /// All alike.
    Uniform,
    /// A few very much, scattered over the key space.
    Zipf {
        /// The skew.
        theta: f64,
    },
    /// Those inserted last.
    Latest {
        /// The skew.
        theta: f64,
    },
}

/// Why a run cannot be.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum YcsbConfigError {
    /// Shares that are not a whole.
    #[error("the shares of the operations add up to {0} percent, they must make 100")]
    Shares(u32),
    /// A record without, or with too many bytes.
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
    Records {
        /// Records asked for.
        records: u64,
        /// Operations of a transaction.
        operations: u32,
    },
    /// A skew outside its range.
    #[error("the skew theta must be from 0 to 2, {0:?} was asked for")]
    Theta(f64),
}

impl YcsbConfig {
    /// Refuses what cannot be run, in a sentence.
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
        // Twice as many, or drawing distinct ones would take long.
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

    /// Fields of a record.
    pub fn field_count(&self) -> u32 {
        self.record_bytes.div_ceil(FIELD_BYTES)
    }

    /// Bytes of field `index`.
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
