//! How often calls meet where they add rows: at leaves of trees and at buckets, whose insert words they swap.
//!
//! ```text
//! rows of the load, in the order of the key    |  prefix 1   |  prefix 2   |  prefix 3   | ...
//! where a call adds                                        ^ behind those that have what its arguments tell of the key
//! leaves                                       |    |    |    |    |    |    |    |    |
//! ```
//! A leaf has so many rows as fit into it, so that calls add to the same one if the places of their keys are less than that apart. Columns
//! of a key that arguments do not tell, such as a number that is counted on in another row, are taken to be greater than those that are there.
//!
//! A sequence is counted on by each client in a part of its own: they all begin behind the last row, in one leaf, until each has filled
//! one for itself. That is the time that is forecast: n clients then have one leaf, two, and so on up to n, so that the mean over that time of how
//! many share one is n (1 + 1/2 + .. + 1/n) / n, about `ln n`.

use super::conflicts::{self, Calls};
use crate::tune::workload::accesses::{Ask, Asked, Kind};
use crate::tune::workload::skew::{Places, origin};
use procedure::operations::Origin;
use sql::load::Draw;
use sql_value::Value;
use sql_value::order::order;
use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Leaves of a tree that a lane keeps as it has written them (crate `txn`).
const KEPT: f64 = 16.0;
/// A row that no call changes.
const NO_ROW: u32 = u32::MAX;

/// How calls of a procedure meet others where they add rows.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Crowd {
    /// How often other calls of the procedure add to the same place, and change no row that this one changes, for each call of it on a
    /// machine.
    pub own: f64,
    /// The same of calls of other procedures, for each call of any kind on a machine.
    pub others: f64,
    /// The chance that its lane goes by a leaf as it has written it itself, and another one has changed it since.
    pub stale: f64,
    /// The chance that its lane has not kept the leaf, and reads it first.
    pub anew: f64,
}

/// What rows are added to: a table's rows or one of its indexes.
pub type Structure = (usize, Option<usize>);

/// The places of a structure, by the name of the leaf: the part, and the leaf in it.
type Leaf = (u32, u64);

/// Who was seen at a leaf: the row that he changes beside, his procedure, and his machine.
type Seen = (Leaf, u32, usize, usize);

/// Where calls add rows.
pub struct Crowds {
    machines: f64,
    procedures: Vec<Of>,
    spots: BTreeMap<Structure, Vec<Spot>>,
    /// What was asked for before.
    known: RefCell<Known>,
}

/// What procedures meet, by structure and rows of a leaf.
type Known = BTreeMap<(Structure, u64), Vec<Option<Crowd>>>;

/// A procedure's drawn calls.
struct Of {
    share: f64,
    /// The machine that each is made on; all at the first where they are made anywhere.
    machine: Vec<usize>,
    is_anywhere: bool,
    /// The rows that each changes.
    rows: Vec<Vec<u32>>,
    /// Calls on each machine.
    counts: Vec<f64>,
}

/// What a procedure adds to a structure, or takes from it.
struct Spot {
    procedure: usize,
    times: f64,
    /// Places that a call adds to: one, or if an array tells the first column, as many as that has elements.
    places: f64,
    adds: bool,
    /// Of each call the part, and the rows before its place; of those that count on, any number.
    at: Vec<(u32, f64)>,
    /// Whether each client counts its keys on.
    counts_on: bool,
    /// Clients that add to one part.
    clients: f64,
}

impl Crowds {
    /// Of drawn calls on machines with so many lanes each.
    pub fn new(calls: &[Calls<'_>], places: &Places<'_>, rows: &[u64], lanes: f64) -> Self {
        let machines = f64::from(places.machines.max(1));
        let mut ids = BTreeMap::new();
        let mut procedures = Vec::new();
        for of in calls {
            let changed = conflicts::changed(of.asked, of.drawn);
            let mut id = |row: conflicts::Row| {
                let next = ids.len() as u32;
                *ids.entry(row).or_insert(next)
            };
            let rows = changed.into_iter().map(|of| of.into_keys().map(&mut id).collect());
            let none = || vec![0; of.drawn.calls.len()];
            let machine = of.places.clone().unwrap_or_else(none);
            let mut counts = vec![0.0; machines as usize];
            machine.iter().for_each(|at| counts[*at] += 1.0);
            procedures.push(Of {
                share: of.asked.share,
                machine,
                is_anywhere: of.places.is_none(),
                rows: rows.collect(),
                counts,
            });
        }
        let mut spots: BTreeMap<Structure, Vec<Spot>> = BTreeMap::new();
        for (number, of) in calls.iter().enumerate() {
            for ask in &of.asked.asks {
                for structure in structures(ask) {
                    let spot = places.spot((number, of), ask, structure, rows, lanes);
                    spots.entry(structure).or_default().extend(spot);
                }
            }
        }
        Self { machines, procedures, spots, known: RefCell::default() }
    }

    /// How calls of a procedure meet others at leaves with so many rows each; none if it adds none there.
    pub fn leaves(&self, structure: Structure, rows: f64, procedure: usize) -> Option<Crowd> {
        let key = (structure, rows.to_bits());
        if let Some(found) = self.known.borrow().get(&key) {
            return found[procedure];
        }
        let found = self.found(structure, rows);
        let own = found[procedure];
        self.known.borrow_mut().insert(key, found);
        own
    }

    /// Whether a procedure's calls add to a structure behind what their client has added before.
    pub fn counts_on(&self, structure: Structure, procedure: usize) -> bool {
        let mut spots = self.spots.get(&structure).into_iter().flatten();
        spots.any(|spot| spot.procedure == procedure && spot.adds && spot.counts_on)
    }

    /// The same at so many buckets of a machine that keys are hashed into.
    pub fn buckets(&self, structure: Structure, count: f64, procedure: usize) -> Option<Crowd> {
        let spots = self.spots.get(&structure)?;
        let times = |procedure: usize| -> f64 {
            let of = spots.iter().filter(|spot| spot.procedure == procedure && spot.adds);
            of.map(|spot| spot.times).sum()
        };
        let adds = times(procedure);
        let others = (0..self.procedures.len()).filter(|other| *other != procedure);
        let others = others.map(|other| self.procedures[other].share * times(other)).sum::<f64>();
        let each = adds / count.max(1.0);
        (adds > 0.0).then_some(Crowd {
            own: each * adds,
            others: each * others,
            ..Crowd::default()
        })
    }

    fn found(&self, structure: Structure, rows: f64) -> Vec<Option<Crowd>> {
        let none = vec![None; self.procedures.len()];
        let Some(spots) = self.spots.get(&structure) else { return none };
        let leaves: Vec<Vec<Leaf>> = spots.iter().map(|spot| spot.leaves(rows)).collect();
        let mut seen: BTreeMap<Seen, f64> = BTreeMap::new();
        for (spot, leaves) in spots.iter().zip(&leaves) {
            let of = &self.procedures[spot.procedure];
            for (call, leaf) in leaves.iter().enumerate() {
                for row in of.rows[call].iter().copied().chain([NO_ROW]) {
                    let key = (*leaf, row, spot.procedure, of.machine[call]);
                    *seen.entry(key).or_default() += spot.weight();
                }
            }
        }
        let mut all = none;
        for (spot, leaves) in spots.iter().zip(&leaves).filter(|(spot, _)| spot.adds) {
            let crowd = self.mean(&seen, spot, leaves);
            let of = all[spot.procedure].get_or_insert_with(Crowd::default);
            of.own += crowd.own;
            of.others += crowd.others;
            of.stale = of.stale.max(crowd.stale);
            of.anew = of.anew.max(crowd.anew);
        }
        all
    }

    /// The mean over the calls of a procedure; of one that is never called, that nobody is met.
    fn mean(&self, seen: &BTreeMap<Seen, f64>, spot: &Spot, leaves: &[Leaf]) -> Crowd {
        if leaves.is_empty() {
            return Crowd { anew: 1.0, ..Crowd::default() };
        }
        let of = &self.procedures[spot.procedure];
        let times = spot.weight();
        let mut sum = Crowd::default();
        for (call, leaf) in leaves.iter().enumerate() {
            let at = of.machine[call];
            let met = |row: u32| self.met(seen, (*leaf, row), spot.procedure, at, times);
            let all = met(NO_ROW);
            // Who changes the same row as well fails at that, if he does.
            let nearest = of.rows[call].iter().map(|row| met(*row));
            let nearest = nearest.fold((0.0, 0.0), |most, one| {
                if one.0 * of.share + one.1 > most.0 * of.share + most.1 { one } else { most }
            });
            sum.own += times * (all.0 - nearest.0).max(0.0);
            sum.others += times * (all.1 - nearest.1).max(0.0);
            let each = if of.is_anywhere { self.machines } else { 1.0 };
            let written = if spot.counts_on { 1.0 } else { (all.0 / each).min(1.0) };
            let is_kept = 1.0 - libm::pow(1.0 - written, KEPT);
            sum.stale += times.min(1.0) * is_kept * (1.0 - 1.0 / spot.sharing());
            sum.anew += 1.0 - is_kept;
        }
        let count = leaves.len() as f64;
        let each = |of: f64| of / count;
        Crowd {
            own: each(sum.own),
            others: each(sum.others),
            stale: each(sum.stale),
            anew: each(sum.anew),
        }
    }

    /// How often other calls of a procedure, and those of other ones, were seen at a leaf.
    fn met(
        &self,
        seen: &BTreeMap<Seen, f64>,
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

impl Spot {
    /// The leaf of each call, of leaves with so many rows.
    fn leaves(&self, rows: f64) -> Vec<Leaf> {
        // Of those that count on, one of as many as there are on the average.
        let shared = libm::round(self.clients / self.sharing()).max(1.0) as u64;
        let leaf = |(part, before): &(u32, f64)| match self.counts_on {
            true => (*part, *before as u64 % shared),
            false => (*part, (before / rows).max(0.0) as u64),
        };
        self.at.iter().map(leaf).collect()
    }

    /// Places that a call adds to, if it does.
    fn weight(&self) -> f64 {
        self.times.min(self.places)
    }

    /// How many clients add to the same leaf.
    fn sharing(&self) -> f64 {
        if self.counts_on { libm::log(self.clients).max(1.0) } else { self.clients.max(1.0) }
    }
}

impl Places<'_> {
    /// Where a procedure's calls add to a structure, or take from it; none if nobody can tell.
    fn spot(
        &self,
        (number, of): (usize, &Calls<'_>),
        ask: &Ask,
        (table, index): Structure,
        rows: &[u64],
        lanes: f64,
    ) -> Option<Spot> {
        let count = of.drawn.calls.len();
        let mut columns = Vec::new();
        if let Some(index) = index {
            columns.extend(&self.catalog.tables[table].indexes[index].columns);
        }
        columns.extend(&self.catalog.tables[table].primary_key);
        let (mut before, mut groups, mut counts_on) = (vec![0.0; count], 1.0, false);
        let (mut is_whole, mut places) = (true, 1.0);
        for column in columns {
            let from = origin(&of.asked.operations, ask.operation, column);
            let argument = match from {
                Some(Origin::Argument(variable)) => of.drawn.argument(*variable),
                _ => None,
            };
            if argument.is_some_and(|at| self.is_sequence(of.asked, at)) {
                counts_on = true;
                break;
            }
            let known = from.and_then(|from| self.ranks((table, column), from, of));
            let Some((ranks, values)) = known else {
                is_whole = false;
                break;
            };
            // Behind other columns they are near each other.
            if let (Some(Origin::Element(array)), true) = (from, groups == 1.0) {
                places = of.drawn.elements(array).unwrap_or(1.0).max(1.0);
            }
            before.iter_mut().zip(ranks).for_each(|(sum, rank)| *sum = *sum * values + rank);
            groups *= values;
        }
        let adds = ask.kind != Kind::Delete;
        if !adds && (!is_whole || counts_on) {
            return None;
        }
        let machines = self.machines.max(1) as usize;
        // Of a key of which nothing is known each machine has a part with all of it.
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
        Some(Spot {
            procedure: number,
            times: ask.times,
            places,
            adds,
            at: at.collect(),
            counts_on,
            clients,
        })
    }

    /// Whether an argument is counted on by each client.
    fn is_sequence(&self, asked: &Asked, argument: usize) -> bool {
        let of = self.load.procedures.iter().find(|of| of.procedure == asked.name);
        let drawn = of.and_then(|of| of.arguments.get(argument));
        drawn.is_some_and(|(_, drawn)| matches!(drawn.draw, Draw::Sequence { .. }))
    }

    /// The place of a column's value in each call among those of the load, and how many those are.
    fn ranks(
        &self,
        (table, column): (usize, usize),
        from: &Origin,
        of: &Calls<'_>,
    ) -> Option<(Vec<f64>, f64)> {
        let range = self.draws.range(&self.catalog.tables[table], column);
        let values = range.map(|(low, high)| (i128::from(high) - i128::from(low) + 1) as f64);
        if *from == Origin::Constant {
            return Some((vec![0.0; of.drawn.calls.len()], values?));
        }
        // Of an array the first element stands for all.
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

/// The places of values, such as texts, among those that all calls have: rows of the load are taken to be among them alike.
fn among_each_other(given: &[&Value]) -> (Vec<f64>, f64) {
    let order = |one: &&Value, other: &&Value| order(one, other);
    let mut sorted = given.to_vec();
    sorted.sort_by(order);
    sorted.dedup_by(|one, other| order(one, other) == Ordering::Equal);
    let rank = |value: &&Value| sorted.partition_point(|one| order(one, value) == Ordering::Less);
    (given.iter().map(|value| rank(value) as f64).collect(), sorted.len().max(1) as f64)
}

/// What an operation adds to, or takes from.
fn structures(ask: &Ask) -> Vec<Structure> {
    let indexes = ask.touched.iter().map(|index| (ask.table, Some(*index)));
    let rows = matches!(ask.kind, Kind::Insert | Kind::Delete).then_some((ask.table, None));
    rows.into_iter().chain(indexes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One procedure on one machine, whose calls each change a row of their own, or one of all.
    fn crowds(rows: &[u32], spot: Spot) -> Crowds {
        let of = Of {
            share: 1.0,
            machine: vec![0; rows.len()],
            is_anywhere: false,
            rows: rows.iter().map(|row| vec![*row]).collect(),
            counts: vec![rows.len() as f64],
        };
        let spots = BTreeMap::from([((0, None), vec![spot])]);
        Crowds { machines: 1.0, procedures: vec![of], spots, known: RefCell::default() }
    }

    fn spot(places: &[f64]) -> Spot {
        let at = places.iter().map(|before| (0, *before)).collect();
        Spot {
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
    fn calls_meet_in_leaves_that_have_the_places_of_both() {
        let all = crowds(&[0, 1, 2, 3], spot(&[5.0, 15.0, 25.0, 35.0]));
        let own = |rows: f64| all.leaves((0, None), rows, 0).map_or(0.0, |of| of.own);
        // Each has a leaf of its own; two have one; all have.
        assert_eq!(own(10.0), 0.0);
        assert!((own(20.0) - 1.0 / 3.0).abs() < 1e-9, "{}", own(20.0));
        assert!((own(40.0) - 1.0).abs() < 1e-9, "{}", own(40.0));
        assert_eq!(all.leaves((0, Some(0)), 40.0, 0), None, "nothing is added there");
    }

    #[test]
    fn whoever_changes_the_same_row_is_met_there() {
        let all = crowds(&[7, 7, 7, 7], spot(&[5.0, 15.0, 25.0, 35.0]));
        let found = all.leaves((0, None), 40.0, 0).expect("it adds");
        assert_eq!(found.own, 0.0);
        // Leaves change all the same: of 32 clients another one was there last.
        assert!((found.stale - 31.0 / 32.0).abs() < 1e-9, "{}", found.stale);
    }

    #[test]
    fn a_leaf_of_many_is_seldom_kept() {
        let places: Vec<f64> = (0..100).map(|at| 10.0 * f64::from(at) + 5.0).collect();
        let rows: Vec<u32> = (0..100).collect();
        let stale = |rows_each: f64| {
            let all = crowds(&rows, spot(&places));
            all.leaves((0, None), rows_each, 0).expect("it adds").stale
        };
        assert_eq!(stale(10.0), 0.0, "no leaf was seen twice");
        assert!(stale(20.0) < stale(100.0) && stale(100.0) < 0.9, "{}", stale(100.0));
        assert!(stale(1_000.0) > 0.9);
    }

    #[test]
    fn a_leaf_that_is_not_kept_is_read_anew() {
        let places: Vec<f64> = (0..100).map(|at| 10.0 * f64::from(at) + 5.0).collect();
        let rows: Vec<u32> = (0..100).collect();
        let anew = |spot: Spot, rows_each: f64| {
            let found = crowds(&rows, spot).leaves((0, None), rows_each, 0);
            found.expect("it adds").anew
        };
        assert_eq!(anew(spot(&places), 10.0), 1.0, "no leaf was seen twice");
        let tenth = anew(spot(&places), 100.0);
        assert!((tenth - libm::pow(0.9, KEPT)).abs() < 0.05, "{tenth}");
        assert!(anew(spot(&places), 1_000.0) < 1e-9);
        // Whoever counts on is still at the leaf that he has added to.
        assert_eq!(anew(Spot { counts_on: true, ..spot(&places) }, 10.0), 0.0);
    }

    #[test]
    fn clients_that_count_on_share_leaves_until_each_has_one() {
        let rows: Vec<u32> = (0..90).collect();
        let places: Vec<f64> = (0..90).map(f64::from).collect();
        let all = crowds(&rows, Spot { counts_on: true, ..spot(&places) });
        let found = all.leaves((0, None), 50.0, 0).expect("it adds");
        // 32 clients have 9 leaves, of which each lane goes by the one that it was at last.
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
            let of = Spot { times: 10.0, places: places_each, ..spot(&places) };
            crowds(&rows, of).leaves((0, None), 20.0, 0).expect("it adds").own
        };
        assert!((own(10.0) / own(1.0) - 100.0).abs() < 1e-9, "{} {}", own(10.0), own(1.0));
    }

    #[test]
    fn buckets_are_many() {
        let all = crowds(&[0, 1], Spot { times: 2.0, ..spot(&[0.0, 1.0]) });
        let found = all.buckets((0, None), 100.0, 0).expect("it adds");
        assert!((found.own - 0.04).abs() < 1e-12 && found.stale == 0.0, "{found:?}");
        assert_eq!(all.buckets((1, None), 100.0, 0), None);
    }
}
