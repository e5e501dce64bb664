//! Finds the spread tables that are divided by the ranges of a group.
//!
//! Spread tables with an order are divided by ranges of their first key column, like partitioned
//! ones. On simulated clusters all tables are, because the database has only some of the memory
//! servers. If the column has the same values as that of a group, crate `folder_benchmark` puts
//! rows with equal values on the same machine.
//!
//! Decision: docs/decisions/0287-inserts-and-ranges-are-charged-for-leaves-and-rows.md

use crate::design::Partition;
use crate::tune::facts::Facts;
use crate::tune::model::TablePlan;
use crate::tune::search::candidates::KeyPlacement;
use crate::tune::workload::grouping::{Grouped, Grouping};
use crate::tune::workload::profile::Kind;
use layout::{IndexKind, Storage};
use std::collections::BTreeMap;

/// Minimum and maximum.
type Range = (i64, i64);

/// Adds spread tables to the groups with the same ranges.
pub fn join(facts: &Facts<'_>, tables: &[TablePlan], grouping: &mut Grouping) {
    let ranges = Ranges { facts };
    let groups = ranges.of_groups(grouping);
    for (at, (of, plan)) in grouping.tables.iter_mut().zip(tables).enumerate() {
        if of.partition != Partition::RoundRobin {
            continue;
        }
        let Some((column, own)) = ranges.kept(at, plan) else { continue };
        let equal = groups.iter().find(|(_, range)| **range == own);
        if let Some((group, _)) = equal {
            (of.column, of.group) = (Some(column), Some(group.clone()));
        }
    }
}

struct Ranges<'f, 'a> {
    facts: &'f Facts<'a>,
}

impl Ranges<'_, '_> {
    /// The range of values of each group over all its tables. A group with a table whose range is
    /// unknown is left out.
    fn of_groups(&self, grouping: &Grouping) -> BTreeMap<String, Range> {
        let mut all: BTreeMap<String, Option<Range>> = BTreeMap::new();
        for (at, Grouped { column, group, .. }) in grouping.tables.iter().enumerate() {
            let (Some(column), Some(group)) = (column, group) else { continue };
            let own = self.of_column(at, *column);
            let both = |known: Option<Range>| {
                let ((least, greatest), (low, high)) = known.zip(own)?;
                Some((least.min(low), greatest.max(high)))
            };
            all.entry(group.clone()).and_modify(|known| *known = both(*known)).or_insert(own);
        }
        all.into_iter().filter_map(|(group, range)| Some((group, range?))).collect()
    }

    /// The column by whose ranges a spread table is divided, and its values. `None` if it is not
    /// divided by ranges.
    fn kept(&self, at: usize, plan: &TablePlan) -> Option<(usize, Range)> {
        let (table, shape) = (&self.facts.catalog().tables[at], &self.facts.shapes[at]);
        let column = *table.primary_key.first().filter(|_| !table.has_hidden_key())?;
        let (low, high) = self.of_column(at, column)?;
        // A scan of an index in order needs the whole index on one machine.
        let mut indexes = table.indexes.iter().zip(&shape.index_ranges);
        if indexes.any(|(index, who)| who.is_some() && index.columns.first() != Some(&column)) {
            return None;
        }
        let is_dense = matches!(plan.choice.placing, KeyPlacement::Dense(_));
        let has_tree = plan.indexes.iter().any(|index| index.kind == IndexKind::Tree);
        let is_ordered = plan.choice.storage == Storage::Tree || has_tree;
        let chosen = &self.facts.chosen;
        let is_cut = is_ordered || chosen.world.fabric == "sim";
        // Rows inserted behind all others would all be on the last machine.
        let mut requests = self.facts.profiles.iter().flat_map(|profile| &profile.requests);
        let is_added_to =
            requests.any(|request| request.table == at && request.kind == Kind::Insert);
        let goes_beyond = is_added_to && table.primary_key.len() == 1 && shape.ranges.is_none();
        let is_wide = i128::from(high) - i128::from(low) + 1 >= i128::from(chosen.machines);
        (is_dense || (is_cut && !goes_beyond && is_wide)).then_some((column, (low, high)))
    }

    fn of_column(&self, at: usize, column: usize) -> Option<Range> {
        self.facts.draws.range(&self.facts.catalog().tables[at], column)
    }
}
