//! How often inserts conflict: they swap the insert words of leaves and buckets.
//!
//! ```text
//! rows of the load, in key order        |  prefix 1   |  prefix 2   |  prefix 3   | ...
//! position of an insert                             ^ behind rows with the same prefix, which
//!                                                     arguments determine
//! leaves                                |    |    |    |    |    |    |    |    |    |
//! ```
//! Two inserts are at the same leaf if their positions differ by less than the rows of a leaf. A
//! key column that no argument determines, such as a counter in another row, is assumed to be
//! larger than all existing values.
//!
//! Each client counts a sequence up in a range of its own. In the beginning all clients insert
//! behind the last row, into one leaf, until each has filled a leaf. Forecasts are for that time: n
//! clients share one leaf, then two, and so on up to n. On average, n (1 + 1/2 + .. + 1/n) / n,
//! about `ln n`, clients share a leaf.

use super::conflicts::{self, DrawnCalls};
use crate::tune::workload::profile::{Kind, Profile, Request};
use crate::tune::workload::skew::{RowPlacement, origin};
use procedure::operations::Origin;
use sql::load::Draw;
use sql_value::Value;
use sql_value::order::order;
use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Leaves that a lane caches per tree (crate `txn`).
const KEPT: f64 = 16.0;
/// A row that no call updates.
const NO_ROW: u32 = u32::MAX;

/// How often inserts of a procedure conflict with others.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct InsertConflicts {
    /// How often other calls of the procedure insert at the same place without updating a row that
    /// this one updates, per call of the procedure on a machine.
    pub own: f64,
    /// How often calls of other procedures do, per call of any procedure on a machine.
    pub others: f64,
    /// Probability that the lane uses a cached leaf that another lane has changed.
    pub stale: f64,
    /// Probability that the lane has not cached the leaf, and reads it.
    pub uncached: f64,
}

/// A table's rows or one of its indexes.
pub type Structure = (usize, Option<usize>);

/// A leaf: the part of the structure, and the number of the leaf in it.
type Leaf = (u32, u64);

/// A visit of a leaf: the leaf, an updated row of the same call, the procedure and the machine.
type Visit = (Leaf, u32, usize, usize);

/// Where calls insert rows.
pub struct InsertSites {
    machines: f64,
    procedures: Vec<Caller>,
    sites: BTreeMap<Structure, Vec<InsertSite>>,
    /// Results that were computed before.
    known: RefCell<Memo>,
}

/// Insert conflicts of each procedure, by structure and rows of a leaf.
type Memo = BTreeMap<(Structure, u64), Vec<Option<InsertConflicts>>>;

/// Drawn calls of a procedure.
struct Caller {
    share: f64,
    /// The machine of each call; 0 if calls arrive at any machine.
    machine: Vec<usize>,
    is_anywhere: bool,
    /// The rows that each call updates.
    rows: Vec<Vec<u32>>,
    /// Drawn calls on each machine.
    counts: Vec<f64>,
}

/// The positions at which a procedure inserts into a structure or deletes from it.
struct InsertSite {
    procedure: usize,
    times: f64,
    /// Positions per call: 1, or the number of elements if an array has the first column.
    places: f64,
    adds: bool,
    /// For each call the part and the number of rows before its position; for a sequence, the
    /// number of a client.
    at: Vec<(u32, f64)>,
    /// Whether each client counts its keys up.
    counts_on: bool,
    /// Clients that insert into one part.
    clients: f64,
}

impl InsertSites {
    /// Collects inserts and deletes of drawn calls. Each machine has `lanes` lanes.
    pub fn new(
        calls: &[DrawnCalls<'_>],
        places: &RowPlacement<'_>,
        rows: &[u64],
        lanes: f64,
    ) -> Self {
        let machines = f64::from(places.machines.max(1));
        let mut ids = BTreeMap::new();
        let mut procedures = Vec::new();
        for of in calls {
            let changed = conflicts::changed(of.profile, of.drawn);
            let mut id = |row: conflicts::RowKey| {
                let next = ids.len() as u32;
                *ids.entry(row).or_insert(next)
            };
            let rows = changed.into_iter().map(|of| of.into_keys().map(&mut id).collect());
            let none = || vec![0; of.drawn.calls.len()];
            let machine = of.places.clone().unwrap_or_else(none);
            let mut counts = vec![0.0; machines as usize];
            machine.iter().for_each(|at| counts[*at] += 1.0);
            procedures.push(Caller {
                share: of.profile.share,
                machine,
                is_anywhere: of.places.is_none(),
                rows: rows.collect(),
                counts,
            });
        }
        let mut sites: BTreeMap<Structure, Vec<InsertSite>> = BTreeMap::new();
        for (number, of) in calls.iter().enumerate() {
            for request in &of.profile.requests {
                for structure in structures(request) {
                    let site = places.site((number, of), request, structure, rows, lanes);
                    sites.entry(structure).or_default().extend(site);
                }
            }
        }
        Self { machines, procedures, sites, known: RefCell::default() }
    }

    /// Conflicts of a procedure at leaves with `rows` rows each; `None` if it does not insert
    /// there.
    pub fn leaves(
        &self,
        structure: Structure,
        rows: f64,
        procedure: usize,
    ) -> Option<InsertConflicts> {
        let key = (structure, rows.to_bits());
        if let Some(found) = self.known.borrow().get(&key) {
            return found[procedure];
        }
        let found = self.found(structure, rows);
        let own = found[procedure];
        self.known.borrow_mut().insert(key, found);
        own
    }

    /// Whether the procedure's inserts follow those of the same client.
    pub fn counts_on(&self, structure: Structure, procedure: usize) -> bool {
        let mut sites = self.sites.get(&structure).into_iter().flatten();
        sites.any(|site| site.procedure == procedure && site.adds && site.counts_on)
    }

    /// Conflicts of a procedure at the `count` buckets of a machine.
    pub fn buckets(
        &self,
        structure: Structure,
        count: f64,
        procedure: usize,
    ) -> Option<InsertConflicts> {
        let sites = self.sites.get(&structure)?;
        let times = |procedure: usize| -> f64 {
            let of = sites.iter().filter(|site| site.procedure == procedure && site.adds);
            of.map(|site| site.times).sum()
        };
        let adds = times(procedure);
        let others = (0..self.procedures.len()).filter(|other| *other != procedure);
        let others = others.map(|other| self.procedures[other].share * times(other)).sum::<f64>();
        let each = adds / count.max(1.0);
        (adds > 0.0).then_some(InsertConflicts {
            own: each * adds,
            others: each * others,
            ..InsertConflicts::default()
        })
    }

    fn found(&self, structure: Structure, rows: f64) -> Vec<Option<InsertConflicts>> {
        let none = vec![None; self.procedures.len()];
        let Some(sites) = self.sites.get(&structure) else { return none };
        let leaves: Vec<Vec<Leaf>> = sites.iter().map(|site| site.leaves(rows)).collect();
        let mut seen: BTreeMap<Visit, f64> = BTreeMap::new();
        for (site, leaves) in sites.iter().zip(&leaves) {
            let of = &self.procedures[site.procedure];
            for (call, leaf) in leaves.iter().enumerate() {
                for row in of.rows[call].iter().copied().chain([NO_ROW]) {
                    let key = (*leaf, row, site.procedure, of.machine[call]);
                    *seen.entry(key).or_default() += site.weight();
                }
            }
        }
        let mut all = none;
        for (site, leaves) in sites.iter().zip(&leaves).filter(|(site, _)| site.adds) {
            let insert_conflicts = self.mean(&seen, site, leaves);
            let of = all[site.procedure].get_or_insert_with(InsertConflicts::default);
            of.own += insert_conflicts.own;
            of.others += insert_conflicts.others;
            of.stale = of.stale.max(insert_conflicts.stale);
            of.uncached = of.uncached.max(insert_conflicts.uncached);
        }
        all
    }

    /// The mean over the calls of a procedure. A procedure without calls has no conflicts.
    fn mean(
        &self,
        seen: &BTreeMap<Visit, f64>,
        site: &InsertSite,
        leaves: &[Leaf],
    ) -> InsertConflicts {
        if leaves.is_empty() {
            return InsertConflicts { uncached: 1.0, ..InsertConflicts::default() };
        }
        let of = &self.procedures[site.procedure];
        let times = site.weight();
        let mut sum = InsertConflicts::default();
        for (call, leaf) in leaves.iter().enumerate() {
            let at = of.machine[call];
            let met = |row: u32| self.met(seen, (*leaf, row), site.procedure, at, times);
            let all = met(NO_ROW);
            // If both calls also update the same row, that conflict is counted there.
            let nearest = of.rows[call].iter().map(|row| met(*row));
            let nearest = nearest.fold((0.0, 0.0), |most, one| {
                if one.0 * of.share + one.1 > most.0 * of.share + most.1 { one } else { most }
            });
            sum.own += times * (all.0 - nearest.0).max(0.0);
            sum.others += times * (all.1 - nearest.1).max(0.0);
            let each = if of.is_anywhere { self.machines } else { 1.0 };
            let written = if site.counts_on { 1.0 } else { (all.0 / each).min(1.0) };
            let is_kept = 1.0 - libm::pow(1.0 - written, KEPT);
            sum.stale += times.min(1.0) * is_kept * (1.0 - 1.0 / site.sharing());
            sum.uncached += 1.0 - is_kept;
        }
        let count = leaves.len() as f64;
        let each = |of: f64| of / count;
        InsertConflicts {
            own: each(sum.own),
            others: each(sum.others),
            stale: each(sum.stale),
            uncached: each(sum.uncached),
        }
    }

    /// How often other calls of the procedure, and calls of other ones, use a leaf.
    fn met(
        &self,
        seen: &BTreeMap<Visit, f64>,
        (leaf, row): (Leaf, u32),
        procedure: usize,
        at: usize,
        times: f64,
    ) -> (f64, f64) {
        let count = |other: usize, machine: usize| {
            seen.get(&(leaf, row, other, machine)).copied().unwrap_or(0.0)
        };
        let of = &self.procedures[procedure];
        let anywhere = if of.is_anywhere { self.machines } else { 1.0 };
        let further = (of.counts[at] - 1.0).max(1.0);
        let own = anywhere * (count(procedure, at) - times).max(0.0) / further;
        let others = self.procedures.iter().enumerate().filter(|(other, _)| *other != procedure);
        let others = others.map(|(other, by)| {
            let each = |machine: usize| count(other, machine) / by.counts[machine].max(1.0);
            let seen = match (by.is_anywhere, of.is_anywhere) {
                (true, _) => self.machines * each(0),
                (false, false) => each(at),
                (false, true) => (0..by.counts.len()).map(each).sum(),
            };
            by.share * seen
        });
        (own, others.sum())
    }
}

impl InsertSite {
    /// The leaf of each call, if each leaf has `rows` rows.
    fn leaves(&self, rows: f64) -> Vec<Leaf> {
        // Sequences: one of the average number of leaves in use.
        let shared = libm::round(self.clients / self.sharing()).max(1.0) as u64;
        let leaf = |(part, before): &(u32, f64)| match self.counts_on {
            true => (*part, *before as u64 % shared),
            false => (*part, (before / rows).max(0.0) as u64),
        };
        self.at.iter().map(leaf).collect()
    }

    /// Positions per call, times the probability of inserting.
    fn weight(&self) -> f64 {
        self.times.min(self.places)
    }

    /// How many clients insert into the same leaf.
    fn sharing(&self) -> f64 {
        if self.counts_on { libm::log(self.clients).max(1.0) } else { self.clients.max(1.0) }
    }
}

impl RowPlacement<'_> {
    /// The positions at which calls insert or delete; `None` if they are unknown.
    fn site(
        &self,
        (number, of): (usize, &DrawnCalls<'_>),
        request: &Request,
        (table, index): Structure,
        rows: &[u64],
        lanes: f64,
    ) -> Option<InsertSite> {
        let count = of.drawn.calls.len();
        let mut columns = Vec::new();
        if let Some(index) = index {
            columns.extend(&self.catalog.tables[table].indexes[index].columns);
        }
        columns.extend(&self.catalog.tables[table].primary_key);
        let (mut before, mut groups, mut counts_on) = (vec![0.0; count], 1.0, false);
        let (mut is_whole, mut places) = (true, 1.0);
        for column in columns {
            let from = origin(&of.profile.operations, request.operation, column);
            let argument = match from {
                Some(Origin::Argument(variable)) => of.drawn.argument(*variable),
                _ => None,
            };
            if argument.is_some_and(|at| self.is_sequence(of.profile, at)) {
                counts_on = true;
                break;
            }
            let known = from.and_then(|from| self.ranks((table, column), from, of));
            let Some((ranks, values)) = known else {
                is_whole = false;
                break;
            };
            // Behind other columns, elements are near each other.
            if let (Some(Origin::Element(array)), true) = (from, groups == 1.0) {
                places = of.drawn.elements(array).unwrap_or(1.0).max(1.0);
            }
            before.iter_mut().zip(ranks).for_each(|(sum, rank)| *sum = *sum * values + rank);
            groups *= values;
        }
        let adds = request.kind != Kind::Delete;
        if !adds && (!is_whole || counts_on) {
            return None;
        }
        let machines = self.machines.max(1) as usize;
        // If nothing of a key is known, each machine has a part of its own.
        let part = |call: usize| match (groups > 1.0, &of.places) {
            (true, _) => 0,
            (false, Some(places)) => places[call] as u32,
            (false, None) => (call % machines) as u32,
        };
        let clients = if of.places.is_some() { lanes } else { lanes * machines as f64 };
        let each = rows[table] as f64 / groups;
        let at = before.iter().enumerate().map(|(call, rank)| {
            let place =
                if counts_on { (call / machines) as f64 } else { (rank + 1.0) * each - 0.5 };
            (part(call), place)
        });
        Some(InsertSite {
            procedure: number,
            times: request.times,
            places,
            adds,
            at: at.collect(),
            counts_on,
            clients,
        })
    }

    /// Whether each client counts the argument up.
    fn is_sequence(&self, profile: &Profile, argument: usize) -> bool {
        let of = self.load.procedures.iter().find(|of| of.procedure == profile.name);
        let drawn = of.and_then(|of| of.arguments.get(argument));
        drawn.is_some_and(|(_, drawn)| matches!(drawn.draw, Draw::Sequence { .. }))
    }

    /// The rank of a column's value in each call among the values of the load, and the number of
    /// values.
    fn ranks(
        &self,
        (table, column): (usize, usize),
        from: &Origin,
        of: &DrawnCalls<'_>,
    ) -> Option<(Vec<f64>, f64)> {
        let range = self.draws.range(&self.catalog.tables[table], column);
        let values = range.map(|(low, high)| (i128::from(high) - i128::from(low) + 1) as f64);
        if *from == Origin::Constant {
            return Some((vec![0.0; of.drawn.calls.len()], values?));
        }
        // The first element stands for the whole array.
        let given: Option<Vec<&Value>> =
            of.drawn.values(from)?.into_iter().map(|given| given.first()).collect();
        let given = given?;
        let is_integer = given.iter().all(|value| matches!(value, Value::Int(_)));
        if !is_integer {
            return Some(among_each_other(&given));
        }
        let ((low, _), values) = range.zip(values)?;
        let rank = |value: &&Value| match value {
            Value::Int(value) => (*value as f64 - low as f64).clamp(0.0, values - 1.0),
            _ => 0.0,
        };
        Some((given.iter().map(rank).collect(), values))
    }
}

/// The ranks of values, such as texts, among the values of all calls; rows of the load are assumed
/// to be spread evenly among them.
fn among_each_other(given: &[&Value]) -> (Vec<f64>, f64) {
    let order = |one: &&Value, other: &&Value| order(one, other);
    let mut sorted = given.to_vec();
    sorted.sort_by(order);
    sorted.dedup_by(|one, other| order(one, other) == Ordering::Equal);
    let rank = |value: &&Value| sorted.partition_point(|one| order(one, value) == Ordering::Less);
    (given.iter().map(|value| rank(value) as f64).collect(), sorted.len().max(1) as f64)
}

/// The structures into which an operation inserts, or from which it deletes.
fn structures(request: &Request) -> Vec<Structure> {
    let indexes = request.touched.iter().map(|index| (request.table, Some(*index)));
    let rows = matches!(request.kind, Kind::Insert | Kind::Delete).then_some((request.table, None));
    rows.into_iter().chain(indexes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One procedure on one machine; `rows` has the row that each call updates.
    fn insert_sites(rows: &[u32], site: InsertSite) -> InsertSites {
        let of = Caller {
            share: 1.0,
            machine: vec![0; rows.len()],
            is_anywhere: false,
            rows: rows.iter().map(|row| vec![*row]).collect(),
            counts: vec![rows.len() as f64],
        };
        let sites = BTreeMap::from([((0, None), vec![site])]);
        InsertSites { machines: 1.0, procedures: vec![of], sites, known: RefCell::default() }
    }

    fn site(places: &[f64]) -> InsertSite {
        let at = places.iter().map(|before| (0, *before)).collect();
        InsertSite {
            procedure: 0,
            times: 1.0,
            places: 1.0,
            adds: true,
            at,
            counts_on: false,
            clients: 32.0,
        }
    }

    #[test]
    fn inserts_conflict_at_leaves_with_the_positions_of_both() {
        let all = insert_sites(&[0, 1, 2, 3], site(&[5.0, 15.0, 25.0, 35.0]));
        let own = |rows: f64| all.leaves((0, None), rows, 0).map_or(0.0, |of| of.own);
        // Each call has a leaf of its own; two share one; all share one.
        assert_eq!(own(10.0), 0.0);
        assert!((own(20.0) - 1.0 / 3.0).abs() < 1e-9, "{}", own(20.0));
        assert!((own(40.0) - 1.0).abs() < 1e-9, "{}", own(40.0));
        assert_eq!(all.leaves((0, Some(0)), 40.0, 0), None, "nothing is added there");
    }

    #[test]
    fn conflicts_on_a_shared_row_are_counted_once() {
        let all = insert_sites(&[7, 7, 7, 7], site(&[5.0, 15.0, 25.0, 35.0]));
        let found = all.leaves((0, None), 40.0, 0).expect("it adds");
        assert_eq!(found.own, 0.0);
        // Leaves still change: of 32 clients another one inserted last.
        assert!((found.stale - 31.0 / 32.0).abs() < 1e-9, "{}", found.stale);
    }

    #[test]
    fn a_leaf_that_many_lanes_share_is_rarely_cached() {
        let places: Vec<f64> = (0..100).map(|at| 10.0 * f64::from(at) + 5.0).collect();
        let rows: Vec<u32> = (0..100).collect();
        let stale = |rows_each: f64| {
            let all = insert_sites(&rows, site(&places));
            all.leaves((0, None), rows_each, 0).expect("it adds").stale
        };
        assert_eq!(stale(10.0), 0.0, "no leaf was seen twice");
        assert!(stale(20.0) < stale(100.0) && stale(100.0) < 0.9, "{}", stale(100.0));
        assert!(stale(1_000.0) > 0.9);
    }

    #[test]
    fn an_uncached_leaf_is_read() {
        let places: Vec<f64> = (0..100).map(|at| 10.0 * f64::from(at) + 5.0).collect();
        let rows: Vec<u32> = (0..100).collect();
        let uncached = |site: InsertSite, rows_each: f64| {
            let found = insert_sites(&rows, site).leaves((0, None), rows_each, 0);
            found.expect("it adds").uncached
        };
        assert_eq!(uncached(site(&places), 10.0), 1.0, "no leaf was seen twice");
        let tenth = uncached(site(&places), 100.0);
        assert!((tenth - libm::pow(0.9, KEPT)).abs() < 0.05, "{tenth}");
        assert!(uncached(site(&places), 1_000.0) < 1e-9);
        // A client that counts up is still at the leaf of its last insert.
        assert_eq!(uncached(InsertSite { counts_on: true, ..site(&places) }, 10.0), 0.0);
    }

    #[test]
    fn clients_that_count_on_share_leaves_until_each_has_one() {
        let rows: Vec<u32> = (0..90).collect();
        let places: Vec<f64> = (0..90).map(f64::from).collect();
        let all = insert_sites(&rows, InsertSite { counts_on: true, ..site(&places) });
        let found = all.leaves((0, None), 50.0, 0).expect("it adds");
        // 32 clients share 9 leaves, and each lane uses the leaf of its last insert.
        assert!((found.own - 1.0 / 9.0).abs() < 0.02, "{}", found.own);
        assert!((found.stale - (1.0 - 1.0 / libm::log(32.0))).abs() < 1e-9, "{}", found.stale);
    }

    #[test]
    fn texts_have_places_among_each_other() {
        let texts = ["m", "a", "z", "m"].map(Value::text);
        let (ranks, values) = among_each_other(&texts.each_ref());
        assert_eq!((ranks, values), (vec![1.0, 0.0, 2.0, 1.0], 3.0));
    }

    #[test]
    fn an_array_meets_others_with_each_of_its_elements() {
        let places: Vec<f64> = (0..20).map(|at| 10.0 * f64::from(at) + 5.0).collect();
        let rows: Vec<u32> = (0..20).collect();
        let own = |places_each: f64| {
            let of = InsertSite { times: 10.0, places: places_each, ..site(&places) };
            insert_sites(&rows, of).leaves((0, None), 20.0, 0).expect("it adds").own
        };
        assert!((own(10.0) / own(1.0) - 100.0).abs() < 1e-9, "{} {}", own(10.0), own(1.0));
    }

    #[test]
    fn buckets_are_many() {
        let all = insert_sites(&[0, 1], InsertSite { times: 2.0, ..site(&[0.0, 1.0]) });
        let found = all.buckets((0, None), 100.0, 0).expect("it adds");
        assert!((found.own - 0.04).abs() < 1e-12 && found.stale == 0.0, "{found:?}");
        assert_eq!(all.buckets((1, None), 100.0, 0), None);
    }
}
