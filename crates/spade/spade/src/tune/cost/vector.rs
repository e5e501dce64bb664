//! The cost of an operation or transaction as a vector that can be added and scaled.
//!
//! Decisions:
//! - docs/decisions/0210-designs-are-compared-by-service-times-that-add-up.md
//! - docs/decisions/0212-costs-are-the-usual-designs-and-differences-from-it.md

use crate::measurement::{Demand, Operation, Point, Spread};

/// A stage that is busy for at least this share of the time is the bottleneck under load.
const FULL: f64 = 0.85;
/// The same for reads, which wait for no commit.
const FULL_OF_READS: f64 = 0.7;
/// Maximal ratio of the time that a stage takes under load to that of an operation alone.
const UNDER_LOAD_MAX: f64 = 2.0;

/// The cost of an operation or of a transaction.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Cost {
    /// Median latency while nothing else runs, in nanoseconds.
    pub latency_ns: f64,
    /// 99th percentile of that latency.
    pub tail_ns: f64,
    /// Nanoseconds between two completions in the whole cluster under full load: the inverse of the
    /// throughput.
    pub spacing_ns: f64,
    /// The part of the latency that the commit takes, from locks to publishing; 0 if nothing is
    /// written.
    pub commit_ns: f64,
    /// Latency of reads that precede an insert and find its place, in nanoseconds.
    pub adds_ns: f64,
    /// Probability that it changes a row of another machine.
    pub far: f64,
    /// Verbs of the requester.
    pub verbs: f64,
    /// Bytes moved by these verbs.
    pub bytes: f64,
    /// Sequential round trips.
    pub round_trips: f64,
    /// Demands on the executing machine and on those with the rows.
    pub machines: Demand,
    /// The part of these demands on machines whose rows another machine accesses.
    pub owners: Demand,
    /// Additional demands on the machine with the most of these rows, compared with the mean.
    pub hot: Demand,
    /// Demands on the machine with the oracle, and on those with further copies.
    pub others: Demand,
}

/// Measurement noise: the distance of repetitions of a point from their median, relative to it.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Noise {
    /// Noise of the latency of an operation alone.
    pub latency: f64,
    /// Noise of the throughput.
    pub rate: f64,
}

impl Noise {
    /// The noise of a measured point.
    pub fn measured(point: &Point) -> Self {
        Self {
            latency: noise(point.measured.alone.median_ns),
            rate: noise(point.measured.loaded.operations_per_s).min(1.0),
        }
    }

    /// Whether all repetitions gave the same figures.
    pub fn is_none(&self) -> bool {
        self.latency == 0.0 && self.rate == 0.0
    }
}

impl Cost {
    /// The cost of a measured point. Service times are those of an operation alone. Only the
    /// bottleneck stage takes its time under load, which includes effects of many queue pairs and
    /// of full bucket chains.
    pub fn measured(point: &Point) -> Self {
        let measured = &point.measured;
        let service = &measured.service;
        let rate = measured.loaded.operations_per_s;
        let spacing_ns = 1e9 / rate.median.max(f64::MIN_POSITIVE);
        let world = &point.parameters.world;
        // Time of each stage per operation that the machine executes.
        let each_ns = spacing_ns * f64::from(world.machines.max(1));
        let cores_ns = each_ns * f64::from(world.threads.max(1));
        let mut machines = add(service.requester, service.owner.unwrap_or_default());
        let is_read = matches!(point.parameters.operation, Operation::Lookup | Operation::Scan);
        let full = if is_read { FULL_OF_READS } else { FULL };
        let full = measured.loaded.busiest.as_ref().filter(|(_, share)| *share >= full);
        let busiest = full.map(|(stage, _)| &**stage);
        // The rate of deletes includes the inserts that restore the rows, so it says little about
        // deletes.
        let seen = |alone_ns: f64, seen_ns: f64| {
            if seen_ns <= alone_ns * UNDER_LOAD_MAX { seen_ns } else { alone_ns }
        };
        let all = &mut machines;
        match busiest {
            Some("engine") => all.engine_ns = seen(all.engine_ns, each_ns),
            Some("link out") => all.link_out_ns = seen(all.link_out_ns, each_ns),
            Some("link in") => all.link_in_ns = seen(all.link_in_ns, each_ns),
            Some("PCIe from memory") => all.from_memory_ns = seen(all.from_memory_ns, each_ns),
            Some("PCIe to memory") => all.to_memory_ns = seen(all.to_memory_ns, each_ns),
            Some("atomics") => all.atomics_ns = seen(all.atomics_ns, each_ns),
            Some("cores") => all.core_ns = seen(all.core_ns, cores_ns),
            // Without cards, threads are the only stage.
            _ if service.card_requests.is_none() => all.core_ns = cores_ns,
            _ => {}
        }
        Self {
            latency_ns: measured.alone.median_ns.median,
            tail_ns: measured.alone.p99_ns.median,
            spacing_ns,
            commit_ns: 0.0,
            adds_ns: 0.0,
            far: 0.0,
            verbs: service.verbs,
            bytes: service.bytes,
            round_trips: service.round_trips,
            machines,
            owners: service.owner.unwrap_or_default(),
            hot: Demand::default(),
            others: service.others.unwrap_or_default(),
        }
    }

    /// Combines two costs figure by figure.
    pub fn with(&self, other: &Self, put: impl Fn(f64, f64) -> f64) -> Self {
        Self {
            latency_ns: put(self.latency_ns, other.latency_ns),
            tail_ns: put(self.tail_ns, other.tail_ns),
            spacing_ns: put(self.spacing_ns, other.spacing_ns),
            commit_ns: put(self.commit_ns, other.commit_ns),
            adds_ns: put(self.adds_ns, other.adds_ns),
            far: put(self.far, other.far),
            verbs: put(self.verbs, other.verbs),
            bytes: put(self.bytes, other.bytes),
            round_trips: put(self.round_trips, other.round_trips),
            machines: both(self.machines, other.machines, &put),
            owners: both(self.owners, other.owners, &put),
            hot: both(self.hot, other.hot, &put),
            others: both(self.others, other.others, &put),
        }
    }

    pub fn plus(&self, other: &Self) -> Self {
        self.with(other, |one, other| one + other)
    }

    /// The difference; figures may be negative.
    pub fn minus(&self, other: &Self) -> Self {
        self.with(other, |one, other| one - other)
    }

    pub fn times(&self, count: f64) -> Self {
        self.with(&Self::default(), |one, _| one * count)
    }

    /// The weighted mean: `share` of this cost, the rest of the other.
    pub fn mixed(&self, share: f64, other: &Self) -> Self {
        self.with(other, |one, other| share * one + (1.0 - share) * other)
    }

    /// The cost of an inserted row if only `leaves` leaves are locked per row. The commit locks and
    /// writes a leaf once for all of its new rows; each further row is one more write.
    pub fn of_leaves(mut self, leaves: f64) -> Self {
        let further = (1.0 - leaves) / self.verbs.max(1.0);
        for demand in [&mut self.machines, &mut self.owners] {
            demand.atomics_ns *= leaves;
            demand.engine_ns *= leaves + further;
        }
        self
    }

    /// The cost if the measurement was too low by its noise: latency and all demands grow.
    pub fn off_by(&self, noise: Noise) -> Self {
        let (latency, rate) = (1.0 + noise.latency, 1.0 + noise.rate);
        Self {
            latency_ns: self.latency_ns * latency,
            tail_ns: self.tail_ns * latency,
            spacing_ns: self.spacing_ns * rate,
            machines: scaled(self.machines, rate),
            owners: scaled(self.owners, rate),
            ..*self
        }
    }

    /// Replaces negative figures, which differences of measurements may have, by 0.
    pub fn at_least_zero(&self) -> Self {
        self.with(&Self::default(), f64::max)
    }
}

pub fn add(one: Demand, other: Demand) -> Demand {
    both(one, other, |one, other| one + other)
}

pub fn scaled(one: Demand, count: f64) -> Demand {
    both(one, one, |one, _| one * count)
}

fn both(one: Demand, other: Demand, put: impl Fn(f64, f64) -> f64) -> Demand {
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

/// The distance of the farther end from the median, relative to the median.
fn noise(spread: Spread) -> f64 {
    if spread.median <= 0.0 {
        return 0.0;
    }
    ((spread.max - spread.median).max(spread.median - spread.min) / spread.median).max(0.0)
}
