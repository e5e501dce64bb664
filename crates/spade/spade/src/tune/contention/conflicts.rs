//! How often calls conflict on rows that they update. Snapshot isolation aborts and retries all but
//! the first of them.
//!
//! The rows that a drawn call updates are identified by key values, as far as arguments determine
//! these; so is how often other calls update them. A row whose key depends on earlier reads is
//! assumed to be private to the call. If an argument determines the machine, calls conflict with
//! others of the same machine. Some machines have hot rows and others have none, so machines with
//! more conflicts are analyzed separately.
//!
//! Decisions:
//! - docs/decisions/0250-throughput-is-forecast-from-what-a-lane-waits.md
//! - docs/decisions/0253-conflicts-at-leaves-are-forecast-from-where-keys-fall.md

use crate::tune::workload::draws::Drawn;
use crate::tune::workload::profile::{Kind, Profile, Request};
use procedure::operations::{Action, Key, Operation, Origin, Path};
use sql_value::Value;
use std::collections::BTreeMap;

/// Two rates are in the same class if they differ by less than this factor.
const FACTOR: f64 = 2.0;
/// Rates below this one are in one class.
const RARE: f64 = 1e-4;

/// A class of calls of a procedure with equal conflict rates.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ConflictRate {
    pub share: f64,
    /// How often other calls of the same procedure update the rows that such a call updates, per
    /// call of the procedure on a machine.
    pub own: f64,
    /// How often calls of other procedures do, per call of any procedure on a machine.
    pub others: f64,
    /// The number of rows over which these conflicts are evenly spread.
    pub rows: f64,
}

/// Conflict rates on a group of machines.
#[derive(Clone, PartialEq, Debug)]
pub struct MachineGroup {
    /// Numbers of the machines, from 0.
    pub machines: Vec<usize>,
    /// The classes of each procedure.
    pub conflict_rates: Vec<Vec<ConflictRate>>,
}

/// Drawn calls of a procedure.
pub struct DrawnCalls<'a> {
    pub profile: &'a Profile,
    pub drawn: Drawn<'a>,
    /// The machine of each call; `None` if calls arrive at any machine.
    pub places: Option<Vec<usize>>,
}

/// A row: its table, and columns with values that identify it.
pub type RowKey = (usize, Vec<(usize, String)>);

/// How often the rows of a call are updated by its own procedure and by others, and the sum of
/// squares over rows.
#[derive(Clone, Copy, Default)]
struct Conflicts {
    own: f64,
    others: f64,
    squares: f64,
}

/// The share of a procedure among all calls, and the machine of each drawn call as in
/// [`DrawnCalls`].
#[derive(Clone, Copy)]
struct CallSites<'a> {
    share: f64,
    places: Option<&'a [usize]>,
}

/// Counts by procedure and machine.
struct Counts<'a> {
    calls: Vec<CallSites<'a>>,
    machines: usize,
    /// Drawn calls of each procedure on each machine; all on machine 0 if calls arrive at any
    /// machine.
    drawn: Vec<Vec<f64>>,
    /// Updates of each row, likewise.
    rows: BTreeMap<&'a RowKey, Vec<Vec<f64>>>,
}

/// For each procedure and table, how often the rows that a call updates are updated by others, over
/// all machines. Each row counts separately.
pub fn changes(
    calls: &[DrawnCalls<'_>],
    machines: usize,
) -> Vec<BTreeMap<usize, Vec<ConflictRate>>> {
    let changed = changed_by(calls);
    let counts = Counts::new(made(calls), &changed, machines);
    let of = |(number, changed): (usize, &Vec<BTreeMap<RowKey, f64>>)| {
        let mut tables: BTreeMap<usize, Vec<Conflicts>> = BTreeMap::new();
        for (call, rows) in changed.iter().enumerate() {
            for (row, times) in rows {
                let (own, others) = counts.again(number, counts.place(number, call), row, *times);
                let squares = (own + others) * (own + others);
                tables.entry(row.0).or_default().push(Conflicts { own, others, squares });
            }
        }
        let tables = tables.into_iter().map(|(table, met)| (table, classes(met.into_iter())));
        tables.collect()
    };
    changed.iter().enumerate().map(of).collect()
}

fn made<'a>(calls: &'a [DrawnCalls<'_>]) -> Vec<CallSites<'a>> {
    let made = |of: &'a DrawnCalls<'_>| CallSites {
        share: of.profile.share,
        places: of.places.as_deref(),
    };
    calls.iter().map(made).collect()
}

/// The rows that each drawn call of each procedure updates.
fn changed_by(calls: &[DrawnCalls<'_>]) -> Vec<Vec<BTreeMap<RowKey, f64>>> {
    calls.iter().map(|of| changed(of.profile, of.drawn)).collect()
}

/// Conflict rates by groups of machines: the one with most conflicts, the next one, and then groups
/// of doubling size.
pub fn groups(calls: &[DrawnCalls<'_>], machines: usize) -> Vec<MachineGroup> {
    let changed = changed_by(calls);
    let counts = Counts::new(made(calls), &changed, machines);
    let mut met: Vec<Vec<(usize, Conflicts)>> = Vec::new();
    for (number, changed) in changed.iter().enumerate() {
        let each = changed.iter().enumerate().map(|(call, rows)| {
            let at = counts.place(number, call);
            (at, counts.met(number, at, rows))
        });
        met.push(each.collect());
    }
    let heat = |machine: usize| {
        let each = met.iter().zip(calls).zip(&counts.drawn);
        let of = each.map(|((met, calls), drawn)| {
            let there = met.iter().filter(|(at, _)| *at == machine && calls.places.is_some());
            let sum: f64 = there.map(|(_, met)| calls.profile.share * met.own + met.others).sum();
            calls.profile.share * sum / drawn[machine].max(1.0)
        });
        of.sum::<f64>()
    };
    let heats: Vec<f64> = (0..machines).map(heat).collect();
    let mut ordered: Vec<usize> = (0..machines).collect();
    ordered.sort_by(|one, other| heats[*other].total_cmp(&heats[*one]));
    let on = |among: &[usize]| {
        let each = met.iter().zip(calls).map(|(met, calls)| {
            let meant = met.iter().filter(|(at, _)| calls.places.is_none() || among.contains(at));
            classes(meant.map(|(_, met)| *met))
        });
        MachineGroup { machines: among.to_vec(), conflict_rates: each.collect() }
    };
    if heats.iter().all(|heat| *heat == 0.0) {
        // Conflicts are the same on all machines.
        return vec![on(&ordered)];
    }
    let (mut found, mut rest) = (Vec::new(), &ordered[..]);
    while !rest.is_empty() {
        let done = machines - rest.len();
        let (next, behind) = rest.split_at(done.max(1).min(rest.len()));
        found.push(on(next));
        rest = behind;
    }
    found
}

impl<'a> Counts<'a> {
    fn new(
        calls: Vec<CallSites<'a>>,
        changed: &'a [Vec<BTreeMap<RowKey, f64>>],
        machines: usize,
    ) -> Self {
        let none = vec![vec![0.0; machines]; calls.len()];
        let mut counts = Self { calls, machines, drawn: none.clone(), rows: BTreeMap::new() };
        for (number, changed) in changed.iter().enumerate() {
            for (call, rows) in changed.iter().enumerate() {
                let at = counts.place(number, call);
                counts.drawn[number][at] += 1.0;
                for (row, times) in rows {
                    let of = counts.rows.entry(row).or_insert_with(|| none.clone());
                    of[number][at] += times;
                }
            }
        }
        counts
    }

    /// The machine of a call; 0 if calls arrive at any machine.
    fn place(&self, number: usize, call: usize) -> usize {
        self.calls[number].places.map_or(0, |of| of[call])
    }

    fn met(&self, number: usize, place: usize, rows: &BTreeMap<RowKey, f64>) -> Conflicts {
        let mut met = Conflicts::default();
        for (row, times) in rows {
            let (own, others) = self.again(number, place, row, *times);
            let (own, others) = (times.min(1.0) * own, times.min(1.0) * others);
            met.own += own;
            met.others += others;
            met.squares += (own + others) * (own + others);
        }
        met
    }

    /// How often other calls of the procedure, and calls of others, update a row that this call
    /// updates `times` times.
    fn again(&self, number: usize, place: usize, row: &RowKey, times: f64) -> (f64, f64) {
        let counts = &self.rows[row];
        // A call does not conflict with itself.
        let further = (self.drawn[number][place] - 1.0).max(1.0);
        let anywhere = if self.calls[number].places.is_none() { self.machines as f64 } else { 1.0 };
        let own = anywhere * (counts[number][place] - times) / further;
        let of_others = (0..self.calls.len()).filter(|other| *other != number);
        let others = of_others.map(|other| self.of_other(&counts[other], other, number, place));
        (own, others.sum())
    }

    /// How often calls of another procedure update a row, per call of any procedure on a machine.
    /// `seen` has the updates by machine.
    fn of_other(&self, seen: &[f64], other: usize, number: usize, place: usize) -> f64 {
        let share = self.calls[other].share;
        let of = |at: usize| seen[at] / self.drawn[other][at].max(1.0);
        match (self.calls[other].places, self.calls[number].places) {
            (None, _) => share * self.machines as f64 * of(0),
            (Some(_), Some(_)) => share * of(place),
            (Some(_), None) => share * (0..self.machines).map(of).sum::<f64>(),
        }
    }
}

fn classes(met: impl Iterator<Item = Conflicts>) -> Vec<ConflictRate> {
    let class = |frequency: f64| match frequency {
        rare if rare < RARE => i64::MIN,
        frequency => (libm::log(frequency) / libm::log(FACTOR)) as i64,
    };
    let mut found: BTreeMap<(i64, i64), (f64, Conflicts, f64)> = BTreeMap::new();
    let mut all = 0.0;
    for met in met {
        let of = found.entry((class(met.own), class(met.others))).or_default();
        let sum = met.own + met.others;
        let rows = if met.squares > 0.0 { sum * sum / met.squares } else { 1.0 };
        of.0 += 1.0;
        (of.1.own, of.1.others) = (of.1.own + met.own, of.1.others + met.others);
        of.2 += rows;
        all += 1.0;
    }
    let conflict = |(count, met, rows): &(f64, Conflicts, f64)| ConflictRate {
        share: count / all,
        own: met.own / count,
        others: met.others / count,
        rows: rows / count,
    };
    found.values().map(conflict).collect()
}

/// The rows that each drawn call updates, with the number of updates.
pub fn changed(profile: &Profile, drawn: Drawn<'_>) -> Vec<BTreeMap<RowKey, f64>> {
    let mut calls = vec![BTreeMap::new(); drawn.calls.len()];
    for request in profile
        .requests
        .iter()
        .filter(|request| matches!(request.kind, Kind::Update | Kind::Delete))
    {
        let Some(keys) = keys(&profile.operations, request) else { continue };
        let values: Option<Vec<Vec<&[Value]>>> =
            keys.iter().map(|key| values(drawn, &key.origin)).collect();
        let Some(values) = values else { continue };
        for (call, rows) in calls.iter_mut().enumerate() {
            // Elements of several arrays are paired.
            let count = values.iter().map(|of| of[call].len()).max().unwrap_or(0);
            for number in 0..count {
                let column = |(key, of): (&Key, &Vec<&[Value]>)| {
                    let value = of[call].get(number).or(of[call].first())?;
                    Some((key.column, format!("{value:?}")))
                };
                let columns: Option<Vec<_>> = keys.iter().zip(&values).map(column).collect();
                let Some(mut columns) = columns else { continue };
                columns.sort_unstable();
                *rows.entry((request.table, columns)).or_insert(0.0) +=
                    request.times / count as f64;
            }
        }
    }
    calls
}

/// The keys of the read that precedes a write, if they identify single rows.
fn keys<'o>(all: &'o [Operation], request: &Request) -> Option<&'o [Key]> {
    let read = match &all.get(request.operation)?.action {
        Action::Update { read, .. } | Action::Delete { read } => (*read)?,
        _ => return None,
    };
    match &all.get(read)?.action {
        Action::Read { path: Path::Key | Path::Lookup(_), keys, .. } => Some(keys),
        _ => None,
    }
}

/// The values of a key in each call; `None` if arguments do not determine them.
fn values<'d>(drawn: Drawn<'d>, origin: &Origin) -> Option<Vec<&'d [Value]>> {
    const ALWAYS: &[Value] = &[Value::Null];
    match origin {
        Origin::Constant => Some(vec![ALWAYS; drawn.calls.len()]),
        other => drawn.values(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_with_equal_conflict_rates_form_a_class() {
        let met = |own: f64, rows: i32| {
            let each = own / f64::from(rows);
            Conflicts { own, others: 0.0, squares: f64::from(rows) * each * each }
        };
        let found = classes([met(0.0, 1), met(1e-6, 1), met(0.3, 1), met(0.3, 4)].into_iter());
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].share, found[1].share), (0.5, 0.5));
        assert!((found[1].own - 0.3).abs() < 1e-12 && (found[1].rows - 2.5).abs() < 1e-9);
    }

    /// A call that updates a row twice, or only every second time, conflicts with as many updates
    /// of others as any other call.
    #[test]
    fn a_call_does_not_meet_its_own_changes() {
        let row: RowKey = (0, vec![(0, "1".to_owned())]);
        let changes = |times: f64| BTreeMap::from([(row.clone(), times)]);
        let changed =
            [vec![changes(2.0), changes(0.5), changes(0.5), BTreeMap::new(), BTreeMap::new()]];
        let counts = Counts::new(vec![CallSites { share: 1.0, places: None }], &changed, 1);
        assert_eq!(
            counts.again(0, 0, &row, 2.0),
            (0.25, 0.0),
            "one change of the four other calls"
        );
        assert_eq!(counts.again(0, 0, &row, 0.5), (0.625, 0.0), "two and a half of four");
        assert_eq!(
            counts.met(0, 0, &changes(0.5)).own,
            0.3125,
            "every second call is there to meet them"
        );
    }
}
