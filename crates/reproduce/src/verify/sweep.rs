//! Many designs of a workload around the one that the tuner has chosen, each forecast and measured.

use super::{Cluster, VerifyError, measure_each, small};
use layout::{IndexKind, Storage};
use procedure::node::Workload;
use spade::design::{Access, Design, Partition, Placement, TableDesign};
use spade::measurement::Measurements;
use spade::tune::{Input, Options, REMOTE_CALLS, TuneError, forecast, tune};
use std::path::PathBuf;
use stored::{FolderError, Stored};

/// Designs differ if what was measured of them does by more than this share.
pub(crate) const DIFFERS: f64 = 0.05;
/// The name of the design that the tuner has chosen.
const TUNED: &str = "tuned";

/// A cluster with its measurements.
pub(crate) struct Setting {
    /// The profile of its hardware.
    pub profile: &'static str,
    /// Machines.
    pub machines: u16,
    /// The file of what was measured, among those that are shipped.
    pub measurements: &'static str,
}

/// A design that was forecast and measured.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    /// What is different in it.
    pub name: String,
    /// Calls per second.
    pub forecast_per_s: f64,
    /// The same as measured.
    pub measured_per_s: f64,
    /// Attempts that were made again, in percent.
    pub retries_percent: f64,
    /// The stage that is full first by the forecast, and the busiest one as measured.
    pub bottleneck: String,
    pub busiest: String,
}

/// All designs of a workload on one cluster.
#[derive(Clone, Debug)]
pub(crate) struct Swept {
    workload: &'static str,
    profile: &'static str,
    /// The tuner's design first.
    pub points: Vec<Point>,
    /// How far measurements of the tuner's design by other seeds are from each other, as a share.
    pub noise: f64,
}

/// Why nothing could be swept.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SweepError {
    #[error("{0} cannot be read: {1}")]
    File(PathBuf, std::io::Error),
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error(transparent)]
    Plans(#[from] procedure::ReadError),
    #[error(transparent)]
    Measurements(#[from] spade::measurement::MeasurementError),
    #[error(transparent)]
    Tune(#[from] TuneError),
    #[error(transparent)]
    Verify(#[from] VerifyError),
}

/// Designs that differ in nothing but where procedures are carried out, with their names.
type Family = Vec<(String, Design)>;

/// Forecasts and measures all designs of a workload; the tuner's own by so many seeds, which follow each other.
pub(crate) fn sweep(
    name: &'static str,
    setting: &Setting,
    (seed, seeds): (u64, u64),
    is_quick: bool,
) -> Result<Swept, SweepError> {
    let (folder, stored) = small::read(name, setting.machines, seed)?;
    let workload = Workload::read(&small::folder(name))?;
    let path = small::measurements(setting.measurements);
    let text = std::fs::read_to_string(&path).map_err(|error| SweepError::File(path, error))?;
    let measurements = Measurements::parse(&text)?;
    let input = Input { folder: &folder, workload: &workload, measurements: &measurements };
    let options = Options {
        hardware: Some(setting.profile.to_owned()),
        machines: Some(setting.machines.into()),
        units: Some(folder.load.units),
        ..Options::default()
    };
    let tuned = tune(input, &options)?.design;
    let mut families = families(&tuned, &stored.default_design(), &stored);
    families.truncate(if is_quick { 2 } else { usize::MAX });
    let lanes = measurements.points().first().map_or(1, |point| point.parameters.world.lanes);
    let cluster = |seed| cluster(setting, lanes, seed);
    let mut points: Vec<Point> = Vec::new();
    for family in &families {
        let designs = family.iter().map(|(_, design)| stored.with_design(design.clone()));
        let designs: Vec<Stored> = designs.collect::<Result<_, _>>()?;
        let measured = measure_each(&designs, &cluster(seed))?;
        for ((name, design), measured) in family.iter().zip(measured) {
            let forecast = forecast(input, &options, design)?.forecast;
            points.push(Point {
                name: name.clone(),
                forecast_per_s: forecast.transactions_per_s[1],
                measured_per_s: measured.calls_per_s,
                retries_percent: measured.retries_percent,
                bottleneck: forecast.bottleneck,
                busiest: measured.busiest.map_or_else(String::new, |(stage, _)| stage),
            });
        }
    }
    let noise = noise(name, &tuned, setting, (seed, seeds), &cluster, points[0].measured_per_s)?;
    Ok(Swept { workload: name, profile: setting.profile, points, noise })
}

fn cluster(setting: &Setting, lanes: u32, seed: u64) -> Cluster {
    Cluster {
        profile: setting.profile.to_owned(),
        machines: setting.machines,
        lanes,
        replicas: 1,
        remote_calls: REMOTE_CALLS,
        seed,
    }
}

/// The tuner's design by other seeds, of data, calls and the simulation: how far the least and the most are from each other.
fn noise(
    name: &str,
    tuned: &Design,
    setting: &Setting,
    (seed, seeds): (u64, u64),
    cluster: &dyn Fn(u64) -> Cluster,
    first: f64,
) -> Result<f64, SweepError> {
    let (mut least, mut most) = (first, first);
    for seed in seed + 1..seed + seeds {
        let (_, stored) = small::read(name, setting.machines, seed)?;
        let stored = stored.with_design(tuned.clone())?;
        let measured = super::measure(&stored, &cluster(seed))?.calls_per_s;
        (least, most) = (least.min(measured), most.max(measured));
    }
    Ok(most / least - 1.0)
}

/// How tables are stored: what it is called, and the change of a table, with the default design's one beside it.
type Storing = (&'static str, fn(&mut TableDesign, &TableDesign));

const STORINGS: [Storing; 6] = [
    ("stored as tuned", |_, _| ()),
    ("stored by default", |table, default| stored_as(table, default)),
    ("inlined, 8 slots", |table, default| {
        stored_as(table, default);
        hashed(table, Storage::HashInlined, 8, 65);
        table.indexes.iter_mut().for_each(|index| index.kind = IndexKind::Hash);
    }),
    ("outside", |table, default| {
        stored_as(table, default);
        match default.placement {
            Placement::Dense { .. } => table.storage = Storage::HashOutside,
            Placement::Hashed { .. } => hashed(table, Storage::HashOutside, 2, 40),
        }
    }),
    ("trees of 256 bytes", |table, _| trees(table, 256)),
    ("trees of 2,048 bytes", |table, _| trees(table, 2048)),
];

fn stored_as(table: &mut TableDesign, other: &TableDesign) {
    let partition = table.partition.clone();
    *table = TableDesign { partition, ..other.clone() };
}

fn trees(table: &mut TableDesign, node_bytes: u32) {
    (table.storage, table.node_bytes) = (Storage::Tree, node_bytes);
    for index in &mut table.indexes {
        (index.kind, index.node_bytes) = (IndexKind::Tree, node_bytes);
    }
}

fn hashed(table: &mut TableDesign, storage: Storage, neighbourhood: u32, load_percent: u32) {
    (table.storage, table.neighbourhood) = (storage, neighbourhood);
    table.placement = Placement::Hashed { load_percent };
}

/// All combinations, those on the same tables together, and those as the tuner has stored and partitioned them first.
fn families(tuned: &Design, default: &Design, stored: &Stored) -> Vec<Family> {
    let mut all: Vec<Family> = Vec::new();
    for (storing, change) in STORINGS {
        let mut design = tuned.clone();
        for (at, of) in default.tables.iter().enumerate() {
            let before = design.tables[at].clone();
            change(&mut design.tables[at], of);
            // What procedures go through in order stays a tree.
            if stored.with_design(design.clone()).is_err() {
                let indexes = design.tables[at].indexes.clone();
                design.tables[at].indexes = before.indexes.clone();
                if stored.with_design(design.clone()).is_err() {
                    design.tables[at] = TableDesign { indexes, ..before.clone() };
                }
                if stored.with_design(design.clone()).is_err() {
                    design.tables[at] = before;
                }
            }
        }
        // Another way of storing may come to the same.
        if all.iter().flatten().any(|(_, known)| *known == design) {
            continue;
        }
        all.push(accesses(storing, &design));
        design.tables.iter_mut().for_each(|table| table.partition = Partition::RoundRobin);
        design.procedures.iter_mut().for_each(|of| {
            (of.access, of.by) = (Access::OneSided, None);
        });
        all.push(vec![(format!("{storing}, spread"), design)]);
    }
    all[0][0].0 = TUNED.to_owned();
    all
}

/// The design, and the same with all procedures carried out by verbs, and all that may be shipped.
fn accesses(storing: &str, design: &Design) -> Family {
    let with = |access: Access| {
        let mut design = design.clone();
        let told = design.procedures.iter_mut().filter(|of| of.by.is_some());
        told.for_each(|of| of.access = access);
        design
    };
    let mut family = vec![(format!("{storing}, access as tuned"), design.clone())];
    for (access, name) in [(Access::OneSided, "one-sided"), (Access::Shipped, "shipped")] {
        let other = with(access);
        if family.iter().all(|(_, known)| *known != other) {
            family.push((format!("{storing}, {name}"), other));
        }
    }
    family
}

impl Point {
    /// How far the forecast is from what was measured, as a share of that.
    pub(crate) fn error(&self) -> f64 {
        self.forecast_per_s / self.measured_per_s - 1.0
    }
}

impl Swept {
    /// Workload and hardware.
    pub(crate) fn name(&self) -> String {
        format!("{} on {}", self.workload, self.profile)
    }

    /// The tuner's design.
    pub(crate) fn tuned(&self) -> &Point {
        &self.points[0]
    }

    /// The design with the best throughput as measured.
    pub(crate) fn best(&self) -> &Point {
        let best =
            |one: &&Point, other: &&Point| one.measured_per_s.total_cmp(&other.measured_per_s);
        self.points.iter().max_by(best).expect("the tuner's design is one")
    }

    /// What the tuner's design lacks of the best one, as a share of that.
    pub(crate) fn regret(&self) -> f64 {
        1.0 - self.tuned().measured_per_s / self.best().measured_per_s
    }

    /// How far each forecast is off.
    pub(crate) fn errors(&self) -> impl Iterator<Item = f64> {
        self.points.iter().map(|point| point.error().abs())
    }

    /// The median of that.
    pub(crate) fn median_error(&self) -> f64 {
        median(&self.errors().collect::<Vec<_>>())
    }

    /// Pairs that differ in what was measured, and how many of them are forecast in the right order: these first.
    pub(crate) fn pairs(&self) -> (usize, usize) {
        let (mut right, mut all) = (0, 0);
        for (at, one) in self.points.iter().enumerate() {
            for other in &self.points[at + 1..] {
                let (less, more) = match one.measured_per_s < other.measured_per_s {
                    true => (one, other),
                    false => (other, one),
                };
                if more.measured_per_s > less.measured_per_s * (1.0 + DIFFERS) {
                    all += 1;
                    right += usize::from(more.forecast_per_s > less.forecast_per_s);
                }
            }
        }
        (right, all)
    }
}

/// The median; of an even number the higher one of the middle.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn swept(points: &[(f64, f64)]) -> Swept {
        let point = |&(forecast_per_s, measured_per_s)| Point {
            name: String::new(),
            forecast_per_s,
            measured_per_s,
            retries_percent: 0.0,
            bottleneck: String::new(),
            busiest: String::new(),
        };
        let points = points.iter().map(point).collect();
        Swept { workload: "w", profile: "p", points, noise: 0.0 }
    }

    #[test]
    fn regret_errors_and_order_are_counted() {
        let swept = swept(&[(9.0, 9.0), (8.0, 10.0), (4.0, 5.0), (5.0, 5.1)]);
        assert!((swept.regret() - 0.1).abs() < 1e-12);
        assert!((swept.median_error() - 0.2).abs() < 1e-12);
        // 9 against 10 is forecast the wrong way; 5 and 5.1 do not differ.
        assert_eq!(swept.pairs(), (4, 5));
    }

    #[test]
    fn designs_of_a_sweep_differ_and_fit() {
        for name in small::NAMES {
            let (_, stored) = small::read(name, 4, 1).expect("it is in order");
            let text =
                std::fs::read_to_string(small::folder(name).join("designs/connectx3-fdr.json"));
            let tuned = Design::parse(&text.expect("it is there")).expect("it is a design");
            // Placements are of other units: storage, partitions and access are what matters here.
            let mut base = stored.default_design();
            for (table, tuned) in base.tables.iter_mut().zip(&tuned.tables) {
                table.partition = tuned.partition.clone();
            }
            base.procedures = tuned.procedures;
            let families = families(&base, &stored.default_design(), &stored);
            let all: Vec<&Design> = families.iter().flatten().map(|(_, design)| design).collect();
            assert!(all.len() >= 8, "{name} has {}", all.len());
            for (at, design) in all.iter().enumerate() {
                assert!(stored.with_design((*design).clone()).is_ok());
                assert!(!all[..at].contains(design), "{name}, design {at}");
            }
        }
    }
}
