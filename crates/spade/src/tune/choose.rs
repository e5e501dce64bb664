//! The search: one decision after the other is taken anew with all others as they are, until none changes; then memory is saved
//! where that costs least, if there is too little.

use super::candidate::VERSIONS_BESIDE;
use super::model::{Model, Plan, TablePlan};
use super::{Goal, Objective, TuneError};
use crate::design::Access;

/// Rounds over all decisions, at most. Two or three are enough for what is shipped.
const ROUNDS_MAX: u32 = 8;
/// The share by which forecasts of equally fast designs may differ. Waits depend on each other: what makes a call slower lets it meet fewer others, so
/// that forecasts differ by a little which way ever; the interval of most measurements is wider.
const RESOLUTION: f64 = 0.005;
/// What all stages together count where designs are put in a row.
const REST_WEIGHT: f64 = 1e-3;
/// Improvements below this share are none.
const STEP_MIN: f64 = 1e-9;
/// Steps that save memory, at most.
const SAVINGS_MAX: u32 = 1_000;
/// The share of a procedure's operations whose machine an argument has to tell before it is shipped there.
pub const TOLD_MIN: f64 = 0.5;

/// A decision.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Decision {
    /// How a table's rows are stored.
    Table(usize),
    /// How an index of a table is stored.
    Index(usize, usize),
    /// Where a procedure is carried out.
    Procedure(usize),
}

/// What designs are compared by: the smaller, the better.
#[derive(Clone, Copy, Debug)]
struct Figures {
    /// What is wanted: time between two calls, or latency.
    first: f64,
    /// All stages together.
    rest: f64,
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
}

impl Judge<'_, '_> {
    /// The smaller, the better, in one figure; none if it was not measured.
    pub fn score(&self, plan: &Plan, decision: Decision) -> Option<f64> {
        self.figures(plan, decision).map(|of| of.first + REST_WEIGHT * of.rest)
    }

    /// What a plan is compared by; none if it was not measured.
    fn figures(&self, plan: &Plan, decision: Decision) -> Option<Figures> {
        if self.goal == Goal::WeightedAverages {
            let average = match decision {
                Decision::Table(table) | Decision::Index(table, _) => {
                    self.model.table_average(plan, table)?
                }
                Decision::Procedure(number) => {
                    self.model.procedure_average(plan, number, plan.access[number])?
                }
            };
            let first = match self.objective {
                Objective::Throughput => -average.throughput,
                Objective::Latency => average.latency_ns,
            };
            return Some(Figures { first, rest: 0.0 });
        }
        let load = match decision {
            // What is never called makes no difference to the workload, and is decided for itself.
            Decision::Procedure(number) if self.model.asked[number].share == 0.0 => {
                let costs = self.model.procedure(plan, number)?;
                self.model.alone(plan, &costs, plan.access[number], number)?
            }
            _ => self.model.workload(plan)?,
        };
        let rest: f64 = self.model.stages(&load).iter().sum();
        let first = match self.objective {
            Objective::Throughput => load.pace.between_ns,
            Objective::Latency => load.cost.latency_ns,
        };
        Some(Figures { first, rest })
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

    /// The best plan, with so many bytes on each machine at most.
    ///
    /// # Errors
    /// Operations of the workload were not measured, or there is too little memory for any design.
    pub fn best(&self, budget: Option<u64>) -> Result<Plan, TuneError> {
        let mut plan = self.usual();
        let decisions = self.decisions();
        let unmeasured = self.unmeasured(&plan);
        if !unmeasured.is_empty() {
            return Err(self.model.not_measured(unmeasured));
        }
        let mut least = f64::INFINITY;
        for _ in 0..ROUNDS_MAX {
            let before = plan.clone();
            for &decision in &decisions {
                plan = self.decided(plan, decision, &mut least);
            }
            if plan == before {
                break;
            }
        }
        match budget {
            Some(budget) => self.within(plan, budget),
            None => Ok(plan),
        }
    }

    /// The design of a workload that nobody has tuned.
    pub fn usual(&self) -> Plan {
        let table = |(number, shape): (usize, &super::candidate::Shape)| TablePlan {
            choice: shape.usual(),
            indexes: (0..shape.index_words.len())
                .map(|index| shape.usual_index(index, self.model.declared[number][index]))
                .collect(),
            versions_beside: VERSIONS_BESIDE,
        };
        let tables = self.model.shapes.iter().enumerate().map(table).collect();
        Plan { tables, access: vec![Access::OneSided; self.model.asked.len()] }
    }

    /// Everything that is to be decided.
    pub fn decisions(&self) -> Vec<Decision> {
        let tables = self.model.shapes.iter().enumerate().flat_map(|(table, shape)| {
            let indexes = (0..shape.index_words.len()).map(move |at| Decision::Index(table, at));
            std::iter::once(Decision::Table(table)).chain(indexes)
        });
        tables.chain((0..self.model.asked.len()).map(Decision::Procedure)).collect()
    }

    /// The plan with the best alternative: of those that are as fast as the fastest of all plans that were looked at, that which takes least of all stages
    /// together, then that which takes least memory.
    fn decided(&self, plan: Plan, decision: Decision, least: &mut f64) -> Plan {
        let Some(own) = self.figures(&plan, decision) else { return plan };
        let others = self.alternatives(&plan, decision).into_iter();
        let others = others.filter_map(|other| Some((self.figures(&other, decision)?, other)));
        let others: Vec<(Figures, Plan)> = others.collect();
        let fastest = others.iter().fold(own.first, |least, (of, _)| least.min(of.first));
        let enough = match self.is_whole(decision) {
            true => {
                *least = least.min(fastest);
                fastest.max(*least * (1.0 + RESOLUTION))
            }
            false => fastest,
        };
        let mut best = (own, plan);
        for other in others.into_iter().filter(|(of, _)| of.first <= enough) {
            let step = STEP_MIN * best.0.rest.abs();
            let saves = || self.model.bytes_each(&other.1) < self.model.bytes_each(&best.1);
            let is_cheaper =
                other.0.rest < best.0.rest - step || (other.0.rest <= best.0.rest && saves());
            if best.0.first > enough || is_cheaper {
                best = other;
            }
        }
        best.1
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
                let Some(score) = self.score(&plan, decision) else { continue };
                for other in self.alternatives(&plan, decision) {
                    let saved = bytes.saturating_sub(self.model.bytes_each(&other));
                    let Some(price) = self.score(&other, decision).filter(|_| saved > 0) else {
                        continue;
                    };
                    let each = (price - score) / saved as f64;
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
