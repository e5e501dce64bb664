//! The report of the tuner, as types and JSON.

use super::text::many;
use crate::design::{Access, Design, Partition};
use crate::measurement::World;
use crate::tune::{Goal, Objective};
use serde::Serialize;

pub const FORMAT: u32 = 2;

/// A tuned design with forecasts, alternatives and reasons.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Tuning {
    pub format: u32,
    /// Workload and cluster.
    #[serde(flatten)]
    pub target: Target,
    pub objective: Objective,
    /// How designs were compared.
    pub model: Goal,
    /// The share of calls that arrive at another machine than the one with their rows. `None` if
    /// nothing determines the home of any call before it begins.
    pub remote_calls: Option<f64>,
    /// Copies of each row.
    pub replicas: u32,
    /// Bytes on each machine, and the budget.
    pub memory: Memory,
    pub forecast: Forecast,
    /// The forecast of the default design without partitions.
    pub baseline: Forecast,
    /// Retries as a percentage of all attempts when all lanes are busy.
    pub retries_percent: f64,
    /// Tables in the order of the schema.
    pub tables: Vec<TableReport>,
    /// Procedures in the order of the file.
    pub procedures: Vec<ProcedureReport>,
    /// Candidates for partitioning keys.
    pub attributes: Vec<AttributeReport>,
    /// The chosen partitioning, and others: spread over all machines, and by the next attribute
    /// first. The tuner selects attributes by their share of local rows.
    pub partitions: Vec<Alternative>,
    /// Assumptions of the forecasts.
    pub assumptions: Vec<String>,
    pub warnings: Vec<String>,
    pub design: Design,
}

/// The workload and cluster that a design is for.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Target {
    pub workload: String,
    /// The measured world.
    pub world: World,
    /// Machines of the design.
    pub machines: u32,
    /// Threads of each machine.
    pub threads: u32,
    /// Lanes of each machine: calls in progress at a time.
    pub lanes: u32,
    /// Units of scale.
    pub units: u64,
    /// Name of a unit.
    pub unit: String,
}

impl Target {
    /// Describes the size of the workload.
    pub fn scale(&self) -> String {
        format!("{} x {}", self.units, self.unit)
    }

    /// Describes the cluster.
    pub fn cluster(&self) -> String {
        let Self { machines, threads, lanes, world, .. } = self;
        format!(
            "on {} of {} ({}; measured with {}), {} and {} each",
            many(machines, "machine"),
            world.hardware,
            world.fabric,
            world.machines,
            many(threads, "thread"),
            many(lanes, "lane")
        )
    }
}

/// Memory of a design.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Memory {
    /// Bytes that the design needs on each machine.
    pub bytes_each: u64,
    /// Bytes allowed on each machine.
    pub budget: Option<u64>,
}

/// A forecast with the interval that follows from measurement noise.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Forecast {
    /// Transactions per second of the whole cluster: minimum, expected, maximum.
    pub transactions_per_s: [f64; 3],
    /// Mean latency of a call that runs alone, in microseconds: minimum, expected, maximum.
    pub latency_us: [f64; 3],
    /// The bottleneck stage.
    pub bottleneck: String,
    /// Utilization of each stage.
    pub stages: Vec<(String, f64)>,
}

/// One option of a decision.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Alternative {
    /// Description of the option.
    pub what: String,
    /// Forecast of the whole workload with this option, all others as chosen. `None` if it is not
    /// possible.
    pub forecast: Option<Brief>,
    /// Bytes on each machine.
    pub bytes_each: u64,
    pub verdict: Verdict,
    /// The reason.
    pub reason: String,
}

/// A short forecast.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Brief {
    pub transactions_per_s: f64,
    pub latency_us: f64,
    /// The bottleneck stage.
    pub bottleneck: String,
    /// The paper's averages for this decision alone: operations per second, and latency in
    /// microseconds.
    pub average: Option<(f64, f64)>,
    /// The interval; only of the choice and of the runner-up.
    pub interval: Option<Interval>,
}

/// Minimum and maximum of a forecast.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Interval {
    pub transactions_per_s: [f64; 2],
    pub latency_us: [f64; 2],
}

/// The outcome for an option.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It is part of the design.
    Chosen,
    /// The best other option.
    RunnerUp,
    /// Worse, or not possible.
    Rejected,
}

/// The report of a table.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct TableReport {
    pub table: String,
    /// Number of rows.
    pub rows: u64,
    /// Bytes of a row beside a key of 8 bytes.
    pub row_bytes: u64,
    /// Bytes on each machine, with indexes and old versions.
    pub bytes_each: u64,
    /// Which machine has which rows.
    pub partition: Partition,
    /// The reason for the partitioning.
    pub partition_reason: String,
    /// Storage options of its rows, the best first.
    pub candidates: Vec<Alternative>,
    pub indexes: Vec<IndexReport>,
    /// Options for old versions beside its rows, the best first. Empty if the tuner did not decide
    /// this.
    pub versions: Vec<Alternative>,
    /// Operations on it, the most frequent first.
    pub drivers: Vec<Driver>,
    /// Cost of writing it, per call of the workload.
    pub writes: WriteCost,
}

/// The report of an index.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct IndexReport {
    pub index: String,
    /// Storage options, the best first.
    pub candidates: Vec<Alternative>,
}

/// An operation of a statement on a table.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Driver {
    /// Procedure and number of the statement.
    pub statement: String,
    /// The operation.
    pub what: String,
    /// Mean number of executions per call of the workload.
    pub per_call: f64,
}

/// The mean cost of a write to a table, or of a procedure.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct WriteCost {
    /// Mean number of writes per call of the workload, or of the procedure.
    pub per_call: f64,
    /// Verbs of one write.
    pub verbs: f64,
    /// Nanoseconds of cores for one write.
    pub core_ns: f64,
    /// Nanoseconds of cards' engines for one write.
    pub engine_ns: f64,
}

/// The report of a procedure.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ProcedureReport {
    pub procedure: String,
    /// Its share of all calls.
    pub share: f64,
    /// How it accesses rows of another machine.
    pub access: Access,
    /// The argument that locates its rows.
    pub by: Option<String>,
    /// The share of its rows on the call's home machine.
    pub local: f64,
    /// Latency of a call at home, in microseconds.
    pub home_latency_us: f64,
    /// Options for calls on another machine: one-sided and shipped.
    pub candidates: Vec<AccessReport>,
    /// Its operations in program order.
    pub operations: Vec<Driver>,
}

/// One kind of access to rows of another machine.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct AccessReport {
    pub access: Access,
    /// Latency of a call on another machine, in microseconds.
    pub latency_us: Option<f64>,
    /// Calls of this kind per second of the cluster, if no others are made.
    pub calls_per_s: Option<f64>,
    /// The bottleneck stage of such calls.
    pub bottleneck: Option<String>,
    /// Forecast of the whole workload with this option, all others as chosen. `None` if it is not
    /// possible.
    pub forecast: Option<Brief>,
    /// Bytes on each machine; they do not depend on the access.
    pub bytes_each: u64,
    /// Cost of the writes of such a call, without the message that ships it.
    pub writes: WriteCost,
    pub verdict: Verdict,
    /// The reason.
    pub reason: String,
}

/// A candidate for the partitioning key.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct AttributeReport {
    pub columns: Vec<String>,
    /// The share of operations that have a value of it.
    pub covered: f64,
    /// The share of operations that find their rows on the machine of the call.
    pub local: f64,
    /// Whether tables are partitioned by it.
    pub verdict: Verdict,
    /// The reason.
    pub reason: String,
}
