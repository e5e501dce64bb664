//! How the tables of a design are divided over memory servers.
//!
//! Decisions:
//! - docs/decisions/0252-designs-partition-real-clusters-as-they-do-simulated-ones.md
//! - docs/decisions/0264-the-tuner-forecasts-only-what-is-built.md
//! - docs/decisions/0280-forecasts-of-given-designs-follow-what-stored-builds.md
//! - docs/decisions/0289-a-hashed-index-is-partitioned-by-the-columns-that-its-range.md

use super::DesignContext;
use layout::{IndexKind, PartRule, Storage};
use spade_format::design::{Design, Partition, Placement, TableDesign};
use spade_format::division::{divider, leads};

/// How a table is divided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Division {
    /// One part on each memory server: some of the rows, or a copy.
    Parts(PartRule),
    /// Whole on one memory server, because a procedure or check scans all of it in order, and it
    /// has no ranges.
    Whole,
}

/// The division of each table, in the order of the schema, if every table that can be in parts is
/// to be in parts.
///
/// - Replicated tables have a copy on each memory server.
/// - Tables partitioned by their first key column are divided by ranges of it, which are equal for
///   all tables of a group.
/// - Spread tables are divided by ranges of that column, too, although callers do not use them. If
///   the column is the whole key, all rows that procedures insert behind the load's would go to the
///   last range; such tables are divided by hash.
/// - If the range of a key is unknown, or has fewer values than there are servers, the table is
///   divided by a hash: that of the leading columns for which all scans in order have values.
///
/// An index whose first column is not that of the key is divided by a hash of its own columns in
/// the same way
/// ([`layout::IndexDesign::hashed_columns`]).
pub(crate) fn divide(
    design: &Design,
    subject: &DesignContext<'_>,
    servers: usize,
) -> Vec<Division> {
    let tables = 0..subject.workload.catalog.tables.len();
    tables.map(|at| division(design, subject, at, servers)).collect()
}

fn division(design: &Design, subject: &DesignContext<'_>, at: usize, servers: usize) -> Division {
    let table = &subject.workload.catalog.tables[at];
    let Some(of) = design.tables.iter().find(|of| of.table == table.name) else {
        return Division::Whole;
    };
    if of.partition == Partition::Replicated {
        return Division::Parts(PartRule::Copied);
    }
    let uses = &subject.uses.tables[at];
    let is_dense = of.storage != Storage::Tree && matches!(of.placement, Placement::Dense { .. });
    let is_added_to = uses.grows && table.primary_key.len() == 1;
    let goes_beyond = is_added_to && uses.order.least.is_none() && !is_dense;
    let range = match &of.partition {
        Partition::By { .. } if is_led(of, subject, at) => group_range(design, subject, of),
        Partition::By { .. } => None,
        _ if goes_beyond => None,
        _ => leading_range(subject, at).filter(|range| is_dense || range.1 >= servers as u64),
    };
    match range {
        Some((smallest, values)) => Division::Parts(PartRule::Ranges { smallest, values }),
        None if is_dense => Division::Whole,
        // A hidden key is a column, too.
        None => match uses.order.named().unwrap_or(table.schema.key().len()) {
            0 => Division::Whole,
            columns => Division::Parts(PartRule::Hashed { columns: columns as u16 }),
        },
    }
}

/// Whether a table is spread over all memory servers without parts: the buckets of hash tables and
/// hash indexes are divided over them anyway, and no rows must be together. A dense table with
/// fewer values than servers is spread, too, even if it has a tree index, which is then on one
/// server.
pub(crate) fn is_spread(
    design: &Design,
    subject: &DesignContext<'_>,
    at: usize,
    servers: usize,
) -> bool {
    let name = &subject.workload.catalog.tables[at].name;
    design.tables.iter().find(|of| of.table == *name).is_none_or(|of| {
        let are_hashed = of.indexes.iter().all(|index| index.kind == IndexKind::Hash);
        let is_dense = matches!(of.placement, Placement::Dense { .. });
        let is_narrow = || leading_range(subject, at).is_none_or(|range| range.1 < servers as u64);
        let is_hash = of.storage != Storage::Tree && !is_led(of, subject, at);
        let is_copied = of.partition == Partition::Replicated;
        is_hash && !is_copied && (are_hashed || (is_dense && is_narrow()))
    })
}

/// Whether the partitioning column of a table is the first column of its key.
pub(crate) fn is_led(of: &TableDesign, subject: &DesignContext<'_>, at: usize) -> bool {
    let Partition::By { columns, .. } = &of.partition else { return false };
    let table = &subject.workload.catalog.tables[at];
    let [column] = &columns[..] else { return false };
    table.column(column).is_some_and(|column| leads(table, column))
}

/// The range of the first key column, if it is known.
fn leading_range(subject: &DesignContext<'_>, at: usize) -> Option<(i64, u64)> {
    let table = &subject.workload.catalog.tables[at];
    let number = subject.population.table(&table.name)?;
    let column = divider(table)?;
    subject.population.column_range(number, column)
}

/// The range of values over all tables of the group of `of`, so that equal values are in equal
/// parts.
fn group_range(
    design: &Design,
    subject: &DesignContext<'_>,
    of: &TableDesign,
) -> Option<(i64, u64)> {
    let Partition::By { group, .. } = &of.partition else { return None };
    let mut all: Option<(i64, i64)> = None;
    for other in &design.tables {
        let is_of_group =
            matches!(&other.partition, Partition::By { group: own, .. } if own == group);
        let Some(at) = subject.workload.catalog.position(&other.table) else { continue };
        if !is_of_group || !is_led(other, subject, at) {
            continue;
        }
        let (low, count) = leading_range(subject, at)?;
        let high = low.checked_add(i64::try_from(count - 1).ok()?)?;
        all = Some(all.map_or((low, high), |(least, most)| (least.min(low), most.max(high))));
    }
    let (low, high) = all?;
    Some((low, u64::try_from(high.checked_sub(low)?).ok()?.checked_add(1)?))
}
