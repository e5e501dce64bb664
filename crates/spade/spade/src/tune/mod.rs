//! The tuner: computes a physical design from a workload, its load and the measurements of a
//! cluster [SPADE 4].
//!
//! ```text
//! world        selects the measured cluster
//! workload     which operations calls execute, and how tables are partitioned
//! facts        collects everything that does not depend on a design
//! model        a workload on a cluster, and plans: designs in the tuner's own form
//! cost         service times of operations and procedures
//! contention   queues, conflicts, retries; the throughput that results
//! search       storage options, comparison of designs, the search
//! forecast     forecasts of designs that the user supplies
//! report       forecasts, runners-up, reasons and warnings, as text and HTML
//! ```
//! The same input gives the same bytes: the tuner reads no clock and does no I/O, iterates no hash
//! map, and draws calls with a fixed seed.

mod contention;
mod cost;
mod facts;
mod forecast;
mod model;
mod report;
mod search;
mod workload;
mod world;

use crate::design::Design;
use crate::measurement::Measurements;
use datagen::PopulationError;
use facts::Facts;
use forecast::given_design::ConvertedDesign;
use procedure::node::Workload;
use search::choose::Search;
use serde::Serialize;
use sql::WorkloadFolder;

pub use forecast::design_forecast::{
    DesignForecast, ProcedureForecast, StageDemand, TableForecast,
};
pub use report::side_by_side::{Named, beside};
pub use report::tuning::{
    AccessReport, Alternative, AttributeReport, Brief, Driver, Forecast, IndexReport, Interval,
    Memory, ProcedureReport, TableReport, Target, Tuning, Verdict, WriteCost,
};

pub use spade_format::design::REMOTE_CALLS;

/// The goal of the optimization.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Objective {
    Throughput,
    /// Mean latency of a call.
    Latency,
}

/// How designs are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Goal {
    /// Service times of all operations, added up for each stage of a machine.
    ServiceTimes,
    /// The paper's weighted averages of throughput or latency.
    WeightedAverages,
}

/// The input of the tuner.
#[derive(Clone, Copy)]
pub struct Input<'a> {
    /// Schema, procedures and load.
    pub folder: &'a WorkloadFolder,
    /// The same procedures with their plans.
    pub workload: &'a Workload,
    pub measurements: &'a Measurements,
}

/// Options of the tuner.
#[derive(Clone, PartialEq, Debug)]
pub struct Options {
    pub objective: Objective,
    /// How designs are compared.
    pub goal: Goal,
    /// Bytes that tables and indexes may take on each machine. `None`: the value of
    /// `workload.toml`.
    pub memory_budget: Option<u64>,
    /// Name of the hardware in the measurements. `None`: that of `workload.toml`, or the only one
    /// that was measured.
    pub hardware: Option<String>,
    /// Number of machines. `None`: the value of `workload.toml`.
    pub machines: Option<u32>,
    /// Units of scale. `None`: the value of `workload.toml`.
    pub units: Option<u64>,
    /// The share of calls that arrive at another machine than the one with their rows.
    pub remote_calls: f64,
    /// Copies of each row.
    pub replicas: u32,
    /// Threads of each machine. `None`: as measured.
    pub threads: Option<u32>,
    /// Lanes of each machine: calls in progress at a time. `None`: as measured.
    pub lanes: Option<u32>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            objective: Objective::Throughput,
            goal: Goal::ServiceTimes,
            memory_budget: None,
            hardware: None,
            machines: None,
            units: None,
            remote_calls: REMOTE_CALLS,
            replicas: 1,
            threads: None,
            lanes: None,
        }
    }
}

/// Why the tuner returns no design.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TuneError {
    /// The measurements are empty.
    #[error("the measurements have no points; make some with `namdb spade measure`")]
    NoMeasurements,
    /// The requested hardware was not measured.
    #[error(
        "nothing was measured on {wanted}, only on {}; measure it with `namdb spade measure --profile {wanted}`, or name one of \
         these with --profile", .known.join(", ")
    )]
    NoSuchHardware {
        wanted: String,
        /// The hardware that was measured.
        known: Vec<String>,
    },
    /// Several kinds of hardware were measured, and none is selected.
    #[error(
        "the measurements are of {}; select one with --profile, or in workload.toml under [machines]",
        .known.join(", ")
    )]
    WhichHardware {
        /// The hardware that was measured.
        known: Vec<String>,
    },
    /// Measurements of a single machine cannot forecast a cluster.
    #[error(
        "{world} was measured on one machine, where no row is remote; a design for {machines} machines needs measurements of a \
         cluster, real or simulated"
    )]
    OneMachine {
        /// Fabric and hardware.
        world: String,
        /// Requested number of machines.
        machines: u32,
    },
    /// This number of copies was not measured.
    #[error(
        "nothing was measured with {replicas} copies of each row; tune for another number, or measure a simulated cluster in \
         full"
    )]
    Replicas {
        /// Requested number of copies.
        replicas: u32,
    },
    /// No procedure has a frequency.
    #[error(
        "no procedure of {workload} has a frequency above 0 in workload.toml; set that of at least one"
    )]
    NoFrequency { workload: String },
    /// No called procedure accesses a table.
    #[error(
        "no called procedure of {workload} accesses a table; set the frequency of one that does in \
         workload.toml"
    )]
    NothingAsked { workload: String },
    /// Rows or arguments cannot be drawn.
    #[error(transparent)]
    Population(#[from] PopulationError),
    /// Points are missing.
    #[error(
        "the measurements lack operations that {} needs: {}; if `namdb spade measure` was interrupted, continue it with the \
         same file; otherwise measure again without {without} on the same cluster",
        .procedures.join(", "), .operations.join("; ")
    )]
    NotMeasured {
        procedures: Vec<String>,
        /// The missing operations: kind, access path, place.
        operations: Vec<String>,
        /// The option that shortened the measurement.
        without: &'static str,
    },
    /// The design does not fit the workload.
    #[error("the design does not fit the workload: {}", .problems.join("; "))]
    Design {
        /// The problems, a sentence each.
        problems: Vec<String>,
    },
    /// The memory budget is too small.
    #[error(
        "the smallest design needs {} on each machine ({needed} bytes), but only {} are allowed ({budget} bytes); allow more \
         memory, more machines, or fewer units",
        report::reasons::bytes(*needed),
        report::reasons::bytes(*budget)
    )]
    Memory {
        /// Bytes of the smallest design.
        needed: u64,
        /// Allowed bytes.
        budget: u64,
    },
}

/// Computes the design of a workload: storage, partitioning and execution.
///
/// # Errors
/// See [`TuneError`].
pub fn tune(input: Input<'_>, options: &Options) -> Result<Tuning, TuneError> {
    let facts = Facts::new(input, options)?;
    let grouping = facts.grouping();
    let model = facts.model_as_written(&grouping);
    let search = Search {
        model: &model,
        objective: options.objective,
        goal: options.goal,
        budget: facts.chosen.budget,
    };
    let plan = search.best()?;
    Ok(report::explain::explain(&facts, &search, &plan))
}

/// Forecasts one design; see [`Forecaster`].
///
/// # Errors
/// See [`TuneError`]; [`TuneError::Design`] lists everything that does not fit the workload.
pub fn forecast(
    input: Input<'_>,
    options: &Options,
    design: &Design,
) -> Result<DesignForecast, TuneError> {
    Forecaster::new(input, options)?.forecast(design)
}

/// Forecasts designs of one workload on one cluster.
///
/// For a design of [`tune`], the forecast equals the tuner's own. The options select hardware,
/// machines, units, remote calls and copies. The objective has no effect, and exceeding the memory
/// budget only causes a warning. A design for other units is converted first, as `bench` does
/// ([`rescale`](crate::scale::rescale)).
pub struct Forecaster<'a>(Facts<'a>);

impl<'a> Forecaster<'a> {
    /// Collects the facts that do not depend on a design.
    ///
    /// # Errors
    /// See [`TuneError`].
    pub fn new(input: Input<'a>, options: &'a Options) -> Result<Self, TuneError> {
        Ok(Self(Facts::new(input, options)?))
    }

    /// The forecast of a design.
    ///
    /// # Errors
    /// [`TuneError::Design`] lists everything that does not fit the workload,
    /// [`TuneError::NotMeasured`] the missing points.
    pub fn forecast(&self, design: &Design) -> Result<DesignForecast, TuneError> {
        let given = ConvertedDesign::new(&self.0, design)?;
        let model = self.0.model_by(&given.grouping, |procedure| given.by[procedure]);
        forecast::design_forecast::forecast_design(&self.0, &model, &given)
    }

    /// Transactions per second of a design, and its bottleneck stage: a fast [`Self::forecast`] for
    /// comparing many designs, without intervals and details.
    ///
    /// # Errors
    /// As [`Self::forecast`].
    pub fn throughput(&self, design: &Design) -> Result<(f64, &'static str), TuneError> {
        let given = ConvertedDesign::new(&self.0, design)?;
        let model = self.0.model_by(&given.grouping, |procedure| given.by[procedure]);
        forecast::design_forecast::throughput(&model, &given)
    }
}

/// Designs to compare the tuner's with: at most 200, always the same, selected without any
/// forecast. `search/sweep.rs` and `docs/spade/reference.md` say which ones.
///
/// # Errors
/// See [`TuneError`].
pub fn sweep(
    input: Input<'_>,
    options: &Options,
) -> Result<impl Iterator<Item = Design>, TuneError> {
    Ok(search::sweep::designs(&Facts::new(input, options)?).into_iter())
}
