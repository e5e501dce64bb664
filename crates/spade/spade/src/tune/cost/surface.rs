//! The cost of an operation on any design, interpolated and extrapolated from measured points.
//!
//! The points vary a usual design in one parameter at a time, and in pairs that interact. The cost
//! is that of the usual design at the given row size, plus the measured difference of each other
//! parameter. Differences add up; ratios of small numbers would not. Between two measured sizes the
//! cost is linear, and beyond them it continues linearly.
//!
//! Decisions:
//! - docs/decisions/0212-costs-are-the-usual-designs-and-differences-from-it.md
//! - docs/decisions/0266-an-index-that-was-not-measured-over-a-storage-is-taken.md

use super::chains::chain_blocks;
use super::line::{
    Line, Setting, SettingKey, USUAL_LOAD, USUAL_NODE, USUAL_ROW, USUAL_SLOTS, executed_at,
    hash_shape, is_read, line_at, line_within,
};
use super::memo::{Lines, Memo};
use super::vector::{Cost, Noise, add, scaled};
use super::versions::VersionCosts;
use crate::measurement::{AccessPath, Demand, Effort, Measurements, Operation, Place, World};
use layout::Storage;
use layout::bucket::{SLOTS_MAX, overflow_slots};
use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Fabric name of simulated clusters.
const SIMULATED: &str = "sim";

/// How machines obtain snapshots: a task on each fetches frozen vectors in a loop.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Clock {
    /// Round trip in nanoseconds.
    pub trip_ns: f64,
    /// Time that the oracle's machine takes to freeze a vector, in nanoseconds.
    pub freeze_ns: f64,
}

/// All points of one world.
#[derive(Clone, Debug)]
pub struct Surface {
    lines: BTreeMap<Line, Rc<Points>>,
    is_quick: bool,
    is_simulated: bool,
    places: BTreeSet<Place>,
    /// Demands of a commit on the oracle.
    published: Demand,
    /// Noise of these demands.
    published_noise: f64,
    /// How machines obtain snapshots, with the lines from which it is derived.
    clock: OnceCell<(Option<Clock>, Lines)>,
    /// Cost of old versions, if measured.
    version_costs: Option<Rc<VersionCosts>>,
    /// Costs that were computed before.
    known: Memo<SettingKey, Option<Cost>>,
    /// Lines that the current computation depends on.
    used: RefCell<Lines>,
    /// Lines that were needed but not measured.
    missing: RefCell<BTreeSet<Line>>,
}

#[derive(Clone, Debug)]
struct Points {
    number: usize,
    /// Costs by row size.
    costs: Vec<(f64, Cost)>,
    /// Noise of each point, in the same order.
    noise: Vec<Noise>,
}

/// A measured figure that an interval perturbs by its noise.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Perturbation {
    /// A point: its line, the line's number, and the position in the line.
    Point(Line, usize, usize),
    /// Demands of a commit on the oracle.
    Published,
}

impl Perturbation {
    /// The number of the perturbed line; `None` if all writes are affected.
    pub fn line(&self) -> Option<usize> {
        match self {
            Self::Point(_, number, _) => Some(*number),
            Self::Published => None,
        }
    }
}

impl Surface {
    /// Collects the points of a world.
    pub fn new(all: &Measurements, world: &World) -> Self {
        let mut measured: BTreeMap<Line, Vec<(f64, Cost, Noise)>> = BTreeMap::new();
        let points = || all.points().iter().filter(|point| point.parameters.world == *world);
        let mut is_quick = false;
        for point in points().filter(|point| point.parameters.versions.is_none()) {
            is_quick |= point.version.effort == Effort::Quick;
            let line = measured.entry(Line::of(&point.parameters)).or_default();
            let row = f64::from(point.parameters.row_bytes);
            line.push((row, Cost::measured(point), Noise::measured(point)));
        }
        measured.values_mut().for_each(|line| line.sort_by(|one, other| one.0.total_cmp(&other.0)));
        let mut lines = BTreeMap::new();
        for (number, (line, points)) in measured.into_iter().enumerate() {
            let split = points.into_iter().map(|(row, cost, noise)| ((row, cost), noise)).unzip();
            let (costs, noise): (Vec<(f64, Cost)>, Vec<Noise>) = split;
            lines.insert(line, Rc::new(Points { number, costs, noise }));
        }
        let places = lines.keys().map(|line| line.place).collect();
        let (published, published_noise) = (published(&lines), published_noise(&lines));
        Self {
            lines,
            is_quick,
            is_simulated: world.fabric == SIMULATED,
            places,
            published,
            published_noise,
            version_costs: VersionCosts::new(points()).map(Rc::new),
            clock: OnceCell::new(),
            known: Memo::new(),
            used: RefCell::default(),
            missing: RefCell::default(),
        }
    }

    /// Runs a computation; returns its result and the lines that it depends on.
    pub fn recorded<T>(&self, find: impl FnOnce() -> T) -> (T, Lines) {
        let outer = self.used.take();
        let found = find();
        let own = self.used.replace(outer);
        self.used.borrow_mut().put_all(&own);
        (found, own)
    }

    /// Lines that the current computation depends on.
    pub fn used(&self) -> &RefCell<Lines> {
        &self.used
    }

    /// All noisy figures of these lines.
    pub fn perturbations(&self, lines: &Lines) -> Vec<Perturbation> {
        let mut all = Vec::new();
        for (line, points) in self.lines.iter().filter(|(_, points)| lines.has(points.number)) {
            let noisy = points.noise.iter().enumerate().filter(|(_, noise)| !noise.is_none());
            all.extend(noisy.map(|(at, _)| Perturbation::Point(*line, points.number, at)));
        }
        if self.published_noise > 0.0 {
            all.push(Perturbation::Published);
        }
        all
    }

    /// The surface with one figure perturbed. Costs that do not depend on it stay in the memo.
    pub fn perturbed(&self, perturbation: Perturbation) -> Self {
        let mut lines = self.lines.clone();
        let mut published = self.published;
        match perturbation {
            Perturbation::Point(line, _, at) => {
                let points = lines.get_mut(&line).map(Rc::make_mut);
                let noise = points.as_ref().and_then(|of| of.noise.get(at)).copied();
                if let Some((points, noise)) = points.zip(noise) {
                    points.costs[at].1 = points.costs[at].1.off_by(noise);
                }
            }
            Perturbation::Published => {
                published = scaled(self.published, 1.0 + self.published_noise)
            }
        }
        Self {
            lines,
            published,
            places: self.places.clone(),
            version_costs: self.version_costs.clone(),
            clock: OnceCell::new(),
            known: self.known.off_by(perturbation.line()),
            used: RefCell::default(),
            missing: RefCell::default(),
            ..*self
        }
    }

    pub fn version_costs(&self) -> Option<&VersionCosts> {
        self.version_costs.as_deref()
    }

    /// Whether some points were measured with `--quick`.
    pub fn is_quick(&self) -> bool {
        self.is_quick
    }

    /// How machines of a simulated cluster obtain snapshots. A round trip is the difference between
    /// a remote and a local lookup. Freezing reads and writes local words, and takes as long as a
    /// local lookup. `None` on real clusters: each lane reads its own snapshot, and the measured
    /// latency includes that.
    pub fn clock(&self) -> Option<Clock> {
        let (clock, lines) = self.clock.get_or_init(|| {
            let (local, remote) = (self.soonest(Place::Local), self.soonest(Place::OneSided));
            let mut lines = Lines::default();
            let numbers = [local, remote].into_iter().flatten().map(|(_, number)| number);
            numbers.for_each(|number| lines.put(number));
            let clock = local.zip(remote).filter(|_| self.is_simulated);
            let clock = clock.map(|((local, _), (remote, _))| Clock {
                trip_ns: (remote - local).max(1.0),
                freeze_ns: local,
            });
            (clock, lines)
        });
        self.used.borrow_mut().put_all(lines);
        *clock
    }

    /// The shortest latency of a lookup at a place, and the number of its line. Perturbation only
    /// adds latency, so the point stays the shortest if another one is perturbed.
    fn soonest(&self, place: Place) -> Option<(f64, usize)> {
        let is_meant = |line: &Line| {
            let of = (line.operation, line.path, line.place, line.rows);
            of == (Operation::Lookup, AccessPath::Primary, place, 1)
        };
        let lines = self.lines.iter().filter(|(line, _)| is_meant(line));
        let all =
            lines.flat_map(|(_, of)| of.costs.iter().map(|(_, cost)| (cost.latency_ns, of.number)));
        all.reduce(|least, one| if one.0 < least.0 { one } else { least })
    }

    /// Bucket sizes with which lookups were measured.
    pub fn slots(&self) -> BTreeSet<u32> {
        let is_lookup = |line: &&Line| line.operation == Operation::Lookup && line.slots > 0;
        self.lines.keys().filter(is_lookup).map(|line| line.slots).collect()
    }

    pub fn has(&self, place: Place) -> bool {
        self.places.contains(&place)
    }

    pub fn has_replicas(&self, replicas: u32) -> bool {
        self.lines.keys().any(|line| line.replicas == replicas)
    }

    /// The cost of an operation; `None` if the necessary points are missing. Records the missing
    /// line.
    pub fn cost(&self, setting: &Setting) -> Option<Cost> {
        let cost = self.found(setting);
        if cost.is_none() {
            self.missing.borrow_mut().insert(Line::usual(setting));
        }
        cost
    }

    /// Takes the descriptions of lines that were needed but not measured.
    pub fn take_missing(&self) -> Vec<String> {
        self.missing.take().iter().map(Line::to_string).collect()
    }

    /// Storages over which no index was measured, although one over inlined rows was: see
    /// [`Self::instead`].
    pub fn unindexed(&self) -> Vec<Storage> {
        let has = |path: AccessPath, storage: Storage| {
            self.lines.keys().any(|line| (line.path, line.storage) == (path, storage))
        };
        let lacks = |storage: &Storage| {
            AccessPath::ALL.into_iter().any(|path| {
                path != AccessPath::Primary
                    && has(path, Storage::HashInlined)
                    && !has(path, *storage)
            })
        };
        [Storage::HashOutside, Storage::Tree].into_iter().filter(lacks).collect()
    }

    /// The cost without recording missing lines.
    pub fn found(&self, setting: &Setting) -> Option<Cost> {
        let known = setting.key();
        if let Some(cost) = self.known.get(&known, &self.used) {
            return cost;
        }
        let (cost, lines) = self.recorded(|| match self.instead(setting) {
            Some(instead) => self.through_index(setting, &instead),
            None => self.computed(setting),
        });
        self.known.put(known, cost, lines);
        cost
    }

    /// The setting with inlined rows, if the index over the setting's own storage was not measured.
    /// Quick and interrupted measurements have indexes over inlined rows only.
    fn instead(&self, setting: &Setting) -> Option<Setting> {
        let inlined = Setting {
            storage: Storage::HashInlined,
            slots: USUAL_SLOTS,
            load_percent: Some(USUAL_LOAD),
            ..*setting
        };
        let is_meant = setting.path != AccessPath::Primary
            && !self.lines.contains_key(&Line::usual(setting))
            && self.lines.contains_key(&Line::usual(&inlined));
        is_meant.then_some(inlined)
    }

    /// Derives the cost through an index from that over inlined rows. An index entry points to the
    /// row itself, so reads cost the same with every storage. An insert adds the row to its own
    /// storage and the entry to the index.
    fn through_index(&self, setting: &Setting, inlined: &Setting) -> Option<Cost> {
        let through = self.computed(inlined)?;
        if setting.operation != Operation::Insert {
            return Some(through);
        }
        let primary = |of: &Setting| {
            let node_bytes = if of.storage == Storage::Tree { USUAL_NODE } else { 0 };
            self.computed(&Setting { path: AccessPath::Primary, node_bytes, ..*of })
        };
        let entry = through.minus(&primary(inlined)?).at_least_zero();
        Some(primary(setting)?.plus(&entry))
    }

    fn computed(&self, setting: &Setting) -> Option<Cost> {
        let usual = Line::usual(setting);
        let primary = Line { path: AccessPath::Primary, ..Line::usual_primary(setting) };
        let row = setting.row_bytes;
        let mut cost = match self.points(&usual)? {
            [(at, only)] if usual.path != AccessPath::Primary => {
                only.plus(&self.change(&primary, *at, &primary, row))
            }
            points => line_at(points, row),
        };
        if setting.storage != Storage::Tree {
            // The bucket size affects reads, including the read before a write. Measured
            // differences between writes alone are noise.
            let lookup = Line { operation: Operation::Lookup, rows: 1, ..primary };
            let with_slots = Line { slots: self.nearest_slots(&lookup, setting.slots), ..lookup };
            cost = cost.plus(&self.change(&lookup, row, &with_slots, row));
            cost = cost.plus(&self.chains(&with_slots, setting));
        }
        if usual.node_bytes != 0 && setting.node_bytes != usual.node_bytes {
            // The points vary the node size of an index over inlined rows only.
            let storage = match setting.path {
                AccessPath::SecondaryTree => Storage::HashInlined,
                _ => setting.storage,
            };
            let (slots, load_percent) = hash_shape(storage);
            // An update reads the leaves of an index and does not change them.
            let (operation, rows) = match setting.operation {
                Operation::Update => (Operation::Lookup, 1),
                other => (other, usual.rows),
            };
            let base = Line { operation, rows, storage, slots, load_percent, ..usual };
            let mut change = self.along_nodes(&base, setting.node_bytes, row);
            if setting.operation == Operation::Scan {
                // Larger nodes save fewer leaves if a scan reads fewer rows than measured; with one
                // row it is a lookup.
                let one = Line { operation: Operation::Lookup, rows: 1, ..base };
                let one = self.along_nodes(&one, setting.node_bytes, row);
                let share = (setting.rows - 1.0) / (f64::from(rows) - 1.0).max(1.0);
                change = change.mixed(share.clamp(0.0, 1.0), &one);
            }
            cost = cost.plus(&change);
        }
        cost = cost.plus(&self.along_rows(setting, &usual));
        // Reads access one copy.
        if setting.replicas > 1 && !is_read(setting.operation) {
            let copies = Line { replicas: setting.replicas, ..primary };
            let mut change = self.copied(&primary, &copies, row);
            // All machines have copies, so these demands are spread over them. Only one has the
            // oracle.
            change.machines = add(change.machines, change.others);
            change.others = Demand::default();
            cost = cost.plus(&change);
        }
        cost.others = if is_read(setting.operation) { Demand::default() } else { self.published };
        Some(self.with_chains(cost, setting).at_least_zero())
    }

    /// Adds round trips for overflow blocks to the latency: most operations meet no chain, so that
    /// the measured medians do not include them.
    fn with_chains(&self, mut cost: Cost, setting: &Setting) -> Cost {
        let (Some(load), false) = (setting.load_percent, setting.storage == Storage::Tree) else {
            return cost;
        };
        let lookup = Setting {
            operation: Operation::Lookup,
            path: AccessPath::Primary,
            place: executed_at(setting.place),
            storage: Storage::HashInlined,
            ..*setting
        };
        let trip = self.points(&Line::usual(&lookup)).map(|points| line_at(points, USUAL_ROW));
        let trip_ns = trip.map_or(0.0, |trip| trip.latency_ns);
        let waits_ns = setting.rows * chain_blocks(setting.slots, load) * trip_ns;
        cost.latency_ns += waits_ns;
        cost.tail_ns += waits_ns;
        cost
    }

    fn points(&self, line: &Line) -> Option<&[(f64, Cost)]> {
        let points = self.lines.get(line)?;
        self.used.borrow_mut().put(points.number);
        Some(&points.costs)
    }

    /// The lines that satisfy a condition, with their points.
    fn family(&self, is_of: impl Fn(&Line) -> bool) -> Vec<(&Line, &[(f64, Cost)])> {
        let of = self.lines.keys().filter(|line| is_of(line));
        of.filter_map(|line| Some((line, self.points(line)?))).collect()
    }

    /// The difference between two lines; zero if one of them was not measured.
    fn change(&self, from: &Line, from_row: f64, to: &Line, to_row: f64) -> Cost {
        match (self.points(from), self.points(to)) {
            (Some(from), Some(to)) => line_at(to, to_row).minus(&line_at(from, from_row)),
            _ => Cost::default(),
        }
    }

    /// The additional cost of further copies, at the nearest measured row size. If the storage was
    /// not measured with copies, uses inlined rows, which are written in the same way.
    fn copied(&self, primary: &Line, copies: &Line, row: f64) -> Cost {
        let inlined = |line: &Line| {
            let (slots, load_percent) = hash_shape(Storage::HashInlined);
            Line { storage: Storage::HashInlined, slots, load_percent, node_bytes: 0, ..*line }
        };
        let each = [(*primary, *copies), (inlined(primary), inlined(copies))];
        let pairs = each.iter().filter_map(|(one, more)| self.points(one).zip(self.points(more)));
        let Some((one, more)) = pairs.into_iter().next() else { return Cost::default() };
        let (first, last) = (more[0].0, more[more.len() - 1].0);
        let at = row.clamp(first, last);
        line_at(more, at).minus(&line_within(one, at)).at_least_zero()
    }

    /// Names of the writes that were measured with one copy but not with this number.
    pub fn uncopied(&self, replicas: u32) -> Vec<&'static str> {
        let named = [
            (Operation::Update, "updates"),
            (Operation::Insert, "inserts"),
            (Operation::Delete, "deletes"),
        ];
        let lacks = |operation: Operation| {
            let has = |place: Place, replicas: u32| {
                let of = |line: &Line| (line.operation, line.place, line.replicas);
                self.lines.keys().any(|line| of(line) == (operation, place, replicas))
            };
            Place::ALL.into_iter().any(|place| has(place, 1) && !has(place, replicas))
        };
        named.into_iter().filter(|(of, _)| lacks(*of)).map(|(_, name)| name).collect()
    }

    /// The measured bucket size that is nearest.
    fn nearest_slots(&self, line: &Line, slots: u32) -> u32 {
        let there = |slots: &u32| self.lines.contains_key(&Line { slots: *slots, ..*line });
        (1..=SLOTS_MAX).filter(there).min_by_key(|one| one.abs_diff(slots)).unwrap_or(line.slots)
    }

    /// The difference that another load makes: each further overflow block is one more read of a
    /// small bucket. Points measured at other loads agree within noise, since a single lane meets
    /// few chains.
    fn chains(&self, line: &Line, setting: &Setting) -> Cost {
        let wanted = setting.load_percent.map_or(0.0, |load| chain_blocks(line.slots, load));
        let more = wanted - chain_blocks(line.slots, USUAL_LOAD);
        let small = Line { slots: self.nearest_slots(line, overflow_slots(USUAL_SLOTS)), ..*line };
        let small = Line { place: executed_at(setting.place), ..small };
        let points = self.points(&small).filter(|_| more != 0.0);
        let block = points.map_or_else(Cost::default, |points| line_at(points, setting.row_bytes));
        // `with_chains` adds the latencies.
        let none = Cost { latency_ns: 0.0, tail_ns: 0.0, ..block };
        none.times(more)
    }

    /// The difference that another node size makes, at the nearest measured row size. Nodes contain
    /// no rows.
    fn along_nodes(&self, line: &Line, node_bytes: u32, row: f64) -> Cost {
        let points: Vec<(f64, Cost)> = self
            .family(|one| Line { node_bytes: line.node_bytes, ..*one } == *line)
            .into_iter()
            .map(|(one, points)| (f64::from(one.node_bytes), line_within(points, row)))
            .collect();
        if points.len() < 2 {
            return Cost::default();
        }
        let usual = line_at(&points, f64::from(line.node_bytes));
        line_at(&points, f64::from(node_bytes)).minus(&usual)
    }

    /// The difference that another number of rows makes.
    fn along_rows(&self, setting: &Setting, usual: &Line) -> Cost {
        if setting.rows == f64::from(usual.rows) {
            return Cost::default();
        }
        let path =
            if usual.operation == Operation::Scan { usual.path } else { AccessPath::Primary };
        let line = Line { path, ..Line::usual(&Setting { path, ..*setting }) };
        let points: Vec<(f64, Cost)> = self
            .family(|one| Line { rows: line.rows, ..*one } == line)
            .into_iter()
            .map(|(one, points)| (f64::from(one.rows), line_at(points, setting.row_bytes)))
            .collect();
        if points.len() < 2 {
            return Cost::default();
        }
        line_at(&points, setting.rows).minus(&line_at(&points, f64::from(line.rows)))
    }
}

/// Demands of a commit on the oracle: the median of all writes, because publishing does not depend
/// on what is written. The demands measured with reads come from fetching vectors.
fn published(lines: &BTreeMap<Line, Rc<Points>>) -> Demand {
    let writes = lines.iter().filter(|(line, _)| !is_read(line.operation) && line.replicas == 1);
    let others: Vec<Demand> =
        writes.flat_map(|(_, of)| &of.costs).map(|(_, cost)| cost.others).collect();
    let median = |figure: fn(&Demand) -> f64| {
        let mut all: Vec<f64> = others.iter().map(figure).collect();
        all.sort_by(f64::total_cmp);
        all.get(all.len() / 2).copied().unwrap_or_default()
    };
    Demand {
        core_ns: median(|of| of.core_ns),
        engine_ns: median(|of| of.engine_ns),
        atomics_ns: median(|of| of.atomics_ns),
        link_out_ns: median(|of| of.link_out_ns),
        link_in_ns: median(|of| of.link_in_ns),
        from_memory_ns: median(|of| of.from_memory_ns),
        to_memory_ns: median(|of| of.to_memory_ns),
    }
}

/// The median noise of all writes.
fn published_noise(lines: &BTreeMap<Line, Rc<Points>>) -> f64 {
    let writes = lines.iter().filter(|(line, _)| !is_read(line.operation) && line.replicas == 1);
    let mut all: Vec<f64> = writes.flat_map(|(_, of)| &of.noise).map(|of| of.rate).collect();
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or_default()
}
