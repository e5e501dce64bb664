//! The throughput of a cluster whose lanes are always busy. Each lane runs one call at a time, so
//! that the throughput is the number of lanes divided by the time from one call to the next.
//!
//! ```text
//! a call    waits for a snapshot that contains what its machine has published
//!           executes as if alone, and queues at the stages of the machines
//!           if it writes: waits for earlier timestamps and for the write that publishes others
//!           if a conflict aborts it: begins again
//! ```
//! Queueing is computed by mean value analysis for one class of calls [Reiser and Lavenberg 1980]
//! with Schweitzer's approximation: an arriving call finds the queue of a cluster with one call
//! less. The call in service has half of its service left on average, since service times are
//! nearly constant. Waits depend on the throughput, which depends on waits: [`super::fixed_point`]
//! finds the throughput at which all lanes are busy.
//!
//! Decision: docs/decisions/0250-throughput-is-forecast-from-what-a-lane-waits.md

use super::commit_order::in_order;
use super::conflicts::ConflictRate;
use super::insert_conflicts::InsertConflicts;
use super::retries::Call;
use super::stages::{fullest_ns, queued_ns, slowed};
use crate::measurement::Demand;
use crate::tune::cost::surface::Clock;
use crate::tune::cost::vector::{Cost, add, scaled};
use crate::tune::cost::versions::{OldVersions, VersionCharges};
use std::rc::Rc;

/// Iterations over waits, retries and the stage demands of both.
const ROUNDS: u32 = 2;

/// A class of calls with equal cost: calls of one procedure, at home or from another machine.
#[derive(Clone, Debug)]
pub struct CallClass<'a> {
    pub share: f64,
    /// Cost of one call.
    pub cost: Cost,
    /// The share of all calls that belong to the same procedure.
    pub of_procedure: f64,
    /// Conflicts on updated rows, with calls of the same procedure and of others.
    pub conflict_rates: &'a [ConflictRate],
    /// Conflicts of inserts.
    pub insert_conflicts: InsertConflicts,
    /// Old versions of the rows that they update.
    pub old: Rc<[OldVersions]>,
    /// Whether calls of other procedures run at the same time.
    pub has_others: bool,
}

impl CallClass<'_> {
    /// Adds the cost of old versions.
    fn aged<'o>(&'o self, aged: &mut VersionCharges<'o>) -> Self {
        let all = aged.cost(&self.old, !self.has_others);
        let cost = &self.cost;
        Self {
            cost: Cost {
                latency_ns: cost.latency_ns + all.latency_ns,
                // The memory server moves them while the row is locked.
                commit_ns: cost.commit_ns + all.latency_ns,
                machines: add(cost.machines, all.machines),
                ..*cost
            },
            old: Rc::clone(&self.old),
            ..*self
        }
    }
}

/// The machines of the cluster.
#[derive(Clone, Copy, Debug)]
pub struct Cluster {
    pub machines: f64,
    /// Cores of each machine.
    pub threads: f64,
    /// Lanes of each machine.
    pub lanes: f64,
    /// How machines obtain snapshots. `None` if each lane reads its own, which the measured latency
    /// includes.
    pub clock: Option<Clock>,
    /// The time for which snapshots may need an old version.
    pub needed_ns: f64,
}

/// The throughput of a cluster and its components.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Throughput {
    /// Nanoseconds between two calls on one machine.
    pub between_ns: f64,
    /// Time that a call occupies a lane, without queueing at stages.
    pub lane_ns: f64,
    /// Attempts per call.
    pub attempts: f64,
    /// Demands of all attempts on a machine.
    pub machines: Demand,
    /// Additional demands on the machine with most remote rows.
    pub hot: Demand,
    /// Demand on the oracle per call of one machine.
    pub oracle_ns: f64,
}

impl Throughput {
    /// The mean, by calls, over groups with their numbers of machines.
    pub fn of_all(groups: &[(f64, Self)]) -> Self {
        let machines: f64 = groups.iter().map(|(machines, _)| machines).sum();
        let rate = |(machines, of): &(f64, Self)| machines / of.between_ns;
        let all: f64 = groups.iter().map(rate).sum();
        let mut mean = Self { between_ns: machines / all, ..Self::default() };
        for group in groups {
            let (share, of) = (rate(group) / all, &group.1);
            mean.lane_ns += share * of.lane_ns;
            mean.attempts += share * of.attempts;
            mean.oracle_ns += share * of.oracle_ns;
            mean.machines = add(mean.machines, scaled(of.machines, share));
            mean.hot = add(mean.hot, scaled(of.hot, share));
        }
        mean
    }
}

/// The state of the cluster at a given throughput.
#[derive(Clone, Copy, Default)]
pub struct State {
    pub throughput: Throughput,
    /// Time from one call of a lane to its next, if no stage is overloaded.
    pub cycle_ns: f64,
    /// Demand of a call on the bottleneck stage.
    pub fullest_ns: f64,
}

#[cfg(test)]
thread_local! {
    /// Counts the evaluations on this thread.
    pub static EVALUATIONS: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
}

/// Evaluates the cluster when each machine executes `rate` calls per nanosecond.
pub fn evaluate(parts: &[CallClass<'_>], cluster: &Cluster, rate: f64) -> State {
    #[cfg(test)]
    EVALUATIONS.set(EVALUATIONS.get() + 1);
    if parts.iter().all(|part| part.old.is_empty()) {
        return evaluate_classes(parts, cluster, rate);
    }
    let mut aged = VersionCharges::new(rate, cluster.needed_ns);
    let parts: Vec<CallClass<'_>> = parts.iter().map(|part| part.aged(&mut aged)).collect();
    evaluate_classes(&parts, cluster, rate)
}

fn evaluate_classes(parts: &[CallClass<'_>], cluster: &Cluster, rate: f64) -> State {
    let mean = |of: &dyn Fn(&CallClass<'_>) -> f64| {
        parts.iter().map(|part| part.share * of(part)).sum::<f64>()
    };
    let commits = mean(&|part| f64::from(u8::from(part.cost.commit_ns > 0.0)));
    let published_ns = mean(&|part| oracle_ns(&part.cost)) / commits.max(f64::MIN_POSITIVE);
    let trip_ns = cluster.clock.map_or(0.0, |clock| clock.trip_ns);
    let mut slower = vec![1.0; parts.len()];
    let mut found = State::default();
    for _ in 0..ROUNDS {
        let mut throughput = Throughput::default();
        let in_order = in_order(parts, rate, &slower, trip_ns);
        for (part, slower) in parts.iter().zip(&slower) {
            let call = Call { part, cluster, slower: *slower, commits, in_order, rate };
            let (attempts, lost_ns) = call.repeated();
            throughput.attempts += part.share * attempts;
            throughput.lane_ns += part.share * (call.taken_ns() + part.cost.latency_ns + lost_ns);
            let weight = part.share * attempts;
            throughput.machines = add(throughput.machines, scaled(part.cost.machines, weight));
            throughput.hot = add(throughput.hot, scaled(part.cost.hot, weight));
        }
        throughput.oracle_ns = match cluster.clock {
            // Commits that end while a publishing write is in progress share the next one.
            Some(_) if rate * commits > 0.0 => published_ns / in_order.between_ns / rate,
            _ => published_ns * commits,
        };
        let queued_ns = queued_ns(&throughput, cluster, rate);
        slower = slowed(parts, &throughput.machines, &queued_ns);
        let fullest_ns = fullest_ns(&throughput, cluster);
        found = State { throughput, cycle_ns: throughput.lane_ns + queued_ns.sum(), fullest_ns };
    }
    found
}

/// Demand of a commit on the oracle's busiest stage. The oracle's cores are excluded, because they
/// execute other work as well.
pub fn oracle_ns(cost: &Cost) -> f64 {
    let Demand { engine_ns, atomics_ns, link_out_ns, link_in_ns, .. } = cost.others;
    [engine_ns, atomics_ns, link_out_ns, link_in_ns].into_iter().fold(0.0, f64::max)
}

#[cfg(test)]
pub mod tests {
    use super::super::fixed_point;
    use super::*;

    const CLOCK: Clock = Clock { trip_ns: 2_000.0, freeze_ns: 300.0 };

    fn cluster(lanes: f64, clock: Option<Clock>) -> Cluster {
        Cluster { machines: 4.0, threads: 16.0, lanes, clock, needed_ns: 0.0 }
    }

    fn find(parts: &[CallClass<'_>], cluster: &Cluster) -> Throughput {
        fixed_point::find(parts, cluster, None).0
    }

    #[test]
    fn a_similar_load_is_solved_from_the_last_solution() {
        let calls = |engine_ns: f64| [part(5_000.0, 0.0, engine_ns)];
        for lanes in [1.0, 40.0, 60.0, 500.0] {
            let cluster = cluster(lanes, None);
            let (_, start) = fixed_point::find(&calls(100.0), &cluster, None);
            for engine_ns in [100.1, 102.0, 90.0] {
                let dear = calls(engine_ns);
                let (near, far) =
                    (fixed_point::find(&dear, &cluster, Some(start)).0, find(&dear, &cluster));
                let off = near.between_ns / far.between_ns - 1.0;
                assert!(off.abs() < 5e-5, "{lanes} lanes, {engine_ns} ns: {off}");
            }
        }
    }

    /// All calls, without conflicts.
    pub fn part(latency_ns: f64, commit_ns: f64, engine_ns: f64) -> CallClass<'static> {
        let machines = Demand { engine_ns, ..Demand::default() };
        let cost = Cost { latency_ns, commit_ns, machines, ..Cost::default() };
        CallClass {
            share: 1.0,
            cost,
            of_procedure: 1.0,
            conflict_rates: &[],
            insert_conflicts: InsertConflicts::default(),
            old: Rc::new([]),
            has_others: true,
        }
    }

    /// Nanoseconds from one call of a lane to the next.
    fn cycle_ns(parts: &[CallClass<'_>], cluster: &Cluster) -> f64 {
        find(parts, cluster).between_ns * cluster.lanes
    }

    #[test]
    fn few_lanes_do_not_wait_and_many_wait_for_the_bottleneck() {
        let reads = [part(5_000.0, 0.0, 100.0)];
        let few = cycle_ns(&reads, &cluster(1.0, None));
        assert!((5_000.0..5_010.0).contains(&few), "{few}");
        let half = cycle_ns(&reads, &cluster(25.0, None));
        assert!((5_025.0..5_100.0).contains(&half), "half of the engine is taken: {half}");
        let full = find(&reads, &cluster(500.0, None)).between_ns;
        assert!((100.0 - 1e-6..101.0).contains(&full), "{full}");
        let throughput = find(&reads, &cluster(50.0, None)).between_ns;
        assert!(
            (105.0..130.0).contains(&throughput),
            "near what there is, but not there: {throughput}"
        );
    }

    #[test]
    fn the_throughput_of_a_full_stage_is_found_in_few_steps() {
        for lanes in [1.0, 50.0, 60.0, 500.0] {
            EVALUATIONS.set(0);
            let found = find(&[part(5_000.0, 0.0, 100.0)], &cluster(lanes, None));
            assert!(found.between_ns >= 100.0 - 1e-6, "{lanes} lanes: {}", found.between_ns);
            assert!(EVALUATIONS.get() <= 20, "{lanes} lanes: {} steps", EVALUATIONS.get());
        }
    }

    /// Conflicts cause more retries at a higher throughput, so that the demand on a stage grows
    /// with it.
    #[test]
    fn the_throughput_of_a_stage_filled_by_retries_is_found() {
        for (lanes, own) in
            [(120.0, 0.02), (250.0, 0.02), (500.0, 0.01), (500.0, 0.02), (500.0, 0.1)]
        {
            let conflict_rates = [ConflictRate { share: 1.0, own, others: 0.0, rows: 1.0 }];
            let calls =
                [CallClass { conflict_rates: &conflict_rates, ..part(5_000.0, 3_000.0, 1_000.0) }];
            let cluster = cluster(lanes, None);
            let rate = 1.0 / find(&calls, &cluster).between_ns;
            let is_beyond = |rate: f64| {
                let there = evaluate(&calls, &cluster, rate);
                rate > (lanes / there.cycle_ns).min(1.0 / there.fullest_ns)
            };
            let [less, more] = [1.0 - 1e-7, 1.0 + 1e-7].map(|of| is_beyond(of * rate));
            assert!(!less && more, "{lanes} lanes, {own}: {rate}");
        }
    }

    #[test]
    fn cores_that_slow_each_other_down_are_used_at_most_fully() {
        let mut calls = [part(1_000.0, 0.0, 0.0)];
        calls[0].cost.machines.core_ns = 1_360.0;
        let used = |lanes: f64| {
            let cluster = Cluster { machines: 1.0, ..cluster(lanes, None) };
            let found = find(&calls, &cluster);
            found.machines.core_ns / cluster.threads / found.between_ns
        };
        assert!((used(16.0) - 1.0).abs() < 1e-6, "{}", used(16.0));
        assert!((0.98..1.0 + 1e-6).contains(&used(400.0)), "{}", used(400.0));
        // Half of the lanes leave cores idle, and a lane is not faster than alone.
        assert!((used(8.0) - 0.68).abs() < 1e-6, "{}", used(8.0));
        // No call waits for cores if its demand on them is below its latency.
        calls[0].cost.machines.core_ns = 900.0;
        let cycle = cycle_ns(&calls, &cluster(16.0, None));
        assert!((cycle - 1_000.0).abs() < 1e-3, "{cycle}");
    }

    #[test]
    fn the_machine_with_most_rows_is_the_bottleneck() {
        let mut calls = [part(5_000.0, 0.0, 100.0)];
        calls[0].cost.hot = Demand { engine_ns: 100.0, ..Demand::default() };
        let between_ns = find(&calls, &cluster(500.0, None)).between_ns;
        assert!((200.0..202.0).contains(&between_ns), "{between_ns}");
    }

    #[test]
    fn a_lane_waits_for_a_vector_with_its_commit() {
        // Vectors arrive every two trips, and are one trip old.
        let writes = [part(6_000.0, 4_000.0, 1.0)];
        let alone = cycle_ns(&writes, &cluster(1.0, None));
        let waited = cycle_ns(&writes, &cluster(1.0, Some(CLOCK))) - alone;
        assert!((3_000.0..7_000.0).contains(&waited), "{waited}");
        // A read waits for a vector with the last commits, but not if there are none.
        let reads = [part(300.0, 0.0, 1.0)];
        let alone = cycle_ns(&reads, &cluster(4.0, Some(CLOCK)));
        assert!((300.0..310.0).contains(&alone), "{alone}");
        let mut both = [reads[0].clone(), writes[0].clone()];
        (both[0].share, both[1].share) = (0.8, 0.2);
        let mixed = cycle_ns(&both, &cluster(32.0, Some(CLOCK)));
        // Each read waits for one round.
        let unmixed = 0.8 * 4_000.0 + 0.2 * (6_000.0 + waited);
        assert!((0.9 * unmixed..1.3 * unmixed).contains(&mixed), "{mixed} {unmixed}");
    }

    #[test]
    fn updates_of_one_hot_row_are_serialized() {
        let conflict_rates = [ConflictRate { share: 1.0, own: 4.0, others: 0.0, rows: 1.0 }];
        let mut calls = [part(6_000.0, 4_000.0, 1.0)];
        calls[0].conflict_rates = &conflict_rates;
        let found = find(&calls, &cluster(32.0, Some(CLOCK)));
        // All machines together execute one call at a time on the row.
        let each_ns = found.between_ns / 4.0;
        assert!((8_000.0..30_000.0).contains(&each_ns), "{each_ns}");
        assert!(found.attempts > 2.0, "{}", found.attempts);
        let rare = [ConflictRate { share: 1.0, own: 4e-4, others: 0.0, rows: 1.0 }];
        calls[0].conflict_rates = &rare;
        let found = find(&calls, &cluster(32.0, Some(CLOCK)));
        assert!(found.attempts > 1.001 && found.attempts < 1.1, "{}", found.attempts);
    }

    #[test]
    fn conflicting_inserts_retry() {
        let mut calls = [part(6_000.0, 4_000.0, 1.0)];
        calls[0].conflict_rates = &[ConflictRate { share: 1.0, own: 0.0, others: 0.0, rows: 1.0 }];
        calls[0].cost.adds_ns = 2_000.0;
        let attempts = |insert_conflicts: InsertConflicts, calls: &mut [CallClass<'static>; 1]| {
            calls[0].insert_conflicts = insert_conflicts;
            find(calls, &cluster(32.0, Some(CLOCK))).attempts
        };
        assert_eq!(attempts(InsertConflicts::default(), &mut calls), 1.0);
        let few = attempts(InsertConflicts { own: 0.01, ..InsertConflicts::default() }, &mut calls);
        let many = attempts(InsertConflicts { own: 0.1, ..InsertConflicts::default() }, &mut calls);
        // A machine executes about 2.7 calls per microsecond, and an insert is exposed for 2.5.
        assert!((1.02..1.12).contains(&few) && (1.2..2.2).contains(&many), "{few} {many}");
        // Each stale leaf fails one attempt.
        let stale =
            attempts(InsertConflicts { stale: 0.5, ..InsertConflicts::default() }, &mut calls);
        assert!((stale - 1.5).abs() < 1e-9, "{stale}");
        // The call then reads the leaf, with the latency of a read.
        let mut between_ns = |adds_ns: f64| {
            calls[0].cost.adds_ns = adds_ns;
            calls[0].insert_conflicts =
                InsertConflicts { stale: 0.5, ..InsertConflicts::default() };
            find(&calls, &cluster(32.0, Some(CLOCK))).between_ns
        };
        let slower = between_ns(20_000.0) / between_ns(0.0);
        assert!((1.2..3.0).contains(&slower), "{slower}");
        calls[0].cost.commit_ns = 0.0;
        assert_eq!(
            attempts(InsertConflicts { own: 0.1, ..InsertConflicts::default() }, &mut calls),
            1.0
        );
    }
}
