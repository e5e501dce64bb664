//! The cost of a call: service times of its operations added up, stage by stage.
//!
//! ```text
//! call at home        reads by arguments, in one round trip
//!                     reads that depend on earlier rows, one after the other
//!                     reads of referenced rows, in one round trip per insert
//!                     commit: validation reads in one round trip, then all writes together
//! call elsewhere      one-sided: the same with all rows remote
//!                     shipped: the call at home, and a message with its response
//! ```

use super::vector::{Cost, add, scaled};
use super::waits::Waits;
use crate::design::Access;
use crate::measurement::{AccessPath, Demand, Operation, Place};
use crate::tune::TuneError;
use crate::tune::model::{Model, Plan};
use crate::tune::workload::profile::{Kind, Request};

/// Maximal number of missing operations that an error lists.
const MISSING_SHOWN: usize = 4;

/// The cost of a procedure, by where it is called.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ProcedureCost {
    /// Called on the machine of its rows.
    pub home: Cost,
    /// Called on another machine, with one-sided access. `None` if there is no such machine, or if
    /// it was not measured.
    pub one_sided: Option<Cost>,
    /// Called on another machine and shipped to the owner. `None` likewise.
    pub shipped: Option<Cost>,
}

impl ProcedureCost {
    /// The cost of a call on another machine.
    pub fn away(&self, access: Access) -> Option<Cost> {
        match access {
            Access::OneSided => self.one_sided,
            Access::Shipped => self.shipped,
        }
    }
}

impl Model<'_> {
    /// The cost of a procedure; `None` if the necessary points are missing.
    pub fn procedure(&self, plan: &Plan, number: usize) -> Option<ProcedureCost> {
        self.procedure_on(plan, number, &[])
    }

    /// The cost if calls at home are on one of these machines; an empty list means all machines.
    pub fn procedure_on(
        &self,
        plan: &Plan,
        number: usize,
        machines: &[usize],
    ) -> Option<ProcedureCost> {
        let mut tables: Vec<usize> =
            self.profiles[number].requests.iter().map(|request| request.table).collect();
        tables.sort_unstable();
        tables.dedup();
        let mut stored = Vec::new();
        tables.iter().for_each(|table| plan.tables[*table].put_key(&mut stored));
        let key = (number, machines.to_vec(), stored);
        if let Some(costs) = self.priced.get(&key, self.surface.used()) {
            return Some(costs);
        }
        let (found, lines) = self.surface.recorded(|| self.price(plan, number, machines));
        let costs = found?;
        self.priced.put(key, costs, lines);
        Some(costs)
    }

    fn price(&self, plan: &Plan, number: usize, machines: &[usize]) -> Option<ProcedureCost> {
        let call = &self.calls[number];
        let at_home = |at: usize| call.near(at, machines);
        let home = self.call(plan, number, &at_home)?;
        if self.machines < 2 || call.home.source.is_none() {
            // Its calls have no home, so no machine is more remote than another.
            return Some(ProcedureCost { home, one_sided: None, shipped: None });
        }
        let away = |at: usize| if call.copied[at] { (1.0, 1.0) } else { (0.0, 0.0) };
        let one_sided = self.call(plan, number, &away);
        let shipped = self.message(plan, number).map(|message| home.plus(&message));
        Some(ProcedureCost { home, one_sided, shipped })
    }

    /// The cost of an average call with this access.
    pub fn average(&self, costs: &ProcedureCost, access: Access) -> Option<Cost> {
        if costs.one_sided.is_none() && costs.shipped.is_none() {
            return Some(costs.home);
        }
        Some(costs.away(access)?.mixed(self.remote_calls, &costs.home))
    }

    /// Names of called procedures for which points are missing.
    pub fn unmeasured(&self, plan: &Plan) -> Vec<String> {
        self.surface.take_missing();
        let each = self.profiles.iter().enumerate().filter(|(_, profile)| profile.share > 0.0);
        // Bypass the memo: computing the cost records the missing points.
        let cost =
            |number: usize| self.average(&self.price(plan, number, &[])?, plan.access[number]);
        let missing = each.filter(|(number, _)| cost(*number).is_none());
        missing.map(|(_, profile)| profile.name.clone()).collect()
    }

    /// The error that lists these procedures and the missing points.
    pub fn not_measured(&self, procedures: Vec<String>) -> TuneError {
        let mut operations = self.surface.take_missing();
        let more = operations.len().saturating_sub(MISSING_SHOWN);
        if more > 0 {
            operations.truncate(MISSING_SHOWN);
            operations.push(format!("{more} more"));
        }
        let without = if self.surface.is_quick() { "--quick" } else { "--seconds" };
        TuneError::NotMeasured { procedures, operations, without }
    }

    /// The cost of a write at home.
    pub fn write(&self, plan: &Plan, number: usize, request: &Request) -> Option<Cost> {
        let at = self.profiles[number].requests.iter().position(|one| one == request)?;
        let call = &self.calls[number];
        let (rows, entries) = self.near((call.local[at], call.entries[at]));
        Some(self.mixed(plan, request, rows, entries)?.write)
    }

    /// The cost of the same write from another machine by verbs.
    pub fn write_away(&self, plan: &Plan, request: &Request) -> Option<Cost> {
        let (rows, entries) = self.near((0.0, 0.0));
        Some(self.mixed(plan, request, rows, entries)?.write)
    }

    /// The cost of a call in which `local` returns the local shares of rows and index entries.
    fn call(
        &self,
        plan: &Plan,
        number: usize,
        local: &dyn Fn(usize) -> (f64, f64),
    ) -> Option<Cost> {
        let profile = &self.profiles[number];
        let (mut sum, mut waits) = (Cost::default(), Waits::default());
        let (mut writes, mut slowest, mut written) = (Cost::default(), Cost::default(), 0.0);
        // Waiting for a remote batch includes the fixed cost of a transaction; a call without
        // remote batches pays it in addition.
        let (mut fixed, mut within, mut read) = (Cost::default(), 1.0, 0.0);
        let (mut hot, mut near, mut adds_ns) = (Demand::default(), 1.0, 0.0_f64);
        for (at, request) in
            profile.requests.iter().enumerate().filter(|(_, request)| request.times > 0.0)
        {
            let (rows, entries) = self.near(local(at));
            let parts = self.mixed(plan, request, rows, entries)?;
            // Probability that a batch of `count` rows has a remote one.
            let is_remote = |count: f64| 1.0 - libm::pow(rows.min(entries), count.max(1.0));
            if request.kind == Kind::Insert {
                let waits = parts.each.plus(&parts.batch.times(is_remote(request.times)));
                adds_ns = adds_ns.max(waits.latency_ns);
            }
            let parts = parts.read(self.is_read(plan, number, request));
            sum = sum.plus(&parts.each.times(request.times));
            let remote = parts.each.plus(&parts.batch).plus(&parts.write).owners;
            // For a call elsewhere, rows that would be at home may be on any machine.
            let anywhere = 1.0 - self.near((self.calls[number].local[at], 1.0)).0;
            let by_skew = if rows > 0.0 { 1.0 } else { anywhere };
            hot = add(hot, scaled(remote, request.times * by_skew * self.calls[number].skew[at]));
            fixed = fixed.with(&parts.fixed, f64::max);
            read += if parts.fixed == Cost::default() { 0.0 } else { request.times };
            let keeps = self.keeps_leaves(&plan.tables[request.table]);
            if request.kind < Kind::Update || request.kind == Kind::Insert && !keeps {
                let whole =
                    if matches!(request.kind, Kind::Scan(_)) { rows.min(entries) } else { rows };
                let is_remote = 1.0 - libm::pow(whole, request.times.max(1.0));
                within *= 1.0 - is_remote * request.times.min(1.0);
            }
            waits.note(request, &parts, &is_remote);
            if !request.is_ahead && !request.is_referred {
                let batches = if request.is_batch { request.times.min(1.0) } else { request.times };
                let count = if request.is_batch { request.times } else { 1.0 };
                sum = sum.plus(&parts.batch.times(is_remote(count) * batches));
            }
            if request.kind >= Kind::Update {
                written += request.times;
                near *= libm::pow(rows.min(entries), request.times);
                writes = writes.plus(&parts.write.times(request.times));
                slowest = slowest.with(&parts.write, f64::max);
            }
        }
        // If the number of writes is below 1, a branch skips them in some calls.
        let slowest = slowest.times(written.min(1.0));
        let fixed = fixed.times(within * read.min(1.0));
        let commit = committed(&writes, &slowest, written).plus(&waits.validation());
        let cost = sum.plus(&waits.reading()).plus(&fixed).plus(&commit);
        let far = if self.surface.has(Place::Local) { 1.0 - near } else { 0.0 };
        Some(Cost { commit_ns: commit.latency_ns, adds_ns, far, hot, ..cost })
    }

    /// The additional cost of shipping a call: the largest difference between shipped and local
    /// among the operations of the procedure.
    fn message(&self, plan: &Plan, number: usize) -> Option<Cost> {
        let requests = self.profiles[number].requests.iter().filter(|request| request.times > 0.0);
        let each = requests
            .filter(|request| request.kind < Kind::Update || request.kind == Kind::Insert)
            .map(|request| {
                let table = &plan.tables[request.table];
                let of = |place| {
                    self.cost(
                        request.table,
                        table,
                        Operation::Lookup,
                        AccessPath::Primary,
                        place,
                        1.0,
                    )
                };
                let (shipped, local) = (of(Place::Shipped)?, of(Place::Local)?);
                Some(shipped.minus(&local).at_least_zero())
            });
        each.reduce(|most, cost| Some(most?.with(&cost?, f64::max)))?
    }
}

/// The commit of several writes. Each was measured with a commit of its own, but they are posted
/// together, so that the call waits for the slowest one, and publishes once. Processor time adds
/// up.
fn committed(writes: &Cost, slowest: &Cost, count: f64) -> Cost {
    let published = Demand {
        link_out_ns: slowest.others.link_in_ns,
        link_in_ns: slowest.others.link_out_ns,
        engine_ns: slowest.others.engine_ns,
        ..Demand::default()
    };
    let spared = scaled(published, -(count - 1.0).max(0.0));
    let serial_ns = (writes.machines.core_ns - slowest.machines.core_ns).max(0.0);
    Cost {
        latency_ns: slowest.latency_ns + serial_ns,
        tail_ns: slowest.tail_ns + serial_ns,
        round_trips: slowest.round_trips,
        machines: add(writes.machines, spared),
        others: slowest.others,
        ..*writes
    }
    .at_least_zero()
}
