//! How fast a cluster goes when all lanes are busy: each has one call under way, so that throughput is lanes by the time from one
//! call to the next.
//!
//! ```text
//! a call    waits for a snapshot that has what its machine has published
//!           takes as long as it does alone, and waits for others at each stage of the machines
//!           if it changes something: waits for numbers before its own, and for the write that publishes others
//!           if another one has changed its rows: all of it again
//! ```
//! What a stage makes it wait is mean value analysis for a single class of calls [Reiser and Lavenberg 1980] with Schweitzer's
//! approximation: who comes finds the queue of a cluster with one call less, and whoever is served has half of its service left,
//! since services of a kind take equal times. All of that depends on the throughput, and the lanes' time from call to call grows with
//! it: [`super::settle`] finds the throughput at which lanes are busy all the time.

use super::aging::{Aged, Old};
use super::cost::{Cost, add, scaled};
use super::crowd::Crowd;
use super::meet::Meeting;
use super::order::{Order, in_order};
use super::surface::Clock;
use crate::measurement::Demand;
use std::rc::Rc;

/// Rounds in which waits, repetitions and what both take of the stages are found from each other.
const ROUNDS: u32 = 2;
/// The share of attempts that fail, at most.
const FAILED_MAX: f64 = 0.99;
/// Below that, the chances of a call's rows to be taken are added up.
const SELDOM: f64 = 0.01;
/// As crate `execute` repeats calls: so many times at once,
const AT_ONCE: u32 = 3;
/// then after a wait of so many nanoseconds, doubled each time,
const WAIT_NS: f64 = 2_000.0;
/// up to this,
const WAIT_NS_MAX: f64 = 1_000_000.0;
/// and a random half of it less.
const WAIT_SHARE: f64 = 0.75;

/// Calls that cost the same: of one procedure, at home or from another machine.
#[derive(Clone, Debug)]
pub struct Part<'a> {
    /// Their share of all calls.
    pub share: f64,
    /// What one takes.
    pub cost: Cost,
    /// The share of all calls that are of the same procedure.
    pub of_procedure: f64,
    /// How they meet others of their procedure and of other ones.
    pub meetings: &'a [Meeting],
    /// How they meet where they add rows.
    pub crowd: Crowd,
    /// Old versions of the rows that they change.
    pub old: Rc<[Old]>,
    /// Whether calls of other procedures are there at all.
    pub has_others: bool,
}

impl Part<'_> {
    /// The same with what old versions cost.
    fn aged<'o>(&'o self, aged: &mut Aged<'o>) -> Self {
        let all = aged.cost(&self.old, !self.has_others);
        let cost = &self.cost;
        Self {
            cost: Cost {
                latency_ns: cost.latency_ns + all.latency_ns,
                // They are moved away while the row is locked.
                commit_ns: cost.commit_ns + all.latency_ns,
                machines: add(cost.machines, all.machines),
                ..*cost
            },
            old: Rc::clone(&self.old),
            ..*self
        }
    }
}

/// The machines, and what they do beside calls.
#[derive(Clone, Copy, Debug)]
pub struct Cluster {
    /// How many there are.
    pub machines: f64,
    /// Cores of each.
    pub threads: f64,
    /// Lanes of each.
    pub lanes: f64,
    /// How snapshots come to machines; none where each lane gets its own, and that is part of what it takes alone.
    pub clock: Option<Clock>,
    /// For how long old versions are needed.
    pub needed_ns: f64,
}

/// How fast it goes.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Pace {
    /// Nanoseconds between two calls of a machine.
    pub between_ns: f64,
    /// For how long a lane is taken by a call, but for waits for stages.
    pub lane_ns: f64,
    /// Attempts at a call.
    pub attempts: f64,
    /// What attempts take of a machine.
    pub machines: Demand,
    /// What the machine with most remote rows takes beyond that.
    pub hot: Demand,
    /// What the oracle takes for the calls of one machine, for each of them.
    pub oracle_ns: f64,
}

impl Pace {
    /// The mean, by calls, of groups of so many machines each.
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

/// What lanes do at some throughput.
#[derive(Clone, Copy, Default)]
pub struct Seen {
    /// How fast it goes.
    pub pace: Pace,
    /// From one call of a lane to its next, where no stage has more to do than it can.
    pub cycle_ns: f64,
    /// What a call takes of the stage that is full first.
    pub fullest_ns: f64,
}

#[cfg(test)]
thread_local! {
    /// How often this thread has asked what lanes do.
    pub static ASKED: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
}

/// What lanes do when each machine makes so many calls in a nanosecond.
pub fn seen(parts: &[Part<'_>], cluster: &Cluster, rate: f64) -> Seen {
    #[cfg(test)]
    ASKED.set(ASKED.get() + 1);
    if parts.iter().all(|part| part.old.is_empty()) {
        return seen_of(parts, cluster, rate);
    }
    let mut aged = Aged::new(rate, cluster.needed_ns);
    let parts: Vec<Part<'_>> = parts.iter().map(|part| part.aged(&mut aged)).collect();
    seen_of(&parts, cluster, rate)
}

fn seen_of(parts: &[Part<'_>], cluster: &Cluster, rate: f64) -> Seen {
    let mean =
        |of: &dyn Fn(&Part<'_>) -> f64| parts.iter().map(|part| part.share * of(part)).sum::<f64>();
    let commits = mean(&|part| f64::from(u8::from(part.cost.commit_ns > 0.0)));
    let published_ns = mean(&|part| oracle_ns(&part.cost)) / commits.max(f64::MIN_POSITIVE);
    let trip_ns = cluster.clock.map_or(0.0, |clock| clock.trip_ns);
    let mut slower = vec![1.0; parts.len()];
    let mut found = Seen::default();
    for _ in 0..ROUNDS {
        let mut pace = Pace::default();
        let in_order = in_order(parts, rate, &slower, trip_ns);
        for (part, slower) in parts.iter().zip(&slower) {
            let call = Call { part, cluster, slower: *slower, commits, in_order, rate };
            let (attempts, lost_ns) = call.repeated();
            pace.attempts += part.share * attempts;
            pace.lane_ns += part.share * (call.taken_ns() + part.cost.latency_ns + lost_ns);
            let weight = part.share * attempts;
            pace.machines = add(pace.machines, scaled(part.cost.machines, weight));
            pace.hot = add(pace.hot, scaled(part.cost.hot, weight));
        }
        pace.oracle_ns = match cluster.clock {
            // What commits while one write is under way goes with the next.
            Some(_) if rate * commits > 0.0 => published_ns / in_order.between_ns / rate,
            _ => published_ns * commits,
        };
        let queued_ns = queued_ns(&pace, cluster, rate);
        slower = slowed(parts, &pace.machines, &queued_ns);
        let fullest_ns = fullest_ns(&pace, cluster);
        found = Seen { pace, cycle_ns: pace.lane_ns + queued_ns.sum(), fullest_ns };
    }
    found
}

/// What a commit takes of the oracle's busiest stage; its cores do more than serve.
pub fn oracle_ns(cost: &Cost) -> f64 {
    let Demand { engine_ns, atomics_ns, link_out_ns, link_in_ns, .. } = cost.others;
    [engine_ns, atomics_ns, link_out_ns, link_in_ns].into_iter().fold(0.0, f64::max)
}

/// How long an average call waits.
struct Queued {
    /// At the stages of all machines.
    stages: [f64; 7],
    /// At the oracle's.
    oracle_ns: f64,
}

impl Queued {
    fn sum(&self) -> f64 {
        self.stages.iter().sum::<f64>() + self.oracle_ns
    }
}

/// How many times longer calls of each part take than alone, for waits at stages of which all together take so much: who takes more of a stage
/// waits there more often.
fn slowed(parts: &[Part<'_>], all: &Demand, queued: &Queued) -> Vec<f64> {
    let all = demands(all);
    let of = |part: &Part<'_>| {
        let own = demands(&part.cost.machines).into_iter().zip(all).zip(queued.stages);
        let waits = own.filter(|((own, all), _)| *own > 0.0 && *all > 0.0);
        let waits_ns: f64 = waits.map(|((own, all), wait_ns)| wait_ns * own / all).sum();
        1.0 + waits_ns / part.cost.latency_ns.max(f64::MIN_POSITIVE)
    };
    parts.iter().map(of).collect()
}

/// What a call takes of the stage that is full first.
fn fullest_ns(pace: &Pace, cluster: &Cluster) -> f64 {
    let Cluster { machines, threads, lanes, .. } = *cluster;
    let [core_ns, ..] = demands(&pace.machines);
    // A lane has a core of its own, or waits for one.
    let cores_ns = if lanes > threads { core_ns / threads } else { 0.0 };
    let [_, stages @ ..] = demands(&add(pace.machines, pace.hot));
    stages.into_iter().chain([cores_ns, pace.oracle_ns * machines]).fold(0.0, f64::max)
}

/// How long calls wait at the stages of all machines together, and at the oracle's.
fn queued_ns(pace: &Pace, cluster: &Cluster, rate: f64) -> Queued {
    let Cluster { machines, lanes, .. } = *cluster;
    let (mean, hot) = (demands(&pace.machines), demands(&pace.hot));
    let customers = machines * lanes;
    let mut stages = [0.0; 7];
    for (stage, (mean_ns, hot_ns)) in mean.into_iter().zip(hot).enumerate().skip(1) {
        let others = (machines - 1.0).max(1.0);
        let hottest = wait_ns(mean_ns + hot_ns, rate, customers);
        let other = wait_ns((mean_ns - hot_ns / others).max(0.0), rate, customers);
        stages[stage] = (hottest + (machines - 1.0) * other) / machines;
    }
    let oracle_ns = wait_ns(pace.oracle_ns * machines, rate, customers);
    stages[0] = cores_ns(pace, cluster, rate);
    Queued { stages, oracle_ns }
}

/// How long a call waits for cores.
fn cores_ns(pace: &Pace, cluster: &Cluster, rate: f64) -> f64 {
    let Cluster { threads, lanes, .. } = *cluster;
    let core_ns = pace.machines.core_ns / threads;
    if lanes <= threads {
        // Nobody waits for another one's core. But all cores have some of memory and of the processor together, so that under load a
        // call takes more of them than it lasts alone: it lasts for as long, then.
        return (core_ns * lanes - pace.lane_ns).max(0.0);
    }
    // Of several cores one is free more often [Sakasegawa 1977].
    let used = (core_ns * rate).min(1.0);
    let power = libm::pow(used, libm::sqrt(2.0 * (threads + 1.0)) - 1.0);
    core_ns * power / (2.0 * free(used, lanes))
}

/// How long a call waits at a stage that takes so long for it, of which no more than all of its time is used.
fn wait_ns(service_ns: f64, rate: f64, customers: f64) -> f64 {
    let used = (service_ns * rate).min(1.0);
    let fewer = (customers - 1.0) / customers;
    let queue = used * (1.0 - used / 2.0) / free(used, customers);
    service_ns * (fewer * queue - used / 2.0).max(0.0)
}

/// What divides the queue of a stage that is used for this share of the time.
fn free(used: f64, customers: f64) -> f64 {
    1.0 - used * (customers - 1.0) / customers
}

/// Of cores first, then of each stage that there is one of.
pub fn demands(of: &Demand) -> [f64; 7] {
    let Demand { core_ns, engine_ns, atomics_ns, link_out_ns, link_in_ns, .. } = *of;
    [core_ns, engine_ns, atomics_ns, link_out_ns, link_in_ns, of.from_memory_ns, of.to_memory_ns]
}

/// What a lane has done last.
#[derive(Clone, Copy, PartialEq, Eq)]
enum After {
    /// A call that has changed nothing.
    Reads,
    /// One that has.
    Commit,
    /// An attempt that was aborted: the next one has another snapshot.
    Abort,
}

/// A call of a part at some throughput.
struct Call<'c, 'a> {
    part: &'c Part<'a>,
    cluster: &'c Cluster,
    rate: f64,
    /// How many times longer it takes than alone, for waits at stages.
    slower: f64,
    /// The share of calls that commit.
    commits: f64,
    /// How commits of its machine follow each other.
    in_order: Order,
}

impl Call<'_, '_> {
    fn is_writer(&self) -> bool {
        self.part.cost.commit_ns > 0.0
    }

    /// How long its commit waits to be published.
    fn unpublished_ns(&self) -> f64 {
        match self.cluster.clock {
            Some(Clock { trip_ns, .. }) if self.is_writer() => {
                self.in_order.waits_ns + trip_ns / self.in_order.between_ns * trip_ns / 2.0
            }
            _ => 0.0,
        }
    }

    /// How long it waits for its next snapshot and to be published.
    fn taken_ns(&self) -> f64 {
        let busy_ns = self.part.cost.latency_ns * self.slower + self.unpublished_ns();
        self.unpublished_ns()
            + self.snapshot_ns(busy_ns, if self.is_writer() { After::Commit } else { After::Reads })
    }

    /// How long whoever has been busy since its last snapshot waits for the next. Fetched vectors come one after another; a vector has
    /// what was published a trip, and the time to freeze it, before it came. What has been published since must be in the next one.
    fn snapshot_ns(&self, busy_ns: f64, after: After) -> f64 {
        let Some(Clock { trip_ns, freeze_ns }) = self.cluster.clock else { return 0.0 };
        let behind_ns = trip_ns + 1.5 * freeze_ns;
        let round_ns = 2.0 * trip_ns;
        // Whose own commit is the newest thing that was published waits for that; others for one that is up to a trip old.
        let from_ns =
            busy_ns + behind_ns - if after == After::Commit { trip_ns / 2.0 } else { trip_ns };
        let rounds = mean_rounds(from_ns / round_ns, trip_ns / round_ns);
        let wait_ns = (rounds * round_ns - busy_ns).max(0.0);
        let is_missing = match after {
            After::Reads => self.is_missing(busy_ns, behind_ns, trip_ns),
            After::Commit | After::Abort => 1.0,
        };
        is_missing * wait_ns
    }

    /// The chance that the vector that is here lacks something when a call begins behind one that has changed nothing. If that one
    /// has waited for the vector, which was behind when it came, whatever was published since then counts; else, what was while it was
    /// busy. Whoever comes behind a commit has waited.
    fn is_missing(&self, busy_ns: f64, behind_ns: f64, trip_ns: f64) -> f64 {
        let since = |time_ns: f64| self.in_order.publishes_within(time_ns, trip_ns);
        let (new, old, commits) = (since(busy_ns + behind_ns), since(busy_ns), self.commits);
        let found = commits * new + (1.0 - commits) * old;
        found / (1.0 - (1.0 - commits) * (new - old)).max(found).max(f64::MIN_POSITIVE)
    }

    /// Attempts that it takes, and the time of those that fail, with the waits behind them.
    fn repeated(&self) -> (f64, f64) {
        if !self.is_writer() {
            return (1.0, 0.0);
        }
        let Part { cost, of_procedure, meetings, has_others, .. } = *self.part;
        let trip_ns = self.cluster.clock.map_or(0.0, |clock| clock.trip_ns);
        let freeze_ns = self.cluster.clock.map_or(0.0, |clock| clock.freeze_ns);
        // From one snapshot to the next that has what a call with the first has changed: meanwhile nobody else can change the row.
        let taken_ns =
            cost.latency_ns * self.slower + self.unpublished_ns() + trip_ns + 1.5 * freeze_ns;
        // An attempt fails when its locks are answered: installing and publishing are left out.
        let locked_ns = ((cost.commit_ns - trip_ns) / 2.0).max(0.0);
        let until_ns = (cost.latency_ns - cost.commit_ns + locked_ns).max(0.0);
        let failed_ns = until_ns + self.snapshot_ns(until_ns * self.slower, After::Abort);
        let (crowded, stale) = (self.crowded(locked_ns), self.part.crowd.stale);
        let (mut attempts, mut lost_ns) = (1.0, 0.0);
        for meeting in meetings {
            let others = if has_others { meeting.others } else { 0.0 };
            let changes = self.rate * (of_procedure * meeting.own + others);
            // Each of its rows may be taken.
            let all = changes * taken_ns;
            let fails = match meeting.rows {
                rows if rows > 1.0 && all > SELDOM => {
                    // One less the power of what is left of each row.
                    1.0 - libm::exp(rows * libm::log1p(-(all / rows).min(1.0)))
                }
                _ => all,
            };
            let fails = (1.0 - (1.0 - fails.min(1.0)) * (1.0 - crowded)).min(FAILED_MAX);
            // What a lane takes for known it reads anew after it has failed.
            let first = 1.0 - (1.0 - fails) * (1.0 - stale);
            let again = first / (1.0 - fails);
            attempts += meeting.share * again;
            lost_ns += meeting.share * (again * failed_ns + waits_ns(first, fails));
        }
        (attempts, lost_ns)
    }

    /// The chance that an attempt fails since another call has locked a leaf or a bucket from the time on at which this one has read it to
    /// the time at which it locks it. Halfway through a read or a batch of locks is when it is done; whoever has the lock writes and gives it
    /// back with as much time in between.
    fn crowded(&self, locked_ns: f64) -> f64 {
        let Part { cost, of_procedure, crowd, has_others, .. } = *self.part;
        let others = if has_others { crowd.others } else { 0.0 };
        let adds = self.rate * (of_procedure * crowd.own + others);
        let exposed_ns = (cost.adds_ns / 2.0 + locked_ns / 2.0 + locked_ns) * self.slower;
        if adds > 0.0 { 1.0 - libm::exp(-adds * exposed_ns) } else { 0.0 }
    }
}

/// The mean of the whole number at or above a number that is anything from `from` on to `width` more.
fn mean_rounds(from: f64, width: f64) -> f64 {
    // The integral of the ceiling from 0.
    let up_to = |at: f64| {
        let whole = libm::floor(at);
        whole * (whole + 1.0) / 2.0 + (at - whole) * (whole + 1.0)
    };
    let from = from.max(0.0);
    (up_to(from + width) - up_to(from)) / width
}

/// How long a call waits between attempts: of the first one such a share fails, of others another one.
fn waits_ns(first: f64, fails: f64) -> f64 {
    let mut likely = (0..AT_ONCE).map(|_| fails).product::<f64>() * first;
    let (mut wait_ns, mut sum) = (WAIT_NS, 0.0);
    while wait_ns < WAIT_NS_MAX {
        sum += likely * wait_ns;
        likely *= fails;
        wait_ns *= 2.0;
    }
    WAIT_SHARE * (sum + likely * WAIT_NS_MAX / (1.0 - fails))
}

#[cfg(test)]
pub mod tests {
    use super::super::settle;
    use super::*;

    const CLOCK: Clock = Clock { trip_ns: 2_000.0, freeze_ns: 300.0 };

    fn cluster(lanes: f64, clock: Option<Clock>) -> Cluster {
        Cluster { machines: 4.0, threads: 16.0, lanes, clock, needed_ns: 0.0 }
    }

    fn pace(parts: &[Part<'_>], cluster: &Cluster) -> Pace {
        settle::pace(parts, cluster, None).0
    }

    #[test]
    fn what_is_a_little_dearer_is_found_from_where_it_was() {
        let calls = |engine_ns: f64| [part(5_000.0, 0.0, engine_ns)];
        for lanes in [1.0, 40.0, 60.0, 500.0] {
            let cluster = cluster(lanes, None);
            let (_, start) = settle::pace(&calls(100.0), &cluster, None);
            for engine_ns in [100.1, 102.0, 90.0] {
                let dear = calls(engine_ns);
                let (near, far) =
                    (settle::pace(&dear, &cluster, Some(start)).0, pace(&dear, &cluster));
                let off = near.between_ns / far.between_ns - 1.0;
                assert!(off.abs() < 5e-5, "{lanes} lanes, {engine_ns} ns: {off}");
            }
        }
    }

    /// All calls, which meet no others.
    pub fn part(latency_ns: f64, commit_ns: f64, engine_ns: f64) -> Part<'static> {
        let machines = Demand { engine_ns, ..Demand::default() };
        let cost = Cost { latency_ns, commit_ns, machines, ..Cost::default() };
        Part {
            share: 1.0,
            cost,
            of_procedure: 1.0,
            meetings: &[],
            crowd: Crowd::default(),
            old: Rc::new([]),
            has_others: true,
        }
    }

    /// Nanoseconds from call to call of a lane.
    fn cycle_ns(parts: &[Part<'_>], cluster: &Cluster) -> f64 {
        pace(parts, cluster).between_ns * cluster.lanes
    }

    #[test]
    fn few_lanes_wait_for_nothing_and_many_for_the_stage_that_is_full() {
        let reads = [part(5_000.0, 0.0, 100.0)];
        let few = cycle_ns(&reads, &cluster(1.0, None));
        assert!((5_000.0..5_010.0).contains(&few), "{few}");
        let half = cycle_ns(&reads, &cluster(25.0, None));
        assert!((5_025.0..5_100.0).contains(&half), "half of the engine is taken: {half}");
        let full = pace(&reads, &cluster(500.0, None)).between_ns;
        assert!((100.0 - 1e-6..101.0).contains(&full), "{full}");
        let pace = pace(&reads, &cluster(50.0, None)).between_ns;
        assert!((105.0..130.0).contains(&pace), "near what there is, but not there: {pace}");
    }

    #[test]
    fn the_pace_of_a_full_stage_is_found_in_few_steps() {
        for lanes in [1.0, 50.0, 60.0, 500.0] {
            ASKED.set(0);
            let found = pace(&[part(5_000.0, 0.0, 100.0)], &cluster(lanes, None));
            assert!(found.between_ns >= 100.0 - 1e-6, "{lanes} lanes: {}", found.between_ns);
            assert!(ASKED.get() <= 20, "{lanes} lanes: {} steps", ASKED.get());
        }
    }

    /// Calls that meet are made again more often the more there are, so that what they take of a stage grows with their number.
    #[test]
    fn the_pace_of_a_stage_that_repeated_calls_fill_is_found() {
        for (lanes, own) in
            [(120.0, 0.02), (250.0, 0.02), (500.0, 0.01), (500.0, 0.02), (500.0, 0.1)]
        {
            let meetings = [Meeting { share: 1.0, own, others: 0.0, rows: 1.0 }];
            let calls = [Part { meetings: &meetings, ..part(5_000.0, 3_000.0, 1_000.0) }];
            let cluster = cluster(lanes, None);
            let rate = 1.0 / pace(&calls, &cluster).between_ns;
            let is_beyond = |rate: f64| {
                let there = seen(&calls, &cluster, rate);
                rate > (lanes / there.cycle_ns).min(1.0 / there.fullest_ns)
            };
            let [less, more] = [1.0 - 1e-7, 1.0 + 1e-7].map(|of| is_beyond(of * rate));
            assert!(!less && more, "{lanes} lanes, {own}: {rate}");
        }
    }

    #[test]
    fn cores_that_are_slower_together_than_alone_are_full_and_no_more() {
        let mut calls = [part(1_000.0, 0.0, 0.0)];
        calls[0].cost.machines.core_ns = 1_360.0;
        let used = |lanes: f64| {
            let cluster = Cluster { machines: 1.0, ..cluster(lanes, None) };
            let found = pace(&calls, &cluster);
            found.machines.core_ns / cluster.threads / found.between_ns
        };
        assert!((used(16.0) - 1.0).abs() < 1e-6, "{}", used(16.0));
        assert!((0.98..1.0 + 1e-6).contains(&used(400.0)), "{}", used(400.0));
        // Half of them have enough left, and a lane is no faster than alone.
        assert!((used(8.0) - 0.68).abs() < 1e-6, "{}", used(8.0));
        // Cores that take no more than a call lasts are waited for by nobody.
        calls[0].cost.machines.core_ns = 900.0;
        let cycle = cycle_ns(&calls, &cluster(16.0, None));
        assert!((cycle - 1_000.0).abs() < 1e-3, "{cycle}");
    }

    #[test]
    fn the_machine_with_most_rows_is_full_first() {
        let mut calls = [part(5_000.0, 0.0, 100.0)];
        calls[0].cost.hot = Demand { engine_ns: 100.0, ..Demand::default() };
        let between_ns = pace(&calls, &cluster(500.0, None)).between_ns;
        assert!((200.0..202.0).contains(&between_ns), "{between_ns}");
    }

    #[test]
    fn who_has_committed_waits_for_a_vector_that_has_it() {
        // It is fetched in rounds of two trips, and is behind by one.
        let writes = [part(6_000.0, 4_000.0, 1.0)];
        let alone = cycle_ns(&writes, &cluster(1.0, None));
        let waited = cycle_ns(&writes, &cluster(1.0, Some(CLOCK))) - alone;
        assert!((3_000.0..7_000.0).contains(&waited), "{waited}");
        // Reads wait for what others have committed, and for nothing where nobody does.
        let reads = [part(300.0, 0.0, 1.0)];
        let alone = cycle_ns(&reads, &cluster(4.0, Some(CLOCK)));
        assert!((300.0..310.0).contains(&alone), "{alone}");
        let mut both = [reads[0].clone(), writes[0].clone()];
        (both[0].share, both[1].share) = (0.8, 0.2);
        let mixed = cycle_ns(&both, &cluster(32.0, Some(CLOCK)));
        // A round for whoever reads.
        let unmixed = 0.8 * 4_000.0 + 0.2 * (6_000.0 + waited);
        assert!((0.9 * unmixed..1.3 * unmixed).contains(&mixed), "{mixed} {unmixed}");
    }

    #[test]
    fn a_row_that_all_change_is_changed_by_one_after_the_other() {
        let meetings = [Meeting { share: 1.0, own: 4.0, others: 0.0, rows: 1.0 }];
        let mut calls = [part(6_000.0, 4_000.0, 1.0)];
        calls[0].meetings = &meetings;
        let found = pace(&calls, &cluster(32.0, Some(CLOCK)));
        // All machines together make a call each time that one has it.
        let each_ns = found.between_ns / 4.0;
        assert!((8_000.0..30_000.0).contains(&each_ns), "{each_ns}");
        assert!(found.attempts > 2.0, "{}", found.attempts);
        let rare = [Meeting { share: 1.0, own: 4e-4, others: 0.0, rows: 1.0 }];
        calls[0].meetings = &rare;
        let found = pace(&calls, &cluster(32.0, Some(CLOCK)));
        assert!(found.attempts > 1.001 && found.attempts < 1.1, "{}", found.attempts);
    }

    #[test]
    fn who_adds_where_others_do_begins_again() {
        let mut calls = [part(6_000.0, 4_000.0, 1.0)];
        calls[0].meetings = &[Meeting { share: 1.0, own: 0.0, others: 0.0, rows: 1.0 }];
        calls[0].cost.adds_ns = 2_000.0;
        let attempts = |crowd: Crowd, calls: &mut [Part<'static>; 1]| {
            calls[0].crowd = crowd;
            pace(calls, &cluster(32.0, Some(CLOCK))).attempts
        };
        assert_eq!(attempts(Crowd::default(), &mut calls), 1.0);
        let few = attempts(Crowd { own: 0.01, ..Crowd::default() }, &mut calls);
        let many = attempts(Crowd { own: 0.1, ..Crowd::default() }, &mut calls);
        // A machine makes some 2.7 calls in a microsecond, and for 2.5 a place is read and locked.
        assert!((1.02..1.12).contains(&few) && (1.2..2.2).contains(&many), "{few} {many}");
        // What a lane takes for known fails once.
        let stale = attempts(Crowd { stale: 0.5, ..Crowd::default() }, &mut calls);
        assert!((stale - 1.5).abs() < 1e-9, "{stale}");
        calls[0].cost.commit_ns = 0.0;
        assert_eq!(attempts(Crowd { own: 0.1, ..Crowd::default() }, &mut calls), 1.0);
    }

    #[test]
    fn calls_that_take_nothing_of_a_stage_do_not_wait_there() {
        let parts = [part(1_000.0, 0.0, 0.0), part(6_000.0, 4_000.0, 30.0)];
        let machines = Demand { engine_ns: 15.0, ..Demand::default() };
        let mut queued = Queued { stages: [0.0; 7], oracle_ns: 0.0 };
        queued.stages[1] = 600.0;
        let found = slowed(&parts, &machines, &queued);
        // Half of the calls wait for all.
        assert_eq!(found, [1.0, 1.2]);
    }

    #[test]
    fn rounds_are_whole() {
        assert!((mean_rounds(0.2, 0.5) - 1.0).abs() < 1e-12);
        assert!((mean_rounds(0.75, 0.5) - 1.5).abs() < 1e-12);
        assert!((mean_rounds(2.25, 0.5) - 3.0).abs() < 1e-12);
    }

    #[test]
    fn waits_between_attempts_begin_after_three_and_double() {
        assert_eq!(waits_ns(0.0, 0.0), 0.0);
        let few = waits_ns(0.01, 0.01);
        assert!((few / (0.01_f64.powi(4) * 1_500.0) - 1.02).abs() < 0.01, "{few}");
        assert!(waits_ns(0.6, 0.6) > 5.0 * waits_ns(0.4, 0.4));
    }
}
