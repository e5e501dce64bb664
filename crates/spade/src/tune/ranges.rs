//! Which spread tables are in the ranges of a group.
//!
//! Spread tables that keep an order are in ranges of the first column of their keys, as partitioned ones are. Where that column has the
//! same values as those of a group, rows of a spread table are on the machines of the group's rows, as crate `stored` divides them.

use super::asked::Kind;
use super::candidate::{Placing, value_range};
use super::facts::Facts;
use super::group::{Grouped, Grouping};
use super::model::TablePlan;
use crate::design::Partition;
use layout::{IndexKind, Storage};
use sql::load::Expectation;
use std::collections::BTreeMap;

/// Least and greatest value.
type Range = (i64, i64);

/// Puts tables that no column divides into the groups whose ranges they have.
pub fn join(facts: &Facts<'_>, tables: &[TablePlan], grouping: &mut Grouping) {
    let ranges = Ranges { facts, expectation: Expectation::new(facts.load(), facts.units) };
    let groups = ranges.of_groups(grouping);
    for (at, (of, plan)) in grouping.tables.iter_mut().zip(tables).enumerate() {
        if of.column.is_some() || of.partition == Partition::Replicated {
            continue;
        }
        let is_spread = of.partition == Partition::RoundRobin;
        let Some((column, own)) = ranges.kept(at, plan, is_spread) else { continue };
        let equal = groups.iter().find(|(_, range)| **range == own);
        if let Some((group, _)) = equal {
            (of.column, of.group) = (Some(column), Some(group.clone()));
        }
    }
}

struct Ranges<'f, 'a> {
    facts: &'f Facts<'a>,
    expectation: Expectation<'f>,
}

impl Ranges<'_, '_> {
    /// The values that all tables of a group take together, by its name.
    fn of_groups(&self, grouping: &Grouping) -> BTreeMap<String, Range> {
        let mut all: BTreeMap<String, Range> = BTreeMap::new();
        for (at, Grouped { column, group, .. }) in grouping.tables.iter().enumerate() {
            let (Some(column), Some(group)) = (column, group) else { continue };
            let Some((low, high)) = self.of_column(at, *column) else { continue };
            let (least, greatest) = all.entry(group.clone()).or_insert((low, high));
            (*least, *greatest) = ((*least).min(low), (*greatest).max(high));
        }
        all
    }

    /// The column by whose ranges a table is divided, and its values; none if it is divided otherwise, or not at all. Tables that are not to
    /// be spread, but cannot be partitioned as they are to be, keep an order only if they are placed by counting.
    fn kept(&self, at: usize, plan: &TablePlan, is_spread: bool) -> Option<(usize, Range)> {
        let (table, shape) = (&self.facts.catalog().tables[at], &self.facts.shapes[at]);
        let column = *table.primary_key.first().filter(|_| !table.has_hidden_key())?;
        let (low, high) = self.of_column(at, column)?;
        let is_dense = matches!(plan.choice.placing, Placing::Dense(_));
        let has_tree = plan.indexes.iter().any(|index| index.kind == IndexKind::Tree);
        let is_ordered = plan.choice.storage == Storage::Tree || has_tree;
        // Rows that are added behind all others would be on the last machine.
        let mut asks = self.facts.asked.iter().flat_map(|asked| &asked.asks);
        let is_added_to = asks.any(|ask| ask.table == at && ask.kind == Kind::Insert);
        let goes_beyond = is_added_to && table.primary_key.len() == 1 && shape.ranges.is_none();
        // Who goes through an index in its order needs it whole.
        let mut indexes = table.indexes.iter().zip(&shape.index_ranges);
        let is_apart = indexes.any(|(index, who)| who.is_some() && index.columns[0] != column);
        let is_wide =
            i128::from(high) - i128::from(low) + 1 >= i128::from(self.facts.chosen.machines);
        let is_ranges =
            is_dense || (is_spread && is_ordered && !goes_beyond && !is_apart && is_wide);
        is_ranges.then_some((column, (low, high)))
    }

    fn of_column(&self, at: usize, column: usize) -> Option<Range> {
        let table = &self.facts.catalog().tables[at];
        let drawn = self.facts.load().table(&table.name)?.column(&table.columns[column].name)?;
        value_range(&self.expectation, &table.name, drawn)
    }
}
