//! Forecasts of other partitionings: spread over all machines, or by the next attribute first.
//!
//! Decisions:
//! - docs/decisions/0213-a-calls-home-is-the-value-that-most-of-its-rows-share.md
//! - docs/decisions/0232-read-only-tables-are-copied-up-to-a-tenth-of-a-machines.md
//! - docs/decisions/0264-the-tuner-forecasts-only-what-is-built.md

use super::choose::{LOCATED_MIN, Search};
use crate::design::{Access, Partition};
use crate::measurement::rounded;
use crate::tune::facts::Facts;
use crate::tune::forecast::design_forecast::forecast_of;
use crate::tune::forecast::interval::{self, Intervals};
use crate::tune::model::{Model, Plan};
use crate::tune::report::reasons::percent;
use crate::tune::report::tuning::{Alternative, Brief, Forecast, Verdict};
use crate::tune::workload::grouping::{Grouped, Grouping};

/// Relative differences below this one are 0.
const SAME: f64 = 1e-6;

/// Returns two things: the forecast of the default design with spread rows and one-sided access
/// [SPADE 5.3], and the forecasts of a plan with its own partitioning, which comes first, and with
/// others.
pub fn compared(
    facts: &Facts<'_>,
    search: &Search<'_, '_>,
    plan: &Plan,
    own: &Intervals,
) -> (Forecast, Vec<Alternative>) {
    let model = search.model;
    let spread = model.grouping.spread();
    let spread_model = facts.model(&spread);
    let usual = search.usual();
    let around = interval::around(&spread_model, &[&usual, plan]);
    let baseline = forecast_of(&spread_model, &usual, &around[0]);
    if model.machines < 2 {
        return (baseline, Vec::new());
    }
    let mut others =
        vec![("spread over all machines".to_owned(), spread_model, plan.clone(), around[1])];
    let next = facts.other_groupings().into_iter().next();
    if let Some(next) = &next {
        let next_model = facts.model_as_written(next);
        let next_plan = able(&next_model, plan);
        let around = interval::around(&next_model, &[&next_plan]);
        let what = format!("{} first", name(facts, next));
        others.push((what, next_model, next_plan, around[0]));
    }
    let mut all = vec![alternative(name(facts, model.grouping), model, plan, own)];
    all[0].verdict = Verdict::Chosen;
    all.extend(others.iter().map(|(what, model, plan, around)| {
        let mut of = alternative(what.clone(), model, plan, around);
        of.reason = against(own, around, of.forecast.is_some());
        of
    }));
    // The fastest one is the runner-up.
    let rate = |of: &Alternative| of.forecast.as_ref().map_or(0.0, |of| of.transactions_per_s);
    all[1..].sort_by(|one, other| rate(other).total_cmp(&rate(one)));
    all[1].verdict = if all[1].forecast.is_some() { Verdict::RunnerUp } else { Verdict::Rejected };
    let next = format!("{}: {}", all[1].what, all[1].reason);
    all[0].reason = next;
    (baseline, all)
}

/// The plan with one-sided access for procedures that cannot be shipped under this partitioning.
fn able(model: &Model<'_>, plan: &Plan) -> Plan {
    let mut able = plan.clone();
    for (access, call) in able.access.iter_mut().zip(model.calls.iter()) {
        if call.told.is_none_or(|told| told < LOCATED_MIN) {
            *access = Access::OneSided;
        }
    }
    able
}

/// Names a partitioning by the column of its first attribute.
fn name(facts: &Facts<'_>, grouping: &Grouping) -> String {
    let first = grouping.attributes.iter().find(|of| of.refusal.is_none());
    let is_key =
        |(table, column): &&(usize, usize)| grouping.tables[*table].column == Some(*column);
    let key = first.and_then(|first| first.columns.iter().find(is_key));
    let is_copied = |of: &Grouped| of.partition == Partition::Replicated;
    match key {
        Some((table, column)) => {
            let table = &facts.catalog().tables[*table];
            format!("by {}.{}", table.name, table.columns[*column].name)
        }
        None if grouping.tables.iter().any(is_copied) => "read-only tables copied".to_owned(),
        None => "spread over all machines".to_owned(),
    }
}

fn alternative(what: String, model: &Model<'_>, plan: &Plan, around: &Intervals) -> Alternative {
    let brief = model.workload(plan).map(|load| Brief {
        transactions_per_s: rounded(model.throughput(&load)),
        latency_us: rounded(load.cost.latency_ns / 1e3),
        bottleneck: model.bottleneck(&load).0.to_owned(),
        average: None,
        interval: Some(around.interval()),
    });
    let (bytes_each, verdict) = (model.bytes_each(plan), Verdict::Rejected);
    Alternative { what, forecast: brief, bytes_each, verdict, reason: String::new() }
}

/// The reason against another partitioning. Partitionings are selected by their share of local
/// rows, not by forecasts.
fn against(own: &Intervals, other: &Intervals, is_measured: bool) -> String {
    if !is_measured {
        return "its operations were not measured".to_owned();
    }
    let beyond = |own: f64, other: f64| {
        let share = other / own - 1.0;
        if share.abs() < SAME { 0.0 } else { share }
    };
    let rate = beyond(own.transactions_per_s[1], other.transactions_per_s[1]);
    let latency = beyond(own.latency_us[1], other.latency_us[1]);
    let later = match latency {
        0.0 => "the same latency".to_owned(),
        more if more > 0.0 => format!("{} more latency", percent(more)),
        less => format!("{} less latency", percent(-less)),
    };
    match rate {
        fewer if fewer < 0.0 => format!("{} fewer, {later}", percent(-fewer)),
        0.0 => format!("the same throughput, {later}"),
        more => format!("{} more, {later}, but fewer rows are local", percent(more)),
    }
}
