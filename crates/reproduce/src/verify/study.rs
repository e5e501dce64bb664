//! The tuner's design of a workload beside the many of [`spade::tune::sweep`], each forecast and measured.

use super::{Cluster, VerifyError, measure_calls, small};
use layout::{IndexKind, Storage};
use procedure::node::Workload;
use spade::design::{Access, Design, Partition, Placement, TableDesign};
use spade::measurement::Measurements;
use spade::tune::{Forecaster, Input, Options, REMOTE_CALLS, TuneError, sweep, tune};
use spade::verify::Measured;
use std::path::PathBuf;
use stored::{FolderError, Stored};

/// Designs differ if what was measured of them does by more than this share.
pub(crate) const DIFFERS: f64 = 0.05;
/// The name of the design that the tuner has chosen.
const TUNED: &str = "tuned";
/// Differences that a name tells.
const TOLD_MAX: usize = 3;

/// A cluster with its measurements.
pub(crate) struct Setting {
    /// The profile of its hardware.
    pub profile: &'static str,
    /// Machines.
    pub machines: u16,
    /// The file of what was measured, among those that are shipped.
    pub measurements: &'static str,
}

/// How much is measured.
#[derive(Clone, Copy)]
pub(crate) struct Extent {
    /// Designs beside the tuner's, at most: of those of the sweep every so many.
    pub designs: usize,
    /// The first seed: of data, calls and the simulation.
    pub seed: u64,
    /// So many seeds.
    pub seeds: u64,
    /// Calls that are counted of each, about.
    pub calls: u64,
}

/// A design that was forecast and measured.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    /// What is different in it.
    pub name: String,
    /// Calls per second.
    pub forecast_per_s: f64,
    /// The same as measured: the mean over seeds.
    pub measured_per_s: f64,
    /// How far measurements by different seeds are from each other, as a share of the mean.
    pub noise: f64,
    /// Attempts that were made again, in percent.
    pub retries_percent: f64,
    /// The stage that is fullest by the forecast, and the busiest one as measured.
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
}

/// Why nothing could be swept.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StudyError {
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

/// Forecasts and measures the designs of a workload, each by several seeds, which follow each other.
pub(crate) fn study(
    name: &'static str,
    setting: &Setting,
    extent: Extent,
) -> Result<Swept, StudyError> {
    let (folder, stored) = small::read(name, setting.machines, extent.seed)?;
    let workload = Workload::read(&small::folder(name))?;
    let path = small::measurements(setting.measurements);
    let text = std::fs::read_to_string(&path).map_err(|error| StudyError::File(path, error))?;
    let measurements = Measurements::parse(&text)?;
    let input = Input { folder: &folder, workload: &workload, measurements: &measurements };
    let options = Options {
        hardware: Some(setting.profile.to_owned()),
        machines: Some(setting.machines.into()),
        units: Some(folder.load.units),
        ..Options::default()
    };
    let tuned = tune(input, &options)?.design;
    let all: Vec<Design> = sweep(input, &options)?.collect();
    let designs = picked(tuned, all, &stored, extent.designs);
    let lanes = measurements.points().first().map_or(1, |point| point.parameters.world.lanes);
    let measure = |stored: &Stored, design: &Design, seed: u64| -> Result<Measured, StudyError> {
        // Each on tables of its own: what is left in accounts, and of orders, is another thing when others have run before.
        let stored = stored.with_design(design.clone())?;
        Ok(measure_calls(&stored, &cluster(setting, lanes, seed), extent.calls)?)
    };
    let seeds: Vec<u64> = (extent.seed..extent.seed + extent.seeds).collect();
    let loads = seeds.iter().map(|seed| Ok(small::read(name, setting.machines, *seed)?.1));
    let loads: Vec<Stored> = loads.collect::<Result<_, StudyError>>()?;
    let forecaster = Forecaster::new(input, &options)?;
    let mut points = Vec::new();
    for design in &designs {
        let measured = loads.iter().zip(&seeds).map(|(load, seed)| measure(load, design, *seed));
        let measured: Vec<Measured> = measured.collect::<Result<_, StudyError>>()?;
        let rates: Vec<f64> = measured.iter().map(|of| of.calls_per_s).collect();
        let mean = |all: &[f64]| all.iter().sum::<f64>() / all.len() as f64;
        let most = rates.iter().copied().fold(0.0, f64::max);
        let least = rates.iter().copied().fold(most, f64::min);
        let retries: Vec<f64> = measured.iter().map(|of| of.retries_percent).collect();
        let forecast = forecaster.forecast(design)?.forecast;
        points.push(Point {
            name: name_of(design, &designs[0]),
            forecast_per_s: forecast.transactions_per_s[1],
            measured_per_s: mean(&rates),
            noise: (most - least) / mean(&rates),
            retries_percent: mean(&retries),
            bottleneck: forecast.bottleneck,
            busiest: measured[0].busiest.clone().map_or_else(String::new, |(stage, _)| stage),
        });
    }
    Ok(Swept { workload: name, profile: setting.profile, points })
}

/// The tuner's design, and as many of the others, evenly, as are wanted and can be built.
fn picked(tuned: Design, all: Vec<Design>, stored: &Stored, most: usize) -> Vec<Design> {
    let mut fitting: Vec<Design> = Vec::new();
    for design in all {
        let is_new = design != tuned && !fitting.contains(&design);
        if is_new && stored.with_design(design.clone()).is_ok() {
            fitting.push(design);
        }
    }
    let count = fitting.len().min(most);
    let others = (0..count).map(|at| fitting[at * fitting.len() / count].clone());
    std::iter::once(tuned).chain(others).collect()
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

/// What a design has otherwise than the tuner's.
fn name_of(design: &Design, tuned: &Design) -> String {
    let mut all = Vec::new();
    if let Some(same) = same_in_all(design, tuned) {
        all.push(format!("all {same}"));
    } else {
        let pairs = design.tables.iter().zip(&tuned.tables).filter(|(own, other)| own != other);
        all.extend(pairs.map(|(own, other)| table_name(own, other)));
    }
    let mut shipped: Vec<&str> = Vec::new();
    for of in design.procedures.iter().filter(|of| of.access == Access::Shipped) {
        shipped.push(&of.procedure);
    }
    let is_other =
        |(own, other): (&spade::design::ProcedureDesign, &spade::design::ProcedureDesign)| {
            own.access != other.access
        };
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

/// Some words, and how many more there are.
fn first(words: &[&str]) -> String {
    let told = words[..words.len().min(TOLD_MAX)].join(", ");
    match words.len().checked_sub(TOLD_MAX + 1) {
        Some(more) => format!("{told} and {} more", more + 1),
        None => told,
    }
}

/// How all tables are stored or spread, if all are alike and not so in the tuner's.
fn same_in_all(design: &Design, tuned: &Design) -> Option<String> {
    let [first, .., _] = &design.tables[..] else { return None };
    let stored = |of: &TableDesign| stored_as(of);
    let is_alike = design.tables.iter().all(|of| stored(of) == stored(first));
    let is_spread = |of: &TableDesign| of.partition == Partition::RoundRobin;
    let is_new = design.tables != tuned.tables;
    let spread = if design.tables.iter().all(is_spread) { ", spread" } else { "" };
    (is_alike && is_new).then(|| format!("{}{spread}", stored(first)))
}

fn table_name(own: &TableDesign, other: &TableDesign) -> String {
    let mut what = Vec::new();
    if stored_as(own) != stored_as(other) {
        what.push(stored_as(own));
    }
    if own.indexes != other.indexes {
        let index = |of: &spade::design::IndexDesign| match of.kind {
            IndexKind::Tree => format!("index in nodes of {}", of.node_bytes),
            IndexKind::Hash => "index hashed".to_owned(),
        };
        what.extend(own.indexes.iter().map(index));
    }
    if own.partition != other.partition {
        what.push(match &own.partition {
            Partition::By { columns, .. } => format!("by {}", columns.join(" and ")),
            _ => "spread".to_owned(),
        });
    }
    format!("{} {}", own.table, what.join(" "))
}

fn stored_as(of: &TableDesign) -> String {
    let inlined = if of.storage == Storage::HashInlined { "inlined" } else { "outside" };
    match (of.storage, &of.placement) {
        (Storage::Tree, _) => format!("trees of {} bytes", of.node_bytes),
        (_, Placement::Dense { .. }) => format!("{inlined}, dense"),
        (_, Placement::Hashed { load_percent }) => {
            format!("{inlined}, {} slots at {load_percent} %", of.neighbourhood)
        }
    }
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

    /// The design with the best throughput.
    pub(crate) fn best(&self) -> &Point {
        let best =
            |one: &&Point, other: &&Point| one.measured_per_s.total_cmp(&other.measured_per_s);
        self.points.iter().max_by(best).expect("the tuner's design is one")
    }

    /// What the tuner's design lacks of the best one, as a share of that.
    pub(crate) fn regret(&self) -> f64 {
        1.0 - self.tuned().measured_per_s / self.best().measured_per_s
    }

    /// The largest difference between seeds.
    pub(crate) fn noise(&self) -> f64 {
        self.points.iter().map(|point| point.noise).fold(0.0, f64::max)
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
            noise: 0.01,
            retries_percent: 0.0,
            bottleneck: String::new(),
            busiest: String::new(),
        };
        let points = points.iter().map(point).collect();
        Swept { workload: "w", profile: "p", points }
    }

    #[test]
    fn regret_errors_and_order_are_counted() {
        let mut swept = swept(&[(9.0, 9.0), (8.0, 10.0), (4.0, 5.0), (5.0, 5.1)]);
        assert!((swept.regret() - 0.1).abs() < 1e-12);
        assert!((swept.median_error() - 0.2).abs() < 1e-12);
        // 9 against 10 is forecast the wrong way; 5 and 5.1 do not differ.
        assert_eq!(swept.pairs(), (4, 5));
        swept.points[2].noise = 0.02;
        assert_eq!(swept.noise(), 0.02);
    }

    #[test]
    fn picked_designs_differ_and_are_named_by_what_differs() {
        let (_, stored) = small::read("tatp", 4, 1).expect("it is in order");
        let tuned = stored.default_design();
        let mut outside = tuned.clone();
        outside.tables[1].storage = Storage::HashOutside;
        let mut shipped = tuned.clone();
        shipped.procedures[0].access = Access::Shipped;
        let all = vec![outside.clone(), tuned.clone(), outside.clone()];
        let picked = picked(tuned.clone(), all, &stored, 9);
        assert_eq!(picked, [tuned.clone(), outside.clone()]);
        assert_eq!(name_of(&tuned, &tuned), TUNED);
        assert_eq!(name_of(&outside, &tuned), "access_info outside, dense");
        assert_eq!(
            name_of(&shipped, &tuned),
            format!("shipped {}", shipped.procedures[0].procedure)
        );
    }
}
