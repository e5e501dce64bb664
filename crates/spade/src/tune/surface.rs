//! The cost of any operation on any design, between and around what was measured.
//!
//! Measured is a usual design with one thing varied at a time, and the pairs that interact. So a cost is that of the usual design at
//! the row's size, plus what each other choice was seen to change: differences add up where ratios of small numbers would not.
//! Between two measured sizes it is a straight line, beyond them the line goes on.

use super::chains::chain_blocks;
use super::cost::{Cost, Noise, add, scaled};
use super::line::{
    Known, Line, Setting, USUAL_LOAD, USUAL_NODE, USUAL_ROW, USUAL_SLOTS, carried_out, hash_shape,
    is_read, line_at, line_within,
};
use crate::measurement::{AccessPath, Demand, Effort, Measurements, Operation, Place, World};
use layout::Storage;
use layout::bucket::{SLOTS_MAX, overflow_slots};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// The fabric of simulated clusters.
const SIMULATED: &str = "sim";

/// How snapshots come to machines: a task of each fetches one frozen vector after another.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Clock {
    /// There and back, in nanoseconds.
    pub trip_ns: f64,
    /// What freezing a vector takes where the oracle is.
    pub freeze_ns: f64,
}

/// All that was measured of one world.
#[derive(Clone, Debug)]
pub struct Surface {
    lines: BTreeMap<Line, Vec<(f64, Cost)>>,
    /// How far repetitions of each point were apart, in the same order.
    noise: BTreeMap<Line, Vec<Noise>>,
    is_quick: bool,
    is_simulated: bool,
    places: BTreeSet<Place>,
    /// What a commit takes of the oracle.
    published: Demand,
    /// How far repetitions of that were apart.
    published_noise: f64,
    /// What was asked for before: the search asks for the same again and again.
    known: RefCell<BTreeMap<Known, Found>>,
    /// The lines that the cost being found goes by.
    used: RefCell<BTreeSet<Line>>,
    /// What was asked for and not measured.
    lacking: RefCell<BTreeSet<Line>>,
}

/// A cost with the lines that it comes from.
#[derive(Clone, Debug)]
struct Found {
    cost: Option<Cost>,
    lines: BTreeSet<Line>,
}

/// Something measured that may be off.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sway {
    /// A point by position in its line.
    Point(Line, usize),
    /// What a commit takes of the oracle.
    Published,
}

impl Surface {
    /// What was measured of a world.
    pub fn new(all: &Measurements, world: &World) -> Self {
        let mut measured: BTreeMap<Line, Vec<(f64, Cost, Noise)>> = BTreeMap::new();
        let points = all.points().iter().filter(|point| point.parameters.world == *world);
        let mut is_quick = false;
        for point in points {
            is_quick |= point.version.effort == Effort::Quick;
            let line = measured.entry(Line::of(&point.parameters)).or_default();
            let row = f64::from(point.parameters.row_bytes);
            line.push((row, Cost::measured(point), Noise::measured(point)));
        }
        measured.values_mut().for_each(|line| line.sort_by(|one, other| one.0.total_cmp(&other.0)));
        let (mut lines, mut noise) = (BTreeMap::new(), BTreeMap::new());
        for (line, points) in measured {
            let split = points.into_iter().map(|(row, cost, noise)| ((row, cost), noise)).unzip();
            let (points, of_points): (Vec<(f64, Cost)>, Vec<Noise>) = split;
            lines.insert(line, points);
            noise.insert(line, of_points);
        }
        let places = lines.keys().map(|line| line.place).collect();
        let (published, published_noise) = (published(&lines), published_noise(&noise));
        Self {
            lines,
            noise,
            is_quick,
            is_simulated: world.fabric == SIMULATED,
            places,
            published,
            published_noise,
            known: RefCell::default(),
            used: RefCell::default(),
            lacking: RefCell::default(),
        }
    }

    /// The same, with nothing asked for yet.
    pub fn forgetful(&self) -> Self {
        let (known, used) = (RefCell::default(), RefCell::default());
        Self { known, used, lacking: RefCell::default(), ..self.clone() }
    }

    /// Everything that may be off of what was asked for up to now.
    pub fn sways(&self) -> Vec<Sway> {
        let known = self.known.borrow();
        let lines: BTreeSet<Line> =
            known.values().flat_map(|found| &found.lines).copied().collect();
        let mut all = Vec::new();
        for line in lines {
            let noise = self.noise.get(&line).map_or(&[][..], Vec::as_slice);
            let noisy = noise.iter().enumerate().filter(|(_, noise)| !noise.is_none());
            all.extend(noisy.map(|(at, _)| Sway::Point(line, at)));
        }
        if self.published_noise > 0.0 {
            all.push(Sway::Published);
        }
        all
    }

    /// The same, with something of it off by its noise. What does not depend on it need not be found anew.
    pub fn swayed(&self, sway: Sway) -> Self {
        let mut all = self.clone();
        match sway {
            Sway::Point(line, at) => {
                let noise = self.noise.get(&line).and_then(|line| line.get(at)).copied();
                let point = all.lines.get_mut(&line).and_then(|line| line.get_mut(at));
                if let Some((noise, point)) = noise.zip(point) {
                    point.1 = point.1.off_by(noise);
                }
                all.known.get_mut().retain(|_, found| !found.lines.contains(&line));
            }
            Sway::Published => {
                all.published = scaled(self.published, 1.0 + self.published_noise);
                all.known.get_mut().clear();
            }
        }
        all
    }

    /// Whether points were measured for a first look only.
    pub fn is_quick(&self) -> bool {
        self.is_quick
    }

    /// How snapshots come to machines, as they do on simulated clusters: the trip is what a remote row takes longer than a local one, and
    /// freezing a vector, which is reading and writing words of the own machine, takes what a local row does. None elsewhere: there each lane
    /// gets its own snapshot, and that is part of what operations take alone.
    pub fn clock(&self) -> Option<Clock> {
        let least = |place: Place| {
            let is_meant = |line: &Line| {
                (line.operation, line.path, line.place)
                    == (Operation::Lookup, AccessPath::Primary, place)
                    && line.rows == 1
            };
            let lines = self.lines.iter().filter(|(line, _)| is_meant(line));
            lines.flat_map(|(_, points)| points).map(|(_, cost)| cost.latency_ns).reduce(f64::min)
        };
        let (local, remote) = (least(Place::Local)?, least(Place::OneSided)?);
        self.is_simulated.then(|| Clock { trip_ns: (remote - local).max(1.0), freeze_ns: local })
    }

    /// The numbers of slots that lookups were measured with.
    pub fn slots(&self) -> BTreeSet<u32> {
        let is_lookup = |line: &&Line| line.operation == Operation::Lookup && line.slots > 0;
        self.lines.keys().filter(is_lookup).map(|line| line.slots).collect()
    }

    /// Whether anything was measured at this place.
    pub fn has(&self, place: Place) -> bool {
        self.places.contains(&place)
    }

    /// Whether this number of copies was measured.
    pub fn has_replicas(&self, replicas: u32) -> bool {
        self.lines.keys().any(|line| line.replicas == replicas)
    }

    /// What an operation costs; none if nothing like it was measured.
    pub fn cost(&self, setting: &Setting) -> Option<Cost> {
        let cost = self.found(setting);
        if cost.is_none() {
            self.lacking.borrow_mut().insert(Line::usual(setting));
        }
        cost
    }

    /// What was asked for since the last time and not measured, in words.
    pub fn take_lacking(&self) -> Vec<String> {
        self.lacking.take().iter().map(Line::to_string).collect()
    }

    /// Storages whose rows no index was measured to lead to, where it was to inlined ones: see [`Self::instead`].
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

    fn found(&self, setting: &Setting) -> Option<Cost> {
        let known = setting.known();
        if let Some(found) = self.known.borrow().get(&known) {
            return found.cost;
        }
        self.used.borrow_mut().clear();
        let cost = match self.instead(setting) {
            Some(instead) => self.through_index(setting, &instead),
            None => self.computed(setting),
        };
        let lines = std::mem::take(&mut *self.used.borrow_mut());
        self.known.borrow_mut().insert(known, Found { cost, lines });
        cost
    }

    /// The same through an index over inlined rows, if that was measured and the setting itself was not: quick measurements, and
    /// those that were ended early, have indexes over inlined rows alone.
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

    /// The cost through an index by that over inlined rows. An index leads to the row itself, wherever that lives, so that what goes through it costs
    /// the same; only a row that is added goes where its own storage has it, and its entry beside.
    fn through_index(&self, setting: &Setting, inlined: &Setting) -> Option<Cost> {
        let through = self.computed(inlined)?;
        if setting.operation != Operation::Insert {
            return Some(through);
        }
        let primary = |of: &Setting| {
            let node_bytes = if of.storage == Storage::Tree { USUAL_NODE } else { 0 };
            self.computed(&Setting { path: AccessPath::Primary, node_bytes, ..*of })
        };
        let entry = through.minus(&primary(inlined)?).at_least_nothing();
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
            // Slots matter to what is read, also of what is written thereafter. Writes alone differ by chance only.
            let lookup = Line { operation: Operation::Lookup, rows: 1, ..primary };
            let with_slots = Line { slots: self.nearest_slots(&lookup, setting.slots), ..lookup };
            cost = cost.plus(&self.change(&lookup, row, &with_slots, row));
            cost = cost.plus(&self.chains(&with_slots, setting));
        }
        if usual.node_bytes != 0 && setting.node_bytes != usual.node_bytes {
            // Nodes of an index were varied where rows are inlined.
            let storage = match setting.path {
                AccessPath::SecondaryTree => Storage::HashInlined,
                _ => setting.storage,
            };
            let (slots, load_percent) = hash_shape(storage);
            // An update reads leaves and leaves them as they are.
            let (operation, rows) = match setting.operation {
                Operation::Update => (Operation::Lookup, 1),
                other => (other, usual.rows),
            };
            let base = Line { operation, rows, storage, slots, load_percent, ..usual };
            cost = cost.plus(&self.along_nodes(&base, setting.node_bytes, row));
        }
        cost = cost.plus(&self.along_rows(setting, &usual));
        // Reads go to one copy.
        if setting.replicas > 1 && !is_read(setting.operation) {
            let copies = Line { replicas: setting.replicas, ..primary };
            let mut change = self.copied(&primary, &copies, row);
            // Copies are on all machines alike, where the oracle is on one.
            change.machines = add(change.machines, change.others);
            change.others = Demand::default();
            cost = cost.plus(&change);
        }
        cost.others = if is_read(setting.operation) { Demand::default() } else { self.published };
        Some(self.with_chains(cost, setting).at_least_nothing())
    }

    /// Medians know nothing of chains that fewer than half of the operations meet: a round trip for each of their blocks.
    fn with_chains(&self, mut cost: Cost, setting: &Setting) -> Cost {
        let (Some(load), false) = (setting.load_percent, setting.storage == Storage::Tree) else {
            return cost;
        };
        let lookup = Setting {
            operation: Operation::Lookup,
            path: AccessPath::Primary,
            place: carried_out(setting.place),
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
        let (line, points) = self.lines.get_key_value(line)?;
        self.used.borrow_mut().insert(*line);
        Some(points)
    }

    /// All lines of a family with their points.
    fn family(&self, is_of: impl Fn(&Line) -> bool) -> Vec<(&Line, &[(f64, Cost)])> {
        let of = self.lines.keys().filter(|line| is_of(line));
        of.filter_map(|line| Some((line, self.points(line)?))).collect()
    }

    /// What changes from one line to another; nothing if one of them was not measured.
    fn change(&self, from: &Line, from_row: f64, to: &Line, to_row: f64) -> Cost {
        match (self.points(from), self.points(to)) {
            (Some(from), Some(to)) => line_at(to, to_row).minus(&line_at(from, from_row)),
            _ => Cost::default(),
        }
    }

    /// What further copies change, at the nearest size of rows that was measured with them. It is never less than nothing; where
    /// a table's own storage was not measured with copies, it is that of inlined rows, which are written alike.
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
        line_at(more, at).minus(&line_within(one, at)).at_least_nothing()
    }

    /// The writes that were not measured with so many copies, wherever they were measured with one.
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

    /// The number of slots that was measured and is nearest.
    fn nearest_slots(&self, line: &Line, slots: u32) -> u32 {
        let there = |slots: &u32| self.lines.contains_key(&Line { slots: *slots, ..*line });
        (1..=SLOTS_MAX).filter(there).min_by_key(|one| one.abs_diff(slots)).unwrap_or(line.slots)
    }

    /// What another load than the usual one changes: each block of a chain that is read is a read of a small bucket more. Points at other
    /// loads agree with that, but for chance: where one lane measures, few chains are met.
    fn chains(&self, line: &Line, setting: &Setting) -> Cost {
        let wanted = setting.load_percent.map_or(0.0, |load| chain_blocks(line.slots, load));
        let more = wanted - chain_blocks(line.slots, USUAL_LOAD);
        let small = Line { slots: self.nearest_slots(line, overflow_slots(USUAL_SLOTS)), ..*line };
        let small = Line { place: carried_out(setting.place), ..small };
        let points = self.points(&small).filter(|_| more != 0.0);
        let block = points.map_or_else(Cost::default, |points| line_at(points, setting.row_bytes));
        // Latencies are dealt with apart.
        let none = Cost { latency_ns: 0.0, tail_ns: 0.0, ..block };
        none.times(more)
    }

    /// What another size of nodes changes, at the nearest size of rows: rows are not in nodes.
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

    /// What another number of rows than the usual one changes.
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

/// What a commit takes of the oracle: the median of all writes, since a number is published whatever is written, and wherever. What reads
/// seem to take is what is left of fetchers.
fn published(lines: &BTreeMap<Line, Vec<(f64, Cost)>>) -> Demand {
    let writes = lines.iter().filter(|(line, _)| !is_read(line.operation) && line.replicas == 1);
    let others: Vec<Demand> =
        writes.flat_map(|(_, points)| points).map(|(_, cost)| cost.others).collect();
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

/// How far repetitions of writes were apart: the median over them.
fn published_noise(noise: &BTreeMap<Line, Vec<Noise>>) -> f64 {
    let writes = noise.iter().filter(|(line, _)| !is_read(line.operation) && line.replicas == 1);
    let mut all: Vec<f64> = writes.flat_map(|(_, line)| line).map(|of| of.rate).collect();
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or_default()
}
