//! From a plan to a report: forecasts, runners-up and reasons.

use super::asked::{Ask, Kind};
use super::candidate::{Choice, IndexChoice, Placing};
use super::choose::{Decision, Judge, TOLD_MIN};
use super::cost::Cost;
use super::facts::Facts;
use super::model::{Model, Plan};
use super::price::Costs;
use super::report::*;
use super::show::{count, many};
use super::whole::{Load, STAGES};
use super::{Goal, Objective};
use super::{caveats, foretell, made};
use crate::design::Access;
use crate::measurement::{rounded, storage_name};
use layout::IndexKind;
use sql::Catalog;

/// Forecasts closer than this share count as equal.
const NOISE: f64 = 0.005;
/// Scores closer than this share are the same.
const STEP: f64 = 1e-6;
/// What is explained.
struct Explainer<'j, 'm, 'a> {
    judge: &'j Judge<'m, 'a>,
    model: &'m Model<'a>,
    plan: &'j Plan,
    catalog: &'j Catalog,
}

/// The report of a plan.
pub fn explain(facts: &Facts<'_>, judge: &Judge<'_, '_>, plan: &Plan) -> Tuning {
    let model = judge.model;
    let catalog = facts.catalog();
    let explainer = Explainer { judge, model, plan, catalog };
    let tables = 0..catalog.tables.len();
    let procedures = 0..model.asked.len();
    Tuning {
        format: FORMAT,
        target: facts.target(),
        objective: judge.objective,
        model: judge.goal,
        remote_calls: model.remote_calls,
        replicas: model.replicas,
        memory: Memory { bytes_each: model.bytes_each(plan), budget: facts.chosen.budget },
        forecast: foretell::of_workload(model, plan),
        baseline: explainer.baseline(facts),
        tables: tables.clone().map(|table| explainer.table(table)).collect(),
        procedures: procedures.clone().map(|number| explainer.procedure(number)).collect(),
        attributes: explainer.attributes(),
        assumptions: caveats::assumptions(model),
        warnings: caveats::warnings(facts, model),
        design: made::design(facts, model, plan),
    }
}

impl Explainer<'_, '_, '_> {
    /// The usual design, rows spread over all machines and reached by verbs [SPADE 5.3].
    fn baseline(&self, facts: &Facts<'_>) -> Forecast {
        let grouping = self.model.grouping.spread();
        foretell::of_workload(&facts.model(&grouping), &self.judge.usual())
    }

    fn table(&self, table: usize) -> TableReport {
        let of = &self.catalog.tables[table];
        let shape = &self.model.shapes[table];
        let grouped = &self.model.grouping.tables[table];
        let possible = |choice: &Choice| {
            let mut plan = self.plan.clone();
            plan.tables[table].choice = choice.clone();
            plan
        };
        let candidates = shape
            .choices()
            .into_iter()
            .map(|(choice, refusal)| (choice_name(&choice), possible(&choice), refusal));
        let indexes = of.indexes.iter().enumerate().map(|(at, index)| {
            let candidates = shape.index_choices(at).into_iter().map(|(choice, refusal)| {
                let mut plan = self.plan.clone();
                plan.tables[table].indexes[at] = choice;
                (index_name(choice), plan, refusal)
            });
            IndexReport {
                index: index.name.clone(),
                candidates: self.compared(candidates.collect(), Decision::Index(table, at)),
            }
        });
        TableReport {
            table: of.name.clone(),
            rows: shape.rows,
            row_bytes: shape.row_bytes() as u64,
            bytes_each: self.model.table_bytes_each(self.plan, table),
            partition: grouped.partition.clone(),
            partition_reason: grouped.reason.clone(),
            candidates: self.compared(candidates.collect(), Decision::Table(table)),
            indexes: indexes.collect(),
            drivers: self.drivers(|_, ask| ask.table == table, true),
            writes: self.writes(table),
        }
    }

    /// Forecasts of all alternatives to a decision, the best first, with the reason against each that is not chosen.
    fn compared(
        &self,
        all: Vec<(String, Plan, Option<String>)>,
        decision: Decision,
    ) -> Vec<Alternative> {
        let own = self.model.workload(self.plan).unwrap_or_default();
        let score = |plan: &Plan| self.judge.score(plan, decision);
        let own_score = score(self.plan).unwrap_or_default();
        let mut scored: Vec<(f64, bool, Alternative)> = Vec::new();
        for (what, plan, refusal) in all {
            let is_own = plan == *self.plan;
            let cost = self.model.workload(&plan).filter(|_| refusal.is_none());
            let forecast = cost.map(|cost| self.brief(&plan, &cost, decision));
            let points = score(&plan).filter(|_| refusal.is_none());
            let bytes_each = if refusal.is_some() { 0 } else { self.model.bytes_each(&plan) };
            let reason = match (&refusal, cost, points) {
                (Some(refusal), ..) => refusal.clone(),
                (None, Some(_), _) if is_own => String::new(),
                (None, Some(_), Some(points)) if self.judge.goal == Goal::WeightedAverages => {
                    self.against_average(own_score, points)
                }
                (None, Some(cost), Some(points)) => {
                    self.against(&own, &cost, points / own_score, bytes_each)
                }
                _ => "nothing like it was measured".to_owned(),
            };
            let verdict = if is_own { Verdict::Chosen } else { Verdict::Rejected };
            let alternative = Alternative { what, forecast, bytes_each, verdict, reason };
            scored.push((points.unwrap_or(f64::INFINITY), is_own, alternative));
        }
        // The chosen one first: a budget may have preferred it to faster ones.
        scored.sort_by(|one, other| other.1.cmp(&one.1).then(one.0.total_cmp(&other.0)));
        let mut all: Vec<Alternative> = scored.into_iter().map(|(.., one)| one).collect();
        if let Some(next) = all.get_mut(1).filter(|next| next.forecast.is_some()) {
            next.verdict = Verdict::RunnerUp;
        }
        if let (Some(next), [first, ..]) = (all.get(1).cloned(), &mut all[..]) {
            first.reason = format!("{}: {}", next.what, next.reason);
        }
        all
    }

    fn brief(&self, plan: &Plan, load: &Load, decision: Decision) -> Brief {
        let average = (self.judge.goal == Goal::WeightedAverages).then(|| match decision {
            Decision::Table(table) | Decision::Index(table, _) => {
                self.model.table_average(plan, table)
            }
            Decision::Procedure(number) => {
                self.model.procedure_average(plan, number, plan.access[number])
            }
        });
        Brief {
            transactions_per_s: rounded(self.model.throughput(load)),
            latency_us: rounded(load.cost.latency_ns / 1e3),
            bottleneck: self.model.bottleneck(load).0.to_owned(),
            average: average
                .flatten()
                .map(|of| (rounded(of.throughput), rounded(of.latency_ns / 1e3))),
        }
    }

    /// What speaks against a plan by which calls go as `load` says.
    fn against(&self, own: &Load, load: &Load, score: f64, bytes_each: u64) -> String {
        let own_bytes = self.model.bytes_each(self.plan);
        let rate = self.model.throughput(load) / self.model.throughput(own) - 1.0;
        let latency = load.cost.latency_ns / own.cost.latency_ns - 1.0;
        if self.judge.goal == Goal::ServiceTimes && score < 1.0 - 2.0 * NOISE {
            return format!(
                "faster, but takes {} more of each machine",
                bytes(bytes_each - own_bytes.min(bytes_each))
            );
        }
        match self.judge.objective {
            Objective::Throughput if rate < -NOISE => {
                let (stage, ns) = self.grown(own, load);
                let at = STAGES.iter().position(|one| *one == stage).unwrap_or_default();
                let was = self.model.stages(own)[at];
                format!(
                    "{:.1} % fewer: {stage} {} ns, not {}",
                    -100.0 * rate,
                    brief(ns),
                    brief(was)
                )
            }
            Objective::Latency if latency > NOISE => {
                format!("{:.1} % more latency", 100.0 * latency)
            }
            _ => {
                let (own_all, all) = (self.model.stages(own), self.model.stages(load));
                let more = |at: usize| all[at] - own_all[at];
                let worst =
                    (0..STAGES.len()).max_by(|one, other| more(*one).total_cmp(&more(*other)));
                match worst.filter(|at| more(*at) > NOISE * own_all[*at]) {
                    Some(at) => format!(
                        "as fast, {} {} ns, not {}",
                        STAGES[at],
                        brief(all[at]),
                        brief(own_all[at])
                    ),
                    None if bytes_each > own_bytes => {
                        format!("as fast, but takes {} more", bytes(bytes_each - own_bytes))
                    }
                    // Stages count together, too, and differences of each may be too small to be told.
                    None if score > 1.0 + STEP => {
                        let [all, own_all] = apart(all.iter().sum(), own_all.iter().sum());
                        format!("as fast, all stages together {all} ns, not {own_all}")
                    }
                    None => "no difference".to_owned(),
                }
            }
        }
    }

    /// The stage that is fullest, or if that takes no more than before the one that takes most more, with its nanoseconds.
    fn grown(&self, own: &Load, load: &Load) -> (&'static str, f64) {
        let (own, all) = (self.model.stages(own), self.model.stages(load));
        let fullest = self.model.bottleneck(load);
        let more = |at: &usize| all[*at] - own[*at];
        let places = 0..STAGES.len();
        let is_grown = |at: &usize| STAGES[*at] == fullest.0 && more(at) > NOISE * own[*at];
        if places.clone().any(|at| is_grown(&at)) {
            return fullest;
        }
        let most = places.max_by(|one, other| more(one).total_cmp(&more(other)));
        most.map_or(fullest, |at| (STAGES[at], all[at]))
    }

    /// What speaks against an average.
    fn against_average(&self, own: f64, other: f64) -> String {
        match self.judge.objective {
            Objective::Throughput => {
                format!("{} operations/s on the average instead of {}", count(-other), count(-own))
            }
            Objective::Latency => {
                format!("{:.2} us on the average instead of {:.2} us", other / 1e3, own / 1e3)
            }
        }
    }

    fn writes(&self, table: usize) -> WriteCost {
        let (mut all, mut count) = (Cost::default(), 0.0);
        for (number, asked) in self.model.asked.iter().enumerate() {
            let own = |ask: &&Ask| ask.table == table && ask.kind >= Kind::Update;
            for ask in asked.asks.iter().filter(own) {
                let weight = asked.share * ask.times;
                let Some(cost) = self.model.write(self.plan, number, ask) else { continue };
                all = all.plus(&cost.times(weight));
                count += weight;
            }
        }
        let each = |sum: f64| rounded(if count > 0.0 { sum / count } else { 0.0 });
        WriteCost {
            per_call: rounded(count),
            verbs: each(all.verbs),
            core_ns: each(all.machines.core_ns),
            engine_ns: each(all.machines.engine_ns),
        }
    }

    /// Statements with what they ask, by weight or as they stand.
    fn drivers(&self, is_meant: impl Fn(usize, &Ask) -> bool, by_weight: bool) -> Vec<Driver> {
        let mut all: Vec<Driver> = Vec::new();
        for (number, asked) in self.model.asked.iter().enumerate() {
            for ask in asked.asks.iter().filter(|ask| is_meant(number, ask)) {
                let share = if by_weight { asked.share } else { 1.0 };
                all.push(Driver {
                    statement: format!("{}:{}", asked.name, ask.statement),
                    what: self.what(ask),
                    per_call: rounded(share * ask.times),
                });
            }
        }
        if by_weight {
            all.sort_by(|one, other| other.per_call.total_cmp(&one.per_call));
        }
        all
    }

    fn what(&self, ask: &Ask) -> String {
        let table = &self.catalog.tables[ask.table];
        let index = |at: usize| table.indexes[at].name.clone();
        let (name, rows) = (&table.name, many(rounded(ask.rows), "row"));
        match ask.kind {
            Kind::Lookup => format!("lookup of {name} by key"),
            Kind::IndexLookup(at) => format!("lookup of {name} by {}, {rows}", index(at)),
            Kind::Scan(None) => format!("scan of {name} by key, {rows}"),
            Kind::Scan(Some(at)) => format!("scan of {name} by {}, {rows}", index(at)),
            Kind::Everything => format!("scan of all of {name}"),
            Kind::Update => format!("update of {name}"),
            Kind::Insert => format!("insert into {name}"),
            Kind::Delete => format!("delete from {name}"),
        }
    }

    fn procedure(&self, number: usize) -> ProcedureReport {
        let asked = &self.model.asked[number];
        let costs = self.model.procedure(self.plan, number);
        let latency = |cost: &Cost| rounded(cost.latency_ns / 1e3);
        ProcedureReport {
            procedure: asked.name.clone(),
            share: rounded(asked.share),
            access: self.plan.access[number],
            by: made::by(self.model, number),
            local: rounded(self.model.at_home(number)),
            home_latency_us: costs.as_ref().map_or(0.0, |costs| latency(&costs.home)),
            candidates: self.accesses(number),
            operations: self.drivers(|at, _| at == number, false),
        }
    }

    fn accesses(&self, number: usize) -> Vec<AccessReport> {
        let Some(costs) = self.model.procedure(self.plan, number) else { return Vec::new() };
        let told = self.model.calls[number].told;
        let each = [(Access::OneSided, costs.one_sided), (Access::Shipped, costs.shipped)];
        let each = each.into_iter().map(|(access, cost)| {
            let is_own = self.plan.access[number] == access;
            let mut plan = self.plan.clone();
            plan.access[number] = access;
            // As if all calls came from another machine.
            let alone = |of: Cost| {
                self.model.alone(
                    self.plan,
                    &Costs { home: of, one_sided: None, shipped: None },
                    access,
                    number,
                )
            };
            let load = cost.and_then(alone);
            let full = load.as_ref().map(|load| self.model.bottleneck(load).0.to_owned());
            let reason = match (access, told) {
                _ if self.model.machines < 2 => {
                    "there is no other machine whose rows it would reach".to_owned()
                }
                _ if self.model.calls[number].home.source.is_none() => {
                    "its rows are not on one machine, wherever it is called".to_owned()
                }
                _ if cost.is_none() => "nothing like it was measured".to_owned(),
                (Access::Shipped, None) => {
                    "no argument tells the owner of its rows before it begins".to_owned()
                }
                (Access::Shipped, Some(told)) if told < TOLD_MIN => {
                    format!("an argument tells the owner of {:.0} of 100 rows only", 100.0 * told)
                }
                _ if is_own => String::new(),
                _ => self.against_access(number, &plan),
            };
            AccessReport {
                access,
                latency_us: cost.as_ref().map(|cost| rounded(cost.latency_ns / 1e3)),
                calls_per_s: load.as_ref().map(|load| rounded(self.model.throughput(load))),
                bottleneck: full,
                verdict: if is_own { Verdict::Chosen } else { Verdict::RunnerUp },
                reason,
            }
        });
        each.collect()
    }

    /// What speaks against another access: for the workload if it is called, else for itself.
    fn against_access(&self, number: usize, plan: &Plan) -> String {
        let decision = Decision::Procedure(number);
        let score = |plan: &Plan| self.judge.score(plan, decision).unwrap_or_default();
        if self.judge.goal == Goal::WeightedAverages {
            return self.against_average(score(self.plan), score(plan));
        }
        match (self.model.workload(self.plan), self.model.workload(plan)) {
            (Some(own), Some(cost)) if self.model.asked[number].share > 0.0 => {
                self.against(&own, &cost, 1.0, self.model.bytes_each(plan))
            }
            _ => "it is never called; for itself it would take more".to_owned(),
        }
    }

    fn attributes(&self) -> Vec<AttributeReport> {
        let grouping = self.model.grouping;
        let report = |of: &super::group::Attribute| {
            let name = |(table, column): &(usize, usize)| {
                let table = &self.catalog.tables[*table];
                format!("{}.{}", table.name, table.columns[*column].name)
            };
            let is_key =
                |(table, column): &(usize, usize)| grouping.tables[*table].column == Some(*column);
            let is_used = of.columns.iter().any(is_key) && of.refusal.is_none();
            let reason = match &of.refusal {
                Some(refusal) => refusal.clone(),
                None if is_used => "most rows are where the call is".to_owned(),
                None => "fewer rows would be where the call is".to_owned(),
            };
            AttributeReport {
                columns: of.columns.iter().map(name).collect(),
                covered: rounded(of.covered),
                local: rounded(of.local),
                verdict: if is_used { Verdict::Chosen } else { Verdict::Rejected },
                reason,
            }
        };
        grouping.attributes.iter().map(report).collect()
    }
}

/// A storage in a few words.
pub fn choice_name(choice: &Choice) -> String {
    let (storage, slots) = (storage_name(choice.storage), many(choice.slots, "slot"));
    match &choice.placing {
        Placing::Ordered => format!("{storage}, nodes of {} bytes", choice.node_bytes),
        Placing::Hashed(load) => format!("{storage}, {slots}, {load} % full"),
        Placing::Dense(_) => format!("{storage}, {slots}, dense"),
    }
}

pub fn index_name(choice: IndexChoice) -> String {
    match choice.kind {
        IndexKind::Hash => "hash".to_owned(),
        IndexKind::Tree => format!("tree, nodes of {} bytes", choice.node_bytes),
    }
}

/// Two numbers of nanoseconds with as many digits as show that they are not the same.
fn apart(one: f64, other: f64) -> [String; 2] {
    let shown = |digits: usize| [one, other].map(|ns| format!("{ns:.digits$}"));
    let found = (0..4).map(shown).find(|[one, other]| one != other);
    found.unwrap_or_else(|| shown(4))
}

/// Nanoseconds with the digits that matter.
fn brief(ns: f64) -> String {
    if ns < 100.0 { format!("{ns:.1}") } else { format!("{ns:.0}") }
}

/// Bytes in words.
pub fn bytes(count: u64) -> String {
    let units = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match units.into_iter().find(|(size, _)| count >= *size) {
        Some((size, unit)) => format!("{:.1} {unit}", count as f64 / size as f64),
        None => format!("{count} bytes"),
    }
}
