//! The scenarios that are smaller than a scenario, the smallest first.

use crate::file::Choice;
use crate::file::Scenario;
use crate::file::faults::PlannedEntry;
use crate::file::hostility::{HostilityPlan, Level, TearingName};
use crate::file::plans::ClusterPlan;
use crate::file::workloads::WorkloadPlan;
use sim::BrokenPromises;

/// Scenarios that are smaller in one respect each.
pub(super) fn candidates(scenario: &Scenario) -> Vec<Scenario> {
    let mut found = Vec::new();
    clients(scenario, &mut found);
    faults(scenario, &mut found);
    cluster(scenario, &mut found);
    hardware(scenario, &mut found);
    workload(scenario, &mut found);
    hostility(scenario, &mut found);
    found
}

/// Numbers below `count` and at least `least`: a few of them, the smallest first.
fn fewer(count: u64, least: u64) -> Vec<u64> {
    let mut smaller = vec![least, count / 2, count - count / 4, count.saturating_sub(1)];
    smaller.retain(|&number| number >= least && number < count);
    smaller.dedup();
    smaller
}

fn clients(scenario: &Scenario, found: &mut Vec<Scenario>) {
    let plan = &scenario.clients;
    let mut with = |change: &dyn Fn(&mut Scenario)| {
        let mut smaller = scenario.clone();
        change(&mut smaller);
        found.push(smaller);
    };
    for count in fewer(u64::from(plan.count.get()), 1) {
        with(&|smaller| smaller.clients.count = Choice::only(count as u32));
    }
    for count in fewer(u64::from(plan.transactions.get()), 1) {
        with(&|smaller| smaller.clients.transactions = Choice::only(count as u32));
    }
    if plan.restarts {
        with(&|smaller| smaller.clients.restarts = false);
    }
    if plan.patience_ns.is_some() {
        with(&|smaller| smaller.clients.patience_ns = None);
    }
    if plan.borrows_lanes.get() {
        with(&|smaller| smaller.clients.borrows_lanes = Choice::only(false));
    }
    if plan.think_ns.get() > 0 {
        with(&|smaller| smaller.clients.think_ns = Choice::only(0));
    }
}

/// Plans without a half, a quarter, and so on down to single faults; and scenarios without a rate.
fn faults(scenario: &Scenario, found: &mut Vec<Scenario>) {
    for name in scenario.faults.keys() {
        let mut smaller = scenario.clone();
        smaller.faults.remove(name);
        found.push(smaller);
    }
    let plan = &scenario.plan;
    let mut size = plan.len();
    while size > 0 {
        for first in (0..plan.len()).step_by(size) {
            let is_kept = |place: usize| place < first || place >= first + size;
            let kept = (0..).zip(plan).filter(|&(place, _)| is_kept(place));
            let plan: Vec<PlannedEntry> = kept.map(|(_, entry)| entry.clone()).collect();
            found.push(Scenario { plan, ..scenario.clone() });
        }
        size /= 2;
    }
}

fn cluster(scenario: &Scenario, found: &mut Vec<Scenario>) {
    // A plan's node numbers are valid only with the same number of servers.
    if scenario.plan.is_empty() {
        for count in fewer(u64::from(scenario.cluster.memory_servers.get()), 1) {
            let mut smaller = scenario.clone();
            smaller.cluster.memory_servers = Choice::only(count as u16);
            found.push(smaller);
        }
    }
    let servers = scenario.cluster.memory_servers.get();
    let named = scenario.plan.iter().filter_map(PlannedEntry::last_node).max();
    let least = named.map_or(1, |node| (node + 1).saturating_sub(servers).max(1));
    for count in fewer(u64::from(scenario.cluster.compute_servers.get()), u64::from(least)) {
        let mut smaller = scenario.clone();
        smaller.cluster.compute_servers = Choice::only(count as u16);
        found.push(smaller);
    }
}

fn hardware(scenario: &Scenario, found: &mut Vec<Scenario>) {
    let mut with = |is_on: bool, change: &dyn Fn(&mut ClusterPlan)| {
        if is_on {
            let mut smaller = scenario.clone();
            change(&mut smaller.cluster);
            found.push(smaller);
        }
    };
    let cluster = &scenario.cluster;
    with(cluster.network.is_some(), &|cluster| cluster.network = None);
    with(cluster.cores.get() > 0, &|cluster| cluster.cores = Choice::only(0));
    let is_free = cluster.cores.get() == 0;
    with(is_free && cluster.core_cost_ns.get() > 0, &|cluster| {
        cluster.core_cost_ns = Choice::only(0);
    });
}

fn workload(scenario: &Scenario, found: &mut Vec<Scenario>) {
    for workload in smaller_workloads(&scenario.workload) {
        let smaller = Scenario { workload, ..scenario.clone() };
        if crate::work::make(&smaller).is_ok() {
            found.push(smaller);
        }
    }
}

/// Adds plans with a smaller value of each field.
macro_rules! reduce {
    ($found:ident, $kind:path, $plan:ident, $($field:ident from $least:literal),+ $(,)?) => {{
        $(for count in fewer(u64::from($plan.$field.get()), $least) {
            let mut smaller = $plan.clone();
            smaller.$field = Choice::only(count.try_into().expect("it is smaller"));
            $found.push($kind(smaller));
        })+
    }};
}

fn smaller_workloads(workload: &WorkloadPlan) -> Vec<WorkloadPlan> {
    use WorkloadPlan::*;
    let mut found = Vec::new();
    match workload {
        Append(plan) => reduce!(found, Append, plan, lists from 1, operations from 1),
        Register(plan) => {
            reduce!(found, Register, plan, registers from 1, operations from 1, long_percent from 0);
        }
        Bank(plan) => reduce!(found, Bank, plan, accounts from 2, audit_percent from 0),
        Cycle(plan) => reduce!(found, Cycle, plan, rows from 4, walk_percent from 0),
        Smallbank(plan) => reduce!(found, Smallbank, plan, hot_customers from 2, customers from 2),
        Tatp(plan) => reduce!(found, Tatp, plan, subscribers from 1),
        Tpcc(plan) => {
            reduce!(found, Tpcc, plan, warehouses from 1, districts from 1, customers from 4, items from 15);
        }
        Churn(plan) => {
            reduce!(found, Churn, plan, rows from 1, groups from 1, tags from 0, operations from 1);
        }
        Passing(plan) => reduce!(found, Passing, plan, tables from 1),
    }
    found
}

fn hostility(scenario: &Scenario, found: &mut Vec<Scenario>) {
    if scenario.broken != BrokenPromises::default() {
        found.push(Scenario { broken: BrokenPromises::default(), ..scenario.clone() });
    }
    let plan = &scenario.hostility;
    if plan.level == Level::Hostile {
        let hostility = HostilityPlan { level: Level::Quiet, ..plan.clone() };
        found.push(Scenario { hostility, ..scenario.clone() });
    }
    let happens = |value: &Option<Choice<u32>>| value.as_ref().is_none_or(|value| value.get() > 0);
    let mut with = |is_on: bool, change: &dyn Fn(&mut HostilityPlan)| {
        if is_on {
            let mut smaller = scenario.clone();
            change(&mut smaller.hostility);
            found.push(smaller);
        }
    };
    let zero = || Some(Choice::only(0));
    with(happens(&plan.reach_delay_one_in), &|plan| plan.reach_delay_one_in = zero());
    with(happens(&plan.duplicate_call_one_in), &|plan| plan.duplicate_call_one_in = zero());
    with(happens(&plan.slow_verb_one_in), &|plan| plan.slow_verb_one_in = zero());
    with(happens(&plan.late_completion_one_in), &|plan| plan.late_completion_one_in = zero());
    let window = &plan.atomic_window_ns;
    let is_open = window.as_ref().is_none_or(|window_ns| window_ns.get() > 0);
    with(is_open, &|plan| plan.atomic_window_ns = Some(Choice::only(0)));
    let is_torn = |tearing: &Choice<TearingName>| tearing.get() != TearingName::None;
    with(plan.tearing.as_ref().is_none_or(is_torn), &|plan| {
        plan.tearing = Some(Choice::only(TearingName::None));
    });
    let is_spread = plan.word_ns.as_ref().is_none_or(|word_ns| word_ns.get() > 1);
    with(is_spread, &|plan| plan.word_ns = Some(Choice::only(1)));
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "name = \"a\"\nshows = \"b\"\n[cluster]\nmemory_servers = 1\n\
        compute_servers = 3\n[clients]\ncount = 4\ntransactions = 9\n[workload.bank]\naccounts = 4\n\
        [[plan]]\nfault = \"process-pause\"\nat_ns = 5\nnode = 2\nlasts_ns = 9\n\
        [[plan]]\nfault = \"lost-completion\"\nbatch = 50\n";

    #[test]
    fn candidates_can_be_run_and_are_not_the_same() {
        let scenario = Scenario::read("a.toml", TEXT).expect("it is right").drawn(3);
        let candidates = candidates(&scenario);
        assert!(candidates.len() > 15);
        for candidate in &candidates {
            assert_ne!(*candidate, scenario);
            let text = candidate.write();
            let read = Scenario::read("candidate", &text);
            assert_eq!(read.as_ref(), Ok(candidate), "{text}");
        }
        let least = candidates.iter().map(|smaller| smaller.cluster.compute_servers.get()).min();
        assert_eq!(least, Some(2), "node 2 is the second compute server");
        assert!(candidates.iter().any(|smaller| smaller.plan.is_empty()));
        assert!(candidates.iter().any(|smaller| smaller.plan.len() == 1));
    }

    #[test]
    fn fewer_is_fewer() {
        assert_eq!(fewer(8, 1), [1, 4, 6, 7]);
        assert_eq!(fewer(2, 1), [1]);
        assert_eq!(fewer(1, 1), [0; 0]);
    }
}
