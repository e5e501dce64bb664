//! What the whole workload does: calls by frequency, and how fast they go; each stage of a machine has so many nanoseconds in a second.
//!
//! Decision: docs/decisions/0231-a-transactions-fixed-cost-counts-once-for-a-local-call.md

use super::conflicts::{Group, Meeting};
use super::fixed_point::{self, Start};
use super::insert_conflicts::Crowd;
use super::stages::demands;
use super::throughput::{Cluster, Pace, Part};
use crate::design::Access;
use crate::tune::cost::procedure::Costs;
use crate::tune::cost::vector::{Cost, add};
use crate::tune::cost::versions::Old;
use crate::tune::model::{Model, Plan};
use std::rc::Rc;

/// What calls cost on the average, and how fast they go.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Load {
    /// What one of them takes.
    pub cost: Cost,
    /// What all of them do together.
    pub pace: Pace,
}

/// Old versions of what a procedure's calls change.
struct OldOf {
    home: Rc<[Old]>,
    away: Rc<[Old]>,
}

/// What a plan comes to, and where each group of machines was found to be.
#[derive(Clone, Debug)]
pub struct Reached {
    /// What it comes to.
    pub load: Load,
    /// Of each group.
    pub starts: Rc<[Start]>,
}

/// The stages that can be full.
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
    /// What calls of the workload cost on the average, and how fast they go.
    pub fn workload(&self, plan: &Plan) -> Option<Load> {
        let key = plan.key();
        if let Some(known) = self.known.get(&key, self.surface.used()) {
            return Some(known.load);
        }
        // By measurements that are a little off it goes nearly as fast, and so does a plan that differs in one table.
        let before = self.known.before(&key).map(|reached| reached.starts);
        let near = before.or_else(|| self.last.borrow().clone());
        let (found, lines) = self.surface.recorded(|| self.found(plan, near.as_deref()));
        let found = found?;
        let load = found.load;
        self.last.replace(Some(Rc::clone(&found.starts)));
        self.known.put(key, found, lines);
        Some(load)
    }

    fn found(&self, plan: &Plan, near: Option<&[Start]>) -> Option<Reached> {
        let called = (0..self.asked.len()).filter(|number| self.asked[*number].share > 0.0);
        let called: Vec<(usize, Crowd)> =
            called.map(|number| (number, self.crowd(plan, number))).collect();
        let on = |machines: &[usize]| -> Option<Vec<Costs>> {
            called.iter().map(|(number, _)| self.procedure_on(plan, *number, machines)).collect()
        };
        let are_alike = called.iter().all(|(number, _)| self.calls[*number].is_alike_on_all());
        let anywhere = if are_alike { Some(on(&[])?) } else { None };
        let parts = |group: &'_ Group| {
            let on_these = if are_alike { None } else { Some(on(&group.machines)?) };
            on_these.or_else(|| anywhere.clone())
        };
        self.load(near, &|group| {
            let costs = parts(group)?;
            let each = costs.iter().zip(&called).map(|(costs, (number, crowd))| {
                let of_procedure = self.asked[*number].share;
                let met = (&*group.meetings[*number], *crowd);
                let old = self.old_of(plan, *number, &group.machines);
                self.kinds(costs, plan.access[*number], (met, &old), of_procedure)
            });
            Some(each.collect::<Option<Vec<_>>>()?.concat())
        })
    }

    /// How calls of a procedure meet others where they add rows. Whoever meets another one in one tree mostly does so in others, in which
    /// keys begin alike: the tree where that happens most decides. Buckets are hashed, each for itself.
    fn crowd(&self, plan: &Plan, number: usize) -> Crowd {
        let (mut trees, mut buckets) = (Crowd::default(), Crowd::default());
        let share = self.asked[number].share;
        let weight = |of: &Crowd| share * of.own + of.others;
        for (table, of) in plan.tables.iter().enumerate() {
            let shape = &self.shapes[table];
            let indexes = of.indexes.iter().enumerate().map(|(at, index)| Some((at, *index)));
            for index in std::iter::once(None).chain(indexes) {
                let structure = (table, index.map(|(at, _)| at));
                match shape.leaf_rows(&of.choice, index) {
                    Some(rows) => {
                        let found = self.crowds.leaves(structure, rows, number);
                        let Some(found) = found else { continue };
                        let stale = trees.stale.max(found.stale);
                        let more = if weight(&found) > weight(&trees) { found } else { trees };
                        trees = Crowd { stale, ..more };
                    }
                    None => {
                        let each =
                            shape.buckets(&of.choice, index) / f64::from(self.machines.max(1));
                        let found =
                            self.crowds.buckets(structure, each, number).unwrap_or_default();
                        buckets.own += found.own;
                        buckets.others += found.others;
                    }
                }
            }
        }
        // Real clusters read leaves anew.
        let stale = if self.surface.clock().is_some() { trees.stale } else { 0.0 };
        let (own, others) = (trees.own + buckets.own, trees.others + buckets.others);
        Crowd { own, others, stale, ..trees }
    }

    /// The same of one procedure, as if nothing else were called.
    pub fn alone(&self, plan: &Plan, costs: &Costs, access: Access, number: usize) -> Option<Load> {
        let crowd = self.crowd(plan, number);
        let found = self.load(None, &|group| {
            let met = (&*group.meetings[number], crowd);
            let old = self.old_of(plan, number, &group.machines);
            let mut parts = self.kinds(costs, access, (met, &old), 1.0)?;
            parts.iter_mut().for_each(|part| part.has_others = false);
            Some(parts)
        });
        Some(found?.load)
    }

    /// The calls of a procedure that come to the machine of its rows, and the others.
    fn kinds<'p>(
        &self,
        costs: &Costs,
        access: Access,
        ((meetings, crowd), old): ((&'p [Meeting], Crowd), &OldOf),
        of_procedure: f64,
    ) -> Option<Vec<Part<'p>>> {
        let part = |share: f64, cost: Cost, old: &Rc<[Old]>| Part {
            share: of_procedure * share,
            cost,
            of_procedure,
            meetings,
            crowd,
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

    /// Old versions of what a procedure's calls change at home on one of these machines, and from elsewhere by verbs.
    fn old_of(&self, plan: &Plan, number: usize, machines: &[usize]) -> OldOf {
        let call = &self.calls[number];
        let away = |at: usize| if call.copied[at] { (1.0, 1.0) } else { (0.0, 0.0) };
        OldOf {
            home: self.old(plan, number, &|at| call.near(at, machines)).into(),
            away: self.old(plan, number, &away).into(),
        }
    }

    /// What calls do, on all groups of machines; where it is known how fast they go nearly, that is begun with.
    fn load<'p>(
        &'p self,
        near: Option<&[Start]>,
        parts: &dyn Fn(&'p Group) -> Option<Vec<Part<'p>>>,
    ) -> Option<Reached> {
        let cluster = Cluster {
            machines: f64::from(self.machines.max(1)),
            threads: f64::from(self.threads.max(1)),
            lanes: f64::from(self.lanes.max(1)),
            clock: self.surface.clock(),
            needed_ns: self.surface.aging().map_or(0.0, |aging| aging.needed_ns),
        };
        let mut load = Load::default();
        let (mut paces, mut starts) = (Vec::new(), Vec::new());
        for (at, group) in self.meetings.iter().enumerate() {
            let parts = parts(group)?;
            let sum = |sum: Cost, part: &Part<'_>| sum.plus(&part.cost.times(part.share));
            let machines = group.machines.len() as f64;
            let cost = parts.iter().fold(Cost::default(), sum);
            load.cost = load.cost.plus(&cost.times(machines / cluster.machines));
            let start = near.and_then(|near| near.get(at)).copied();
            let (pace, start) = fixed_point::pace(&parts, &cluster, start);
            paces.push((machines, pace));
            starts.push(start);
        }
        load.pace = Pace::of_all(&paces);
        Some(Reached { load, starts: starts.into() })
    }

    /// Nanoseconds that a call takes of each stage of a machine, each as if there were one of it.
    pub fn stages(&self, load: &Load) -> [f64; STAGES.len()] {
        let Pace { machines, hot, oracle_ns, lane_ns, .. } = load.pace;
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

    /// The stage that is fullest, with its nanoseconds.
    pub fn bottleneck(&self, load: &Load) -> (&'static str, f64) {
        let stages = self.stages(load);
        let most = (0..STAGES.len()).max_by(|one, other| stages[*one].total_cmp(&stages[*other]));
        most.map_or(("cores", 0.0), |stage| (STAGES[stage], stages[stage]))
    }

    /// Transactions per second of the whole cluster.
    pub fn throughput(&self, load: &Load) -> f64 {
        f64::from(self.machines) * 1e9 / load.pace.between_ns.max(f64::MIN_POSITIVE)
    }
}
