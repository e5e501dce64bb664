//! Combines the calls of all procedures, by frequency, into the throughput of the workload.
//!
//! Decision: docs/decisions/0231-a-transactions-fixed-cost-counts-once-for-a-local-call.md

use super::conflicts::{ConflictRate, MachineGroup};
use super::fixed_point::{self, Start};
use super::insert_conflicts::InsertConflicts;
use super::stages::demands;
use super::throughput::{CallClass, Cluster, Throughput};
use crate::design::Access;
use crate::tune::cost::procedure::ProcedureCost;
use crate::tune::cost::vector::{Cost, add};
use crate::tune::cost::versions::OldVersions;
use crate::tune::model::{Model, Plan};
use std::rc::Rc;

/// The mean cost of a call, and the throughput.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Performance {
    /// Mean cost of a call.
    pub cost: Cost,
    /// Throughput of all calls together.
    pub throughput: Throughput,
}

/// Old versions of the rows that the calls of a procedure update.
struct ProcedureVersions {
    home: Rc<[OldVersions]>,
    away: Rc<[OldVersions]>,
}

/// The result for a plan, and where the search for each group's throughput ended.
#[derive(Clone, Debug)]
pub struct Solution {
    pub load: Performance,
    /// One for each group of machines.
    pub starts: Rc<[Start]>,
}

/// The stages that can be the bottleneck.
pub const STAGES: [&str; 9] = [
    "cores",
    "engine",
    "atomics",
    "link out",
    "link in",
    "bus from memory",
    "bus to memory",
    "lanes",
    "oracle",
];

impl Model<'_> {
    /// The mean cost of the workload's calls, and the throughput.
    pub fn workload(&self, plan: &Plan) -> Option<Performance> {
        let key = plan.key();
        if let Some(known) = self.known.get(&key, self.surface.used()) {
            return Some(known.load);
        }
        // Start from the result without the perturbation, or from that of the last plan: both are
        // near.
        let before = self.known.before(&key).map(|reached| reached.starts);
        let near = before.or_else(|| self.last.borrow().clone());
        let (found, lines) = self.surface.recorded(|| self.found(plan, near.as_deref()));
        let found = found?;
        let load = found.load;
        self.last.replace(Some(Rc::clone(&found.starts)));
        self.known.put(key, found, lines);
        Some(load)
    }

    fn found(&self, plan: &Plan, near: Option<&[Start]>) -> Option<Solution> {
        let called = (0..self.profiles.len()).filter(|number| self.profiles[*number].share > 0.0);
        let called: Vec<(usize, InsertConflicts)> =
            called.map(|number| (number, self.insert_conflicts(plan, number))).collect();
        let on = |machines: &[usize]| -> Option<Vec<ProcedureCost>> {
            called.iter().map(|(number, _)| self.procedure_on(plan, *number, machines)).collect()
        };
        let are_alike = called.iter().all(|(number, _)| self.calls[*number].is_alike_on_all());
        let anywhere = if are_alike { Some(on(&[])?) } else { None };
        let parts = |group: &'_ MachineGroup| {
            let on_these = if are_alike { None } else { Some(on(&group.machines)?) };
            on_these.or_else(|| anywhere.clone())
        };
        self.load(near, &|group| {
            let costs = parts(group)?;
            let each = costs.iter().zip(&called).map(|(costs, (number, insert_conflicts))| {
                let of_procedure = self.profiles[*number].share;
                let met = (&*group.conflict_rates[*number], *insert_conflicts);
                let old = self.procedure_versions(plan, *number, &group.machines);
                self.kinds(costs, plan.access[*number], (met, &old), of_procedure)
            });
            Some(each.collect::<Option<Vec<_>>>()?.concat())
        })
    }

    /// How often inserts of a procedure conflict with others. Keys of several trees often begin
    /// alike, so two calls that conflict in one tree conflict in the others too: only the tree with
    /// most conflicts counts. Buckets are hashed, so conflicts of all tables add up.
    fn insert_conflicts(&self, plan: &Plan, number: usize) -> InsertConflicts {
        let (mut trees, mut buckets) = (InsertConflicts::default(), InsertConflicts::default());
        let share = self.profiles[number].share;
        let weight = |of: &InsertConflicts| share * of.own + of.others;
        for (table, of) in plan.tables.iter().enumerate() {
            let shape = &self.shapes[table];
            let indexes = of.indexes.iter().enumerate().map(|(at, index)| Some((at, *index)));
            for index in std::iter::once(None).chain(indexes) {
                let structure = (table, index.map(|(at, _)| at));
                match shape.leaf_rows(&of.choice, index) {
                    Some(rows) => {
                        let found = self.insert_sites.leaves(structure, rows, number);
                        let Some(found) = found else { continue };
                        let stale = trees.stale.max(found.stale);
                        let more = if weight(&found) > weight(&trees) { found } else { trees };
                        trees = InsertConflicts { stale, ..more };
                    }
                    None => {
                        let each =
                            shape.buckets(&of.choice, index) / f64::from(self.machines.max(1));
                        let found =
                            self.insert_sites.buckets(structure, each, number).unwrap_or_default();
                        buckets.own += found.own;
                        buckets.others += found.others;
                    }
                }
            }
        }
        // On real clusters an insert reads its leaf again.
        let stale = if self.surface.clock().is_some() { trees.stale } else { 0.0 };
        let (own, others) = (trees.own + buckets.own, trees.others + buckets.others);
        InsertConflicts { own, others, stale, ..trees }
    }

    /// The same for one procedure if no other is called.
    pub fn alone(
        &self,
        plan: &Plan,
        costs: &ProcedureCost,
        access: Access,
        number: usize,
    ) -> Option<Performance> {
        let insert_conflicts = self.insert_conflicts(plan, number);
        let found = self.load(None, &|group| {
            let met = (&*group.conflict_rates[number], insert_conflicts);
            let old = self.procedure_versions(plan, number, &group.machines);
            let mut parts = self.kinds(costs, access, (met, &old), 1.0)?;
            parts.iter_mut().for_each(|part| part.has_others = false);
            Some(parts)
        });
        Some(found?.load)
    }

    /// The classes of a procedure's calls: at home, and from other machines.
    fn kinds<'p>(
        &self,
        costs: &ProcedureCost,
        access: Access,
        ((conflict_rates, insert_conflicts), old): (
            (&'p [ConflictRate], InsertConflicts),
            &ProcedureVersions,
        ),
        of_procedure: f64,
    ) -> Option<Vec<CallClass<'p>>> {
        let part = |share: f64, cost: Cost, old: &Rc<[OldVersions]>| CallClass {
            share: of_procedure * share,
            cost,
            of_procedure,
            conflict_rates,
            insert_conflicts,
            old: Rc::clone(old),
            has_others: true,
        };
        if costs.one_sided.is_none() && costs.shipped.is_none() {
            return Some(vec![part(1.0, costs.home, &old.home)]);
        }
        let away = costs.away(access)?;
        let from = if access == Access::Shipped { &old.home } else { &old.away };
        let both =
            [(1.0 - self.remote_calls, costs.home, &old.home), (self.remote_calls, away, from)];
        let there = both.into_iter().filter(|(share, ..)| *share > 0.0);
        Some(there.map(|(share, cost, old)| part(share, cost, old)).collect())
    }

    /// Old versions of the rows that calls update at home on one of these machines, and from
    /// elsewhere by verbs.
    fn procedure_versions(
        &self,
        plan: &Plan,
        number: usize,
        machines: &[usize],
    ) -> ProcedureVersions {
        let call = &self.calls[number];
        let away = |at: usize| if call.copied[at] { (1.0, 1.0) } else { (0.0, 0.0) };
        ProcedureVersions {
            home: self.old(plan, number, &|at| call.near(at, machines)).into(),
            away: self.old(plan, number, &away).into(),
        }
    }

    /// Combines the call classes on all groups of machines. `near` are starting points of the
    /// throughput search.
    fn load<'p>(
        &'p self,
        near: Option<&[Start]>,
        parts: &dyn Fn(&'p MachineGroup) -> Option<Vec<CallClass<'p>>>,
    ) -> Option<Solution> {
        let cluster = Cluster {
            machines: f64::from(self.machines.max(1)),
            threads: f64::from(self.threads.max(1)),
            lanes: f64::from(self.lanes.max(1)),
            clock: self.surface.clock(),
            needed_ns: self
                .surface
                .version_costs()
                .map_or(0.0, |version_costs| version_costs.needed_ns),
        };
        let mut load = Performance::default();
        let (mut throughputs, mut starts) = (Vec::new(), Vec::new());
        for (at, group) in self.conflict_rates.iter().enumerate() {
            let parts = parts(group)?;
            let sum = |sum: Cost, part: &CallClass<'_>| sum.plus(&part.cost.times(part.share));
            let machines = group.machines.len() as f64;
            let cost = parts.iter().fold(Cost::default(), sum);
            load.cost = load.cost.plus(&cost.times(machines / cluster.machines));
            let start = near.and_then(|near| near.get(at)).copied();
            let (throughput, start) = fixed_point::find(&parts, &cluster, start);
            throughputs.push((machines, throughput));
            starts.push(start);
        }
        load.throughput = Throughput::of_all(&throughputs);
        Some(Solution { load, starts: starts.into() })
    }

    /// Nanoseconds of each stage that a call takes, divided by the number of stages of that kind.
    pub fn stages(&self, load: &Performance) -> [f64; STAGES.len()] {
        let Throughput { machines, hot, oracle_ns, lane_ns, .. } = load.throughput;
        let [cores, stages @ ..] = demands(&add(machines, hot));
        let [engine, atomics, link_out, link_in, from_memory, to_memory] = stages;
        [
            cores / f64::from(self.threads.max(1)),
            engine,
            atomics,
            link_out,
            link_in,
            from_memory,
            to_memory,
            lane_ns / f64::from(self.lanes.max(1)),
            oracle_ns * f64::from(self.machines),
        ]
    }

    /// The stage with the highest demand, and this demand in nanoseconds.
    pub fn bottleneck(&self, load: &Performance) -> (&'static str, f64) {
        let stages = self.stages(load);
        let most = (0..STAGES.len()).max_by(|one, other| stages[*one].total_cmp(&stages[*other]));
        most.map_or(("cores", 0.0), |stage| (STAGES[stage], stages[stage]))
    }

    /// Transactions per second of the whole cluster.
    pub fn throughput(&self, load: &Performance) -> f64 {
        f64::from(self.machines) * 1e9 / load.throughput.between_ns.max(f64::MIN_POSITIVE)
    }
}
