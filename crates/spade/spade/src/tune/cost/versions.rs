//! The cost of old versions. If a row is updated again while a snapshot may still need its old
//! version, and the version buffer is full, the memory server first moves the oldest version to the
//! overflow list. The row is locked during that call. A larger version buffer avoids the call.
//!
//! ```text
//! updates of a row      |     |   |         |      |
//!                       <------ needed ------------>         needed_ns, from measurements
//! version buffer        has room if it has as many slots as updates in that time
//! ```
//! Updates of a row are random, so their number within `needed_ns` has a Poisson distribution. If a
//! row does not keep its version buffer, the last update in a while returns the memory.
//!
//! Decision: docs/decisions/0281-storing-old-versions-beside-rows-is-decided-like-storage.md

use super::line::line_within;
use super::vector::{Cost, add, scaled};
use crate::measurement::{Demand, Operation, Parameters, Place, Point, Versions};
use crate::tune::contention::conflicts::ConflictRate;
use crate::tune::model::{Model, Plan};
use crate::tune::workload::profile::{Kind, Request};
use std::collections::BTreeMap;
use std::rc::Rc;

/// Candidates: old versions beside a row, and whether the row keeps their memory.
pub const CHOICES: [(u32, bool); 6] =
    [(1, true), (2, true), (4, true), (8, true), (1, false), (8, false)];
/// `needed_ns` is the update interval at which this share of updates must move a version.
const HALF: f64 = 0.5;
/// Up to this share of moved versions, the measurement counts as one without moves.
const MOVED_FEW: f64 = 0.05;
/// Below this mean, the first terms of the series are exact enough.
const FEW: f64 = 0.01;
/// Rates below this one are put into one class.
const SELDOM: f64 = 1e-7;

/// The measured cost of old versions.
#[derive(Clone, PartialEq, Debug)]
pub struct VersionCosts {
    /// Nanoseconds for which snapshots may need an old version.
    pub needed_ns: f64,
    /// Updates that a lane executes in that time if it does nothing else.
    pub changes: f64,
    places: BTreeMap<Place, PlaceCosts>,
}

/// Additional cost of an update, compared with one whose old version nobody needs.
#[derive(Clone, PartialEq, Debug, Default)]
struct PlaceCosts {
    /// If it moves an old version, by row size.
    moved: Vec<(f64, Cost)>,
    /// If it finds a free slot in the version buffer, which it must read.
    looked: Cost,
    /// If it returns the memory.
    returned: Cost,
}

/// Additional cost of a call.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct ExtraCost {
    /// Additional latency while rows are locked.
    pub latency_ns: f64,
    /// Additional demands on the machines.
    pub machines: Demand,
}

/// How often the rows that a procedure updates are updated, per call of a machine: classes of its
/// updates, each as (share, rate).
#[derive(Clone, PartialEq, Debug, Default)]
pub struct UpdateRates {
    /// By all procedures.
    all: Vec<(f64, f64)>,
    /// By the procedure itself, if no other is called.
    alone: Vec<(f64, f64)>,
}

/// Old versions of the rows of one table that a procedure updates.
#[derive(Clone, PartialEq, Debug)]
pub struct OldVersions {
    again: Rc<UpdateRates>,
    beside: u32,
    moved: ExtraCost,
    looked: ExtraCost,
    returned: ExtraCost,
}

impl VersionCosts {
    /// Derives the costs from points; `None` if they were not measured.
    pub fn new<'p>(points: impl Iterator<Item = &'p Point>) -> Option<Self> {
        let mut found: BTreeMap<(Place, Versions, u32), &Point> = BTreeMap::new();
        let mut ordinary: BTreeMap<Parameters, &Point> = BTreeMap::new();
        for point in points {
            let of = &point.parameters;
            match of.versions {
                _ if (of.operation, of.replicas) != (Operation::Update, 1) => {}
                Some(versions) => drop(found.insert((of.place, versions, of.row_bytes), point)),
                None => drop(ordinary.insert(of.clone(), point)),
            }
        }
        let moved = |of: &Point| of.measured.loaded.moved.map_or(0.0, |moved| moved.share);
        let most = found.keys().map(|(_, of, _)| of.among).max()?;
        let left = Versions { beside: 1, keeps: true, among: most };
        let mut places: BTreeMap<Place, PlaceCosts> = BTreeMap::new();
        for (&(place, of, row), point) in &found {
            // Row sizes that were not measured with many rows in turn: compare with an ordinary
            // update.
            let usual = || ordinary.get(&Parameters { versions: None, ..point.parameters.clone() });
            let Some(still) = found.get(&(place, left, row)).or_else(usual) else { continue };
            let more = Cost::measured(point).minus(&Cost::measured(still)).at_least_zero();
            let costs = places.entry(place).or_default();
            match of {
                Versions { beside: 1, keeps: true, among: 1 } => {
                    costs.moved.push((f64::from(row), more));
                }
                // Skip it if the version buffer was too small, so that versions were moved.
                Versions { keeps: true, .. } if of.beside > 1 && moved(point) < MOVED_FEW => {
                    costs.looked = more;
                }
                Versions { keeps: false, .. } => costs.returned = more,
                _ => {}
            }
        }
        places.retain(|_, of| !of.moved.is_empty());
        let mut lines: BTreeMap<Place, Vec<(f64, f64)>> = BTreeMap::new();
        for ((place, of, _), point) in &found {
            let moved = point.measured.loaded.moved.filter(|_| (of.beside, of.keeps) == (1, true));
            lines.entry(*place).or_default().extend(moved.map(|of| (of.again_ns, of.share)));
        }
        let mut line = lines.into_values().max_by_key(Vec::len)?;
        line.sort_by(|one, other| one.0.total_cmp(&other.0));
        let needed_ns = needed_ns(&line)?;
        let changes = needed_ns / line.first()?.0.max(f64::MIN_POSITIVE);
        (!places.is_empty()).then_some(Self { needed_ns, changes, places })
    }

    /// The costs at a place, or at another one if they were not measured there.
    fn at(&self, place: Place) -> Option<&PlaceCosts> {
        self.places.get(&place).or(self.places.values().next())
    }
}

/// The time for which old versions are needed. `line` has for each update interval the share of
/// updates that moved a version; interpolates to `HALF`.
fn needed_ns(line: &[(f64, f64)]) -> Option<f64> {
    let (first, last) = (line.first()?, line.last()?);
    let Some(at) = line.iter().position(|(_, share)| *share < HALF) else { return Some(last.0) };
    let Some(before) = at.checked_sub(1) else { return Some(first.0) };
    let ((from_ns, from), (to_ns, to)) = (line[before], line[at]);
    Some(from_ns + (to_ns - from_ns) * (from - HALF) / (from - to))
}

impl UpdateRates {
    /// Groups conflict rates into classes. `share` is the procedure's share of all calls.
    pub fn new(conflict_rates: &[ConflictRate], share: f64) -> Self {
        let by = |of: &dyn Fn(&ConflictRate) -> f64| {
            let mut classes: BTreeMap<i64, (f64, f64)> = BTreeMap::new();
            for conflict in conflict_rates {
                let often = of(conflict);
                let class = libm::floor(libm::log2(often.max(SELDOM)) / 2.0) as i64;
                let sum = classes.entry(class).or_default();
                (sum.0, sum.1) = (sum.0 + conflict.share, sum.1 + conflict.share * often);
            }
            let mean = |(share, sum): (f64, f64)| (share, sum / share.max(f64::MIN_POSITIVE));
            classes.into_values().map(mean).collect()
        };
        Self { all: by(&|of| share * of.own + of.others), alone: by(&|of| of.own) }
    }
}

/// Expected updates per call that move a version, that find room, and that are the last for a
/// while.
type Chances = [f64; 3];

/// Computes the cost of old versions at a given throughput. Calls at home and elsewhere update rows
/// at the same rate.
pub struct VersionCharges<'o> {
    /// Calls of a machine within the time for which old versions are needed.
    within: f64,
    known: Vec<(&'o Rc<UpdateRates>, u32, bool, Chances)>,
}

impl<'o> VersionCharges<'o> {
    /// `rate` is the number of calls of each machine per nanosecond.
    pub fn new(rate: f64, needed_ns: f64) -> Self {
        Self { within: rate * needed_ns, known: Vec::new() }
    }

    /// The additional cost of a call. `is_alone` means that no other procedure is called.
    pub fn cost(&mut self, old: &'o [OldVersions], is_alone: bool) -> ExtraCost {
        old.iter().fold(ExtraCost::default(), |sum, of| {
            let [moved, looked, rest] = self.chances(of, is_alone);
            let sum = sum.plus(&of.moved, moved).plus(&of.looked, looked);
            sum.plus(&of.returned, rest)
        })
    }

    fn chances(&mut self, of: &'o OldVersions, is_alone: bool) -> Chances {
        let is_it = |(again, beside, alone, _): &&(&Rc<UpdateRates>, u32, bool, Chances)| {
            Rc::ptr_eq(again, &of.again) && (*beside, *alone) == (of.beside, is_alone)
        };
        if let Some((.., known)) = self.known.iter().find(is_it) {
            return *known;
        }
        let (mut looked, mut moved, mut rest) = (0.0, 0.0, 1.0);
        let classes = if is_alone { &of.again.alone } else { &of.again.all };
        for (share, often) in classes {
            let [again, full] = at_least(of.beside, self.within * often);
            looked += share * (again - full);
            moved += share * full;
            rest -= share * again;
        }
        let chances = [moved, looked, f64::max(rest, 0.0)];
        self.known.push((&of.again, of.beside, is_alone, chances));
        chances
    }
}

impl ExtraCost {
    fn of(cost: &Cost) -> Self {
        Self { latency_ns: cost.latency_ns, machines: cost.machines }
    }

    /// Adds `count` times another cost.
    pub fn plus(&self, other: &Self, count: f64) -> Self {
        Self {
            latency_ns: self.latency_ns + count * other.latency_ns,
            machines: add(self.machines, scaled(other.machines, count)),
        }
    }
}

/// Poisson probabilities of at least one event, and of at least `count` events.
fn at_least(count: u32, mean: f64) -> [f64; 2] {
    if mean < FEW {
        // The first terms of the series, because `exp` is slow.
        let one = mean * (1.0 - mean / 2.0 * (1.0 - mean / 3.0));
        let many = (1..=count).fold(1.0, |all, number| all * mean / f64::from(number));
        return [one, if count == 1 { one } else { many }];
    }
    let none = libm::exp(-mean);
    let (mut term, mut fewer) = (none, 0.0);
    for number in 0..count {
        fewer += term;
        term *= mean / f64::from(number + 1);
    }
    [1.0 - none, (1.0 - fewer).max(0.0)]
}

impl Model<'_> {
    /// Old versions of the rows that a procedure updates. `local` returns the local shares of rows
    /// and entries.
    pub fn old(
        &self,
        plan: &Plan,
        number: usize,
        local: &dyn Fn(usize) -> (f64, f64),
    ) -> Vec<OldVersions> {
        let Some(version_costs) = self.surface.version_costs() else { return Vec::new() };
        let requests = self.profiles[number].requests.iter().enumerate();
        let changes = requests.filter(|(_, request)| {
            request.times > 0.0 && matches!(request.kind, Kind::Update | Kind::Delete)
        });
        let old = |(at, request): (usize, &Request)| {
            let table = &plan.tables[request.table];
            let shape = &self.shapes[request.table];
            let (rows, row) = (self.near(local(at)).0, shape.row_bytes());
            let (here, there) =
                version_costs.at(Place::Local).zip(version_costs.at(Place::OneSided))?;
            let mixed = |of: &dyn Fn(&PlaceCosts) -> Cost| {
                let local =
                    ExtraCost::default().plus(&ExtraCost::of(&of(here)), rows * request.times);
                local.plus(&ExtraCost::of(&of(there)), (1.0 - rows) * request.times)
            };
            Some(OldVersions {
                again: self.changes[number].get(&request.table).cloned().unwrap_or_default(),
                beside: table.versions_beside,
                moved: mixed(&|of| line_within(&of.moved, row)),
                looked: mixed(&|of| of.looked),
                returned: match table.keeps_versions || !shape.is_updated {
                    true => ExtraCost::default(),
                    false => mixed(&|of| of.returned),
                },
            })
        };
        changes.filter_map(old).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::AccessPath;
    use layout::Storage;

    fn old(beside: u32, own: f64) -> OldVersions {
        let latency = |latency_ns: f64| ExtraCost { latency_ns, ..ExtraCost::default() };
        let conflict_rates = [ConflictRate { share: 1.0, own, others: 0.0, rows: 1.0 }];
        OldVersions {
            again: UpdateRates::new(&conflict_rates, 1.0).into(),
            beside,
            moved: latency(3_000.0),
            looked: latency(100.0),
            returned: latency(500.0),
        }
    }

    #[test]
    fn versions_are_moved_if_more_updates_come_than_the_buffer_holds() {
        // A call every microsecond updates the row: four updates while an old version is needed.
        let latency = |beside: u32| {
            VersionCharges::new(1e-3, 4_000.0).cost(&[old(beside, 1.0)], false).latency_ns
        };
        let again = 1.0 - (-4.0_f64).exp();
        let left = 500.0 * (1.0 - again);
        assert!((latency(1) - (3_000.0 * again + left)).abs() < 1e-6, "{}", latency(1));
        assert!(latency(8) < 100.0 + 3_000.0 * 0.06 && latency(8) > 90.0, "{}", latency(8));
        // If nobody else updates the row, its memory is returned each time.
        let own = VersionCharges::new(1e-3, 4_000.0).cost(&[old(1, 0.0)], false).latency_ns;
        assert!((own - 500.0).abs() < 1e-9, "{own}");
    }

    /// The cost of moving a version excludes the cost of the row's size.
    #[test]
    fn moving_an_old_version_is_measured_against_a_change_of_the_same_size() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/measurements/connectx3-fdr-4.json");
        let text = std::fs::read_to_string(path).expect("it is shipped");
        let all = crate::measurement::Measurements::parse(&text).expect("it is read");
        let version_costs = VersionCosts::new(all.points().iter()).expect("they were measured");
        let update = |row_bytes: u32, moves: bool| {
            let is_it = |of: &&Point| {
                let usual = Parameters { row_bytes: 64, versions: None, ..of.parameters.clone() };
                let versions = Versions { beside: 1, keeps: true, among: 1 };
                let is_accessed = of.parameters.versions == moves.then_some(versions);
                let shape = (usual.operation, usual.place, usual.storage, usual.replicas);
                let place = (usual.neighbourhood, usual.load_percent, usual.path);
                is_accessed
                    && of.parameters.row_bytes == row_bytes
                    && shape == (Operation::Update, Place::Local, Storage::HashInlined, 1)
                    && place == (8, 65, AccessPath::Primary)
            };
            Cost::measured(all.points().iter().find(is_it).expect("it was measured")).latency_ns
        };
        let moved = &version_costs.at(Place::Local).expect("it was measured").moved;
        let (_, large) = moved.iter().find(|(row, _)| *row == 512.0).expect("it was measured");
        let more = update(512, true) - update(512, false);
        assert!((large.latency_ns - more).abs() < 1.0, "{} {more}", large.latency_ns);
        assert!(update(512, false) > 1.03 * update(64, false), "rows of another size take more");
    }

    #[test]
    fn versions_are_needed_until_half_of_the_updates_move_one() {
        let line = [(100.0, 1.0), (200.0, 0.75), (300.0, 0.25), (400.0, 0.0)];
        assert_eq!(needed_ns(&line), Some(250.0));
        // All measured intervals are too short, or too long.
        assert_eq!(needed_ns(&line[..2]), Some(200.0));
        assert_eq!(needed_ns(&line[3..]), Some(400.0));
        assert_eq!(needed_ns(&[]), None);
    }
}
