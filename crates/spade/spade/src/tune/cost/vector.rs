//! What an operation costs, as numbers that can be added up.
//!
//! Decisions:
//! - docs/decisions/0210-designs-are-compared-by-service-times-that-add-up.md
//! - docs/decisions/0212-costs-are-the-usual-designs-and-differences-from-it.md

use crate::measurement::{Demand, Operation, Point, Spread};

/// The share of its time from which on a stage counts as what holds up all others.
const FULL: f64 = 0.85;
/// The same of operations that wait for nothing else.
const FULL_OF_READS: f64 = 0.7;
/// How much more a stage may take under load than alone.
const SEEN_MAX: f64 = 2.0;

/// What something costs: one operation, or a transaction.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Cost {
    /// Median latency while nothing else runs, in nanoseconds.
    pub latency_ns: f64,
    /// 99th percentile of it.
    pub tail_ns: f64,
    /// Nanoseconds between two of them under full load, of the whole cluster: one over the throughput.
    pub spacing_ns: f64,
    /// What of the latency is the commit's, from locks to publishing; nothing where nothing is changed.
    pub commit_ns: f64,
    /// How long reading takes where rows are added, before the commit.
    pub adds_ns: f64,
    /// Whether rows of other machines are among those that it changes: its chance.
    pub far: f64,
    /// Verbs of the requester.
    pub verbs: f64,
    /// Bytes that they move.
    pub bytes: f64,
    /// Round trips, one after the other.
    pub round_trips: f64,
    /// What it takes of the machines that compute and have the rows.
    pub machines: Demand,
    /// Of that, what machines take whose rows are reached from another one.
    pub owners: Demand,
    /// What the machine with most of these rows takes more than the mean.
    pub hot: Demand,
    /// What it takes of the machine with the oracle, and of those with further copies.
    pub others: Demand,
}

/// How far repetitions of a measured point were from their median, as shares of it.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Noise {
    /// Of the latency of an operation alone.
    pub latency: f64,
    /// Of the throughput.
    pub rate: f64,
}

impl Noise {
    /// Of a measured point.
    pub fn measured(point: &Point) -> Self {
        Self {
            latency: noise(point.measured.alone.median_ns),
            rate: noise(point.measured.loaded.operations_per_s).min(1.0),
        }
    }

    /// Whether all repetitions were alike.
    pub fn is_none(&self) -> bool {
        self.latency == 0.0 && self.rate == 0.0
    }
}

impl Cost {
    /// Of a measured point. Service times are those of an operation alone; the stage that is full under load takes what
    /// is seen there, where queue pairs crowd the card and chains are met as often as they are.
    pub fn measured(point: &Point) -> Self {
        let measured = &point.measured;
        let service = &measured.service;
        let rate = measured.loaded.operations_per_s;
        let spacing_ns = 1e9 / rate.median.max(f64::MIN_POSITIVE);
        let world = &point.parameters.world;
        // What a machine has in the time between two operations of its own.
        let each_ns = spacing_ns * f64::from(world.machines.max(1));
        let cores_ns = each_ns * f64::from(world.threads.max(1));
        let mut machines = add(service.requester, service.owner.unwrap_or_default());
        let is_read = matches!(point.parameters.operation, Operation::Lookup | Operation::Scan);
        let full = if is_read { FULL_OF_READS } else { FULL };
        let full = measured.loaded.busiest.as_ref().filter(|(_, share)| *share >= full);
        let busiest = full.map(|(stage, _)| &**stage);
        // A rate of which other work takes the most, as of deletes whose rows have to be inserted in between, tells nothing.
        let seen = |alone_ns: f64, seen_ns: f64| {
            if seen_ns <= alone_ns * SEEN_MAX { seen_ns } else { alone_ns }
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
            // Where no cards carry verbs, threads are all there is.
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

    /// Each figure of two costs, put together.
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

    /// The sum.
    pub fn plus(&self, other: &Self) -> Self {
        self.with(other, |one, other| one + other)
    }

    /// The difference, which may have figures below nothing.
    pub fn minus(&self, other: &Self) -> Self {
        self.with(other, |one, other| one - other)
    }

    /// So many times as much.
    pub fn times(&self, count: f64) -> Self {
        self.with(&Self::default(), |one, _| one * count)
    }

    /// This one with `share`, the other one with the rest.
    pub fn mixed(&self, share: f64, other: &Self) -> Self {
        self.with(other, |one, other| share * one + (1.0 - share) * other)
    }

    /// Of a row that is added, where so many leaves are for each: a leaf is locked and written once for all of its rows, and each further one
    /// of them is a write.
    pub fn of_leaves(mut self, leaves: f64) -> Self {
        let further = (1.0 - leaves) / self.verbs.max(1.0);
        for demand in [&mut self.machines, &mut self.owners] {
            demand.atomics_ns *= leaves;
            demand.engine_ns *= leaves + further;
        }
        self
    }

    /// A measured cost that is off by its noise: it takes so much longer, and so much more of every stage.
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

    /// With nothing below nothing: what differences of measured figures may come to.
    pub fn at_least_nothing(&self) -> Self {
        self.with(&Self::default(), f64::max)
    }
}

/// The sum of two demands.
pub fn add(one: Demand, other: Demand) -> Demand {
    both(one, other, |one, other| one + other)
}

/// A demand so many times.
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

/// The larger distance of both ends from the middle, as a share of it.
fn noise(spread: Spread) -> f64 {
    if spread.median <= 0.0 {
        return 0.0;
    }
    ((spread.max - spread.median).max(spread.median - spread.min) / spread.median).max(0.0)
}
