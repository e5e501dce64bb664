//! The names of designs: their differences from the tuner's design.

use layout::{IndexKind, Storage};
use spade::design::{
    Access, Design, IndexDesign, Partition, Placement, ProcedureDesign, TableDesign,
};

/// The name of the design that the tuner has chosen.
pub(super) const TUNED: &str = "tuned";
/// The largest number of differences in a name.
const TOLD_MAX: usize = 3;

/// The differences of a design from the tuner's.
pub(super) fn name_of(design: &Design, tuned: &Design) -> String {
    let mut all = Vec::new();
    let pairs = design.tables.iter().zip(&tuned.tables).filter(|(own, other)| own != other);
    if let Some(same) = same_in_all(design, tuned) {
        all.push(format!("all {same}"));
        let moved = pairs.filter(|(own, other)| own.partition != other.partition);
        let moved = moved.filter(|_| !is_spread(design));
        all.extend(moved.map(|(own, _)| format!("{} {}", own.table, placed(own))));
    } else {
        all.extend(pairs.map(|(own, other)| table_name(own, other)));
    }
    let mut shipped: Vec<&str> = Vec::new();
    for of in design.procedures.iter().filter(|of| of.access == Access::Shipped) {
        shipped.push(&of.procedure);
    }
    let is_other = |(own, other): (&ProcedureDesign, &ProcedureDesign)| own.access != other.access;
    if design.procedures.iter().zip(&tuned.procedures).any(is_other) {
        all.push(match shipped.is_empty() {
            true => "nothing shipped".to_owned(),
            false => format!("shipped {}", first(&shipped)),
        });
    }
    if all.is_empty() {
        TUNED.to_owned()
    } else {
        first(&all.iter().map(String::as_str).collect::<Vec<_>>())
    }
}

/// Some words, and the number of further ones.
fn first(words: &[&str]) -> String {
    let told = words[..words.len().min(TOLD_MAX)].join(", ");
    match words.len().checked_sub(TOLD_MAX + 1) {
        Some(more) => format!("{told} and {} more", more + 1),
        None => told,
    }
}

/// The storage or placement of all tables, if it is the same for all and differs from the tuner's.
fn same_in_all(design: &Design, tuned: &Design) -> Option<String> {
    let [first, .., _] = &design.tables[..] else { return None };
    let stored = |of: &TableDesign| stored_as(of);
    let is_alike = design.tables.iter().all(|of| stored(of) == stored(first));
    let is_new = design.tables != tuned.tables;
    let spread = if is_spread(design) { ", spread" } else { "" };
    (is_alike && is_new).then(|| format!("{}{spread}", stored(first)))
}

fn table_name(own: &TableDesign, other: &TableDesign) -> String {
    let mut what = Vec::new();
    if stored_as(own) != stored_as(other) {
        what.push(stored_as(own));
    }
    if own.indexes != other.indexes {
        let index = |of: &IndexDesign| match of.kind {
            IndexKind::Tree => format!("index in nodes of {}", of.node_bytes),
            IndexKind::Hash => "index hashed".to_owned(),
        };
        what.extend(own.indexes.iter().map(index));
    }
    if own.partition != other.partition {
        what.push(placed(own));
    }
    let versions = |of: &TableDesign| (of.versions_beside, of.keeps_versions);
    if what.is_empty() && versions(own) != versions(other) {
        let kept = if own.keeps_versions { "" } else { ", given back" };
        what.push(format!("{} beside{kept}", own.versions_beside));
    }
    format!("{} {}", own.table, what.join(" "))
}

/// Where the rows of a table are.
fn placed(of: &TableDesign) -> String {
    match &of.partition {
        Partition::By { columns, .. } => format!("by {}", columns.join(" and ")),
        Partition::Replicated => "copied".to_owned(),
        Partition::RoundRobin => "spread".to_owned(),
    }
}

/// Whether all tables are distributed over all machines.
fn is_spread(design: &Design) -> bool {
    design.tables.iter().all(|of| of.partition == Partition::RoundRobin)
}

fn stored_as(of: &TableDesign) -> String {
    let inlined = if of.storage == Storage::HashInlined { "inlined" } else { "outside" };
    match (of.storage, &of.placement) {
        (Storage::Tree, _) => format!("trees of {} bytes", of.node_bytes),
        (_, Placement::Dense { .. }) if of.neighbourhood == 1 => format!("{inlined}, dense"),
        (_, Placement::Dense { .. }) => format!("{inlined}, dense, {} slots", of.neighbourhood),
        (_, Placement::Hashed { load_percent }) => {
            format!("{inlined}, {} slots at {load_percent} %", of.neighbourhood)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::small;
    use super::*;

    #[test]
    fn designs_are_named_by_what_differs() {
        let (_, stored) = small::read("tatp", 4, 1).expect("it is in order");
        let tuned = stored.default_design();
        let mut outside = tuned.clone();
        outside.tables[1].storage = Storage::HashOutside;
        let mut larger = tuned.clone();
        larger.tables[1].neighbourhood = 4;
        let mut shipped = tuned.clone();
        shipped.procedures[0].access = Access::Shipped;
        assert_eq!(name_of(&tuned, &tuned), TUNED);
        assert_eq!(name_of(&outside, &tuned), "access_info outside, dense");
        assert_eq!(name_of(&larger, &tuned), "access_info inlined, dense, 4 slots");
        let mut older = tuned.clone();
        (older.tables[1].versions_beside, older.tables[1].keeps_versions) = (4, false);
        assert_eq!(name_of(&older, &tuned), "access_info 4 beside, given back");
        assert_eq!(
            name_of(&shipped, &tuned),
            format!("shipped {}", shipped.procedures[0].procedure)
        );
    }
}
