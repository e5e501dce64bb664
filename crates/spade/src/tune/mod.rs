//! The tuner: from a workload, its load, and what was measured of a cluster to a physical design [SPADE 4].
//!
//! ```text
//! draws, branch   arguments as they are drawn, and which branches they take
//! limit           how many rows of a range a statement wants
//! asked           what a call of each procedure asks of each table, and how often
//! group           which tables are together, by which columns [SPADE 4.2]
//! surface, cost   what an operation costs on any design, between and around the points measured
//! candidate       what tables and indexes may be stored as, and how much memory that takes
//! model           what the workload costs with a design, stage by stage
//! average         the paper's weighted averages, to compare with [SPADE 4.1]
//! choose          the search
//! world           which of the measured clusters is tuned for
//! report          what was decided, with forecasts, runners-up and reasons
//! show, html      that as text, and as a page with pictures
//! ```
//! The same input gives the same bytes: there is no clock here, no I/O and no order of hashes, and drawn calls have a seed.

mod asked;
mod average;
mod branch;
mod candidate;
mod choose;
mod cost;
mod draws;
mod explain;
mod group;
mod html;
mod limit;
mod model;
mod report;
mod show;
mod surface;
mod world;

use crate::measurement::Measurements;
use asked::Asked;
use candidate::Shape;
use choose::Judge;
use draws::{Drawn, Draws};
use model::{Call, Model};
use population::PopulationError;
use procedure::node::Workload;
use serde::Serialize;
use sql::WorkloadFolder;
use sql::load::Expectation;
use surface::Surface;

pub use report::{
    AccessReport, Alternative, AttributeReport, Brief, Driver, Forecast, IndexReport, Memory,
    ProcedureReport, TableReport, Tuning, Verdict, WriteCost,
};

/// The share of calls that come to another machine than that of their rows, if nobody says otherwise: what the paper has set for TATP
/// [SPADE 5.3].
pub const REMOTE_CALLS: f64 = 0.1;

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
    /// The hardware by its name in the measurements; that of `workload.toml`, or the only one, if nothing is said.
    pub hardware: Option<String>,
    /// Machines; as many as `workload.toml` says if nothing is said here.
    pub machines: Option<u32>,
    /// Units of scale, likewise.
    pub units: Option<u64>,
    /// The share of calls that come to another machine than that of their rows.
    pub remote_calls: f64,
    /// Copies of each row.
    pub replicas: u32,
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
        "the measurements lack operations that {} asks for; measure again without --seconds, on the same world",
        .operations.join(", ")
    )]
    NotMeasured {
        /// The procedures that cannot be forecast.
        operations: Vec<String>,
    },
    /// There is too little memory.
    #[error(
        "the smallest design takes {needed} bytes on each machine, and only {budget} are allowed; allow more memory, more \
         machines, or fewer units"
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
    let WorkloadFolder { program, load, .. } = input.folder;
    let all: f64 = load.procedures.iter().map(|of| of.frequency).sum();
    if all <= 0.0 {
        return Err(TuneError::NoFrequency { workload: load.name.clone() });
    }
    let chosen = world::choose(input.measurements, load, options)?;
    let surface = Surface::new(input.measurements, &chosen.world);
    if options.replicas > 1 && !surface.has_replicas(options.replicas) {
        return Err(TuneError::Replicas { replicas: options.replicas });
    }
    let units = options.units.unwrap_or(load.units);
    let draws = Draws::new(program, load, units)?;
    let procedures = input.workload.procedures.iter().enumerate();
    let drawn: Vec<Drawn<'_>> = procedures.clone().map(|(at, of)| draws.of(at, of)).collect();
    let asked: Vec<Asked> = procedures
        .zip(&drawn)
        .map(|((at, procedure), drawn)| {
            let share = load.procedures.get(at).map_or(0.0, |of| of.frequency / all);
            Asked::new(input.workload, procedure, share, *drawn)
        })
        .collect();
    let mut called = asked.iter().filter(|of| of.share > 0.0).flat_map(|of| &of.asks);
    if !called.any(|ask| ask.times > 0.0) {
        return Err(TuneError::NothingAsked { workload: load.name.clone() });
    }
    let catalog = &input.workload.catalog;
    let tables = catalog.tables.iter().enumerate();
    let is_coherent = matches!(&*chosen.world.fabric, "local" | "shm");
    let shapes: Vec<Shape> = tables
        .map(|(at, table)| Shape::new(table, at, draws.rows[at], &asked, load, units, !is_coherent))
        .collect();
    let question = group::Question {
        catalog,
        load,
        expectation: Expectation::new(load, units),
        asked: &asked,
        drawn: &drawn,
        rows: &draws.rows,
        bytes: shapes.iter().map(Shape::row_sum).collect(),
        copied_max: chosen.budget.map_or(group::COPIED_MAX, |budget| budget / 10),
        machines: chosen.machines,
    };
    let grouping = group::group(&question);
    let calls = asked.iter().zip(&drawn);
    let calls = calls.map(|(of, drawn)| Call::new(of, *drawn, catalog, &grouping, chosen.machines));
    let kinds = |table: &sql::Table| table.indexes.iter().map(|index| index.kind).collect();
    let model = Model {
        surface: &surface,
        asked: &asked,
        shapes: &shapes,
        declared: catalog.tables.iter().map(kinds).collect(),
        grouping: &grouping,
        calls: calls.collect(),
        machines: chosen.machines,
        remote_calls: options.remote_calls,
        replicas: options.replicas,
    };
    let judge = Judge { model: &model, objective: options.objective, goal: options.goal };
    let plan = judge.best(chosen.budget)?;
    Ok(explain::explain(&judge, &plan, &chosen, catalog, load, units, &drawn))
}
