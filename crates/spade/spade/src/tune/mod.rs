//! The tuner: computes a physical design from a workload, its load and the measurements of a cluster
//! [SPADE 4].
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
use forecast::given_design::Given;
use procedure::node::Workload;
use search::choose::Judge;
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

/// What is wanted of a design.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Objective {
    /// As many transactions as can be.
    Throughput,
    /// Each as soon as can be.
    Latency,
}

/// By what designs are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Goal {
    /// Service times of all operations, added up for each stage of a machine.
    ServiceTimes,
    /// The paper's weighted averages of throughput or latency.
    WeightedAverages,
}

/// What is tuned.
#[derive(Clone, Copy)]
pub struct Input<'a> {
    /// Schema, procedures and load.
    pub folder: &'a WorkloadFolder,
    /// The same procedures with their plans.
    pub workload: &'a Workload,
    /// What was measured.
    pub measurements: &'a Measurements,
}

/// How it is tuned.
#[derive(Clone, PartialEq, Debug)]
pub struct Options {
    /// What is wanted.
    pub objective: Objective,
    /// By what designs are compared.
    pub goal: Goal,
    /// Bytes that tables and indexes may take on each machine; what `workload.toml` says if nothing is said here.
    pub memory_budget: Option<u64>,
    /// The hardware by its name in the measurements; if nothing is said that of `workload.toml`, or the only one that was measured.
    pub hardware: Option<String>,
    /// Machines; as many as `workload.toml` says if nothing is said here.
    pub machines: Option<u32>,
    /// Units of scale, likewise.
    pub units: Option<u64>,
    /// The share of calls that come to another machine than that of their rows.
    pub remote_calls: f64,
    /// Copies of each row.
    pub replicas: u32,
    /// Threads of each machine; as many as were measured if nothing is said here.
    pub threads: Option<u32>,
    /// Calls that are under way on each machine when all lanes are busy, likewise.
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

/// Why nothing can be tuned.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TuneError {
    /// There are no measurements at all.
    #[error("the measurements have no points; make some with `namdb spade measure`")]
    NoMeasurements,
    /// There are none of this hardware.
    #[error(
        "nothing was measured on {wanted}, only on {}; measure it with `namdb spade measure --profile {wanted}`, or name one of \
         these with --profile", .known.join(", ")
    )]
    NoSuchHardware {
        /// What was asked for.
        wanted: String,
        /// What there is.
        known: Vec<String>,
    },
    /// There are several, and nobody says which is meant.
    #[error(
        "there are measurements of {}; say which one is meant with --profile, or in workload.toml under [machines]",
        .known.join(", ")
    )]
    WhichHardware {
        /// What there is.
        known: Vec<String>,
    },
    /// The world has only one machine, and several are asked for.
    #[error(
        "{world} was measured on one machine, where no row is remote; a design for {machines} machines takes measurements of a \
         cluster, real or simulated"
    )]
    OneMachine {
        /// The fabric with its hardware.
        world: String,
        /// Machines asked for.
        machines: u32,
    },
    /// The number of copies was not measured.
    #[error(
        "nothing was measured with {replicas} copies of each row; tune for another number, or measure a simulated cluster in \
         full"
    )]
    Replicas {
        /// What was asked for.
        replicas: u32,
    },
    /// No procedure is ever called.
    #[error(
        "no procedure of {workload} has a frequency above 0 in workload.toml, so that nothing is to be tuned for"
    )]
    NoFrequency {
        /// The workload.
        workload: String,
    },
    /// What is called reads and writes no table.
    #[error(
        "no procedure of {workload} that is called asks for rows of a table, so that nothing is to be tuned for; give one that \
         does a frequency above 0 in workload.toml"
    )]
    NothingAsked {
        /// The workload.
        workload: String,
    },
    /// Rows or arguments cannot be drawn.
    #[error(transparent)]
    Population(#[from] PopulationError),
    /// Operations were not measured.
    #[error(
        "the measurements lack what {} asks for: {}; if `namdb spade measure` was ended early, let it go on with the same file, \
         or else measure again without {without}, on the same world",
        .procedures.join(", "), .operations.join("; ")
    )]
    NotMeasured {
        /// The procedures that cannot be forecast.
        procedures: Vec<String>,
        /// What they ask for, in words: the operation, through what, where.
        operations: Vec<String>,
        /// The option by which less was measured.
        without: &'static str,
    },
    /// A design that is to be forecast does not fit the workload.
    #[error("the design does not fit the workload: {}", .problems.join("; "))]
    Design {
        /// What does not fit, a sentence each.
        problems: Vec<String>,
    },
    /// There is too little memory.
    #[error(
        "the smallest design takes {} on each machine ({needed} bytes), and only {} are allowed ({budget} bytes); allow more \
         memory, more machines, or fewer units",
        report::reasons::bytes(*needed),
        report::reasons::bytes(*budget)
    )]
    Memory {
        /// Bytes of the smallest design.
        needed: u64,
        /// Bytes that are allowed.
        budget: u64,
    },
}

/// Decides how a workload is stored, partitioned and carried out.
///
/// # Errors
/// See [`TuneError`].
pub fn tune(input: Input<'_>, options: &Options) -> Result<Tuning, TuneError> {
    let facts = Facts::new(input, options)?;
    let grouping = facts.grouping();
    let model = facts.model_as_written(&grouping);
    let judge = Judge {
        model: &model,
        objective: options.objective,
        goal: options.goal,
        budget: facts.chosen.budget,
    };
    let plan = judge.best()?;
    Ok(report::explain::explain(&facts, &judge, &plan))
}

/// Forecasts a design that is given, whoever has made it: [`Forecaster`] for one design alone.
///
/// # Errors
/// See [`TuneError`]; [`TuneError::Design`] tells everything about the design that does not fit the workload.
pub fn forecast(
    input: Input<'_>,
    options: &Options,
    design: &Design,
) -> Result<DesignForecast, TuneError> {
    Forecaster::new(input, options)?.forecast(design)
}

/// Forecasts designs of one workload on one cluster.
///
/// The forecast of what [`tune`] has decided is the tuner's own. Options say what it would be tuned for: hardware, machines, units,
/// calls that come elsewhere and copies; what is wanted makes no difference, and a memory budget is only compared with. A design that
/// is for other units is brought to these first, as `bench` has it ([`rescale`](crate::scale::rescale)).
pub struct Forecaster<'a>(Facts<'a>);

impl<'a> Forecaster<'a> {
    /// Reads what does not depend on designs.
    ///
    /// # Errors
    /// See [`TuneError`].
    pub fn new(input: Input<'a>, options: &'a Options) -> Result<Self, TuneError> {
        Ok(Self(Facts::new(input, options)?))
    }

    /// The forecast of a design.
    ///
    /// # Errors
    /// [`TuneError::Design`] tells everything about the design that does not fit the workload, [`TuneError::NotMeasured`] what of it
    /// was not measured.
    pub fn forecast(&self, design: &Design) -> Result<DesignForecast, TuneError> {
        let given = Given::new(&self.0, design)?;
        let model = self.0.model_by(&given.grouping, |procedure| given.by[procedure]);
        forecast::design_forecast::foretell(&self.0, &model, &given)
    }

    /// Transactions a second that a design is expected to reach, and the stage that is full first: [`Self::forecast`] without intervals and
    /// details, for who compares many.
    ///
    /// # Errors
    /// As [`Self::forecast`].
    pub fn throughput(&self, design: &Design) -> Result<(f64, &'static str), TuneError> {
        let given = Given::new(&self.0, design)?;
        let model = self.0.model_by(&given.grouping, |procedure| given.by[procedure]);
        forecast::design_forecast::throughput(&model, &given)
    }
}

/// Designs to compare the tuner's with, at most 200, always the same: which ones, and why they are enough, is told in `sweep.rs` and in
/// `docs/spade.md`. None is chosen or left out by a forecast.
///
/// # Errors
/// See [`TuneError`].
pub fn sweep(
    input: Input<'_>,
    options: &Options,
) -> Result<impl Iterator<Item = Design>, TuneError> {
    Ok(search::sweep::designs(&Facts::new(input, options)?).into_iter())
}
