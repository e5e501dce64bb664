//! Queueing at the stages of machines, and the bottleneck: mean value analysis, see
//! [`super::throughput`].

use super::throughput::{CallClass, Cluster, Throughput};
use crate::measurement::Demand;
use crate::tune::cost::vector::add;

/// Mean waiting time of a call.
pub struct QueueTimes {
    /// At the stages of all machines.
    stages: [f64; 7],
    /// At the oracle's stage.
    oracle_ns: f64,
}

impl QueueTimes {
    pub fn sum(&self) -> f64 {
        self.stages.iter().sum::<f64>() + self.oracle_ns
    }
}

/// For each class, the ratio of latency with queueing to latency alone. `all` are the demands of an
/// average call; a class with a higher demand on a stage waits there longer.
pub fn slowed(parts: &[CallClass<'_>], all: &Demand, queued: &QueueTimes) -> Vec<f64> {
    let all = demands(all);
    let of = |part: &CallClass<'_>| {
        let own = demands(&part.cost.machines).into_iter().zip(all).zip(queued.stages);
        let waits = own.filter(|((own, all), _)| *own > 0.0 && *all > 0.0);
        let waits_ns: f64 = waits.map(|((own, all), wait_ns)| wait_ns * own / all).sum();
        1.0 + waits_ns / part.cost.latency_ns.max(f64::MIN_POSITIVE)
    };
    parts.iter().map(of).collect()
}

/// Demand of a call on the bottleneck stage.
pub fn fullest_ns(throughput: &Throughput, cluster: &Cluster) -> f64 {
    let Cluster { machines, threads, lanes, .. } = *cluster;
    let [core_ns, ..] = demands(&throughput.machines);
    // If each lane has its own core, cores are no bottleneck.
    let cores_ns = if lanes > threads { core_ns / threads } else { 0.0 };
    let [_, stages @ ..] = demands(&add(throughput.machines, throughput.hot));
    stages.into_iter().chain([cores_ns, throughput.oracle_ns * machines]).fold(0.0, f64::max)
}

/// Mean waiting time at the stages of all machines and at the oracle.
pub fn queued_ns(throughput: &Throughput, cluster: &Cluster, rate: f64) -> QueueTimes {
    let Cluster { machines, lanes, .. } = *cluster;
    let (mean, hot) = (demands(&throughput.machines), demands(&throughput.hot));
    let customers = machines * lanes;
    let mut stages = [0.0; 7];
    for (stage, (mean_ns, hot_ns)) in mean.into_iter().zip(hot).enumerate().skip(1) {
        let others = (machines - 1.0).max(1.0);
        let hottest = wait_ns(mean_ns + hot_ns, rate, customers);
        let other = wait_ns((mean_ns - hot_ns / others).max(0.0), rate, customers);
        stages[stage] = (hottest + (machines - 1.0) * other) / machines;
    }
    let oracle_ns = wait_ns(throughput.oracle_ns * machines, rate, customers);
    stages[0] = cores_ns(throughput, cluster, rate);
    QueueTimes { stages, oracle_ns }
}

/// Mean waiting time for cores.
fn cores_ns(throughput: &Throughput, cluster: &Cluster, rate: f64) -> f64 {
    let Cluster { threads, lanes, .. } = *cluster;
    let core_ns = throughput.machines.core_ns / threads;
    if lanes <= threads {
        // No lane waits for another one's core. But cores share caches and memory, so that under
        // load a call takes more core time than its latency alone; the difference is waiting time.
        return (core_ns * lanes - throughput.lane_ns).max(0.0);
    }
    // With several cores, one is more often idle [Sakasegawa 1977].
    let used = (core_ns * rate).min(1.0);
    let power = libm::pow(used, libm::sqrt(2.0 * (threads + 1.0)) - 1.0);
    core_ns * power / (2.0 * free(used, lanes))
}

/// Mean waiting time at a single stage whose utilization is capped at 1.
fn wait_ns(service_ns: f64, rate: f64, customers: f64) -> f64 {
    let used = (service_ns * rate).min(1.0);
    let fewer = (customers - 1.0) / customers;
    let queue = used * (1.0 - used / 2.0) / free(used, customers);
    service_ns * (fewer * queue - used / 2.0).max(0.0)
}

/// The denominator of the queue length at this utilization.
fn free(used: f64, customers: f64) -> f64 {
    1.0 - used * (customers - 1.0) / customers
}

/// Demands on cores, then on the single stages.
pub fn demands(of: &Demand) -> [f64; 7] {
    let Demand { core_ns, engine_ns, atomics_ns, link_out_ns, link_in_ns, .. } = *of;
    [core_ns, engine_ns, atomics_ns, link_out_ns, link_in_ns, of.from_memory_ns, of.to_memory_ns]
}

#[cfg(test)]
mod tests {
    use super::super::throughput::tests::part;
    use super::*;

    #[test]
    fn calls_without_demand_on_a_stage_do_not_wait_there() {
        let parts = [part(1_000.0, 0.0, 0.0), part(6_000.0, 4_000.0, 30.0)];
        let machines = Demand { engine_ns: 15.0, ..Demand::default() };
        let mut queued = QueueTimes { stages: [0.0; 7], oracle_ns: 0.0 };
        queued.stages[1] = 600.0;
        let found = slowed(&parts, &machines, &queued);
        // The calls that use the stage wait for both classes.
        assert_eq!(found, [1.0, 1.2]);
    }
}
