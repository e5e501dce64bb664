//! The samples of a measurement in virtual time, and the figures computed from them.

use super::worker::Window;
use fabric::Counts;
use layout::NodeId;
use sim::{Usage, World};
use spade_format::measurement::{Alone, Demand, Loaded, Moved, Service, Spread, rounded};

/// Percentiles.
const MEDIAN: usize = 50;
const TAIL: usize = 99;
/// Picoseconds per nanosecond.
const NANOSECOND_PS: f64 = 1000.0;

/// Cumulative usage of all machines.
#[derive(Clone)]
pub(super) struct Spent {
    at_ns: u64,
    /// By machine; the first has the oracle.
    usage: Vec<Usage>,
    requests: u64,
}

/// The usage during an interval.
#[derive(Clone)]
pub(super) struct Rest {
    passed_ns: f64,
    demands: Vec<Demand>,
    requests: f64,
}

impl Spent {
    /// Usage up to now.
    pub(super) fn now(world: &World, machines: u16, requests: u64) -> Self {
        // Memory servers are the first nodes, each on the machine of its number.
        let usage = (0..=machines).map(|node| world.usage(NodeId(node))).collect();
        Self { at_ns: world.now_ns(), usage, requests }
    }

    /// Returns the usage since an earlier moment.
    pub(super) fn since(&self, earlier: &Self) -> Rest {
        let pairs = self.usage.iter().zip(&earlier.usage);
        Rest {
            passed_ns: (self.at_ns - earlier.at_ns) as f64,
            demands: pairs.map(|(now, before)| demand(now, before)).collect(),
            requests: (self.requests - earlier.requests) as f64,
        }
    }
}

/// Returns the time spent in each stage of a machine.
fn demand(now: &Usage, before: &Usage) -> Demand {
    let ns = |now_ps: u64, before_ps: u64| (now_ps - before_ps) as f64 / NANOSECOND_PS;
    Demand {
        core_ns: ns(now.cores_ps, before.cores_ps),
        engine_ns: ns(now.engine_ps, before.engine_ps),
        atomics_ns: ns(now.atomics_ps, before.atomics_ps),
        link_out_ns: ns(now.link_out_ps, before.link_out_ps),
        link_in_ns: ns(now.link_in_ps, before.link_in_ps),
        from_memory_ns: ns(now.from_memory_ps, before.from_memory_ps),
        to_memory_ns: ns(now.to_memory_ps, before.to_memory_ps),
    }
}

/// Combines two demands, figure by figure.
fn combined(one: Demand, other: Demand, put: impl Fn(f64, f64) -> f64) -> Demand {
    Demand {
        core_ns: put(one.core_ns, other.core_ns),
        engine_ns: put(one.engine_ns, other.engine_ns),
        atomics_ns: put(one.atomics_ns, other.atomics_ns),
        link_out_ns: put(one.link_out_ns, other.link_out_ns),
        link_in_ns: put(one.link_in_ns, other.link_in_ns),
        from_memory_ns: put(one.from_memory_ns, other.from_memory_ns),
        to_memory_ns: put(one.to_memory_ns, other.to_memory_ns),
    }
}

/// The samples of one repetition.
struct Seen {
    window: Window,
    spent: Rest,
}

/// The repetitions of a measurement.
pub(super) struct Sample {
    idle: Rest,
    seen: Vec<Seen>,
    busiest: Vec<(&'static str, f64)>,
}

impl Sample {
    /// Creates an empty sample; `idle` is the background load.
    pub(super) fn new(idle: Rest) -> Self {
        Self { idle, seen: Vec::new(), busiest: Vec::new() }
    }

    /// Adds a repetition.
    pub(super) fn add(&mut self, mut window: Window, before: &Spent, after: &Spent) {
        window.latencies_ns.sort_unstable();
        let passed_ns = after.at_ns - before.at_ns;
        let pairs = after.usage.iter().zip(&before.usage);
        let shares = pairs.flat_map(|(now, before)| now.shares(before, passed_ns));
        self.busiest.extend(shares.max_by(|one, other| one.1.total_cmp(&other.1)));
        self.seen.push(Seen { window, spent: after.since(before) });
    }

    /// Returns a figure's spread over the repetitions.
    fn spread(&self, of: impl Fn(&Seen) -> f64) -> Spread {
        let all: Vec<f64> = self.seen.iter().map(of).collect();
        Spread::of(&all)
    }

    fn latency(&self, percent: usize) -> Spread {
        self.spread(|seen| {
            let sorted = &seen.window.latencies_ns;
            sorted[(sorted.len() * percent / 100).min(sorted.len() - 1)] as f64
        })
    }

    /// Returns the figures of a single lane.
    pub(super) fn alone(&self) -> Alone {
        Alone { median_ns: self.latency(MEDIAN), p99_ns: self.latency(TAIL) }
    }

    /// Returns the figures under load, with this many threads.
    pub(super) fn loaded(&self, threads: u64) -> Loaded {
        let rate = |seen: &Seen| seen.window.latencies_ns.len() as f64 * 1e9 / seen.spent.passed_ns;
        let aborts: u64 = self.seen.iter().map(|seen| seen.window.aborts).sum();
        let busiest = self.busiest.iter().max_by(|one, other| one.1.total_cmp(&other.1));
        Loaded {
            operations_per_s: self.spread(rate),
            per_thread_per_s: self.spread(|seen| rate(seen) / threads as f64),
            median_ns: self.latency(MEDIAN),
            p99_ns: self.latency(TAIL),
            aborts: rounded(aborts as f64 / self.operations()),
            busiest: busiest.map(|(stage, share)| ((*stage).to_owned(), rounded(*share))),
            moved: None,
        }
    }

    fn operations(&self) -> f64 {
        self.seen.iter().map(|seen| seen.window.latencies_ns.len()).sum::<usize>() as f64
    }

    /// Returns how often old versions were moved while each of `workers` lanes updated `turns` rows
    /// cyclically.
    pub(super) fn moved(&self, workers: u64, turns: u64) -> Moved {
        let passed_ns: f64 = self.seen.iter().map(|seen| seen.spent.passed_ns).sum();
        let calls: u64 = self.seen.iter().map(|seen| seen.window.counts.calls).sum();
        let operations = self.operations();
        Moved {
            share: rounded((calls as f64 / operations).min(1.0)),
            again_ns: rounded(passed_ns / operations * (workers * turns) as f64),
        }
    }

    /// Returns the service times of one operation of the first machine, whose rows are on `owners`
    /// and their copies on `helpers`.
    pub(super) fn service(&self, owners: &[u16], helpers: &[u16]) -> Service {
        let operations = self.operations();
        let each = |count: u64| rounded(count as f64 / operations);
        let counts = self.seen.iter().fold(Counts::default(), |sum, seen| sum + seen.window.counts);
        let (demands, requests) = self.spent();
        let sum = |is_meant: &dyn Fn(usize) -> bool| {
            let meant = demands.iter().enumerate().filter(|(machine, _)| is_meant(*machine));
            let all = meant
                .fold(Demand::default(), |sum, (_, one)| combined(sum, *one, |sum, one| sum + one));
            combined(all, Demand::default(), |all, _| all / operations).rounded()
        };
        // Machine 0 has the oracle.
        let is_among = |machines: &[u16], machine: usize| {
            machines.iter().any(|&one| usize::from(one) + 1 == machine)
        };
        let is_owner = |machine: usize| machine != 1 && is_among(owners, machine);
        let is_other = |machine: usize| {
            machine == 0 || machine != 1 && !is_owner(machine) && is_among(helpers, machine)
        };
        Service {
            verbs: each(counts.verbs),
            bytes: each(counts.bytes),
            round_trips: each(counts.round_trips),
            calls: each(counts.calls),
            card_requests: Some(rounded(requests / operations)),
            requester: sum(&|machine| machine == 1),
            owner: (!owners.is_empty()).then(|| sum(&is_owner)),
            others: Some(sum(&is_other)),
        }
    }

    /// Returns the usage of all repetitions by machine, without the background load.
    fn spent(&self) -> (Vec<Demand>, f64) {
        let mut demands = vec![Demand::default(); self.idle.demands.len()];
        let mut requests = 0.0;
        for seen in &self.seen {
            let part = seen.spent.passed_ns / self.idle.passed_ns;
            for ((sum, spent), idle) in
                demands.iter_mut().zip(&seen.spent.demands).zip(&self.idle.demands)
            {
                let beyond = combined(*spent, *idle, |spent, idle| spent - part * idle);
                *sum = combined(*sum, beyond, |sum, beyond| sum + beyond);
            }
            requests += seen.spent.requests - part * self.idle.requests;
        }
        let none_less = |demand| combined(demand, Demand::default(), f64::max);
        (demands.into_iter().map(none_less).collect(), requests.max(0.0))
    }
}
