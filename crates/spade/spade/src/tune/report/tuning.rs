//! What was decided, for programs and for who reads on.

use super::text::many;
use crate::design::{Access, Design, Partition};
use crate::measurement::World;
use crate::tune::{Goal, Objective};
use serde::Serialize;

/// Version of the report's schema.
pub const FORMAT: u32 = 2;

/// A tuned design with everything that speaks for it.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Tuning {
    /// Version of this schema.
    pub format: u32,
    /// What the design is for.
    #[serde(flatten)]
    pub target: Target,
    /// What was wanted.
    pub objective: Objective,
    /// By what designs were compared.
    pub model: Goal,
    /// The share of calls that come to another machine than that of their rows; none where nothing tells it of any call before it begins.
    pub remote_calls: Option<f64>,
    /// Copies of each row.
    pub replicas: u32,
    /// Bytes on each machine, and how many are allowed.
    pub memory: Memory,
    /// What the design should reach.
    pub forecast: Forecast,
    /// What the usual design without partitions should reach.
    pub baseline: Forecast,
    /// Attempts that are made again when all lanes are busy, of all, in percent.
    pub retries_percent: f64,
    /// The tables, in the order of the schema.
    pub tables: Vec<TableReport>,
    /// The procedures, in the order of the file.
    pub procedures: Vec<ProcedureReport>,
    /// What rows could be partitioned by.
    pub attributes: Vec<AttributeReport>,
    /// How rows are partitioned, and how they could be: spread over all machines, and by the next attribute first. Attributes are chosen by rows at home.
    pub partitions: Vec<Alternative>,
    /// What had to be assumed.
    pub assumptions: Vec<String>,
    /// What to look at.
    pub warnings: Vec<String>,
    /// The design.
    pub design: Design,
}

/// What a design is for.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Target {
    /// The workload.
    pub workload: String,
    /// What was measured.
    pub world: World,
    /// Machines that the design is for.
    pub machines: u32,
    /// Threads of each.
    pub threads: u32,
    /// Lanes of each: calls that are under way when all are busy.
    pub lanes: u32,
    /// Units of scale.
    pub units: u64,
    /// What one unit is.
    pub unit: String,
}

impl Target {
    /// How large the workload is, in words.
    pub fn scale(&self) -> String {
        format!("{} x {}", self.units, self.unit)
    }

    /// The cluster in words.
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

/// Bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Memory {
    /// That the design takes of each machine.
    pub bytes_each: u64,
    /// That it may take.
    pub budget: Option<u64>,
}

/// A forecast with its interval: how far repetitions of the measurements are from their median.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Forecast {
    /// Transactions of the whole cluster per second: least, expected, most.
    pub transactions_per_s: [f64; 3],
    /// Latency of a call in microseconds while nothing else runs: least, expected, most.
    pub latency_us: [f64; 3],
    /// The stage that is full first.
    pub bottleneck: String,
    /// The share of its time that each stage is taken then.
    pub stages: Vec<(String, f64)>,
}

/// One of several possibilities.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Alternative {
    /// What.
    pub what: String,
    /// What the whole workload should reach with it, all else as decided; nothing where that cannot be.
    pub forecast: Option<Brief>,
    /// Bytes on each machine.
    pub bytes_each: u64,
    /// Whether it is chosen, comes next, or is rejected.
    pub verdict: Verdict,
    /// Why.
    pub reason: String,
}

/// A forecast in short.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Brief {
    /// Transactions per second.
    pub transactions_per_s: f64,
    /// Latency in microseconds.
    pub latency_us: f64,
    /// The stage that is full first.
    pub bottleneck: String,
    /// By the paper's averages: operations per second and latency in microseconds of this decision alone.
    pub average: Option<(f64, f64)>,
    /// Between what the measurements' repetitions have both, of what is chosen and of what comes next.
    pub interval: Option<Interval>,
}

/// Least and most of a forecast.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Interval {
    /// Of transactions per second.
    pub transactions_per_s: [f64; 2],
    /// Of latency in microseconds.
    pub latency_us: [f64; 2],
}

/// What became of a possibility.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It is the design's.
    Chosen,
    /// The best of the others.
    RunnerUp,
    /// Less good, or impossible.
    Rejected,
}

/// A table.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct TableReport {
    /// Its name.
    pub table: String,
    /// Its rows.
    pub rows: u64,
    /// Bytes of a row beside a key of 8 bytes.
    pub row_bytes: u64,
    /// Bytes on each machine, with indexes and old versions.
    pub bytes_each: u64,
    /// Where its rows are.
    pub partition: Partition,
    /// Why there.
    pub partition_reason: String,
    /// How its rows could be stored, the best first.
    pub candidates: Vec<Alternative>,
    /// Its indexes.
    pub indexes: Vec<IndexReport>,
    /// How many old versions could be beside its rows, the best first; none where that was not decided.
    pub versions: Vec<Alternative>,
    /// What is asked of it, the most frequent first.
    pub drivers: Vec<Driver>,
    /// What writing it takes of an average call.
    pub writes: WriteCost,
}

/// An index.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct IndexReport {
    /// Its name.
    pub index: String,
    /// How it could be stored, the best first.
    pub candidates: Vec<Alternative>,
}

/// A statement and what it asks of a table.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Driver {
    /// Procedure and statement.
    pub statement: String,
    /// What.
    pub what: String,
    /// How often for each call of the workload, on the average.
    pub per_call: f64,
}

/// What the writes to a table, or those of a procedure, take.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct WriteCost {
    /// Writes for each call, on the average: of the workload, or of the procedure.
    pub per_call: f64,
    /// Requests of cards and memory that one takes.
    pub verbs: f64,
    /// Nanoseconds of a core for one.
    pub core_ns: f64,
    /// Nanoseconds of cards' engines for one.
    pub engine_ns: f64,
}

/// A procedure.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ProcedureReport {
    /// Its name.
    pub procedure: String,
    /// Its share of all calls.
    pub share: f64,
    /// By what it reaches rows of another machine.
    pub access: Access,
    /// The argument that tells whose they are.
    pub by: Option<String>,
    /// The share of its rows on the machine that the call is at home on.
    pub local: f64,
    /// What a call takes at home: latency in microseconds.
    pub home_latency_us: f64,
    /// Called elsewhere, one-sided and shipped, with latencies of such a call, and forecasts for the workload.
    pub candidates: Vec<AccessReport>,
    /// What it does, in the order of the program.
    pub operations: Vec<Driver>,
}

/// One way to reach rows of another machine.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct AccessReport {
    /// The way.
    pub access: Access,
    /// Latency of such a call in microseconds.
    pub latency_us: Option<f64>,
    /// Calls of this kind alone that a cluster carries out per second.
    pub calls_per_s: Option<f64>,
    /// The stage that is full first then.
    pub bottleneck: Option<String>,
    /// What the whole workload should reach with it, all else as decided; nothing where that cannot be.
    pub forecast: Option<Brief>,
    /// Bytes on each machine, of which an access takes none.
    pub bytes_each: u64,
    /// What writes of the procedure take of such a call, the message that ships them left out.
    pub writes: WriteCost,
    /// Whether it is chosen, comes next, or cannot be.
    pub verdict: Verdict,
    /// Why.
    pub reason: String,
}

/// What rows could be partitioned by.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct AttributeReport {
    /// Its columns.
    pub columns: Vec<String>,
    /// The share of operations that name a value of it.
    pub covered: f64,
    /// The share of operations whose rows are where the call is.
    pub local: f64,
    /// Whether tables are partitioned by it.
    pub verdict: Verdict,
    /// Why.
    pub reason: String,
}
