//! The checked-in record, `xtask/counts.toml`.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

/// Path of the record, from the workspace root.
pub const RECORD: &str = "xtask/counts.toml";

const HEADER: &str = "# Averages per transaction, except `transactions` and `count`. Written by\n\
                      # `cargo xtask counts --bless`; a commit that changes them says why.\n\n";

/// The counts of all workloads, and the compiler version.
#[derive(Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Record {
    pub rustc: String,
    #[serde(default)]
    pub workloads: BTreeMap<String, Counts>,
}

/// One workload; all but `transactions` are averages per transaction.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Counts {
    pub transactions: u64,
    pub instructions: f64,
    pub round_trips: f64,
    pub verbs: f64,
    pub bytes: f64,
    #[serde(default)]
    pub types: BTreeMap<String, TypeCounts>,
}

/// One transaction type of a workload, as namdb reports it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct TypeCounts {
    /// Number of transactions of this type.
    pub count: f64,
    pub round_trips: f64,
    pub verbs: f64,
    pub bytes: f64,
}

impl Record {
    /// Reads the record; `None` if the file does not exist.
    pub fn read(root: &Path) -> Result<Option<Record>> {
        match fs::read_to_string(root.join(RECORD)) {
            Ok(text) => Ok(Some(toml::from_str(&text).with_context(|| format!("parse {RECORD}"))?)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| format!("read {RECORD}")),
        }
    }

    /// Writes the record with rounded numbers, so that diffs are readable.
    pub fn write(&self, root: &Path) -> Result<()> {
        fs::write(root.join(RECORD), self.text()?).with_context(|| format!("write {RECORD}"))
    }

    fn text(&self) -> Result<String> {
        let mut rounded = Record { rustc: self.rustc.clone(), workloads: BTreeMap::new() };
        for (name, counts) in &self.workloads {
            rounded.workloads.insert(name.clone(), counts.rounded());
        }
        let body = toml::to_string(&rounded).context("write the record as TOML")?;
        Ok(format!("{HEADER}{body}"))
    }
}

impl Counts {
    fn rounded(&self) -> Counts {
        let types = self.types.iter().map(|(name, counts)| (name.clone(), counts.rounded()));
        Counts {
            transactions: self.transactions,
            instructions: self.instructions.round(),
            round_trips: thousandths(self.round_trips),
            verbs: thousandths(self.verbs),
            bytes: thousandths(self.bytes),
            types: types.collect(),
        }
    }
}

impl TypeCounts {
    fn rounded(&self) -> TypeCounts {
        TypeCounts {
            count: self.count,
            round_trips: thousandths(self.round_trips),
            verbs: thousandths(self.verbs),
            bytes: thousandths(self.bytes),
        }
    }
}

fn thousandths(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_survives_its_file() {
        let new_order = TypeCounts { count: 45.0, round_trips: 3.123_456, verbs: 40.0, bytes: 9.5 };
        let tpcc = Counts {
            transactions: 100,
            instructions: 12_345.6,
            round_trips: 2.5,
            verbs: 30.0,
            bytes: 4096.0,
            types: BTreeMap::from([("new_order".to_string(), new_order)]),
        };
        let record = Record {
            rustc: "rustc 1.85.0".to_string(),
            workloads: BTreeMap::from([("tpcc".to_string(), tpcc)]),
        };
        let text = record.text().expect("a record is plain data");
        let read: Record = toml::from_str(&text).expect("what was written can be read");
        assert_eq!(read.workloads["tpcc"].instructions, 12_346.0);
        assert_eq!(read.workloads["tpcc"].types["new_order"].round_trips, 3.123);
        assert_eq!(read.text().expect("still plain data"), text, "rounding twice changes nothing");
    }
}
