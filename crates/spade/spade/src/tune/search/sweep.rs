//! Designs that the tuner's choice is compared with: an exhaustive search, reduced by rules that
//! use no forecast.
//!
//! All combinations are too many: TPC-C's nine tables alone have 10^6. The demands of tables on
//! cores and cards add up, so that options of different tables interact only through the bottleneck
//! stage. Partitions and shipping interact directly: they determine each procedure's verbs and
//! messages. So the sweep has
//!
//! ```text
//! everything    all combinations, if there are at most 200
//! access        every set of shipped procedures with the tuner's partitions, on two styles of
//!               tables. With more than six procedures that can be shipped: none, all, each alone,
//!               all but each
//! partitions    each partitioning, without shipping and with all shipped, on each style: the
//!               tuner's, none, each other attribute first, the tuner's without copies
//! tables        each other option of one table, index or its old versions, or that table spread,
//!               on one base after the other while all variants of a base fit. A base is a style,
//!               without shipping or with all shipped
//! ```
//! in this order, each design once; if all combinations fit, the other rules are skipped. A style
//! stores all tables alike: inlined in small buckets or dense; buckets of eight; rows outside of
//! small buckets; trees. Bases have different bottlenecks, so that an option that helps only cards
//! or only cores is visible on one of them.
//!
//! Decision: docs/decisions/0237-the-sweep-that-the-tuner-is-compared-with-uses-no-forecast.md

use super::candidates::{IndexStorage, KeyPlacement, RowStorage, TableShape};
use crate::design::{Access, Design, Partition};
use crate::tune::facts::Facts;
use crate::tune::model::{Plan, TablePlan};
use crate::tune::report::design_file;
use crate::tune::workload::grouping::{Grouped, Grouping};
use layout::{IndexKind, Storage};

/// Maximal number of designs.
pub const DESIGNS_MAX: usize = 200;
/// Up to this number of procedures that can be shipped, all combinations are tried.
const COMBINED_MAX: usize = 6;
/// Node sizes that replace that of a base, in bytes.
const NODES: [u32; 4] = [256, 512, 1024, 4096];
/// Node sizes of tables that could be hashed.
const NODES_OF_HASHED: [u32; 2] = [512, 2048];
/// Slots and planned loads of hash buckets.
const BUCKETS: [(u32, u32); 2] = [(2, 40), (8, 65)];

/// Old versions beside rows, and whether rows keep their memory: the default, and variants for a
/// table that is updated.
const VERSIONS: [(u32, bool); 3] = [(8, true), (1, true), (8, false)];

/// A storage for all tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Style {
    /// Inlined: dense, or in small buckets at 40 % load.
    Small,
    /// Inlined in buckets of eight.
    Usual,
    /// Outside of their buckets, otherwise like [`Style::Small`].
    Outside,
    Trees,
}

const STYLES: [Style; 4] = [Style::Small, Style::Usual, Style::Outside, Style::Trees];
/// Styles with which every set of shipped procedures is tried.
const COMBINED: [Style; 2] = [Style::Small, Style::Usual];
/// Bases on which single tables are varied: a style, and whether procedures are shipped.
const BASES: [(Style, bool); 6] = [
    (Style::Small, true),
    (Style::Small, false),
    (Style::Usual, true),
    (Style::Outside, true),
    (Style::Outside, false),
    (Style::Usual, false),
];

pub fn designs(facts: &Facts<'_>) -> Vec<Design> {
    let mut found = DesignList { facts, all: Vec::new() };
    let own = facts.grouping();
    if found.put_everything(&own) {
        return found.all;
    }
    let mine = shippable(facts, &own);
    for style in COMBINED {
        for shipped in combinations(&mine) {
            found.put(&own, tables(facts, style), &shipped);
        }
    }
    for grouping in groupings(facts, &own) {
        let able = shippable(facts, &grouping);
        for style in STYLES {
            for shipped in [vec![false; able.len()], able.clone()] {
                found.put(&grouping, tables(facts, style), &shipped);
            }
        }
    }
    for (style, is_shipped) in BASES {
        let before = found.all.len();
        let base = tables(facts, style);
        for (grouping, tables) in changes(facts, &own, &base) {
            let able = shippable(facts, &grouping);
            let shipped: Vec<bool> = able.iter().map(|able| *able && is_shipped).collect();
            found.put(&grouping, tables, &shipped);
        }
        if found.all.len() > DESIGNS_MAX {
            found.all.truncate(before);
            break;
        }
    }
    found.all.truncate(DESIGNS_MAX);
    found.all
}

struct DesignList<'f, 'a> {
    facts: &'f Facts<'a>,
    all: Vec<Design>,
}

impl DesignList<'_, '_> {
    /// Adds all combinations of all options, if they are few.
    fn put_everything(&mut self, own: &Grouping) -> bool {
        let facts = self.facts;
        let groupings = groupings(facts, own);
        let able: Vec<Vec<bool>> = groupings.iter().map(|of| shippable(facts, of)).collect();
        let accesses = able.iter().map(|able| combinations(able).len());
        let each = facts.shapes.iter().map(|shape| {
            let indexes = (0..shape.index_ranges.len()).map(|at| index_choices(shape, at).len());
            let versions = if shape.is_updated { VERSIONS.len() } else { 1 };
            choices(shape).len().saturating_mul(indexes.product()).saturating_mul(versions)
        });
        let stored = each.fold(1_usize, usize::saturating_mul);
        if stored.saturating_mul(accesses.sum()) > DESIGNS_MAX {
            return false;
        }
        let mut all = vec![tables(facts, Style::Small)];
        for (at, shape) in facts.shapes.iter().enumerate() {
            all = varied(&all, choices(shape), |tables, choice| tables[at].choice = choice);
            for index in 0..shape.index_ranges.len() {
                let kinds = index_choices(shape, index);
                all = varied(&all, kinds, |tables, choice| tables[at].indexes[index] = choice);
            }
            if shape.is_updated {
                all = varied(&all, VERSIONS.to_vec(), |tables, versions| {
                    (tables[at].versions_beside, tables[at].keeps_versions) = versions;
                });
            }
        }
        for (grouping, able) in groupings.iter().zip(&able) {
            for shipped in combinations(able) {
                all.iter().for_each(|tables| self.put(grouping, tables.clone(), &shipped));
            }
        }
        true
    }

    /// Adds a design unless it is already there.
    fn put(&mut self, grouping: &Grouping, tables: Vec<TablePlan>, shipped: &[bool]) {
        let model = self.facts.model(grouping);
        let access = |shipped: &bool| if *shipped { Access::Shipped } else { Access::OneSided };
        let plan = Plan { tables, access: shipped.iter().map(access).collect() };
        let mut design = design_file::design(self.facts, &model, &plan);
        for (number, of) in design.procedures.iter_mut().enumerate() {
            if of.access == Access::Shipped {
                of.by = design_file::argument(&model, number);
            }
        }
        if !self.all.contains(&design) {
            self.all.push(design);
        }
    }
}

/// Which called procedures have an argument that locates some of their rows.
fn shippable(facts: &Facts<'_>, grouping: &Grouping) -> Vec<bool> {
    let model = facts.model(grouping);
    let is_able = |number: usize| {
        let is_called = facts.profiles[number].share > 0.0;
        is_called && facts.chosen.machines > 1 && design_file::argument(&model, number).is_some()
    };
    (0..facts.profiles.len()).map(is_able).collect()
}

/// Sets of shipped procedures: all subsets, or those that differ by at most one from none or from
/// all.
fn combinations(able: &[bool]) -> Vec<Vec<bool>> {
    let places: Vec<usize> = (0..able.len()).filter(|at| able[*at]).collect();
    let of = |is_in: &dyn Fn(usize) -> bool| {
        let mut shipped = vec![false; able.len()];
        places.iter().enumerate().for_each(|(number, at)| shipped[*at] = is_in(number));
        shipped
    };
    if places.len() <= COMBINED_MAX {
        return (0..1_u32 << places.len())
            .map(|bits| of(&|number| bits & (1 << number) != 0))
            .collect();
    }
    let mut all = vec![of(&|_| false), of(&|_| true)];
    for one in 0..places.len() {
        all.push(of(&|number| number == one));
        all.push(of(&|number| number != one));
    }
    all
}

fn groupings(facts: &Facts<'_>, own: &Grouping) -> Vec<Grouping> {
    if facts.chosen.machines < 2 {
        return vec![own.clone()];
    }
    let is_copied = |of: &Grouped| of.partition == Partition::Replicated;
    let mut all = vec![own.clone(), own.spread()];
    all.extend(facts.other_groupings());
    if own.tables.iter().any(is_copied) {
        let mut apart = own.clone();
        apart.tables.iter_mut().filter(|of| is_copied(of)).for_each(spread);
        all.push(apart);
    }
    all
}

fn spread(of: &mut Grouped) {
    (of.partition, of.column, of.group) = (Partition::RoundRobin, None, None);
}

fn tables(facts: &Facts<'_>, style: Style) -> Vec<TablePlan> {
    let table = |(at, shape): (usize, &TableShape)| {
        let declared = facts.catalog().tables[at].indexes.iter().map(|index| index.kind);
        // A table without updates has no old versions.
        let (versions_beside, keeps_versions) = VERSIONS[usize::from(!shape.is_updated)];
        TablePlan {
            choice: styled(shape, style),
            indexes: declared
                .enumerate()
                .map(|(index, kind)| match (style, shape.unhashed(index)) {
                    (Style::Usual, _) => shape.usual_index(index, kind),
                    (Style::Trees, _) | (_, Some(_)) => tree_index(NODES[1]),
                    _ => IndexStorage { kind: IndexKind::Hash, node_bytes: 0 },
                })
                .collect(),
            versions_beside,
            keeps_versions,
        }
    };
    facts.shapes.iter().enumerate().map(table).collect()
}

fn styled(shape: &TableShape, style: Style) -> RowStorage {
    let small = |storage: Storage| match &shape.dense {
        Ok(columns) => dense(storage, columns),
        Err(_) => hashed(storage, BUCKETS[0]),
    };
    match (style, &shape.ranges) {
        (Style::Trees, _) | (_, Some(_)) => tree(NODES[1]),
        (Style::Small, None) => small(Storage::HashInlined),
        (Style::Outside, None) => small(Storage::HashOutside),
        (Style::Usual, None) => shape.usual(),
    }
}

/// Combines each of these with each option.
fn varied<C: Clone>(
    all: &[Vec<TablePlan>],
    choices: Vec<C>,
    change: impl Fn(&mut [TablePlan], C),
) -> Vec<Vec<TablePlan>> {
    let each = all.iter().flat_map(|tables| choices.iter().map(move |choice| (tables, choice)));
    let with = |(tables, choice): (&Vec<TablePlan>, &C)| {
        let mut tables = tables.clone();
        change(&mut tables, choice.clone());
        tables
    };
    each.map(with).collect()
}

/// All variants of a base that differ in one table.
fn changes(
    facts: &Facts<'_>,
    own: &Grouping,
    base: &[TablePlan],
) -> Vec<(Grouping, Vec<TablePlan>)> {
    let mut all = Vec::new();
    for (at, shape) in facts.shapes.iter().enumerate().filter(|(at, _)| is_accessed(facts, *at)) {
        let with = |change: &dyn Fn(&mut TablePlan)| {
            let mut tables = base.to_vec();
            change(&mut tables[at]);
            (own.clone(), tables)
        };
        all.extend(
            choices(shape).into_iter().map(|choice| with(&|table| table.choice = choice.clone())),
        );
        for index in 0..shape.index_ranges.len() {
            let kinds = index_choices(shape, index).into_iter();
            all.extend(kinds.map(|choice| with(&|table| table.indexes[index] = choice)));
        }
        for versions in VERSIONS[1..].iter().filter(|_| shape.is_updated) {
            all.push(with(&|table| (table.versions_beside, table.keeps_versions) = *versions));
        }
        if facts.chosen.machines > 1 && own.tables[at].partition != Partition::RoundRobin {
            let mut grouping = own.clone();
            spread(&mut grouping.tables[at]);
            all.push((grouping, base.to_vec()));
        }
    }
    all
}

/// Whether a called procedure accesses a table.
fn is_accessed(facts: &Facts<'_>, table: usize) -> bool {
    let called = facts.profiles.iter().filter(|of| of.share > 0.0);
    called.flat_map(|of| &of.requests).any(|request| request.table == table)
}

/// Storage options of the rows.
fn choices(shape: &TableShape) -> Vec<RowStorage> {
    if shape.ranges.is_some() {
        return NODES.map(tree).to_vec();
    }
    let mut all = Vec::new();
    for storage in [Storage::HashInlined, Storage::HashOutside] {
        all.extend(shape.dense.iter().map(|columns| dense(storage, columns)));
        all.extend(BUCKETS.map(|bucket| hashed(storage, bucket)));
    }
    all.extend(NODES_OF_HASHED.map(tree));
    all
}

/// Storage options of an index.
fn index_choices(shape: &TableShape, index: usize) -> Vec<IndexStorage> {
    let mut all = NODES.map(tree_index).to_vec();
    if shape.unhashed(index).is_none() {
        all.push(IndexStorage { kind: IndexKind::Hash, node_bytes: 0 });
    }
    all
}

fn dense(storage: Storage, columns: &[(i64, u64)]) -> RowStorage {
    RowStorage { storage, slots: 1, placing: KeyPlacement::Dense(columns.to_vec()), node_bytes: 0 }
}

fn hashed(storage: Storage, (slots, load): (u32, u32)) -> RowStorage {
    RowStorage { storage, slots, placing: KeyPlacement::Hashed(load), node_bytes: 0 }
}

fn tree(node_bytes: u32) -> RowStorage {
    RowStorage { storage: Storage::Tree, slots: 0, placing: KeyPlacement::Ordered, node_bytes }
}

fn tree_index(node_bytes: u32) -> IndexStorage {
    IndexStorage { kind: IndexKind::Tree, node_bytes }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn procedures_are_shipped_in_every_combination_or_one_by_one() {
        let three = combinations(&[true, false, true, true]);
        assert_eq!(three.len(), 8);
        assert!(three.iter().all(|shipped| !shipped[1]), "no argument tells its owner");
        let many = combinations(&[true; 7]);
        assert_eq!(many.len(), 2 + 2 * 7);
        for shipped in three.iter().chain(&many) {
            let same = three.iter().chain(&many).filter(|other| *other == shipped);
            assert_eq!(same.count(), 1, "each once");
        }
    }
}
