//! The physical design of a workload: how tables are stored and partitioned, and where procedures
//! execute [SPADE 4].
//!
//! A design file is JSON that a user can read and edit: it refers to tables, columns and procedures
//! by name.
//!
//! ```text
//! Design
//!   format                          version of this schema
//!   workload                        the name in workload.toml
//!   units                           its scale, at least 1; default: that of workload.toml
//!   tables: TableDesign
//!     table                         its name
//!     storage                       hash-inlined, hash-outside, tree
//!     neighbourhood                 slots of a bucket, of hash tables
//!     placement                     hashed (planned load in percent), or dense (key ranges)
//!     node_bytes                    bytes of a tree node
//!     versions_beside               old versions that a changed row keeps
//!     keeps_versions                whether a row keeps the memory of its old versions
//!     rows                          expected number
//!     partition                     which machine has a row: round-robin, by columns, replicated
//!     indexes: IndexDesign          secondary indexes: name, kind, node_bytes, entries
//!   procedures: ProcedureDesign     where each executes: one-sided, or shipped to the owner
//!                                   of an argument's rows
//!   seal                            checksum that detects manual changes; may be missing
//! ```
//!
//! Decision: docs/decisions/0207-a-design-is-for-one-scale-and-follows-the-load-to-others.md

use datagen::PopulationError;
use layout::{IndexKind, Storage};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Default share of calls that arrive at another machine than the one with their rows; the paper's
/// setting for TATP [SPADE 5.3].
pub const REMOTE_CALLS: f64 = 0.1;
/// Maximal size of a design or measurement file, in bytes.
pub const BYTES_MAX: u64 = 64 << 20;

/// Version of the schema. Raise it when a field changes its meaning or is removed; files of other
/// versions are refused.
pub const FORMAT: u32 = 1;

/// How a workload is stored and executed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Design {
    format: u32,
    pub workload: String,
    /// The scale of row counts and key ranges. `None` means the units of `workload.toml`, so that a
    /// design written by hand need not set it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    units: Option<u64>,
    /// Tables in the order of the schema.
    pub tables: Vec<TableDesign>,
    /// Procedures in the order of the file.
    pub procedures: Vec<ProcedureDesign>,
    /// Checksum of all other fields, set in files that the tuner wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seal: Option<String>,
}

/// How a table is stored.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableDesign {
    pub table: String,
    /// Whether buckets contain rows or pointers to them, or the rows are in a tree.
    #[serde(with = "crate::measurement::StorageName")]
    pub storage: Storage,
    /// Slots of a bucket, 1 to 32. Only for hash tables.
    pub neighbourhood: u32,
    /// How a key selects its bucket. Only for hash tables.
    pub placement: Placement,
    /// Bytes of a node. Only for trees.
    pub node_bytes: u32,
    /// Old versions kept beside a row once it was updated, 1 to 8.
    pub versions_beside: u32,
    /// Whether a row keeps the memory of its old versions when they are no longer needed.
    pub keeps_versions: bool,
    pub rows: u64,
    /// Which machine has which rows.
    pub partition: Partition,
    /// Secondary indexes in the order of the schema.
    pub indexes: Vec<IndexDesign>,
}

/// How a key selects its bucket.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Placement {
    /// By a hash of the key.
    Hashed {
        /// Planned share of occupied slots, in percent.
        load_percent: u32,
    },
    /// By position in the key's ranges, see `layout::Placement::Dense`.
    Dense {
        /// For each column of the primary key: smallest value and number of values.
        columns: Vec<(i64, u64)>,
    },
}

/// Which machine has which rows of a table.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Partition {
    /// Rows are spread over all machines by hash or number: the baseline [SPADE 5.3].
    RoundRobin,
    /// Rows with equal values in these columns are on one machine, together with the rows of the
    /// group's other tables that have the same values [SPADE 4.2].
    By {
        /// Column names, most significant first.
        columns: Vec<String>,
        /// Name of the group: tables of one group are partitioned together.
        group: String,
    },
    /// Every machine has a copy. Only for tables that no procedure changes.
    Replicated,
}

/// How a secondary index is stored. The schema has its columns and whether it is unique.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IndexDesign {
    pub index: String,
    #[serde(with = "IndexKindName")]
    pub kind: IndexKind,
    /// Bytes of a node. Only for trees.
    pub node_bytes: u32,
    /// Expected number of entries. Only for hash indexes.
    pub entries: u64,
}

/// Where a procedure executes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProcedureDesign {
    pub procedure: String,
    /// How it accesses rows of another machine.
    pub access: Access,
    /// Name of the argument that determines the partition, and thus the machine of the call's rows
    /// before it begins. `None` if no argument does.
    pub by: Option<String>,
}

/// How a procedure accesses rows of another machine.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// By one-sided verbs.
    OneSided,
    /// The owner of the rows executes the whole procedure.
    Shipped,
}

/// Names of [`IndexKind`] in files.
#[derive(Serialize, Deserialize)]
#[serde(remote = "IndexKind", rename_all = "kebab-case")]
enum IndexKindName {
    Hash,
    Tree,
}

/// Why a text is not a valid design.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DesignError {
    /// It is not JSON, or has other fields.
    #[error("this is not a design: {0}")]
    Malformed(serde_json::Error),
    #[error("the design has format {found}, this program reads {FORMAT}; tune again")]
    Format { found: u64 },
    /// `units` is not a positive whole number.
    #[error(
        "the design has units {found}; units must be a whole number of at least 1; leave them out if the design \
         is for the units of workload.toml"
    )]
    Units {
        /// The text of the field.
        found: String,
    },
    /// A table is partitioned by no column, or by the same column twice.
    #[error(
        "the design partitions table {table} by {}; name at least one column, each once, or use round-robin or replicated",
        if columns.is_empty() { "no column".to_owned() } else { columns.join(", ") }
    )]
    Columns { table: String, columns: Vec<String> },
    /// The design lists a procedure twice.
    #[error("the design lists procedure {0} twice; remove one of them")]
    Procedure(String),
    /// The design cannot be rescaled to other units.
    #[error(
        "the design is for {units} units of scale, at which the workload cannot be drawn: {problem}; set `units` in the \
         design to the scale that it was computed for"
    )]
    Scale { units: u64, problem: PopulationError },
}

// The message contains the cause, so `source` returns `None`: a printer of all sources would print
// the cause twice.
impl From<serde_json::Error> for DesignError {
    fn from(error: serde_json::Error) -> Self {
        Self::Malformed(error)
    }
}

impl Design {
    /// A design for the units of `workload.toml`.
    pub fn new(
        workload: String,
        tables: Vec<TableDesign>,
        procedures: Vec<ProcedureDesign>,
    ) -> Self {
        Self { format: FORMAT, workload, units: None, tables, procedures, seal: None }
    }

    /// Sets the scale; `usual` are the units of `workload.toml`.
    pub fn for_units(self, units: u64, usual: u64) -> Self {
        Self { units: Some(units).filter(|units| *units != usual), ..self }
    }

    /// The scale that the design is for; `usual` are the units of `workload.toml`.
    pub fn units(&self, usual: u64) -> u64 {
        self.units.unwrap_or(usual)
    }

    /// Removes the seal, so that designs can be compared.
    pub fn unsealed(self) -> Self {
        Self { seal: None, ..self }
    }

    /// Adds a seal. [`is_as_sealed`](Self::is_as_sealed) then detects changes.
    pub fn sealed(self) -> Self {
        let seal = self.clone().unsealed().checksum();
        Self { seal: Some(seal), ..self }
    }

    /// Whether the design has a seal and is unchanged since it was sealed.
    pub fn is_as_sealed(&self) -> bool {
        self.seal.as_ref().is_some_and(|seal| *seal == self.clone().unsealed().checksum())
    }

    /// A checksum of the text. Equal designs have equal checksums.
    pub fn checksum(&self) -> String {
        format!("{:08x}", crc32fast::hash(self.json().as_bytes()))
    }

    /// Parses the text of a design file.
    ///
    /// # Errors
    /// The text has another format, invalid units, a partition by no columns, a procedure twice, or
    /// is not a design.
    pub fn parse(text: &str) -> Result<Self, DesignError> {
        let value: serde_json::Value = serde_json::from_str(text)?;
        match value.get("format").and_then(serde_json::Value::as_u64) {
            Some(found) if found != u64::from(FORMAT) => return Err(DesignError::Format { found }),
            _ => {}
        }
        // Later code divides by the units, and serde would accept null as missing.
        let units = value.get("units");
        match units.filter(|units| units.as_u64().is_none_or(|units| units == 0)) {
            Some(found) => Err(DesignError::Units { found: found.to_string() }),
            None => serde_json::from_value::<Self>(value)?.sound(),
        }
    }

    /// Checks everything that does not depend on the workload.
    fn sound(self) -> Result<Self, DesignError> {
        for TableDesign { table, partition, .. } in &self.tables {
            let Partition::By { columns, .. } = partition else { continue };
            if columns.is_empty() || is_twice(columns).is_some() {
                let (table, columns) = (table.clone(), columns.clone());
                return Err(DesignError::Columns { table, columns });
            }
        }
        match is_twice(self.procedures.iter().map(|of| &of.procedure)) {
            Some(name) => Err(DesignError::Procedure(name.clone())),
            None => Ok(self),
        }
    }

    /// The text of a design file. Equal designs give equal bytes.
    pub fn json(&self) -> String {
        let text = serde_json::to_string_pretty(self).expect("names and numbers can be written");
        format!("{text}\n")
    }
}

/// The first name that occurs twice.
fn is_twice<'a>(names: impl IntoIterator<Item = &'a String>) -> Option<&'a String> {
    let mut seen = BTreeSet::new();
    names.into_iter().find(|name| !seen.insert(*name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn design() -> Design {
        Design::new("shop".to_owned(), Vec::new(), Vec::new())
    }

    #[test]
    fn units_are_written_unless_they_are_the_default() {
        let text = design().for_units(10, 10).json();
        assert!(!text.contains("units"), "{text}");
        assert_eq!(Design::parse(&text).map(|design| design.units(10)).ok(), Some(10));
        let other = design().for_units(1, 10).sealed();
        let read = Design::parse(&other.json()).expect("it is a design");
        assert_eq!((read.units(10), read.is_as_sealed()), (1, true));
        let changed = other.json().replace("\"units\": 1,", "\"units\": 2,");
        let changed = Design::parse(&changed).expect("it is a design, too");
        assert_eq!((changed.units(10), changed.is_as_sealed()), (2, false));
    }

    #[test]
    fn partitions_by_no_columns_and_duplicate_procedures_are_refused() {
        let table = |columns: &str| {
            format!(
                r#"{{"table": "account", "storage": "tree", "neighbourhood": 8, "placement": {{"hashed": {{"load_percent": 80}}}},
                "node_bytes": 1024, "versions_beside": 1, "keeps_versions": true, "rows": 2,
                "partition": {{"by": {{"columns": [{columns}], "group": "g"}}}}, "indexes": []}}"#
            )
        };
        let read = |tables: &str, procedures: &str| {
            Design::parse(&format!(
                r#"{{"format": 1, "workload": "shop", "tables": [{tables}], "procedures": [{procedures}]}}"#
            ))
        };
        let pay = r#"{"procedure": "pay", "access": "shipped", "by": null}"#;
        assert!(read(&table(r#""a", "b""#), pay).is_ok());
        for (columns, told) in [("", "by no column;"), (r#""a", "b", "a""#, "by a, b, a;")] {
            let error = read(&table(columns), pay).expect_err(told).to_string();
            assert!(error.contains(&format!("table account {told}")), "{error}");
        }
        let twice = format!("{pay}, {}", pay.replace("shipped", "one-sided"));
        let error = read("", &twice).expect_err("a procedure occurs twice").to_string();
        assert!(error.contains("lists procedure pay twice"), "{error}");
    }

    #[test]
    fn invalid_units_are_refused() {
        let text = design().for_units(7, 10).json();
        for nonsense in ["0", "-1", "1.5", "\"7\"", "null", "1e30", "[7]"] {
            let said = text.replace("\"units\": 7", &format!("\"units\": {nonsense}"));
            let told = Design::parse(&said).expect_err("it is nonsense").to_string();
            assert!(told.starts_with("the design has units "), "{nonsense}: {told}");
            assert!(told.contains("a whole number of at least 1"), "{nonsense}: {told}");
        }
    }
}
