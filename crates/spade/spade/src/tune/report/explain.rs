//! Creates the report of a plan: forecasts, runners-up and reasons.

use super::reasons::ComparedPlan;
use super::text::many;
use super::tuning::*;
use super::{caveats, design_file};
use crate::design::Access;
use crate::measurement::{rounded, storage_name};
use crate::tune::Goal;
use crate::tune::cost::procedure::ProcedureCost;
use crate::tune::cost::vector::Cost;
use crate::tune::cost::versions;
use crate::tune::facts::Facts;
use crate::tune::forecast::design_forecast;
use crate::tune::forecast::interval::{self, Intervals};
use crate::tune::model::{Model, Plan};
use crate::tune::search::candidates::{IndexStorage, KeyPlacement, RowStorage};
use crate::tune::search::choose::{Decision, LOCATED_MIN, Search};
use crate::tune::search::compare::Figures;
use crate::tune::search::partition;
use crate::tune::workload::profile::{Kind, Request};
use layout::IndexKind;
use sql::Catalog;
use std::cell::RefCell;

struct Explainer<'j, 'm, 'a> {
    search: &'j Search<'m, 'a>,
    model: &'m Model<'a>,
    plan: &'j Plan,
    catalog: &'j Catalog,
    /// Runners-up by decision.
    nexts: RefCell<Vec<(Decision, Plan)>>,
}

pub fn explain(facts: &Facts<'_>, search: &Search<'_, '_>, plan: &Plan) -> Tuning {
    let model = search.model;
    let catalog = facts.catalog();
    let explainer = Explainer { search, model, plan, catalog, nexts: RefCell::default() };
    let tables = (0..catalog.tables.len()).map(|table| explainer.table(table)).collect();
    let procedures = (0..model.profiles.len()).map(|number| explainer.procedure(number)).collect();
    let nexts = explainer.nexts.borrow();
    let plans = std::iter::once(plan).chain(nexts.iter().map(|(_, next)| next));
    let around = interval::around(model, &plans.collect::<Vec<_>>());
    let (baseline, partitions) = partition::compared(facts, search, plan, &around[0]);
    let mut tuning = Tuning {
        format: FORMAT,
        target: facts.target(),
        objective: search.objective,
        model: search.goal,
        remote_calls: model.has_homes().then_some(model.remote_calls),
        replicas: model.replicas,
        memory: Memory { bytes_each: model.bytes_each(plan), budget: facts.chosen.budget },
        forecast: design_forecast::forecast_of(model, plan, &around[0]),
        baseline,
        retries_percent: design_forecast::retries_percent(model, plan),
        tables,
        procedures,
        attributes: explainer.attributes(),
        partitions,
        assumptions: caveats::assumptions(model),
        warnings: caveats::warnings(facts, model),
        design: design_file::design(facts, model, plan),
    };
    for ((decision, _), next) in nexts.iter().zip(&around[1..]) {
        put_intervals(&mut tuning, *decision, [&around[0], next]);
    }
    tuning
}

/// Adds the intervals of the choice and of the runner-up.
fn put_intervals(tuning: &mut Tuning, decision: Decision, around: [&Intervals; 2]) {
    let forecasts: Vec<&mut Option<Brief>> = match decision {
        Decision::Table(table) => {
            tuning.tables[table].candidates.iter_mut().map(|of| &mut of.forecast).collect()
        }
        Decision::Index(table, index) => {
            let index = &mut tuning.tables[table].indexes[index];
            index.candidates.iter_mut().map(|of| &mut of.forecast).collect()
        }
        Decision::Versions(table) => {
            tuning.tables[table].versions.iter_mut().map(|of| &mut of.forecast).collect()
        }
        Decision::Procedure(number) => {
            let mut all: Vec<_> = tuning.procedures[number].candidates.iter_mut().collect();
            all.sort_by_key(|of| of.verdict != Verdict::Chosen);
            all.into_iter().map(|of| &mut of.forecast).collect()
        }
    };
    for (forecast, around) in forecasts.into_iter().zip(around) {
        if let Some(forecast) = forecast {
            forecast.interval = Some(around.interval());
        }
    }
}

impl Explainer<'_, '_, '_> {
    fn table(&self, table: usize) -> TableReport {
        let of = &self.catalog.tables[table];
        let shape = &self.model.shapes[table];
        let grouped = &self.model.grouping.tables[table];
        let possible = |choice: &RowStorage| {
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
            versions: self.versions(table),
            drivers: self.drivers(|_, request| request.table == table, true),
            writes: self.writes(table),
        }
    }

    /// The candidates for old versions beside a table's rows.
    fn versions(&self, table: usize) -> Vec<Alternative> {
        if !self.search.decides_versions(table) {
            return Vec::new();
        }
        let candidate = |(beside, keeps)| {
            let mut plan = self.plan.clone();
            let of = &mut plan.tables[table];
            (of.versions_beside, of.keeps_versions) = (beside, keeps);
            (versions_name(beside, keeps), plan, None)
        };
        self.compared(versions::CHOICES.map(candidate).to_vec(), Decision::Versions(table))
    }

    /// Forecasts of all alternatives to a decision, the best first, with the reason against each
    /// rejected one.
    fn compared(
        &self,
        all: Vec<(String, Plan, Option<String>)>,
        decision: Decision,
    ) -> Vec<Alternative> {
        let figures = |(_, plan, refusal): &(String, Plan, Option<String>)| {
            let figures = refusal.is_none().then(|| self.search.figures(plan, decision));
            figures.flatten()
        };
        let figures: Vec<Option<Figures>> = all.iter().map(figures).collect();
        let beating = |of: &Figures| {
            let is_better = |at: &usize| figures[*at].is_some_and(|other| other.beats(of));
            (0..all.len()).find(is_better).map(|at| &*all[at].0)
        };
        let own = self.search.figures(self.plan, decision);
        let own = own.map(|figures| ComparedPlan { plan: self.plan, figures });
        let mut scored: Vec<(f64, bool, Alternative, &Plan)> = Vec::new();
        for ((what, plan, refusal), figures) in all.iter().zip(&figures) {
            let is_own = plan == self.plan;
            let forecast = figures.and_then(|_| self.brief(plan, decision));
            let reason = match (refusal, figures, &own) {
                (Some(refusal), ..) => refusal.clone(),
                _ if is_own => String::new(),
                (None, Some(figures), Some(own)) => {
                    let other = ComparedPlan { plan, figures: *figures };
                    self.search.against(own, &other, decision, beating(figures))
                }
                _ => "its operations were not measured".to_owned(),
            };
            let verdict = if is_own { Verdict::Chosen } else { Verdict::Rejected };
            let bytes_each = if refusal.is_some() { 0 } else { self.model.bytes_each(plan) };
            let alternative =
                Alternative { what: what.clone(), forecast, bytes_each, verdict, reason };
            let score = figures.map_or(f64::INFINITY, |of| of.score());
            scored.push((score, is_own, alternative, plan));
        }
        // The chosen one comes first: because of the budget it may not be the fastest.
        scored.sort_by(|one, other| other.1.cmp(&one.1).then(one.0.total_cmp(&other.0)));
        // If there is no alternative, use the plan itself, so that it gets an interval.
        let next = scored.get(1).filter(|(_, _, of, _)| of.forecast.is_some());
        let plan = next.map_or(self.plan, |(.., plan)| plan);
        self.nexts.borrow_mut().push((decision, plan.clone()));
        let mut all: Vec<Alternative> = scored.into_iter().map(|(_, _, one, _)| one).collect();
        if let Some(next) = all.get_mut(1).filter(|next| next.forecast.is_some()) {
            next.verdict = Verdict::RunnerUp;
        }
        if let (Some(next), [first, ..]) = (all.get(1).cloned(), &mut all[..]) {
            first.reason = format!("{}: {}", next.what, next.reason);
        }
        all
    }

    fn brief(&self, plan: &Plan, decision: Decision) -> Option<Brief> {
        let load = self.model.workload(plan)?;
        let is_average = self.search.goal == Goal::WeightedAverages;
        let average = is_average.then(|| self.search.average(plan, decision)).flatten();
        Some(Brief {
            transactions_per_s: rounded(self.model.throughput(&load)),
            latency_us: rounded(load.cost.latency_ns / 1e3),
            bottleneck: self.model.bottleneck(&load).0.to_owned(),
            average: average.map(|of| (rounded(of.throughput), rounded(of.latency_ns / 1e3))),
            interval: None,
        })
    }

    fn writes(&self, table: usize) -> WriteCost {
        let all = self.model.profiles.iter().enumerate().flat_map(|(number, profile)| {
            let own = profile.requests.iter().filter(move |request| request.table == table);
            own.map(move |request| {
                (profile.share, request, self.model.write(self.plan, number, request))
            })
        });
        written(all)
    }

    /// The cost of the writes of a procedure that is called on another machine.
    fn writes_by(&self, number: usize, access: Access) -> WriteCost {
        let all = self.model.profiles[number].requests.iter().map(|request| {
            let cost = match access {
                Access::OneSided => self.model.write_away(self.plan, request),
                Access::Shipped => self.model.write(self.plan, number, request),
            };
            (1.0, request, cost)
        });
        written(all)
    }

    /// Statements with their operations on a table or procedure, by frequency or in program order.
    fn drivers(&self, is_meant: impl Fn(usize, &Request) -> bool, by_weight: bool) -> Vec<Driver> {
        let mut all: Vec<Driver> = Vec::new();
        for (number, profile) in self.model.profiles.iter().enumerate() {
            for request in profile.requests.iter().filter(|request| is_meant(number, request)) {
                let share = if by_weight { profile.share } else { 1.0 };
                all.push(Driver {
                    statement: format!("{}:{}", profile.name, request.statement),
                    what: self.what(request),
                    per_call: rounded(share * request.times),
                });
            }
        }
        if by_weight {
            all.sort_by(|one, other| other.per_call.total_cmp(&one.per_call));
        }
        all
    }

    fn what(&self, request: &Request) -> String {
        let table = &self.catalog.tables[request.table];
        let index = |at: usize| table.indexes[at].name.clone();
        let (name, rows) = (&table.name, many(rounded(request.rows), "row"));
        match request.kind {
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
        let profile = &self.model.profiles[number];
        let costs = self.model.procedure(self.plan, number);
        let latency = |cost: &Cost| rounded(cost.latency_ns / 1e3);
        ProcedureReport {
            procedure: profile.name.clone(),
            share: rounded(profile.share),
            access: self.plan.access[number],
            by: design_file::by(self.model, number),
            local: rounded(self.model.at_home(number)),
            home_latency_us: costs.as_ref().map_or(0.0, |costs| latency(&costs.home)),
            candidates: self.accesses(number),
            operations: self.drivers(|at, _| at == number, false),
        }
    }

    fn accesses(&self, number: usize) -> Vec<AccessReport> {
        let Some(costs) = self.model.procedure(self.plan, number) else { return Vec::new() };
        let each = [(Access::OneSided, costs.one_sided), (Access::Shipped, costs.shipped)];
        let all = each.map(|(access, cost)| self.access(number, access, cost));
        if all.iter().all(|of| of.verdict != Verdict::RunnerUp) {
            // If there is no alternative, use the plan itself, so that it gets an interval.
            self.nexts.borrow_mut().push((Decision::Procedure(number), self.plan.clone()));
        }
        all.into()
    }

    fn access(&self, number: usize, access: Access, cost: Option<Cost>) -> AccessReport {
        let decision = Decision::Procedure(number);
        let is_own = self.plan.access[number] == access;
        let mut plan = self.plan.clone();
        plan.access[number] = access;
        // All calls arrive at another machine.
        let alone = |home: Cost| {
            let costs = ProcedureCost { home, one_sided: None, shipped: None };
            self.model.alone(self.plan, &costs, access, number)
        };
        let load = cost.and_then(alone);
        let refusal = self.no_access(number, access, cost.is_some());
        let forecast = match refusal {
            Some(_) if !is_own => None,
            _ => self.brief(&plan, decision),
        };
        let verdict = match &forecast {
            _ if is_own => Verdict::Chosen,
            Some(_) => Verdict::RunnerUp,
            None => Verdict::Rejected,
        };
        if verdict == Verdict::RunnerUp {
            self.nexts.borrow_mut().push((decision, plan.clone()));
        }
        AccessReport {
            access,
            latency_us: cost.as_ref().map(|cost| rounded(cost.latency_ns / 1e3)),
            calls_per_s: load.as_ref().map(|load| rounded(self.model.throughput(load))),
            bottleneck: load.as_ref().map(|load| self.model.bottleneck(load).0.to_owned()),
            forecast,
            bytes_each: self.model.bytes_each(&plan),
            writes: self.writes_by(number, access),
            verdict,
            reason: refusal.unwrap_or_else(|| match is_own {
                true => String::new(),
                false => self.against_access(number, &plan),
            }),
        }
    }

    /// The reason why a procedure cannot have an access.
    fn no_access(&self, number: usize, access: Access, is_measured: bool) -> Option<String> {
        let call = &self.model.calls[number];
        let refusal = match (access, call.told) {
            _ if self.model.machines < 2 => "there is no other machine".to_owned(),
            _ if call.home.source.is_none() && self.model.at_home(number) > 1.0 - f64::EPSILON => {
                "its rows are on every machine".to_owned()
            }
            _ if call.home.source.is_none() => "its rows are not on a single machine".to_owned(),
            _ if !is_measured => "its operations were not measured".to_owned(),
            (Access::Shipped, None) => {
                "no argument determines the owner of its rows before it begins".to_owned()
            }
            (Access::Shipped, Some(told)) if told < LOCATED_MIN => {
                format!("an argument determines the owner of only {:.0} of 100 rows", 100.0 * told)
            }
            _ => return None,
        };
        Some(refusal)
    }

    /// The reason against another access: for the workload if the procedure is called, otherwise
    /// for the procedure alone.
    fn against_access(&self, number: usize, plan: &Plan) -> String {
        let decision = Decision::Procedure(number);
        let side = |plan| {
            let figures = self.search.figures(plan, decision)?;
            Some(ComparedPlan { plan, figures })
        };
        let Some((own, other)) = side(self.plan).zip(side(plan)) else {
            return "its operations were not measured".to_owned();
        };
        let against = self.search.against(&own, &other, decision, None);
        match self.model.profiles[number].share > 0.0 {
            true => against,
            false => format!("it is never called; on its own: {against}"),
        }
    }

    fn attributes(&self) -> Vec<AttributeReport> {
        let grouping = self.model.grouping;
        let report = |of: &crate::tune::workload::grouping::Attribute| {
            let name = |(table, column): &(usize, usize)| {
                let table = &self.catalog.tables[*table];
                format!("{}.{}", table.name, table.columns[*column].name)
            };
            let is_key =
                |(table, column): &(usize, usize)| grouping.tables[*table].column == Some(*column);
            let is_used = of.columns.iter().any(is_key) && of.refusal.is_none();
            let reason = match &of.refusal {
                Some(refusal) => refusal.clone(),
                None if is_used => "it makes most rows local".to_owned(),
                None => "it would make fewer rows local".to_owned(),
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

/// The mean cost of writes, weighted by frequency.
fn written<'k>(all: impl Iterator<Item = (f64, &'k Request, Option<Cost>)>) -> WriteCost {
    let (mut sum, mut count) = (Cost::default(), 0.0);
    for (share, request, cost) in all.filter(|(_, request, _)| request.kind >= Kind::Update) {
        let Some(cost) = cost else { continue };
        let weight = share * request.times;
        sum = sum.plus(&cost.times(weight));
        count += weight;
    }
    let each = |sum: f64| rounded(if count > 0.0 { sum / count } else { 0.0 });
    WriteCost {
        per_call: rounded(count),
        verbs: each(sum.verbs),
        core_ns: each(sum.machines.core_ns),
        engine_ns: each(sum.machines.engine_ns),
    }
}

/// Describes a storage.
pub fn choice_name(choice: &RowStorage) -> String {
    let (storage, slots) = (storage_name(choice.storage), many(choice.slots, "slot"));
    match &choice.placing {
        KeyPlacement::Ordered => format!("{storage}, nodes of {} bytes", choice.node_bytes),
        KeyPlacement::Hashed(load) => format!("{storage}, {slots}, {load} % full"),
        KeyPlacement::Dense(_) => format!("{storage}, {slots}, dense"),
    }
}

/// Describes old versions.
pub fn versions_name(beside: u32, keeps: bool) -> String {
    format!("{beside} beside, {}", if keeps { "kept" } else { "given back" })
}

pub fn index_name(choice: IndexStorage) -> String {
    match choice.kind {
        IndexKind::Hash => "hash".to_owned(),
        IndexKind::Tree => format!("tree, nodes of {} bytes", choice.node_bytes),
    }
}
