//! How often calls meet in the rows that they change: what snapshot isolation makes all but the first of them do again.
//!
//! Arguments tell it. Of each drawn call the rows that it changes are known by the values of their keys, as far as arguments give those,
//! and so is how often other calls change them. What a call's rows are by values that it has read itself is not known: such rows
//! are taken to be its own. Where an argument tells the machine of the rows, calls of a machine meet those of the same machine,
//! which has some rows of which many calls are, and others none: so machines on which calls meet more than elsewhere are looked at apart.
//!
//! Decisions:
//! - docs/decisions/0250-throughput-is-forecast-from-what-a-lane-waits.md
//! - docs/decisions/0253-conflicts-at-leaves-are-forecast-from-where-keys-fall.md

use crate::tune::workload::accesses::{Ask, Asked, Kind};
use crate::tune::workload::draws::Drawn;
use procedure::operations::{Action, Key, Operation, Origin, Path};
use sql_value::Value;
use std::collections::BTreeMap;

/// Classes in which calls of a procedure are put together have frequencies that differ by less than this factor.
const FACTOR: f64 = 2.0;
/// Below that, calls are put together whatever they are.
const RARE: f64 = 1e-4;

/// Calls of a procedure that meet others equally often.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Meeting {
    /// Their share of the procedure's calls.
    pub share: f64,
    /// How often the rows that such a call changes are changed by other calls of the procedure, for each call of it on a machine.
    pub own: f64,
    /// The same by calls of other procedures, for each call of any kind on a machine.
    pub others: f64,
    /// On how many rows that is, each as often.
    pub rows: f64,
}

/// How calls meet on some machines.
#[derive(Clone, PartialEq, Debug)]
pub struct Group {
    /// Which machines these are, counted from 0.
    pub machines: Vec<usize>,
    /// The meetings of each procedure.
    pub meetings: Vec<Vec<Meeting>>,
}

/// Drawn calls of a procedure.
pub struct Calls<'a> {
    /// What it asks.
    pub asked: &'a Asked,
    /// Its calls.
    pub drawn: Drawn<'a>,
    /// The machine that each call is made on; none if they are made anywhere.
    pub places: Option<Vec<usize>>,
}

/// A row: its table, and the columns and values that tell it.
pub type Row = (usize, Vec<(usize, String)>);

/// Of a call how its rows are changed by others of the same procedure, by other procedures, and the sum of squares.
#[derive(Clone, Copy, Default)]
struct Met {
    own: f64,
    others: f64,
    squares: f64,
}

/// How a procedure is called: its share of all calls, and the machine of each of them, as of [`Calls`].
#[derive(Clone, Copy)]
struct Made<'a> {
    share: f64,
    places: Option<&'a [usize]>,
}

/// Counts by procedure and machine.
struct Counts<'a> {
    calls: Vec<Made<'a>>,
    machines: usize,
    /// Calls of each procedure that were drawn, on each machine; where they are made anywhere, all of them at the first.
    drawn: Vec<Vec<f64>>,
    /// Changes of each row, likewise.
    rows: BTreeMap<&'a Row, Vec<Vec<f64>>>,
}

/// How often others change the rows that calls of each procedure change, by table: of all machines together. Each row counts for itself.
pub fn changes(calls: &[Calls<'_>], machines: usize) -> Vec<BTreeMap<usize, Vec<Meeting>>> {
    let changed = changed_by(calls);
    let counts = Counts::new(made(calls), &changed, machines);
    let of = |(number, changed): (usize, &Vec<BTreeMap<Row, f64>>)| {
        let mut tables: BTreeMap<usize, Vec<Met>> = BTreeMap::new();
        for (call, rows) in changed.iter().enumerate() {
            for (row, times) in rows {
                let (own, others) = counts.again(number, counts.place(number, call), row, *times);
                let squares = (own + others) * (own + others);
                tables.entry(row.0).or_default().push(Met { own, others, squares });
            }
        }
        let tables = tables.into_iter().map(|(table, met)| (table, classes(met.into_iter())));
        tables.collect()
    };
    changed.iter().enumerate().map(of).collect()
}

fn made<'a>(calls: &'a [Calls<'_>]) -> Vec<Made<'a>> {
    let made = |of: &'a Calls<'_>| Made { share: of.asked.share, places: of.places.as_deref() };
    calls.iter().map(made).collect()
}

/// The rows that each drawn call of each procedure changes.
fn changed_by(calls: &[Calls<'_>]) -> Vec<Vec<BTreeMap<Row, f64>>> {
    calls.iter().map(|of| changed(of.asked, of.drawn)).collect()
}

/// How calls meet on so many machines: on the one where they meet most, on the next one, and then on twice as many each time.
pub fn groups(calls: &[Calls<'_>], machines: usize) -> Vec<Group> {
    let changed = changed_by(calls);
    let counts = Counts::new(made(calls), &changed, machines);
    let mut met: Vec<Vec<(usize, Met)>> = Vec::new();
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
            let sum: f64 = there.map(|(_, met)| calls.asked.share * met.own + met.others).sum();
            calls.asked.share * sum / drawn[machine].max(1.0)
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
        Group { machines: among.to_vec(), meetings: each.collect() }
    };
    if heats.iter().all(|heat| *heat == 0.0) {
        // Nowhere more than anywhere.
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
    fn new(calls: Vec<Made<'a>>, changed: &'a [Vec<BTreeMap<Row, f64>>], machines: usize) -> Self {
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

    /// The machine of a call; the first where it is made anywhere.
    fn place(&self, number: usize, call: usize) -> usize {
        self.calls[number].places.map_or(0, |of| of[call])
    }

    fn met(&self, number: usize, place: usize, rows: &BTreeMap<Row, f64>) -> Met {
        let mut met = Met::default();
        for (row, times) in rows {
            let (own, others) = self.again(number, place, row, *times);
            let (own, others) = (times.min(1.0) * own, times.min(1.0) * others);
            met.own += own;
            met.others += others;
            met.squares += (own + others) * (own + others);
        }
        met
    }

    /// How often a row that a call changes so many times is changed by others of its procedure, and of other ones.
    fn again(&self, number: usize, place: usize, row: &Row, times: f64) -> (f64, f64) {
        let counts = &self.rows[row];
        // A call does not meet itself.
        let further = (self.drawn[number][place] - 1.0).max(1.0);
        let anywhere = if self.calls[number].places.is_none() { self.machines as f64 } else { 1.0 };
        let own = anywhere * (counts[number][place] - times) / further;
        let of_others = (0..self.calls.len()).filter(|other| *other != number);
        let others = of_others.map(|other| self.of_other(&counts[other], other, number, place));
        (own, others.sum())
    }

    /// How often calls of another procedure change a row that was seen so often, for each call of any kind on a machine.
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

fn classes(met: impl Iterator<Item = Met>) -> Vec<Meeting> {
    let class = |frequency: f64| match frequency {
        rare if rare < RARE => i64::MIN,
        frequency => (libm::log(frequency) / libm::log(FACTOR)) as i64,
    };
    let mut found: BTreeMap<(i64, i64), (f64, Met, f64)> = BTreeMap::new();
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
    let meeting = |(count, met, rows): &(f64, Met, f64)| Meeting {
        share: count / all,
        own: met.own / count,
        others: met.others / count,
        rows: rows / count,
    };
    found.values().map(meeting).collect()
}

/// The rows that each drawn call changes, with how often.
pub fn changed(asked: &Asked, drawn: Drawn<'_>) -> Vec<BTreeMap<Row, f64>> {
    let mut calls = vec![BTreeMap::new(); drawn.calls.len()];
    for ask in asked.asks.iter().filter(|ask| matches!(ask.kind, Kind::Update | Kind::Delete)) {
        let Some(keys) = keys(&asked.operations, ask) else { continue };
        let values: Option<Vec<Vec<&[Value]>>> =
            keys.iter().map(|key| values(drawn, &key.origin)).collect();
        let Some(values) = values else { continue };
        for (call, rows) in calls.iter_mut().enumerate() {
            // Elements of several arrays go together.
            let count = values.iter().map(|of| of[call].len()).max().unwrap_or(0);
            for number in 0..count {
                let column = |(key, of): (&Key, &Vec<&[Value]>)| {
                    let value = of[call].get(number).or(of[call].first())?;
                    Some((key.column, format!("{value:?}")))
                };
                let columns: Option<Vec<_>> = keys.iter().zip(&values).map(column).collect();
                let Some(mut columns) = columns else { continue };
                columns.sort_unstable();
                *rows.entry((ask.table, columns)).or_insert(0.0) += ask.times / count as f64;
            }
        }
    }
    calls
}

/// The keys by which the rows of a change are found, if they tell single rows.
fn keys<'o>(all: &'o [Operation], ask: &Ask) -> Option<&'o [Key]> {
    let read = match &all.get(ask.operation)?.action {
        Action::Update { read, .. } | Action::Delete { read } => (*read)?,
        _ => return None,
    };
    match &all.get(read)?.action {
        Action::Read { path: Path::Key | Path::Lookup(_), keys, .. } => Some(keys),
        _ => None,
    }
}

/// The values of a key in each call; none if arguments do not tell them.
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
    fn calls_that_meet_alike_are_put_together() {
        let met = |own: f64, rows: i32| {
            let each = own / f64::from(rows);
            Met { own, others: 0.0, squares: f64::from(rows) * each * each }
        };
        let found = classes([met(0.0, 1), met(1e-6, 1), met(0.3, 1), met(0.3, 4)].into_iter());
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].share, found[1].share), (0.5, 0.5));
        assert!((found[1].own - 0.3).abs() < 1e-12 && (found[1].rows - 2.5).abs() < 1e-9);
    }

    /// A call that changes a row twice, and changes it only every second time, has others' changes in its way as often as any other.
    #[test]
    fn a_call_does_not_meet_its_own_changes() {
        let row: Row = (0, vec![(0, "1".to_owned())]);
        let changes = |times: f64| BTreeMap::from([(row.clone(), times)]);
        let changed =
            [vec![changes(2.0), changes(0.5), changes(0.5), BTreeMap::new(), BTreeMap::new()]];
        let counts = Counts::new(vec![Made { share: 1.0, places: None }], &changed, 1);
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
