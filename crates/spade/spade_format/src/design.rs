//! A physical design of a workload: what the tuner decides, what tables are made by, and where procedures are carried out
//! [SPADE 4].
//!
//! A file of it is JSON, made to be read and changed by hand: tables, columns and procedures stand there by name.
//!
//! ```text
//! Design
//!   format                          version of this schema
//!   workload                        the name in workload.toml
//!   units                           units of scale that it is for, 1 or more; those of workload.toml if it is missing
//!   tables: TableDesign
//!     table                         its name
//!     storage                       hash-inlined, hash-outside, tree
//!     neighbourhood                 slots of a bucket, of hash tables
//!     placement                     hashed (planned load in percent), or dense (ranges of the key's columns)
//!     node_bytes                    bytes of a node, of trees
//!     versions_beside               old versions that a changed row keeps
//!     keeps_versions                whether their memory stays with the row
//!     rows                          expected number
//!     partition                     where rows are: spread, together by columns, or copied to every machine
//!     indexes: IndexDesign          secondary indexes: name, kind, node_bytes, entries
//!   procedures: ProcedureDesign     where each is carried out: one-sided, or shipped to the owner of an argument's rows
//!   seal                            checksum by which a file that tuning wrote is known to be as it was written; may be missing
//! ```
//!
//! Decision: docs/decisions/0207-a-design-is-for-one-scale-and-follows-the-load-to-others.md

use datagen::PopulationError;
use layout::{IndexKind, Storage};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The share of calls that come to another machine than that of their rows, if nobody says otherwise: what the paper has set for TATP
/// [SPADE 5.3].
pub const REMOTE_CALLS: f64 = 0.1;
/// Most bytes of a file that is read as one.
pub const BYTES_MAX: u64 = 64 << 20;

/// Version of the schema. Raised when a field changes its meaning or goes; files of other versions are refused.
pub const FORMAT: u32 = 1;

/// How a workload is stored and carried out.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Design {
    format: u32,
    /// The workload it is for.
    pub workload: String,
    /// The units of scale that rows and ranges of keys are of; left out where they are those of `workload.toml`, so that a
    /// design that is written by hand need not say them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    units: Option<u64>,
    /// Its tables, in the order of the schema.
    pub tables: Vec<TableDesign>,
    /// Its procedures, in the order of the file.
    pub procedures: Vec<ProcedureDesign>,
    /// The checksum of all else, in files that tuning wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seal: Option<String>,
}

/// How a table is stored.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableDesign {
    /// Its name.
    pub table: String,
    /// Where rows live, and how primary keys lead to them.
    #[serde(with = "crate::measurement::StorageName")]
    pub storage: Storage,
    /// Slots of a bucket, 1 to 32: of hash tables; trees do not look at it.
    pub neighbourhood: u32,
    /// How keys choose their bucket: of hash tables.
    pub placement: Placement,
    /// Bytes of a node: of trees.
    pub node_bytes: u32,
    /// Old versions kept beside a record once it was updated, 1 to 8.
    pub versions_beside: u32,
    /// Whether a row keeps the memory of its old versions.
    pub keeps_versions: bool,
    /// Expected number of rows.
    pub rows: u64,
    /// On which machines its rows are.
    pub partition: Partition,
    /// Its secondary indexes, in the order of the schema.
    pub indexes: Vec<IndexDesign>,
}

/// How keys choose their bucket.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Placement {
    /// By a mixed hash.
    Hashed {
        /// Planned share of used slots, in percent.
        load_percent: u32,
    },
    /// By counting: see `layout::Placement::Dense`.
    Dense {
        /// Per column of the primary key: its smallest value, and how many values it takes.
        columns: Vec<(i64, u64)>,
    },
}

/// On which machines the rows of a table are.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Partition {
    /// On all of them, wherever a row's hash or number leads: the baseline [SPADE 5.3].
    RoundRobin,
    /// Rows with equal values in these columns are on one machine, with those of all tables of the group that have the
    /// same values in theirs [SPADE 4.2].
    By {
        /// The columns by name, most significant first.
        columns: Vec<String>,
        /// The group: tables of one group are together.
        group: String,
    },
    /// Every machine has a copy: of tables that no procedure changes.
    Replicated,
}

/// How a secondary index is stored. Its columns and whether it is unique are the schema's.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IndexDesign {
    /// Its name.
    pub index: String,
    /// Hash or tree.
    #[serde(with = "IndexKindName")]
    pub kind: IndexKind,
    /// Bytes of a node: of trees.
    pub node_bytes: u32,
    /// Expected number of entries: of hash indexes.
    pub entries: u64,
}

/// Where a procedure is carried out.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProcedureDesign {
    /// Its name.
    pub procedure: String,
    /// By what it reaches rows of another machine.
    pub access: Access,
    /// The argument by name whose value is that of the partition, if there is one: where its rows are known
    /// before it begins.
    pub by: Option<String>,
}

/// By what a procedure reaches rows that are on another machine.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// By verbs.
    OneSided,
    /// The owner is called and carries out all of it.
    Shipped,
}

/// [`IndexKind`] as it stands in files.
#[derive(Serialize, Deserialize)]
#[serde(remote = "IndexKind", rename_all = "kebab-case")]
enum IndexKindName {
    Hash,
    Tree,
}

/// Why a text is no design.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DesignError {
    /// It is no JSON, or has other fields.
    #[error("this is no design: {0}")]
    Malformed(serde_json::Error),
    /// It is of another version of the schema.
    #[error("the design has format {found}, this program reads {FORMAT}; tune again")]
    Format {
        /// The version it has.
        found: u64,
    },
    /// Its units of scale are none.
    #[error(
        "the design has units {found}; they are a whole number from 1 on, as it was made for, or left out if those are the units of \
         workload.toml"
    )]
    Units {
        /// What stands there.
        found: String,
    },
    /// A table is partitioned by no column, or by one twice.
    #[error(
        "the design partitions table {table} by {}; name one column or more, each once, or take round-robin or replicated",
        if columns.is_empty() { "no column".to_owned() } else { columns.join(", ") }
    )]
    Columns {
        /// The table.
        table: String,
        /// What stands there.
        columns: Vec<String>,
    },
    /// A procedure is there twice.
    #[error("procedure {0} is there twice; leave one of them in the design")]
    Procedure(String),
    /// It cannot be brought to other units from its own.
    #[error(
        "the design is for {units} units of scale, at which the workload cannot be drawn: {problem}; write the units into it that it \
         was made for"
    )]
    Scale {
        /// Its units.
        units: u64,
        /// What is wrong.
        problem: PopulationError,
    },
}

// The cause is in the sentence, so that it is no source as well: who tells all sources would tell it twice.
impl From<serde_json::Error> for DesignError {
    fn from(error: serde_json::Error) -> Self {
        Self::Malformed(error)
    }
}

impl Design {
    /// A design of this workload, for the units of `workload.toml`.
    pub fn new(
        workload: String,
        tables: Vec<TableDesign>,
        procedures: Vec<ProcedureDesign>,
    ) -> Self {
        Self { format: FORMAT, workload, units: None, tables, procedures, seal: None }
    }

    /// The same for so many units of scale, where `usual` are those of `workload.toml`.
    pub fn for_units(self, units: u64, usual: u64) -> Self {
        Self { units: Some(units).filter(|units| *units != usual), ..self }
    }

    /// The units of scale that it is for, where `usual` are those of `workload.toml`.
    pub fn units(&self, usual: u64) -> u64 {
        self.units.unwrap_or(usual)
    }

    /// The same without a seal: two designs are compared so.
    pub fn unsealed(self) -> Self {
        Self { seal: None, ..self }
    }

    /// The same with a seal, by which [`is_as_sealed`](Self::is_as_sealed) tells later whether somebody has changed it.
    pub fn sealed(self) -> Self {
        let seal = self.clone().unsealed().checksum();
        Self { seal: Some(seal), ..self }
    }

    /// Whether it has a seal, and nothing of it was changed since.
    pub fn is_as_sealed(&self) -> bool {
        self.seal.as_ref().is_some_and(|seal| *seal == self.clone().unsealed().checksum())
    }

    /// A checksum of its text. Equal designs have equal ones.
    pub fn checksum(&self) -> String {
        format!("{:08x}", crc32fast::hash(self.json().as_bytes()))
    }

    /// Reads a file's text.
    ///
    /// # Errors
    /// The text is of another format, has units that are none, a partition by no columns or a procedure twice, or is no design at
    /// all.
    pub fn parse(text: &str) -> Result<Self, DesignError> {
        let value: serde_json::Value = serde_json::from_str(text)?;
        match value.get("format").and_then(serde_json::Value::as_u64) {
            Some(found) if found != u64::from(FORMAT) => return Err(DesignError::Format { found }),
            _ => {}
        }
        // Zero would be divided by, and a null would be taken for units that are left out.
        let units = value.get("units");
        match units.filter(|units| units.as_u64().is_none_or(|units| units == 0)) {
            Some(found) => Err(DesignError::Units { found: found.to_string() }),
            None => serde_json::from_value::<Self>(value)?.sound(),
        }
    }

    /// The same, unless it says nothing or two things where it has to say one, whichever workload it is for.
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

    /// The text of a file. Equal designs give equal bytes.
    pub fn json(&self) -> String {
        let text = serde_json::to_string_pretty(self).expect("names and numbers can be written");
        format!("{text}\n")
    }
}

/// The first name that is there a second time.
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
    fn units_are_said_where_they_are_not_the_usual_ones() {
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
    fn partitions_by_no_columns_and_procedures_that_are_there_twice_are_refused() {
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
        let error = read("", &twice).expect_err("it says two things").to_string();
        assert!(error.contains("procedure pay is there twice"), "{error}");
    }

    #[test]
    fn units_that_are_none_are_refused() {
        let text = design().for_units(7, 10).json();
        for nonsense in ["0", "-1", "1.5", "\"7\"", "null", "1e30", "[7]"] {
            let said = text.replace("\"units\": 7", &format!("\"units\": {nonsense}"));
            let told = Design::parse(&said).expect_err("it is nonsense").to_string();
            assert!(told.starts_with("the design has units "), "{nonsense}: {told}");
            assert!(told.contains("a whole number from 1 on"), "{nonsense}: {told}");
        }
    }
}
