//! Checks of a scenario beyond the types of its values.

use super::choice::Choice;
use super::faults;
use super::plans::{ClusterPlan, NetworkPlan};
use super::{Mode, Problem, Scenario};
use crate::{guards, work};
use std::fmt::Display;
use std::ops::RangeInclusive;

/// The largest number of mebibytes of a memory server: a run holds all of them.
const SERVER_MIB_MAX: u64 = 256;
/// The largest number of clients of a run.
const CLIENTS_MAX: u32 = 1000;
/// The largest number of transactions of a client.
const TRANSACTIONS_MAX: u32 = 1_000_000;
/// The largest number of servers of each kind.
const SERVERS_MAX: u16 = 64;
/// The largest number of cores of a node.
const CORES_MAX: u16 = 1024;
/// A millisecond of virtual time.
const MILLISECOND_NS: u64 = 1_000_000;
/// A second of virtual time.
const SECOND_NS: u64 = 1_000_000_000;

/// The first error.
pub(super) fn problem(scenario: &Scenario) -> Option<Problem> {
    let check = || -> Result<(), Problem> {
        check_head(scenario)?;
        check_sizes(scenario)?;
        check_hardware(&scenario.cluster)?;
        check_hostility(scenario)?;
        check_design(scenario)?;
        check_mode(scenario)?;
        faults::check(scenario)?;
        check_workload(scenario)
    };
    check().err()
}

fn check_head(scenario: &Scenario) -> Result<(), Problem> {
    let is_plain =
        |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
    if scenario.name.is_empty() || !scenario.name.chars().all(is_plain) {
        let sentence = format!(
            "the name {:?} is not made of small letters, digits and hyphens, such as bank-pauses",
            scenario.name
        );
        return Err(Problem::new("name", sentence));
    }
    if scenario.shows.trim().is_empty() {
        return Err(Problem::new("shows", "say in a sentence what the scenario shows"));
    }
    let unknown = |(place, name): (usize, &String)| {
        guards::problem(name).map(|sentence| Problem::new(format!("mutants.{place}"), sentence))
    };
    let of_replay = scenario.replay.as_ref().and_then(|replay| replay.mutant.as_deref());
    let of_replay = of_replay.and_then(guards::problem);
    let of_replay = of_replay.map(|sentence| Problem::new("replay.mutant", sentence));
    scenario.mutants.iter().enumerate().find_map(unknown).or(of_replay).map_or(Ok(()), Err)
}

/// Checks that every value of a choice is in a range.
fn within<T: Copy + PartialOrd + Display>(
    path: &str,
    choice: &Choice<T>,
    range: RangeInclusive<T>,
) -> Result<(), Problem> {
    match choice.values().iter().find(|value| !range.contains(value)) {
        None => Ok(()),
        Some(value) => {
            let (low, high) = (range.start(), range.end());
            let name = path.rsplit('.').next().unwrap_or(path);
            let sentence = format!("{name} is {value}; write a number from {low} to {high}");
            Err(Problem::new(path, sentence))
        }
    }
}

fn check_sizes(scenario: &Scenario) -> Result<(), Problem> {
    let Scenario { cluster, clients, database, .. } = scenario;
    within("cluster.memory_servers", &cluster.memory_servers, 1..=SERVERS_MAX)?;
    within("cluster.compute_servers", &cluster.compute_servers, 1..=SERVERS_MAX)?;
    within("cluster.server_mib", &Choice::only(cluster.server_mib), 1..=SERVER_MIB_MAX)?;
    within("clients.count", &clients.count, 1..=CLIENTS_MAX)?;
    within("clients.transactions", &clients.transactions, 1..=TRANSACTIONS_MAX)?;
    within("clients.think_ns", &clients.think_ns, 0..=SECOND_NS)?;
    if let Some(patience_ns) = &clients.patience_ns {
        within("clients.patience_ns", patience_ns, 1000..=SECOND_NS)?;
    }
    within("database.lanes", &database.lanes, 1..=64)?;
    let e = &database.transaction_time_max_ns;
    within("database.transaction_time_max_ns", e, 1000..=100 * SECOND_NS)?;
    if let Some(left) = &database.counters_left {
        within("database.counters_left", left, 1..=1_000_000)?;
    }
    Ok(())
}

fn check_hardware(cluster: &ClusterPlan) -> Result<(), Problem> {
    within("cluster.cores", &cluster.cores, 0..=CORES_MAX)?;
    within("cluster.core_cost_ns", &cluster.core_cost_ns, 0..=MILLISECOND_NS)?;
    let are_limited = cluster.cores.values().iter().any(|&cores| cores > 0);
    if are_limited && cluster.core_cost_ns.values().iter().all(|&cost_ns| cost_ns == 0) {
        let sentence = "cores that take no time delay no task; write core_cost_ns = 500, too";
        return Err(Problem::new("cluster.cores", sentence));
    }
    match &cluster.network {
        Some(network) => check_network(network),
        None => Ok(()),
    }
}

fn check_network(network: &NetworkPlan) -> Result<(), Problem> {
    let times = [
        ("issue_ns", &network.issue_ns),
        ("serve_read_ns", &network.serve_read_ns),
        ("serve_write_ns", &network.serve_write_ns),
        ("serve_atomic_ns", &network.serve_atomic_ns),
        ("latency_ns", &network.latency_ns),
    ];
    for (key, time_ns) in times {
        if let Some(time_ns) = time_ns {
            within(&format!("cluster.network.{key}"), time_ns, 0..=MILLISECOND_NS)?;
        }
    }
    if let Some(rate) = &network.gigabits_per_second {
        within("cluster.network.gigabits_per_second", rate, 1..=1_000_000)?;
    }
    match &network.header_bytes {
        Some(bytes) => within("cluster.network.header_bytes", bytes, 0..=1_000_000),
        None => Ok(()),
    }
}

fn check_hostility(scenario: &Scenario) -> Result<(), Problem> {
    let plan = &scenario.hostility;
    let times = [
        ("word_ns", &plan.word_ns),
        ("atomic_window_ns", &plan.atomic_window_ns),
        ("late_completion_ns", &plan.late_completion_ns),
        ("reach_delay_ns", &plan.reach_delay_ns),
    ];
    for (key, time_ns) in times {
        if let Some(time_ns) = time_ns {
            within(&format!("hostility.{key}"), time_ns, 0..=MILLISECOND_NS)?;
        }
    }
    match &plan.slow_verb_factor {
        Some(factor) => within("hostility.slow_verb_factor", factor, 1..=1_000_000),
        None => Ok(()),
    }
}

fn check_design(scenario: &Scenario) -> Result<(), Problem> {
    let Some(design) = &scenario.design else { return Ok(()) };
    if !scenario.workload.has_open_design() {
        let sentence = format!(
            "workload {} keeps its tables in its own way; remove this section",
            scenario.workload.name()
        );
        return Err(Problem::new("design", sentence));
    }
    within("design.neighbourhood", &design.neighbourhood, 1..=32)?;
    within("design.versions_beside", &design.versions_beside, 1..=8)?;
    within("design.size_hint", &design.size_hint, 1..=1_000_000)?;
    within("design.node_bytes", &design.node_bytes, 256..=16_384)
}

fn check_mode(scenario: &Scenario) -> Result<(), Problem> {
    let Mode::Liveness { faults_ns, bound_ns } = scenario.mode else {
        if scenario.expect.every_client_commits {
            let sentence = "only in liveness mode do faults stop; \
                            write mode = { liveness = { faults_ns = ..., bound_ns = ... } }";
            return Err(Problem::new("expect.every_client_commits", sentence));
        }
        return Ok(());
    };
    within("mode.liveness.faults_ns", &Choice::only(faults_ns), 1..=100 * SECOND_NS)?;
    within("mode.liveness.bound_ns", &Choice::only(bound_ns), 1..=100 * SECOND_NS)
}

/// Lets the workload check its parameters.
fn check_workload(scenario: &Scenario) -> Result<(), Problem> {
    for seed in 0..16 {
        if let Err(error) = work::make(&scenario.drawn(seed)) {
            let path = format!("workload.{}", scenario.workload.name());
            return Err(Problem::new(path, error.to_string()));
        }
    }
    Ok(())
}
