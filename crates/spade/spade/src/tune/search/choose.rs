//! The search: one decision after the other is taken anew with all others as they are, until none changes; then memory is saved
//! where that costs least, if there is too little. What is left at the end is beaten by nothing that differs in one decision.
//!
//! Decision: docs/decisions/0216-memory-is-saved-one-decision-at-a-time-cheapest-byte-first.md

use super::candidates::VERSIONS_BESIDE;
use super::compare::{self, Figures, RESOLUTION};
use crate::design::Access;
use crate::measurement::rounded;
use crate::tune::contention::aggregate::Load;
use crate::tune::cost::average::Average;
use crate::tune::cost::versions;
use crate::tune::model::{Model, Plan, TablePlan};
use crate::tune::{Goal, Objective, TuneError};

/// Rounds over all decisions, at most. Two or three are enough for what is shipped.
const ROUNDS_MAX: u32 = 8;
/// Steps that save memory, at most.
const SAVINGS_MAX: u32 = 1_000;
/// Steps to what beats the design that was found, at most: each is better in something and worse in nothing, so that none comes twice.
const BEATEN_MAX: u32 = 1_000;
/// The share of a procedure's operations whose machine an argument has to tell before it is shipped there.
pub const TOLD_MIN: f64 = 0.5;

/// A decision.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Decision {
    /// How a table's rows are stored.
    Table(usize),
    /// How an index of a table is stored.
    Index(usize, usize),
    /// How many old versions are beside a table's rows, and whether their memory stays there.
    Versions(usize),
    /// Where a procedure is carried out.
    Procedure(usize),
}

/// What makes a design better than another.
#[derive(Clone, Copy)]
pub struct Judge<'m, 'a> {
    /// What designs cost.
    pub model: &'m Model<'a>,
    /// What is wanted.
    pub objective: Objective,
    /// By what designs are compared.
    pub goal: Goal,
    /// Bytes that are allowed on each machine.
    pub budget: Option<u64>,
}

impl Judge<'_, '_> {
    /// What a plan is compared by; none if it was not measured.
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
            (Objective::Throughput, Some(load)) => load.pace.between_ns,
            (Objective::Throughput, None) => -rate,
        };
        let rest = of_load.map_or(0.0, |load| self.model.stages(&load).iter().sum());
        let (rate, latency_us) = (rounded(rate), rounded(latency_ns / 1e3));
        Some(Figures { first, rest, rate, latency_us, bytes_each })
    }

    /// The paper's average of what a decision is about.
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

    /// What calls do by which a decision is taken: all of the workload, or those of a procedure that is never called, which makes no
    /// difference to the workload, and is decided for itself.
    pub fn load(&self, plan: &Plan, decision: Decision) -> Option<Load> {
        match decision {
            Decision::Procedure(number) if self.model.asked[number].share == 0.0 => {
                let costs = self.model.procedure(plan, number)?;
                self.model.alone(plan, &costs, plan.access[number], number)
            }
            _ => self.model.workload(plan),
        }
    }

    /// All plans that differ in one decision from this one, which is among them.
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
                let is_told = self.model.calls[number].told.is_some_and(|told| told >= TOLD_MIN);
                // Nothing is shipped on one machine.
                let may_ship = is_told && self.model.machines > 1;
                let all = [Access::OneSided, Access::Shipped];
                let all = all.into_iter().take(1 + usize::from(may_ship));
                all.map(|access| with(&|plan| plan.access[number] = access)).collect()
            }
        }
    }

    /// The best plan that memory allows.
    ///
    /// # Errors
    /// Operations of the workload were not measured, or there is too little memory for any design.
    pub fn best(&self) -> Result<Plan, TuneError> {
        let usual = self.usual();
        let unmeasured = self.unmeasured(&usual);
        if !unmeasured.is_empty() {
            return Err(self.model.not_measured(unmeasured));
        }
        let plan = self.settled(usual, None);
        let plan = match self.budget.filter(|budget| self.model.bytes_each(&plan) > *budget) {
            // Where a step has saved more than it had to, something else may be as it was.
            Some(budget) => self.settled(self.within(plan, budget)?, Some(budget)),
            None => plan,
        };
        Ok(self.unbeaten(plan))
    }

    /// The plan of which no decision is taken otherwise, within so many bytes.
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

    /// The design of a workload that nobody has tuned.
    pub fn usual(&self) -> Plan {
        let table = |(number, shape): (usize, &super::candidates::Shape)| TablePlan {
            choice: shape.usual(),
            indexes: (0..shape.index_words.len())
                .map(|index| shape.usual_index(index, self.model.declared[number][index]))
                .collect(),
            versions_beside: VERSIONS_BESIDE,
            keeps_versions: true,
        };
        let tables = self.model.shapes.iter().enumerate().map(table).collect();
        Plan { tables, access: vec![Access::OneSided; self.model.asked.len()] }
    }

    /// Whether old versions of a table's rows are decided about: if there are any, and it is known what they cost. The paper's averages
    /// know nothing of them.
    pub fn decides_versions(&self, table: usize) -> bool {
        let is_known = self.model.surface.aging().is_some() && self.goal == Goal::ServiceTimes;
        is_known && self.model.shapes[table].is_updated
    }

    /// Everything that is to be decided.
    pub fn decisions(&self) -> Vec<Decision> {
        let tables = self.model.shapes.iter().enumerate().flat_map(|(table, shape)| {
            let indexes = (0..shape.index_words.len()).map(move |at| Decision::Index(table, at));
            let versions = self.decides_versions(table).then_some(Decision::Versions(table));
            std::iter::once(Decision::Table(table)).chain(indexes).chain(versions)
        });
        tables.chain((0..self.model.asked.len()).map(Decision::Procedure)).collect()
    }

    /// The plan with the best alternative within so many bytes. As fast is what comes near the fastest of all plans that were looked at.
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

    /// The plan and those alternatives to one of its decisions that are meant, with their figures; the plan alone if it was not measured.
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

    /// The plan, or what it is led to by steps to plans that beat it: decisions that were taken one after the other may have left such
    /// ones, each looking at what others had given away already.
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

    /// The best of the plans that beat this one, and differ in this decision alone.
    fn beating(&self, plan: &Plan, decision: Decision) -> Option<Plan> {
        let own = self.figures(plan, decision)?;
        let (figures, mut plans) = self.compared(plan.clone(), decision, |of| of.beats(&own));
        let best = compare::best(&figures, |fastest| fastest + RESOLUTION * fastest.abs())?;
        (best > 0).then(|| plans.swap_remove(best))
    }

    /// Whether a decision is taken by what the whole workload does.
    fn is_whole(&self, decision: Decision) -> bool {
        let is_called = match decision {
            Decision::Procedure(number) => self.model.asked[number].share > 0.0,
            _ => true,
        };
        self.goal == Goal::ServiceTimes && is_called
    }

    /// Saves memory, where a byte costs least, until the plan has room.
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

    /// What was not measured of a plan.
    fn unmeasured(&self, plan: &Plan) -> Vec<String> {
        let mut all = self.model.unmeasured(plan);
        if self.goal == Goal::WeightedAverages {
            for (number, asked) in self.model.asked.iter().enumerate() {
                let lacks =
                    || self.model.procedure_average(plan, number, plan.access[number]).is_none();
                if asked.share > 0.0 && !all.contains(&asked.name) && lacks() {
                    all.push(asked.name.clone());
                }
            }
        }
        all
    }
}
