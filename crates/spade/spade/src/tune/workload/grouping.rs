//! Selects the tables that are partitioned together, and the partitioning columns [SPADE 4.2].
//!
//! Columns are linked if they are compared with the same argument, if one takes its value from a
//! row of the other, or if the load draws one from the other. Linked columns form an attribute. The
//! attribute that makes most rows local becomes the partitioning key. Tables without such a column
//! are grouped by the remaining attributes, copied if no procedure changes them, or spread.
//!
//! Decisions:
//! - docs/decisions/0213-a-calls-home-is-the-value-that-most-of-its-rows-share.md
//! - docs/decisions/0214-columns-are-linked-by-the-load-too.md

use super::draws::Drawn;
use super::profile::{Kind, Profile, Request};
use crate::design::Partition;
use crate::tune::search::candidates::value_range;
use procedure::operations::{Action, Operation, Origin, Path};
use spade_format::division::leads;
use sql::load::{Draw, Expectation};
use sql::{Catalog, Load};
use std::collections::{BTreeMap, BTreeSet};

type Column = (usize, usize);

/// The column that determines the machine of a table's rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Key {
    pub column: usize,
    /// The number of the group. Within a group, equal values are on one machine.
    pub group: usize,
}

/// Maximal number of reads over which the origin of a value is traced.
const STEPS_MAX: u32 = 16;

/// Maximal size of a table that is copied to every machine, in bytes, if the memory of machines is
/// unknown. Otherwise a tenth of it.
pub const COPIED_MAX: u64 = 256 << 20;

/// The source of a partitioning value in a call.
#[derive(Clone, PartialEq, Debug)]
pub enum Source {
    /// An argument, or an element of one.
    Argument(Origin),
    /// A row that was found without the value, by the operation that reads it.
    Row(usize),
    Unknown,
}

/// A set of linked columns.
#[derive(Clone, PartialEq, Debug)]
pub struct Attribute {
    pub columns: BTreeSet<Column>,
    /// The share of operations that have a value of it.
    pub covered: f64,
    /// The share of operations that find their rows on the machine of the call, if this is the
    /// partitioning key.
    pub local: f64,
    /// Number of values, if the load defines it.
    pub values: Option<u64>,
    /// The reason why it is not a partitioning key; `None` if it is.
    pub refusal: Option<String>,
}

/// How all tables are partitioned.
#[derive(Clone, PartialEq, Debug)]
pub struct Grouping {
    pub tables: Vec<Grouped>,
    /// All attributes, ordered by their share of local rows, largest first.
    pub attributes: Vec<Attribute>,
}

impl Grouping {
    /// The grouping with all tables spread over all machines.
    pub fn spread(&self) -> Self {
        let spread = |of: &Grouped| {
            let (partition, reason) = (Partition::RoundRobin, of.reason.clone());
            Grouped { partition, column: None, group: None, reason }
        };
        Self { tables: self.tables.iter().map(spread).collect(), attributes: Vec::new() }
    }

    /// The partitioning key of a table, if it has one.
    pub fn key(&self, table: usize) -> Option<Key> {
        let Grouped { column, group, .. } = &self.tables[table];
        let (column, own) = ((*column)?, group.as_ref()?);
        let group = self.tables.iter().position(|of| of.group.as_ref() == Some(own))?;
        Some(Key { column, group })
    }
}

/// How a table is partitioned.
#[derive(Clone, PartialEq, Debug)]
pub struct Grouped {
    /// How rows are distributed.
    pub partition: Partition,
    /// The partitioning column.
    pub column: Option<usize>,
    /// Name of the group: tables that have rows with equal key values on the same machine. It
    /// includes spread tables that are divided by the same ranges.
    pub group: Option<String>,
    /// The reason, as a sentence for the report.
    pub reason: String,
}

/// The input of grouping.
pub struct Question<'a> {
    pub catalog: &'a Catalog,
    pub load: &'a Load,
    /// Averages of the load at this scale.
    pub expectation: Expectation<'a>,
    pub profiles: &'a [Profile],
    /// Drawn calls of the procedures.
    pub drawn: &'a [Drawn<'a>],
    pub rows: &'a [u64],
    /// Bytes of the rows of each table.
    pub bytes: Vec<u64>,
    /// Maximal size of a table that is copied to every machine.
    pub copied_max: u64,
    pub machines: u32,
    /// For each table, whether the leading column of its key can divide it.
    pub ranged: Vec<bool>,
}

/// Groups all tables, beginning with the attribute that makes most rows local.
pub fn group(question: &Question<'_>) -> Grouping {
    question.grouped_by(question.attributes())
}

/// All groupings that begin with another attribute.
pub fn others(question: &Question<'_>) -> Vec<Grouping> {
    let attributes = question.attributes();
    let usable = attributes.iter().enumerate().filter(|(_, of)| of.refusal.is_none());
    let each = usable.skip(1).map(|(at, _)| {
        let mut turned = attributes.clone();
        turned[..=at].rotate_right(1);
        question.grouped_by(turned)
    });
    each.collect()
}

impl Question<'_> {
    /// All attributes by which rows are found, ordered by their share of local rows.
    fn attributes(&self) -> Vec<Attribute> {
        let linked = self.linked().into_iter().filter(|columns| self.finds_rows(columns));
        let mut all: Vec<Attribute> = linked.map(|columns| self.attribute(columns)).collect();
        all.sort_by(|one, other| {
            let by_value = other.local.total_cmp(&one.local);
            by_value.then_with(|| one.columns.cmp(&other.columns))
        });
        all
    }

    /// Assigns each table to the first of these attributes that it has.
    fn grouped_by(&self, mut attributes: Vec<Attribute>) -> Grouping {
        let mut tables: Vec<Option<Grouped>> = vec![None; self.catalog.tables.len()];
        for attribute in &mut attributes {
            if attribute.refusal.is_some() {
                continue;
            }
            let columns = self.columns_of(&attribute.columns);
            let is_first = tables.iter().all(Option::is_none);
            let free = columns.iter().filter(|(table, _)| tables[**table].is_none());
            // Read-only tables are copied, unless they are in the first group or too large.
            let free: Vec<_> =
                free.filter(|(table, _)| is_first || !self.may_be_copied(**table)).collect();
            if free.is_empty() {
                let better = "its tables are already partitioned by another attribute";
                attribute.refusal = Some(better.to_owned());
                continue;
            }
            let name = self.name_of(&attribute.columns);
            for (&table, &column) in free {
                tables[table] = Some(self.grouped(table, column, &name, attribute));
            }
        }
        let tables = tables.into_iter().enumerate();
        let tables = tables.map(|(table, found)| found.unwrap_or_else(|| self.left(table)));
        Grouping { tables: tables.collect(), attributes }
    }

    /// The sets of linked columns, one for each attribute.
    fn linked(&self) -> Vec<BTreeSet<Column>> {
        let mut sets: Vec<BTreeSet<Column>> = Vec::new();
        let mut link = |columns: &[Column]| {
            let mut joined: BTreeSet<Column> = columns.iter().copied().collect();
            sets.retain(|set| {
                let meets = columns.iter().any(|column| set.contains(column));
                if meets {
                    joined.extend(set.iter().copied());
                }
                !meets
            });
            sets.push(joined);
        };
        for profile in self.profiles {
            let mut by_origin: Vec<(Origin, Vec<Column>)> = Vec::new();
            for (column, origin) in profile.operations.iter().flat_map(named) {
                if matches!(origin, Origin::Constant | Origin::Computed | Origin::OneOf(_)) {
                    continue;
                }
                let known = by_origin.iter().position(|(known, _)| known == origin);
                let at = known.unwrap_or(by_origin.len());
                if known.is_none() {
                    by_origin.push((origin.clone(), Vec::new()));
                }
                by_origin[at].1.push(column);
                by_origin[at].1.extend(origin_column(&profile.operations, origin));
            }
            by_origin.iter().for_each(|(_, columns)| link(columns));
        }
        for (number, table) in self.catalog.tables.iter().enumerate() {
            for key in &table.foreign_keys {
                let pairs = key.columns.iter().zip(&key.references);
                pairs.for_each(|(own, other)| link(&[(number, *own), (key.table, *other)]));
            }
            for (own, other) in self.drawn_from(number) {
                link(&[(number, own), other]);
            }
        }
        sets
    }

    /// Columns of a table whose values the load takes from another table.
    fn drawn_from(&self, table: usize) -> Vec<(usize, Column)> {
        let table = &self.catalog.tables[table];
        let Some(load) = self.load.table(&table.name) else { return Vec::new() };
        let from = |(name, drawn): &(String, sql::load::Distribution)| {
            let (other, column) = match &drawn.draw {
                Draw::Same(name) => name.split_once('.')?,
                Draw::Column { table, column, .. } => (&**table, &**column),
                _ => return None,
            };
            let other = self.catalog.position(other)?;
            let column = self.catalog.tables[other].column(column)?;
            Some((table.column(name)?, (other, column)))
        };
        load.columns.iter().filter_map(from).collect()
    }

    fn attribute(&self, columns: BTreeSet<Column>) -> Attribute {
        let keys = self.columns_of(&columns);
        let (mut all, mut covered, mut local) = (0.0, 0.0, 0.0);
        let column = |table: usize| keys.get(&table).copied();
        let key = |table: usize| column(table).map(|column| Key { column, group: 0 });
        for (profile, drawn) in self.profiles.iter().zip(self.drawn) {
            let home = Home::of(profile, *drawn, self.machines, &key);
            for request in &profile.requests {
                let weight = profile.share * request.times;
                all += weight;
                let source = source(&profile.operations, request.operation, &column, 0);
                if keys.contains_key(&request.table) && !matches!(source, Source::Unknown) {
                    covered +=
                        weight * f64::from(u8::from(!is_own_row(&source, request.operation)));
                    local += weight * home.local(&source, 0, *drawn, self.machines);
                }
            }
        }
        let share = |sum: f64| if all > 0.0 { sum / all } else { 0.0 };
        let values = self.values(&columns);
        let is_leading = |of: &Column| leads(&self.catalog.tables[of.0], of.1);
        let refusal = match values {
            _ if keys.is_empty() && columns.iter().any(is_leading) => {
                Some("it is not an integer with a range that the load defines".to_owned())
            }
            _ if keys.is_empty() => {
                Some("no primary key begins with one of its columns".to_owned())
            }
            Some(values) if values < u64::from(self.machines) => {
                Some(format!("it has {values} values, too few for {} machines", self.machines))
            }
            _ => None,
        };
        Attribute { columns, covered: share(covered), local: share(local), values, refusal }
    }

    /// The column of each table by which it would be partitioned. If there are several, it is the
    /// one by which most rows are found, or else the one that provides the value for most other
    /// rows.
    fn columns_of(&self, columns: &BTreeSet<Column>) -> BTreeMap<usize, usize> {
        let mut chosen: BTreeMap<usize, (f64, usize)> = BTreeMap::new();
        for &(table, column) in columns.iter().filter(|column| self.is_eligible(column)) {
            let weight = self.weight(columns, table, column);
            let best = chosen.entry(table).or_insert((-1.0, column));
            if weight > best.0 {
                *best = (weight, column);
            }
        }
        chosen.into_iter().map(|(table, (_, column))| (table, column)).collect()
    }

    fn is_eligible(&self, (table, column): &Column) -> bool {
        self.ranged[*table] && leads(&self.catalog.tables[*table], *column)
    }

    /// Whether rows of some table are found by one of these columns.
    fn finds_rows(&self, columns: &BTreeSet<Column>) -> bool {
        let mut all = self.profiles.iter().flat_map(|profile| &profile.operations);
        all.any(|operation| {
            let is_read = matches!(operation.action, Action::Read { .. });
            is_read && named(operation).iter().any(|(column, _)| columns.contains(column))
        })
    }

    /// The weight of a column among the columns of its table in an attribute.
    fn weight(&self, columns: &BTreeSet<Column>, table: usize, column: usize) -> f64 {
        let position = self.catalog.tables[table].primary_key.iter().position(|at| *at == column);
        let in_key = position.map_or(0.0, |at| 1e-3 / (at + 1) as f64);
        let mut weight = in_key;
        for profile in self.profiles {
            let mut counts: Vec<(&Origin, f64)> = Vec::new();
            let of_attribute = |found: &(Column, &Origin)| columns.contains(&found.0);
            for (_, origin) in profile.operations.iter().flat_map(named).filter(of_attribute) {
                match counts.iter_mut().find(|(known, _)| *known == origin) {
                    Some((_, count)) => *count += 1.0,
                    None => counts.push((origin, 1.0)),
                }
            }
            let own = profile.operations.iter().flat_map(named);
            let own = own.filter(|(found, _)| *found == (table, column));
            for (_, origin) in own {
                let count = counts.iter().find(|(known, _)| *known == origin);
                weight += profile.share.max(1e-9) * count.map_or(0.0, |(_, count)| *count);
            }
        }
        weight
    }

    /// The number of values of an attribute: rows of the table whose key it is, or the range that
    /// the load draws.
    fn values(&self, columns: &BTreeSet<Column>) -> Option<u64> {
        let of_key = |(table, column): &Column| {
            (self.catalog.tables[*table].primary_key == [*column]).then(|| self.rows[*table])
        };
        let drawn = |(table, column): &Column| {
            let table = &self.catalog.tables[*table];
            let drawn = self.load.table(&table.name)?.column(&table.columns[*column].name)?;
            let (low, high) = value_range(&self.expectation, &table.name, drawn)?;
            u64::try_from(high.checked_sub(low)?.checked_add(1)?).ok()
        };
        let by_key = columns.iter().filter_map(of_key).max();
        by_key.or_else(|| columns.iter().filter_map(drawn).max())
    }

    /// The name of an attribute: the table whose key it is.
    fn name_of(&self, columns: &BTreeSet<Column>) -> String {
        let is_key =
            |(table, column): &&Column| self.catalog.tables[*table].primary_key == [*column];
        let named = columns.iter().find(is_key).or(columns.first());
        named.map_or_else(String::new, |(table, _)| self.catalog.tables[*table].name.clone())
    }

    fn grouped(&self, table: usize, column: usize, name: &str, of: &Attribute) -> Grouped {
        let columns = vec![self.catalog.tables[table].columns[column].name.clone()];
        let partition = Partition::By { columns, group: name.to_owned() };
        let reason = format!(
            "{:.0} of 100 operations have a value of this attribute, and {:.0} of 100 find their rows on the machine of the call",
            100.0 * of.covered,
            100.0 * of.local
        );
        Grouped { partition, column: Some(column), group: Some(name.to_owned()), reason }
    }

    /// Partitions a table that is in no group.
    fn left(&self, table: usize) -> Grouped {
        let (partition, reason) = match (self.may_be_copied(table), self.is_written(table)) {
            (true, _) => {
                (Partition::Replicated, "no procedure changes it, and it belongs to no group")
            }
            (false, true) => (
                Partition::RoundRobin,
                "no operation finds its rows by an attribute of another table",
            ),
            (false, false) => (
                Partition::RoundRobin,
                "no procedure changes it, but it is too large for a copy on each machine",
            ),
        };
        Grouped { partition, column: None, group: None, reason: reason.to_owned() }
    }

    /// Whether a table is read-only and small.
    fn may_be_copied(&self, table: usize) -> bool {
        !self.is_written(table) && self.bytes[table] <= self.copied_max
    }

    fn is_written(&self, table: usize) -> bool {
        let mut requests = self.profiles.iter().flat_map(|profile| &profile.requests);
        requests.any(|request| request.table == table && request.kind >= Kind::Update)
    }
}

/// The machine on which most rows of a call are.
#[derive(Clone, PartialEq, Debug)]
pub struct Home {
    /// The source of its value; `None` if no row of the call is partitioned.
    pub source: Option<Source>,
    /// The group of the value.
    pub group: usize,
    /// The share of partitioned rows that are there.
    pub share: f64,
}

impl Home {
    /// The home of a procedure: the single value that determines the machine of most of its rows.
    pub fn of(
        profile: &Profile,
        drawn: Drawn<'_>,
        machines: u32,
        key: &dyn Fn(usize) -> Option<Key>,
    ) -> Self {
        let found = sources(profile, key);
        let all: f64 = found.iter().map(|(.., times)| times).sum();
        let mut best = Self { source: None, group: 0, share: 0.0 };
        for (candidate, group, _) in &found {
            if matches!(candidate, Source::Unknown | Source::Argument(Origin::Element(_))) {
                continue;
            }
            let home = Self { source: Some(candidate.clone()), group: *group, share: 0.0 };
            let local =
                found.iter().map(|(of, at, times)| times * home.local(of, *at, drawn, machines));
            let share = local.sum::<f64>() / all.max(f64::MIN_POSITIVE);
            // Of equal candidates, take the first.
            if share > best.share {
                best = Self { share, ..home };
            }
        }
        best
    }

    /// The home by a given argument; `None` if the argument locates no row.
    pub fn by_argument(
        profile: &Profile,
        variable: usize,
        key: &dyn Fn(usize) -> Option<Key>,
    ) -> Option<Self> {
        let wanted = Source::Argument(Origin::Argument(variable));
        let mut found = sources(profile, key).into_iter();
        let (source, group, _) = found.find(|(source, ..)| *source == wanted)?;
        Some(Self { source: Some(source), group, share: 0.0 })
    }

    /// The share of rows with this source that are at home.
    pub fn local(&self, source: &Source, group: usize, drawn: Drawn<'_>, machines: u32) -> f64 {
        let elsewhere = f64::from(machines.saturating_sub(1)) / f64::from(machines.max(1));
        if self.group != group {
            return 1.0 - elsewhere;
        }
        if self.source.as_ref() == Some(source) {
            return 1.0;
        }
        match (source, &self.source) {
            (Source::Argument(origin), Some(Source::Argument(home))) => {
                1.0 - drawn.differing(origin, home).unwrap_or(1.0) * elsewhere
            }
            _ => 1.0 - elsewhere,
        }
    }
}

/// For each request to a partitioned table: the source of the partitioning value, the group, and
/// the frequency.
fn sources(profile: &Profile, key: &dyn Fn(usize) -> Option<Key>) -> Vec<(Source, usize, f64)> {
    let column = |table: usize| key(table).map(|key| key.column);
    let own =
        profile.requests.iter().filter_map(|request| Some((request, key(request.table)?.group)));
    let found = |(request, group): (&Request, usize)| {
        (source(&profile.operations, request.operation, &column, 0), group, request.times)
    };
    own.map(found).collect()
}

/// The source of the partitioning value of an operation's rows.
pub fn source(
    all: &[Operation],
    number: usize,
    key: &dyn Fn(usize) -> Option<usize>,
    steps: u32,
) -> Source {
    let Some(operation) = all.get(number).filter(|_| steps < STEPS_MAX) else {
        return Source::Unknown;
    };
    let Some(column) = key(operation.table) else { return Source::Unknown };
    if let Action::Update { read, .. } | Action::Delete { read } = &operation.action {
        return read.map_or(Source::Unknown, |read| source(all, read, key, steps + 1));
    }
    let origin = named(operation).into_iter().find(|(at, _)| at.1 == column);
    match origin {
        // A range by another column has rows on all machines.
        None if !is_one_row(operation) => Source::Unknown,
        None => Source::Row(number),
        Some((_, given @ (Origin::Argument(_) | Origin::Element(_)))) => {
            Source::Argument(given.clone())
        }
        Some((_, Origin::Output { operation: from, column })) => {
            let is_key = all.get(*from).is_some_and(|of| key(of.table) == Some(*column));
            if is_key { source(all, *from, key, steps + 1) } else { Source::Unknown }
        }
        Some(_) => Source::Unknown,
    }
}

/// Whether an operation reads a single row.
fn is_one_row(operation: &Operation) -> bool {
    match &operation.action {
        Action::Read { path: Path::Key, .. } => true,
        Action::Read { path: Path::Lookup(_), .. } => operation.rows <= 1,
        Action::Read { path: Path::Range(_) | Path::All, .. } => false,
        _ => true,
    }
}

fn is_own_row(source: &Source, operation: usize) -> bool {
    *source == Source::Row(operation)
}

/// The columns for which an operation has a value, with the origin of the value.
fn named(operation: &Operation) -> Vec<(Column, &Origin)> {
    let table = operation.table;
    match &operation.action {
        Action::Read { keys, .. } => {
            let equal = keys.iter().filter(|key| key.is_equal);
            equal.map(|key| ((table, key.column), &key.origin)).collect()
        }
        Action::Insert { values } => {
            values.iter().enumerate().map(|(column, origin)| ((table, column), origin)).collect()
        }
        Action::Update { .. } | Action::Delete { .. } => Vec::new(),
    }
}

/// The column from which an origin takes its value.
fn origin_column(all: &[Operation], origin: &Origin) -> Option<Column> {
    match origin {
        Origin::Output { operation, column } => Some((all.get(*operation)?.table, *column)),
        _ => None,
    }
}
