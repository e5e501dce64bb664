//! The search. Decides one table, index or procedure at a time with all others fixed, and repeats
//! until no decision changes. If the plan exceeds the memory budget, it then saves memory where
//! that costs least. At the end, no plan that differs in one decision beats the result.
//!
//! Decision: docs/decisions/0216-memory-is-saved-one-decision-at-a-time-cheapest-byte-first.md

use super::candidates::VERSIONS_BESIDE;
use super::compare::{self, Figures, RESOLUTION};
use crate::design::Access;
use crate::measurement::rounded;
use crate::tune::contention::aggregate::Performance;
use crate::tune::cost::average::Average;
use crate::tune::cost::versions;
use crate::tune::model::{Model, Plan, TablePlan};
use crate::tune::{Goal, Objective, TuneError};

/// Maximal number of rounds over all decisions. The shipped workloads need two or three.
const ROUNDS_MAX: u32 = 8;
/// Maximal number of steps that save memory.
const SAVINGS_MAX: u32 = 1_000;
/// Maximal number of steps to a plan that beats the current one. Each is better in one figure and
/// worse in none, so that no plan repeats.
const BEATEN_MAX: u32 = 1_000;
/// A procedure may be shipped only if an argument locates at least this share of its operations.
pub const LOCATED_MIN: f64 = 0.5;

/// A decision of the search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Decision {
    /// Storage of a table's rows.
    Table(usize),
    /// Storage of an index: table and index.
    Index(usize, usize),
    /// Old versions beside a table's rows, and whether rows keep their memory.
    Versions(usize),
    /// Where a procedure executes.
    Procedure(usize),
}

/// Compares plans.
#[derive(Clone, Copy)]
pub struct Search<'m, 'a> {
    pub model: &'m Model<'a>,
    pub objective: Objective,
    /// How designs are compared.
    pub goal: Goal,
    /// Bytes allowed on each machine.
    pub budget: Option<u64>,
}

impl Search<'_, '_> {
    /// The figures by which plans are compared; `None` if points are missing.
    pub fn figures(&self, plan: &Plan, decision: Decision) -> Option<Figures> {
        let bytes_each = self.model.bytes_each(plan);
        let (rate, latency_ns, of_load) = if self.goal == Goal::WeightedAverages {
            let average = self.average(plan, decision)?;
            (average.throughput, average.latency_ns, None)
        } else {
            let load = self.load(plan, decision)?;
            (self.model.throughput(&load), load.cost.latency_ns, Some(load))
        };
        let first = match (self.objective, of_load) {
            (Objective::Latency, _) => latency_ns,
            (Objective::Throughput, Some(load)) => load.throughput.between_ns,
            (Objective::Throughput, None) => -rate,
        };
        let rest = of_load.map_or(0.0, |load| self.model.stages(&load).iter().sum());
        let (rate, latency_us) = (rounded(rate), rounded(latency_ns / 1e3));
        Some(Figures { first, rest, rate, latency_us, bytes_each })
    }

    /// The paper's average for a decision.
    pub fn average(&self, plan: &Plan, decision: Decision) -> Option<Average> {
        match decision {
            Decision::Table(table) | Decision::Index(table, _) | Decision::Versions(table) => {
                self.model.table_average(plan, table)
            }
            Decision::Procedure(number) => {
                self.model.procedure_average(plan, number, plan.access[number])
            }
        }
    }

    /// The load by which a decision is made: the whole workload, or the procedure alone if it is
    /// never called, since the workload does not depend on it then.
    pub fn load(&self, plan: &Plan, decision: Decision) -> Option<Performance> {
        match decision {
            Decision::Procedure(number) if self.model.profiles[number].share == 0.0 => {
                let costs = self.model.procedure(plan, number)?;
                self.model.alone(plan, &costs, plan.access[number], number)
            }
            _ => self.model.workload(plan),
        }
    }

    /// All plans that differ from this one in one decision, and this one.
    pub fn alternatives(&self, plan: &Plan, decision: Decision) -> Vec<Plan> {
        let with = |change: &dyn Fn(&mut Plan)| {
            let mut other = plan.clone();
            change(&mut other);
            other
        };
        match decision {
            Decision::Table(table) => {
                let all = self.model.shapes[table].choices().into_iter();
                let all = all.filter(|(_, refusal)| refusal.is_none());
                all.map(|(choice, _)| with(&|plan| plan.tables[table].choice = choice.clone()))
                    .collect()
            }
            Decision::Index(table, index) => {
                let all = self.model.shapes[table].index_choices(index).into_iter();
                let all = all.filter(|(_, refusal)| refusal.is_none());
                all.map(|(choice, _)| with(&|plan| plan.tables[table].indexes[index] = choice))
                    .collect()
            }
            Decision::Versions(table) => {
                let choice = |(versions_beside, keeps_versions)| {
                    with(&|plan| {
                        let of = &mut plan.tables[table];
                        (of.versions_beside, of.keeps_versions) = (versions_beside, keeps_versions);
                    })
                };
                versions::CHOICES.map(choice).to_vec()
            }
            Decision::Procedure(number) => {
                let is_told = self.model.calls[number].told.is_some_and(|told| told >= LOCATED_MIN);
                // A single machine ships no procedure.
                let may_ship = is_told && self.model.machines > 1;
                let all = [Access::OneSided, Access::Shipped];
                let all = all.into_iter().take(1 + usize::from(may_ship));
                all.map(|access| with(&|plan| plan.access[number] = access)).collect()
            }
        }
    }

    /// The best plan within the memory budget.
    ///
    /// # Errors
    /// Points are missing, or the budget is too small for any design.
    pub fn best(&self) -> Result<Plan, TuneError> {
        let usual = self.usual();
        let unmeasured = self.unmeasured(&usual);
        if !unmeasured.is_empty() {
            return Err(self.model.not_measured(unmeasured));
        }
        let plan = self.settled(usual, None);
        let plan = match self.budget.filter(|budget| self.model.bytes_each(&plan) > *budget) {
            // A step may have saved more memory than necessary, so decide again within the budget.
            Some(budget) => self.settled(self.within(plan, budget)?, Some(budget)),
            None => plan,
        };
        Ok(self.unbeaten(plan))
    }

    /// Repeats all decisions until none changes, within the budget.
    fn settled(&self, mut plan: Plan, budget: Option<u64>) -> Plan {
        let decisions = self.decisions();
        let mut least = f64::INFINITY;
        for _ in 0..ROUNDS_MAX {
            let before = plan.clone();
            for &decision in &decisions {
                plan = self.decided(plan, decision, budget, &mut least);
            }
            if plan == before {
                break;
            }
        }
        plan
    }

    /// The default design of the workload.
    pub fn usual(&self) -> Plan {
        let table = |(number, shape): (usize, &super::candidates::TableShape)| TablePlan {
            choice: shape.usual(),
            indexes: (0..shape.index_words.len())
                .map(|index| shape.usual_index(index, self.model.declared[number][index]))
                .collect(),
            versions_beside: VERSIONS_BESIDE,
            keeps_versions: true,
        };
        let tables = self.model.shapes.iter().enumerate().map(table).collect();
        Plan { tables, access: vec![Access::OneSided; self.model.profiles.len()] }
    }

    /// Whether the search decides on old versions of a table: rows are updated, and the cost was
    /// measured. The paper's averages do not include it.
    pub fn decides_versions(&self, table: usize) -> bool {
        let is_known =
            self.model.surface.version_costs().is_some() && self.goal == Goal::ServiceTimes;
        is_known && self.model.shapes[table].is_updated
    }

    /// All decisions of the search.
    pub fn decisions(&self) -> Vec<Decision> {
        let tables = self.model.shapes.iter().enumerate().flat_map(|(table, shape)| {
            let indexes = (0..shape.index_words.len()).map(move |at| Decision::Index(table, at));
            let versions = self.decides_versions(table).then_some(Decision::Versions(table));
            std::iter::once(Decision::Table(table)).chain(indexes).chain(versions)
        });
        tables.chain((0..self.model.profiles.len()).map(Decision::Procedure)).collect()
    }

    /// The plan with the best alternative within the budget. Plans count as equally fast if they
    /// are near the fastest plan seen so far.
    fn decided(
        &self,
        plan: Plan,
        decision: Decision,
        budget: Option<u64>,
        least: &mut f64,
    ) -> Plan {
        let (figures, mut plans) =
            self.compared(plan, decision, |of| budget.is_none_or(|budget| of.bytes_each <= budget));
        let best = compare::best(&figures, |fastest| match self.is_whole(decision) {
            true => {
                *least = least.min(fastest);
                fastest.max(*least * (1.0 + RESOLUTION))
            }
            false => fastest,
        });
        plans.swap_remove(best.unwrap_or_default())
    }

    /// The plan and its alternatives in one decision that satisfy `is_meant`, with figures; the
    /// plan alone if points are missing.
    fn compared(
        &self,
        plan: Plan,
        decision: Decision,
        is_meant: impl Fn(&Figures) -> bool,
    ) -> (Vec<Figures>, Vec<Plan>) {
        let mut others = self.alternatives(&plan, decision);
        others.retain(|other| *other != plan);
        let Some(own) = self.figures(&plan, decision) else { return (Vec::new(), vec![plan]) };
        let (mut figures, mut plans) = (vec![own], vec![plan]);
        for other in others {
            let Some(of) = self.figures(&other, decision).filter(&is_meant) else { continue };
            figures.push(of);
            plans.push(other);
        }
        (figures, plans)
    }

    /// Moves to plans that beat this one until there is none. Separate decisions may miss them,
    /// because each one trades within the tolerance.
    fn unbeaten(&self, mut plan: Plan) -> Plan {
        for _ in 0..BEATEN_MAX {
            let each = self.decisions().into_iter();
            match each.map(|decision| self.beating(&plan, decision)).find(Option::is_some) {
                Some(Some(better)) => plan = better,
                _ => break,
            }
        }
        plan
    }

    /// The best plan that beats this one and differs in this decision only.
    fn beating(&self, plan: &Plan, decision: Decision) -> Option<Plan> {
        let own = self.figures(plan, decision)?;
        let (figures, mut plans) = self.compared(plan.clone(), decision, |of| of.beats(&own));
        let best = compare::best(&figures, |fastest| fastest + RESOLUTION * fastest.abs())?;
        (best > 0).then(|| plans.swap_remove(best))
    }

    /// Whether a decision depends on the figures of the whole workload.
    fn is_whole(&self, decision: Decision) -> bool {
        let is_called = match decision {
            Decision::Procedure(number) => self.model.profiles[number].share > 0.0,
            _ => true,
        };
        self.goal == Goal::ServiceTimes && is_called
    }

    /// Saves memory until the plan fits the budget, each time where a byte costs least.
    fn within(&self, mut plan: Plan, budget: u64) -> Result<Plan, TuneError> {
        let saving: Vec<Decision> = self
            .decisions()
            .into_iter()
            .filter(|decision| !matches!(decision, Decision::Procedure(_)))
            .collect();
        for _ in 0..SAVINGS_MAX {
            let bytes = self.model.bytes_each(&plan);
            if bytes <= budget {
                return Ok(plan);
            }
            let mut best: Option<(f64, Plan)> = None;
            for &decision in &saving {
                let Some(score) = self.figures(&plan, decision).map(|of| of.score()) else {
                    continue;
                };
                for other in self.alternatives(&plan, decision) {
                    let saved = bytes.saturating_sub(self.model.bytes_each(&other));
                    let Some(price) = self.figures(&other, decision).filter(|_| saved > 0) else {
                        continue;
                    };
                    let each = (price.score() - score) / saved as f64;
                    if best.as_ref().is_none_or(|(least, _)| each < *least) {
                        best = Some((each, other));
                    }
                }
            }
            match best {
                Some((_, other)) => plan = other,
                None => return Err(TuneError::Memory { needed: bytes, budget }),
            }
        }
        Err(TuneError::Memory { needed: self.model.bytes_each(&plan), budget })
    }

    /// Procedures of a plan for which points are missing.
    fn unmeasured(&self, plan: &Plan) -> Vec<String> {
        let mut all = self.model.unmeasured(plan);
        if self.goal == Goal::WeightedAverages {
            for (number, profile) in self.model.profiles.iter().enumerate() {
                let lacks =
                    || self.model.procedure_average(plan, number, plan.access[number]).is_none();
                if profile.share > 0.0 && !all.contains(&profile.name) && lacks() {
                    all.push(profile.name.clone());
                }
            }
        }
        all
    }
}
