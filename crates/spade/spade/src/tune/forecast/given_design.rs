//! Converts a design that the user supplies into the model's terms, and checks it against the
//! workload.
//!
//! Decisions:
//! - docs/decisions/0235-a-given-design-is-forecast-from-the-same-facts-as-the-tuners.md
//! - docs/decisions/0280-forecasts-of-given-designs-follow-what-stored-builds.md

use super::ranges;
use crate::design::{Access, Design, IndexDesign, Partition, Placement, TableDesign};
use crate::scale::rescale;
use crate::tune::TuneError;
use crate::tune::facts::Facts;
use crate::tune::model::{HomeBy, Plan, TablePlan};
use crate::tune::search::candidates::{IndexStorage, KeyPlacement, RowStorage, TableShape};
use crate::tune::workload::grouping::{Grouped, Grouping, Home};
use crate::tune::workload::profile::Kind;
use layout::{IndexKind, Storage};
use spade_format::division::leads;
use sql::Table;
use std::collections::BTreeSet;

/// Bucket sizes that the engine supports.
const SLOTS: std::ops::RangeInclusive<u32> = 1..=layout::bucket::SLOTS_MAX;
/// Numbers of old versions beside a row that the engine supports.
const VERSIONS: std::ops::RangeInclusive<u32> = 1..=8;
/// Node sizes that the engine supports, in bytes.
const NODE_BYTES: std::ops::RangeInclusive<u32> = 256..=16 * 1024;
/// Forecasts assume at most this bucket load, in percent.
const LOAD_MAX: u64 = 400;
/// Loads above this one cause a warning, in percent.
const LOAD_TOLD: u64 = 100;

/// A design in the model's terms.
pub struct ConvertedDesign {
    /// Storage and execution.
    pub plan: Plan,
    /// Partitioning.
    pub grouping: Grouping,
    /// The argument that determines the home of each procedure's calls.
    pub by: Vec<HomeBy>,
    pub warnings: Vec<String>,
}

/// Converts a design and collects problems and warnings.
struct Converter<'f, 'a> {
    facts: &'f Facts<'a>,
    /// Groups with a table that cannot be divided by ranges; all tables of a group are divided
    /// alike.
    unranged: BTreeSet<String>,
    problems: Vec<String>,
    warnings: Vec<String>,
}

impl ConvertedDesign {
    /// Converts a design. A design for other units is rescaled first.
    ///
    /// # Errors
    /// All problems, a sentence each.
    pub fn new(facts: &Facts<'_>, design: &Design) -> Result<Self, TuneError> {
        let (program, load) = (&facts.input.folder.program, facts.load());
        let design = &rescale(design.clone(), program, load, facts.units)
            .map_err(|error| TuneError::Design { problems: vec![error.to_string()] })?;
        let (problems, warnings, unranged) = Default::default();
        let mut converter = Converter { facts, unranged, problems, warnings };
        converter.names(design);
        if !converter.problems.is_empty() {
            return Err(TuneError::Design { problems: converter.problems });
        }
        let tables = facts.catalog().tables.iter().enumerate();
        let found = tables.filter_map(|(at, table)| {
            Some((at, table, design.tables.iter().find(|of| of.table == table.name)?))
        });
        let found: Vec<(usize, &Table, &TableDesign)> = found.collect();
        converter.unranged =
            found.iter().filter_map(|(_, table, of)| unranged_group(facts, table, of)).collect();
        let tables = found.iter().map(|(at, table, of)| converter.table(*at, table, of));
        let tables: Vec<TablePlan> = tables.collect();
        let grouped = found.iter().map(|(at, table, of)| converter.grouped(*at, table, of));
        let mut grouping = Grouping { tables: grouped.collect(), attributes: Vec::new() };
        let (access, by) = converter.procedures(design, &grouping);
        ranges::join(facts, &tables, &mut grouping);
        if !converter.problems.is_empty() {
            return Err(TuneError::Design { problems: converter.problems });
        }
        let plan = Plan { tables, access };
        Ok(Self { plan, grouping, by, warnings: converter.warnings })
    }
}

/// The group of a table whose leading key column is the partitioning column, if that column has no
/// known range.
fn unranged_group(facts: &Facts<'_>, table: &Table, of: &TableDesign) -> Option<String> {
    let Partition::By { columns, group } = &of.partition else { return None };
    let [column] = &columns[..] else { return None };
    let is_led = table.column(column).is_some_and(|column| leads(table, column));
    (is_led && !facts.draws.is_ranged(table)).then(|| group.clone())
}

impl Converter<'_, '_> {
    fn refuse(&mut self, what: String) {
        self.problems.push(what);
    }

    /// Checks that the design lists each table and nothing else.
    fn names(&mut self, design: &Design) {
        let (catalog, load) = (self.facts.catalog(), self.facts.load());
        if design.workload != load.name {
            self.refuse(format!(
                "it is for workload {}, but this is {}; tune this workload, or write its name into the design if both \
                 have the same tables",
                design.workload, load.name
            ));
        }
        for of in &design.tables {
            if catalog.position(&of.table).is_none() {
                self.refuse(format!("schema.sql has no table {}", of.table));
            }
        }
        for table in &catalog.tables {
            match design.tables.iter().filter(|of| of.table == table.name).count() {
                0 => self.refuse(format!("it lacks table {}", table.name)),
                1 => {}
                _ => self.refuse(format!("it lists table {} twice", table.name)),
            }
        }
        for of in &design.procedures {
            let mut known = self.facts.profiles.iter();
            if !known.any(|profile| profile.name == of.procedure) {
                self.refuse(format!("procedures.sql has no procedure {}", of.procedure));
            }
        }
    }

    fn table(&mut self, at: usize, table: &Table, of: &TableDesign) -> TablePlan {
        let (name, shape) = (&table.name, &self.facts.shapes[at]);
        let is_tree = of.storage == Storage::Tree;
        if let (Some(who), false) = (&shape.ranges, is_tree) {
            self.refuse(format!(
                "table {name} is a hash table, but {who} scans a range of its primary key; set its storage to tree"
            ));
        }
        if !is_tree && !SLOTS.contains(&of.neighbourhood) {
            self.refuse(format!(
                "table {name}: neighbourhood is {}; 1 to 32 is allowed",
                of.neighbourhood
            ));
        }
        if is_tree && !NODE_BYTES.contains(&of.node_bytes) {
            self.refuse(format!("table {name}: {}", node_bytes_refused(of.node_bytes)));
        }
        if !VERSIONS.contains(&of.versions_beside) {
            self.refuse(format!(
                "table {name}: versions_beside is {}; 1 to 8 is allowed",
                of.versions_beside
            ));
        }
        let placing = self.placing(table, shape, of);
        TablePlan {
            choice: RowStorage {
                storage: of.storage,
                slots: if is_tree { 0 } else { of.neighbourhood },
                placing,
                node_bytes: if is_tree { of.node_bytes } else { 0 },
            },
            indexes: self.indexes(at, table, of),
            versions_beside: of.versions_beside,
            keeps_versions: of.keeps_versions,
        }
    }

    fn placing(&mut self, table: &Table, shape: &TableShape, of: &TableDesign) -> KeyPlacement {
        let name = &table.name;
        match &of.placement {
            Placement::Dense { .. } if of.storage == Storage::Tree => {
                self.refuse(format!("table {name} is a tree, whose keys have no dense placement"));
                KeyPlacement::Ordered
            }
            _ if of.storage == Storage::Tree => KeyPlacement::Ordered,
            Placement::Hashed { load_percent } if !(1..=100).contains(load_percent) => {
                self.refuse(format!(
                    "table {name}: load_percent is {load_percent}; 1 to 100 is allowed"
                ));
                KeyPlacement::Hashed(*load_percent)
            }
            Placement::Hashed { load_percent } => {
                KeyPlacement::Hashed(self.load(name, shape, *load_percent, of.rows))
            }
            Placement::Dense { columns } => {
                if columns.len() != table.primary_key.len()
                    || columns.iter().any(|(_, count)| *count == 0)
                {
                    self.refuse(format!(
                        "table {name}: a dense placement needs a range of at least one value for each column of the primary key"
                    ));
                }
                if let Err(why) = &shape.dense {
                    self.warnings.push(format!(
                        "table {name} is dense, but {why}; keys outside the range cannot be stored"
                    ));
                }
                KeyPlacement::Dense(columns.clone())
            }
        }
    }

    /// The load of buckets that were planned for `rows` rows, in percent.
    fn load(&mut self, name: &str, shape: &TableShape, planned: u32, rows: u64) -> u32 {
        let full = u128::from(planned) * u128::from(shape.rows) / u128::from(rows.max(1));
        let full = u64::try_from(full).unwrap_or(u64::MAX);
        if full > LOAD_TOLD {
            self.warnings.push(format!(
                "table {name} is planned for {rows} rows, but has {}: its buckets are {full} % full",
                shape.rows
            ));
        }
        u32::try_from(full.clamp(1, LOAD_MAX)).unwrap_or(planned)
    }

    fn indexes(&mut self, at: usize, table: &Table, of: &TableDesign) -> Vec<IndexStorage> {
        let name = &table.name;
        for IndexDesign { index, .. } in &of.indexes {
            if !table.indexes.iter().any(|known| known.name == *index) {
                self.refuse(format!("table {name} has no index {index} in schema.sql"));
            }
        }
        let mut all = Vec::new();
        for (number, index) in table.indexes.iter().enumerate() {
            let mut found = of.indexes.iter().filter(|design| design.index == index.name);
            let (Some(design), None) = (found.next(), found.next()) else {
                self.refuse(format!(
                    "it must list index {} of table {name} exactly once",
                    index.name
                ));
                continue;
            };
            let is_tree = design.kind == IndexKind::Tree;
            if let (Some(who), false) = (&self.facts.shapes[at].index_ranges[number], is_tree) {
                self.refuse(format!(
                    "index {} of table {name} is a hash table, but {who} scans a range of it; set its kind to tree",
                    index.name
                ));
            }
            if is_tree && !NODE_BYTES.contains(&design.node_bytes) {
                let refused = node_bytes_refused(design.node_bytes);
                self.refuse(format!("index {} of table {name}: {refused}", index.name));
            }
            let node_bytes = if is_tree { design.node_bytes } else { 0 };
            all.push(IndexStorage { kind: design.kind, node_bytes });
        }
        all
    }

    fn grouped(&mut self, at: usize, table: &Table, of: &TableDesign) -> Grouped {
        let name = &table.name;
        let group = match &of.partition {
            Partition::By { group, .. } => Some(group.clone()),
            _ => None,
        };
        let column = match &of.partition {
            Partition::RoundRobin => None,
            Partition::Replicated => {
                let mut requests = self.facts.profiles.iter().flat_map(|profile| &profile.requests);
                if requests.any(|request| request.table == at && request.kind >= Kind::Update) {
                    self.refuse(format!(
                        "table {name} is replicated, but procedures change it; partition or spread it"
                    ));
                }
                None
            }
            Partition::By { columns, .. } => match &columns[..] {
                [column] => {
                    let found = table.column(column);
                    if found.is_none() {
                        self.refuse(format!(
                            "table {name}, partitioned by {column}, has no such column"
                        ));
                    }
                    let leading = found.filter(|at| leads(table, *at));
                    let ranged = leading
                        .filter(|_| group.as_ref().is_some_and(|of| !self.unranged.contains(of)));
                    if let (Some(_), None, true) = (found, ranged, self.facts.chosen.machines > 1) {
                        let why = match leading {
                            Some(_) if self.facts.draws.is_ranged(table) => {
                                "in a group with a key that is not an integer with a range in the load"
                            }
                            Some(_) => "which is not an integer with a range in the load",
                            None => "which is not the first column of its primary key",
                        };
                        self.warnings.push(format!(
                            "table {name} is partitioned by {column}, {why}: its rows are divided by the hash of their keys"
                        ));
                    }
                    ranged
                }
                _ => {
                    self.refuse(format!(
                        "table {name} is partitioned by {} columns; forecasts support only one",
                        columns.len()
                    ));
                    None
                }
            },
        };
        Grouped { partition: of.partition.clone(), column, group, reason: String::new() }
    }

    /// Where procedures execute, and the arguments that determine the homes of their calls.
    fn procedures(&mut self, design: &Design, grouping: &Grouping) -> (Vec<Access>, Vec<HomeBy>) {
        let key = |table: usize| grouping.key(table);
        let mut all = (Vec::new(), Vec::new());
        for profile in &self.facts.profiles {
            let name = &profile.name;
            let of = design.procedures.iter().find(|of| of.procedure == *name);
            let access = of.map_or(Access::OneSided, |of| of.access);
            let named = of.and_then(|of| of.by.as_ref());
            let variable = named.and_then(|by| profile.variables.iter().position(|of| of == by));
            if let (Some(by), None) = (named, variable) {
                self.refuse(format!("procedure {name} has no argument {by}"));
            }
            let tells = variable.filter(|by| Home::by_argument(profile, *by, &key).is_some());
            if access == Access::Shipped && tells.is_none() && self.facts.chosen.machines > 1 {
                self.refuse(format!(
                    "procedure {name} is shipped, but {}; set its access to one-sided",
                    match named {
                        Some(by) => format!("its argument {by} locates none of its rows"),
                        None => "no argument determines the owner".to_owned(),
                    }
                ));
            }
            all.0.push(access);
            all.1.push(tells.map_or(HomeBy::Nothing, HomeBy::Named));
        }
        all
    }
}

fn node_bytes_refused(bytes: u32) -> String {
    let (least, most) = (NODE_BYTES.start(), NODE_BYTES.end());
    format!("node_bytes is {bytes}; {least} to {most} is allowed")
}
