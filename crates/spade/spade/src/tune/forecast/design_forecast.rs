//! Computes the forecast of a supplied design.

use super::given_design::ConvertedDesign;
use super::interval::{self, Intervals, intervals};
use crate::design::{Access, Partition};
use crate::measurement::rounded;
use crate::tune::TuneError;
use crate::tune::contention::aggregate::{Performance, STAGES};
use crate::tune::cost::procedure::ProcedureCost;
use crate::tune::facts::Facts;
use crate::tune::model::{Model, Plan};
use crate::tune::report::caveats;
use crate::tune::report::explain::{choice_name, index_name, versions_name};
use crate::tune::report::tuning::{Forecast, Memory, Target};
use serde::Serialize;

/// Version of the schema of forecasts.
const FORMAT: u32 = 2;

/// The forecast of a design.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct DesignForecast {
    pub format: u32,
    /// Workload and cluster.
    #[serde(flatten)]
    pub target: Target,
    /// The share of calls that arrive at another machine than the one with their rows. `None` if
    /// nothing determines the home of any call before it begins.
    pub remote_calls: Option<f64>,
    /// Copies of each row.
    pub replicas: u32,
    /// Bytes on each machine, and the budget.
    pub memory: Memory,
    /// The whole workload. Its latency is the mean over all calls, each measured alone.
    pub forecast: Forecast,
    /// Median latency of calls that run alone, in microseconds. Each kind of call counts with its
    /// median.
    pub median_latency_us: f64,
    /// Mean latency in microseconds when all lanes are busy: lanes divided by throughput.
    pub loaded_latency_us: f64,
    /// Retries as a percentage of all attempts when all lanes are busy.
    pub retries_percent: f64,
    /// Tables in the order of the schema.
    pub tables: Vec<TableForecast>,
    /// Procedures in the order of the file. Procedures that were not measured and are never called
    /// are left out.
    pub procedures: Vec<ProcedureForecast>,
    /// Assumptions of the forecast.
    pub assumptions: Vec<String>,
    pub warnings: Vec<String>,
}

/// The forecast of a table.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct TableForecast {
    pub table: String,
    /// Description of its storage.
    pub stored: String,
    /// Names and descriptions of its indexes.
    pub indexes: Vec<(String, String)>,
    /// Description of its old versions; `None` if no procedure updates rows.
    pub versions: Option<String>,
    /// Which machine has which rows.
    pub partition: Partition,
    /// Bytes on each machine, with indexes and old versions.
    pub bytes_each: u64,
    /// The part of these bytes for old versions, when every row has been updated.
    pub version_bytes_each: u64,
}

/// The forecast of a procedure.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ProcedureForecast {
    pub procedure: String,
    /// Its share of all calls.
    pub share: f64,
    /// The share of its calls that succeeds, if the load defines it; otherwise all are assumed to
    /// succeed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub succeeds: Option<f64>,
    /// How it accesses rows of another machine.
    pub access: Access,
    /// The share of its rows on the call's home machine.
    pub local: f64,
    /// Calls per second of the whole cluster, among all others: minimum, expected, maximum.
    pub calls_per_s: [f64; 3],
    /// Calls per second of the whole cluster if no other procedure is called: minimum, expected,
    /// maximum.
    pub alone_per_s: [f64; 3],
    /// Mean latency of a call that runs alone, in microseconds: minimum, expected, maximum.
    pub latency_us: [f64; 3],
    /// Latency of a call at home.
    pub home_latency_us: f64,
    /// Latency of a call on another machine. `None` if there is no other machine, or if calls have
    /// no home.
    pub elsewhere_latency_us: Option<f64>,
    /// The bottleneck stage if no other procedure is called.
    pub bottleneck: String,
    /// Demands of an average call on each stage.
    pub stages: Vec<StageDemand>,
}

/// The demand of a call on a stage.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct StageDemand {
    pub stage: String,
    /// Nanoseconds, as if each machine had one such stage.
    pub ns: f64,
    /// The share of the stage's time that all calls of this procedure use when the workload's
    /// bottleneck is saturated.
    pub share: f64,
}

pub fn of_workload(model: &Model<'_>, plan: &Plan) -> Forecast {
    let around = interval::around(model, &[plan]);
    forecast_of(model, plan, &around[0])
}

/// The forecast of a workload with known intervals.
pub fn forecast_of(model: &Model<'_>, plan: &Plan, around: &Intervals) -> Forecast {
    let load = model.workload(plan).unwrap_or_default();
    let between_ns = load.throughput.between_ns.max(f64::MIN_POSITIVE);
    let shares = STAGES.iter().zip(model.stages(&load));
    Forecast {
        transactions_per_s: around.transactions_per_s.map(rounded),
        latency_us: around.latency_us.map(rounded),
        bottleneck: model.bottleneck(&load).0.to_owned(),
        stages: shares.map(|(stage, ns)| ((*stage).to_owned(), rounded(ns / between_ns))).collect(),
    }
}

/// Transactions per second of a design, and its bottleneck stage.
///
/// # Errors
/// Points for called procedures are missing.
pub fn throughput(
    model: &Model<'_>,
    given: &ConvertedDesign,
) -> Result<(f64, &'static str), TuneError> {
    let procedures = model.unmeasured(&given.plan);
    match model.workload(&given.plan) {
        Some(load) if procedures.is_empty() => {
            Ok((rounded(model.throughput(&load)), model.bottleneck(&load).0))
        }
        _ => Err(model.not_measured(procedures)),
    }
}

/// # Errors
/// Points for called procedures are missing.
pub fn forecast_design(
    facts: &Facts<'_>,
    model: &Model<'_>,
    given: &ConvertedDesign,
) -> Result<DesignForecast, TuneError> {
    let plan = &given.plan;
    let unmeasured = model.unmeasured(plan);
    if !unmeasured.is_empty() {
        return Err(model.not_measured(unmeasured));
    }
    let chosen = &facts.chosen;
    let forecast = of_workload(model, plan);
    let lanes = f64::from(chosen.lanes) * f64::from(chosen.machines);
    let warnings = caveats::warnings(facts, model).into_iter().chain(given.warnings.clone());
    Ok(DesignForecast {
        format: FORMAT,
        target: facts.target(),
        remote_calls: model.has_homes().then_some(model.remote_calls),
        replicas: model.replicas,
        memory: Memory { bytes_each: model.bytes_each(plan), budget: chosen.budget },
        median_latency_us: rounded(median(&latencies(model, plan)) / 1e3),
        retries_percent: retries_percent(model, plan),
        loaded_latency_us: rounded(lanes * 1e6 / forecast.transactions_per_s[1]),
        forecast,
        tables: (0..plan.tables.len()).map(|at| table(facts, model, plan, at)).collect(),
        procedures: procedures(model, plan),
        assumptions: caveats::assumptions(model),
        warnings: warnings.collect(),
    })
}

fn table(facts: &Facts<'_>, model: &Model<'_>, plan: &Plan, at: usize) -> TableForecast {
    let (of, table) = (&facts.catalog().tables[at], &plan.tables[at]);
    let indexes = of.indexes.iter().zip(&table.indexes);
    TableForecast {
        table: of.name.clone(),
        stored: choice_name(&table.choice),
        indexes: indexes.map(|(index, choice)| (index.name.clone(), index_name(*choice))).collect(),
        versions: model.shapes[at]
            .is_updated
            .then(|| versions_name(table.versions_beside, table.keeps_versions)),
        partition: model.grouping.tables[at].partition.clone(),
        bytes_each: model.table_bytes_each(plan, at),
        version_bytes_each: model.version_bytes_each(plan, at),
    }
}

/// Number of figures of a procedure that have intervals.
const FIGURES: usize = 3;

fn procedures(model: &Model<'_>, plan: &Plan) -> Vec<ProcedureForecast> {
    let costs = |model: &Model<'_>, number: usize| {
        let costs = model.procedure(plan, number)?;
        Some((costs, model.alone(plan, &costs, plan.access[number], number)?))
    };
    let measured: Vec<Option<(ProcedureCost, Performance)>> =
        (0..model.profiles.len()).map(|number| costs(model, number)).collect();
    let figures = |model: &Model<'_>| {
        let rate = model.throughput(&model.workload(plan).unwrap_or_default());
        let each = (0..model.profiles.len()).flat_map(|number| {
            // If a perturbed point does not change the cost, the throughput stays the same.
            let known =
                measured[number].filter(|(of, _)| model.procedure(plan, number) == Some(*of));
            let load = known.or_else(|| costs(model, number)).map(|(_, load)| load);
            let load = load.unwrap_or_default();
            let share = model.profiles[number].share;
            [share * rate, model.throughput(&load), load.cost.latency_ns / 1e3]
        });
        each.collect()
    };
    let around = intervals(model, &figures);
    let workload = model.workload(plan).unwrap_or_default();
    let between_ns = workload.throughput.between_ns.max(f64::MIN_POSITIVE);
    let found = (0..model.profiles.len()).filter_map(|number| {
        let (costs, load) = costs(model, number)?;
        let around = &around[FIGURES * number..][..FIGURES];
        Some(procedure(model, plan, number, (&costs, &load), around, between_ns))
    });
    found.collect()
}

fn procedure(
    model: &Model<'_>,
    plan: &Plan,
    number: usize,
    (costs, load): (&ProcedureCost, &Performance),
    around: &[[f64; 3]],
    between_ns: f64,
) -> ProcedureForecast {
    let (profile, access) = (&model.profiles[number], plan.access[number]);
    let away = costs.away(access);
    let stage = |(stage, ns): (&&str, f64)| StageDemand {
        stage: (*stage).to_owned(),
        ns: rounded(ns),
        share: rounded(profile.share * ns / between_ns),
    };
    ProcedureForecast {
        procedure: profile.name.clone(),
        share: rounded(profile.share),
        succeeds: profile.succeeds,
        access,
        local: rounded(model.at_home(number)),
        calls_per_s: around[0].map(rounded),
        alone_per_s: around[1].map(rounded),
        latency_us: around[2].map(rounded),
        home_latency_us: rounded(costs.home.latency_ns / 1e3),
        elsewhere_latency_us: away.map(|away| rounded(away.latency_ns / 1e3)),
        bottleneck: model.bottleneck(load).0.to_owned(),
        stages: STAGES.iter().zip(model.stages(load)).map(stage).collect(),
    }
}

/// Latency of each kind of call in nanoseconds, with its share of all calls.
fn latencies(model: &Model<'_>, plan: &Plan) -> Vec<(f64, f64)> {
    let mut all = Vec::new();
    for (number, profile) in model.profiles.iter().enumerate().filter(|(_, of)| of.share > 0.0) {
        let Some(costs) = model.procedure(plan, number) else { continue };
        let away = costs.away(plan.access[number]);
        let remote = if away.is_some() { model.remote_calls } else { 0.0 };
        all.push((costs.home.latency_ns, profile.share * (1.0 - remote)));
        all.extend(away.map(|away| (away.latency_ns, profile.share * remote)));
    }
    all
}

/// The weighted median.
fn median(values: &[(f64, f64)]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(|one, other| one.0.total_cmp(&other.0));
    let half = sorted.iter().map(|(_, weight)| weight).sum::<f64>() / 2.0;
    let mut below = 0.0;
    let found = sorted.iter().find(|(_, weight)| {
        below += weight;
        below >= half
    });
    found.map_or(0.0, |(value, _)| *value)
}

/// Retries as a percentage of all attempts when all lanes are busy.
pub fn retries_percent(model: &Model<'_>, plan: &Plan) -> f64 {
    let attempts = model.workload(plan).unwrap_or_default().throughput.attempts;
    rounded(100.0 * (1.0 - 1.0 / attempts.max(1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_weight_does_not_exceed_the_median() {
        assert_eq!(median(&[(5.0, 0.2), (1.0, 0.3), (2.0, 0.25), (9.0, 0.25)]), 2.0);
        assert_eq!(median(&[(7.0, 1.0)]), 7.0);
        assert_eq!(median(&[]), 0.0);
    }
}
