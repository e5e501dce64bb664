//! [ZB17 7.2, figure 7]: seven compute servers whose threads execute only timestamp transactions:
//! read the current timestamp, take the next commit timestamp, and publish it.
//!
//! The verbs are those of the paper's text for each step of the oracle; as in the original, there
//! are no rows and no transactions.

use super::snapshots::{self, SnapshotSource, Snapshots};
use crate::busy::Busy;
use crate::experiment::{Run, Steps};
use crate::outcome::{Axis, Compared, Outcome, Role, Series, Table};
use crate::world::{Done, again, at, network, world};
use baselines::nam_db::{Fetch, Slots, Timestamps};
use fabric::{Batch, Fabric};
use history_judge::Level;
use layout::{GlobalPtr, NodeId};
use sim::{Endpoint, World};
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

const SERVERS: u16 = 7;
/// Ports in use: the paper has a dual-port card.
pub(super) const PORTS: u64 = 2;
/// Threads of each compute server.
const THREADS: [u64; 9] = [1, 2, 3, 4, 6, 8, 10, 15, 20];
const THREADS_QUICK: [u64; 3] = [1, 6, 20];
/// Outstanding writes of a thread that reads nothing over the network: it does not wait for them.
const WRITES_UNDER_WAY: u64 = 8;
const WARM_NS: u64 = 20_000;
/// Lanes per thread of ours: while one waits the thread continues with others.
const LANES: u64 = 9;
/// Threads of each machine in the measurement of the printed protocol's snapshots.
const PRINTED_THREADS: u32 = 20;
/// The judge takes the longer the more forks there are, so this window is short.
const PRINTED_WINDOW_NS: u64 = 20_000;
/// The words of the first oracle: read timestamp, commit timestamp, and the list of outcomes.
const READ_TIMESTAMP: u64 = 0;
const COMMIT_TIMESTAMP: u64 = 1;
const OUTCOMES: u64 = 1024;
const OUTCOME_WORDS: u64 = 1 << 16;

/// A step of the oracle, in the paper's order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    /// One global counter, by fetch-and-add, and a list of outcomes [ZB17 3.1].
    Global,
    /// A vector with a slot for each thread [ZB17 4.1].
    Vector,
    /// One thread of each server fetches the vector for all of them.
    BackgroundFetch,
    /// One slot for all threads of a server.
    OneSlot,
    /// Both, and the slots are distributed over this many memory servers [ZB17 4.2].
    Both { servers: u16 },
}

struct Published {
    step: Step,
    name: &'static str,
    /// The largest printed number of million timestamp transactions per second, if any.
    most: Option<f64>,
    role: Role,
    why: Option<&'static str>,
}

const STEPS: [Published; 7] = [
    Published {
        step: Step::Global,
        name: "global counter",
        most: Some(2.0),
        role: Role::Prediction,
        why: None,
    },
    Published {
        step: Step::Vector,
        name: "timestamp vector",
        most: Some(20.0),
        role: Role::Prediction,
        why: Some(
            "the vector's bytes are the limit, and fewer clients have a shorter vector, so the maximum depends on the duration \
             of a transaction, here one round trip; the table below has the maximum with one that waits for its write",
        ),
    },
    Published {
        step: Step::BackgroundFetch,
        name: "vector, background fetch",
        most: Some(36.0),
        role: Role::Prediction,
        why: Some(
            "nothing in the model keeps writes of single words from passing the few reads of the whole vector; if a transaction \
             begins with a vector that has what its thread has committed, as the text does not say, it has to wait for one \
             that is fetched after its write, and what is printed comes out: below",
        ),
    },
    Published {
        step: Step::OneSlot,
        name: "vector, one slot per server",
        most: Some(80.0),
        role: Role::Prediction,
        why: Some(
            "the engine is full, as the run shows: by the rates of rdma_bench it takes 16.2 ns to serve a read and a write, \
             where the printed number asks for 12.5",
        ),
    },
    Published {
        step: Step::Both { servers: 1 },
        name: "vector, both",
        most: Some(135.0),
        role: Role::Prediction,
        why: None,
    },
    Published {
        step: Step::Both { servers: 2 },
        name: "vector, both, over 2 servers",
        most: None,
        role: Role::Prediction,
        why: None,
    },
    Published {
        step: Step::Both { servers: 4 },
        name: "vector, both, over 4 servers",
        most: None,
        role: Role::Prediction,
        why: None,
    },
];

/// The event that a thread waits for between two timestamp transactions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Pace {
    /// Only for its reads: each write is posted with the next read, or this many writes are
    /// outstanding.
    Writes(u64),
    EachWrite,
    /// For its write, and for a vector that was fetched after it.
    EachVector,
}

const USUAL: Pace = Pace::Writes(WRITES_UNDER_WAY);

/// Steps that miss the printed number, with another pace, and a description of it.
const OTHERWISE: [(Step, Pace, &str); 7] = [
    (Step::Vector, Pace::EachWrite, "each transaction waits for its write"),
    (Step::OneSlot, Pace::EachWrite, "each transaction waits for its write"),
    (Step::BackgroundFetch, Pace::Writes(4), "4 writes under way of each thread"),
    (Step::BackgroundFetch, Pace::Writes(2), "2 writes under way of each thread"),
    (Step::BackgroundFetch, Pace::EachWrite, "each transaction waits for its write"),
    (Step::BackgroundFetch, Pace::EachVector, WAITS_FOR_ALL),
    (Step::Both { servers: 1 }, Pace::EachVector, WAITS_FOR_ALL),
];
const WAITS_FOR_ALL: &str =
    "each transaction waits for its write and then for a vector that is fetched after it";

/// Runs all steps over all numbers of clients.
pub fn run(run: &mut Run<'_>) -> Outcome {
    let threads: &[u64] = run.quick_or(&THREADS_QUICK, &THREADS);
    let window_ns = run.quick_or(50_000, 200_000);
    let mut points = Points {
        threads,
        window_ns,
        steps: Steps::of((STEPS.len() + 1) * threads.len() + OTHERWISE.len() + ways().len()),
    };
    let (mut series, mut compared, mut notes) = (Vec::new(), Vec::new(), Vec::new());
    for Published { step, name, most, role, why } in STEPS {
        let (curve, busiest) = points.of_step(run, step, name);
        notes.push(format!("{name}: with the most clients the busiest is {busiest}."));
        let (what, unit, ours) = (format!("{name}, at most"), "M/s", most_of(&curve).1);
        compared.extend(most.map(|published| Compared { what, unit, published, ours, role, why }));
        series.push(Series { name: name.to_owned(), points: curve, is_published: false });
    }
    let (curve, mut snapshots) = points.of_ours(run, &mut notes);
    series.push(Series { name: OURS.to_owned(), points: curve, is_published: false });
    let paces = OTHERWISE.map(|otherwise| points.at_pace(run, otherwise));
    snapshots.extend(ways().map(|way| points.of_printed(run, way)));
    notes.extend(NOTES.map(str::to_owned));
    Outcome {
        parameters: vec![
            ("compute servers", SERVERS.to_string()),
            ("ports in use", PORTS.to_string()),
            ("writes under way of a thread that reads nothing", WRITES_UNDER_WAY.to_string()),
            ("lanes of a thread of ours", LANES.to_string()),
            ("window in virtual ns", window_ns.to_string()),
        ],
        x: Axis { title: "clients", is_logarithmic: false },
        y: Axis { title: "million timestamp transactions per second", is_logarithmic: true },
        tables: vec![
            table("Steps at another pace", &PACE_COLUMNS, paces.to_vec()),
            table("Snapshots that are taken meanwhile", &SNAPSHOT_COLUMNS, snapshots),
        ],
        series,
        compared,
        notes,
    }
}

/// The name of ours.
const OURS: &str = "ours";

/// The points to measure.
struct Points<'a> {
    threads: &'a [u64],
    window_ns: u64,
    steps: Steps,
}

impl Points<'_> {
    /// The curve of a step, and the busiest stage with the most clients.
    fn of_step(&mut self, run: &mut Run<'_>, step: Step, name: &str) -> (Vec<(f64, f64)>, String) {
        let (mut points, mut busiest) = (Vec::new(), String::new());
        for &per_server in self.threads {
            self.steps.next(run, name);
            let seen = seen(run.seed, (step, USUAL), per_server, self.window_ns);
            points.push((clients(per_server), seen.per_s / 1e6));
            busiest = seen.busiest;
        }
        (points, busiest)
    }

    /// The curve of ours, and the comparability of its snapshots with the most clients.
    fn of_ours(
        &mut self,
        run: &mut Run<'_>,
        notes: &mut Vec<String>,
    ) -> (Vec<(f64, f64)>, Vec<Vec<String>>) {
        let (mut points, mut row) = (Vec::new(), Vec::new());
        let (mut taken, mut incomparable) = (0, 0);
        for &per_server in self.threads {
            self.steps.next(run, OURS);
            let lanes = (per_server * LANES) as u32;
            let seen = snapshots::taken(run.seed, SnapshotSource::Ours, lanes, self.window_ns);
            points.push((clients(per_server), seen.per_s / 1e6));
            (taken, incomparable) = (taken + seen.taken, incomparable + seen.incomparable);
            row = snapshot_row(OURS, &seen);
        }
        notes.push(format!(
            "Ours: of {taken} snapshots at all numbers of clients {incomparable} are not comparable with another of their run."
        ));
        (points, vec![row])
    }

    /// A row of the table of paces.
    fn at_pace(
        &mut self,
        run: &mut Run<'_>,
        (step, pace, what): (Step, Pace, &str),
    ) -> Vec<String> {
        self.steps.next(run, what);
        let point = |&per_server: &u64| {
            let seen = seen(run.seed, (step, pace), per_server, self.window_ns);
            (clients(per_server), seen.per_s / 1e6)
        };
        let (clients, most) = most_of(&self.threads.iter().map(point).collect::<Vec<_>>());
        let published = STEPS.iter().find(|published| published.step == step);
        let published = published.expect("it is a step of the figure");
        let printed = published.most.map_or(String::new(), |most| format!("{most:.0}"));
        let cells = [published.name, what].map(str::to_owned);
        cells.into_iter().chain([format!("{most:.1}"), format!("{clients:.0}"), printed]).collect()
    }

    /// A row of the table of snapshots.
    fn of_printed(
        &mut self,
        run: &mut Run<'_>,
        (name, way): (&str, SnapshotSource),
    ) -> Vec<String> {
        self.steps.next(run, name);
        let seen = snapshots::taken(run.seed, way, PRINTED_THREADS, PRINTED_WINDOW_NS);
        snapshot_row(name, &seen)
    }
}

const NOTES: [&str; 6] = [
    "Machines are counted from the vector's; those of compute servers come behind.",
    "The text prints the most of each curve, not at how many clients: curves are ours alone.",
    "Nobody waits for the write that publishes; it goes out with the next read.",
    "The global counter stays at its most; the paper's falls beyond 20 clients, by contention that no number at hand \
     describes.",
    "Of the partitioned vector no number is printed.",
    "Where snapshots are looked at, as of all of ours, machines have 16 cores, each client has one transaction at a time, verbs \
     take up to 200 ns longer by chance, and their words up to a nanosecond each, in any order, where it does not say \
     otherwise.",
];

fn table(shows: &str, columns: &[&str], rows: Vec<Vec<String>>) -> Table {
    let columns = columns.iter().map(|&column| column.to_owned()).collect();
    Table { shows: shows.to_owned(), columns, rows }
}

fn clients(per_server: u64) -> f64 {
    (u64::from(SERVERS) * per_server) as f64
}

fn most_of(points: &[(f64, f64)]) -> (f64, f64) {
    let none = (0.0, 0.0);
    points.iter().fold(none, |most, point| if point.1 > most.1 { *point } else { most })
}

const PACE_COLUMNS: [&str; 5] = ["step", "pace", "at most, M/s", "at clients", "printed, M/s"];

/// The ways to take snapshots with the protocol as printed, and their names.
fn ways() -> [(&'static str, SnapshotSource); 6] {
    let printed = |fetch, slots, servers, is_at_one_moment| {
        let timestamps = Timestamps { fetch, slots };
        SnapshotSource::Printed { timestamps, servers, is_at_one_moment }
    };
    let (each, fetched) = (Fetch::EachTransaction, Fetch::Background);
    let (own, shared) = (Slots::Threads, Slots::ServersAsDrawn);
    [
        ("printed, each transaction reads the vector", printed(each, own, 1, false)),
        ("the same, if a read were of one moment", printed(each, own, 1, true)),
        ("printed, background fetch", printed(fetched, own, 1, false)),
        ("printed, both: a slot that threads share", printed(fetched, shared, 1, true)),
        ("printed, over 2 servers, each read at one moment", printed(fetched, own, 2, true)),
        ("printed, over 4 servers, each read at one moment", printed(fetched, own, 4, true)),
    ]
}

const SNAPSHOT_COLUMNS: [&str; 7] = [
    "snapshots",
    "million timestamp transactions/s",
    "taken",
    "that differ",
    "of these, not comparable with another",
    "the judge: snapshot isolation",
    "the judge: and sessions see what they did",
];

fn snapshot_row(name: &str, snapshots: &Snapshots) -> Vec<String> {
    let anomalies = snapshots.anomalies();
    let verdict = match anomalies.as_str() {
        "" => snapshots.verdict(Level::Snapshot),
        _ => format!("{}: {anomalies}", snapshots.verdict(Level::Snapshot)),
    };
    vec![
        name.to_owned(),
        format!("{:.1}", snapshots.per_s / 1e6),
        snapshots.taken.to_string(),
        snapshots.distinct.to_string(),
        snapshots.incomparable.to_string(),
        verdict,
        snapshots.verdict(Level::StrongSessionSnapshot),
    ]
}

/// The results of the window.
struct Seen {
    per_s: f64,
    busiest: String,
}

fn seen(seed: u64, load: (Step, Pace), per_server: u64, window_ns: u64) -> Seen {
    let servers = load.0.servers();
    let world = world(seed, network("connect-ib-2xfdr", PORTS), (servers, SERVERS), 1 << 17);
    let done = Done::default();
    for server in 0..SERVERS {
        start_server(&world, load, (server, per_server), &done);
    }
    world.run_for(WARM_NS);
    let (before, busy) = (done.get(), Busy::since(&world, (0..servers + SERVERS).map(NodeId)));
    world.run_for(window_ns);
    let per_s = (done.get() - before) as f64 * 1e9 / window_ns as f64;
    Seen { per_s, busiest: busy.most(&world) }
}

impl Step {
    /// Number of memory servers that have the vector.
    fn servers(self) -> u16 {
        match self {
            Self::Both { servers } => servers,
            _ => 1,
        }
    }

    fn fetches(self) -> bool {
        matches!(self, Self::BackgroundFetch | Self::Both { .. })
    }

    fn is_one_slot(self) -> bool {
        matches!(self, Self::OneSlot | Self::Both { .. })
    }
}

/// A vector: its number of slots, and of servers.
#[derive(Clone, Copy)]
struct Shape {
    slots: u64,
    servers: u16,
}

impl Shape {
    fn slot(self, slot: u64) -> GlobalPtr {
        let servers = u64::from(self.servers);
        at((slot % servers) as u16, slot / servers)
    }

    /// One verb for each server.
    fn read(self, batch: &mut Batch) {
        let words = self.slots.div_ceil(self.servers.into()) as u32;
        (0..self.servers).for_each(|server| {
            batch.read(at(server, 0), words);
        });
    }
}

/// The number of vectors that a compute server has fetched, and the tasks that wait for the next
/// one.
#[derive(Default)]
struct Fetched {
    rounds: Cell<u64>,
    waiting: RefCell<Vec<Waker>>,
}

impl Fetched {
    fn another(&self) {
        self.rounds.set(self.rounds.get() + 1);
        self.waiting.take().into_iter().for_each(Waker::wake);
    }

    /// Waits for a fetch that begins after this call.
    async fn next(&self) {
        let until = self.rounds.get() + 2;
        let is_there = |context: &mut Context<'_>| match self.rounds.get() >= until {
            true => Poll::Ready(()),
            false => {
                self.waiting.borrow_mut().push(context.waker().clone());
                Poll::Pending
            }
        };
        poll_fn(is_there).await;
    }
}

/// Starts the threads of a compute server.
fn start_server(
    world: &World,
    (step, pace): (Step, Pace),
    (server, per_server): (u16, u64),
    done: &Done,
) {
    let node = world.compute_node(server);
    let slots = u64::from(SERVERS) * if step.is_one_slot() { 1 } else { per_server };
    let shape = Shape { slots, servers: step.servers() };
    let fetched = Rc::new(Fetched::default());
    if step.fetches() {
        let env = world.endpoint(node);
        world.spawn_on(&env, fetch_for_ever(env.clone(), shape, fetched.clone()));
    }
    for thread in 0..per_server {
        let env = world.endpoint(node);
        let slot = match step.is_one_slot() {
            true => u64::from(server),
            false => u64::from(server) * per_server + thread,
        };
        let slot = shape.slot(slot);
        match (step, pace) {
            (Step::Global, _) => world.spawn_on(&env, count_globally(env.clone(), done.clone())),
            (Step::Vector | Step::OneSlot, _) => {
                let waits = pace == Pace::EachWrite;
                world.spawn_on(
                    &env,
                    read_and_publish(env.clone(), (slot, shape, waits), done.clone()),
                );
            }
            (_, Pace::EachVector) => {
                world
                    .spawn_on(&env, publish_each(env.clone(), slot, fetched.clone(), done.clone()));
            }
            (_, Pace::EachWrite) => world.spawn_on(&env, publish(env.clone(), slot, done.clone())),
            (_, Pace::Writes(count)) => {
                (0..count).for_each(|_| {
                    world.spawn_on(&env, publish(env.clone(), slot, done.clone()));
                });
            }
        }
    }
}

async fn execute(env: &Endpoint, batch: Batch) -> Batch {
    env.execute(batch).await.expect("the oracle is alive")
}

/// Reads the read timestamp, draws a commit timestamp, and sets its place in the list of outcomes.
async fn count_globally(env: Endpoint, done: Done) {
    let mut batch = Batch::new();
    loop {
        batch.read(at(0, READ_TIMESTAMP), 1);
        batch = again(execute(&env, batch).await);
        let drawn = batch.fetch_and_add(at(0, COMMIT_TIMESTAMP), 1);
        batch = execute(&env, batch).await;
        let commit_timestamp = batch.found(drawn);
        batch = again(batch);
        batch.write_word(at(0, OUTCOMES + commit_timestamp % OUTCOME_WORDS), 1);
        done.set(done.get() + 1);
    }
}

/// Reads the vector and publishes in its own slot.
async fn read_and_publish(
    env: Endpoint,
    (slot, shape, waits): (GlobalPtr, Shape, bool),
    done: Done,
) {
    let (mut batch, mut counter) = (Batch::new(), 0);
    loop {
        shape.read(&mut batch);
        batch = again(execute(&env, batch).await);
        counter += 1;
        batch.write_word(slot, counter);
        if waits {
            batch = again(execute(&env, batch).await);
        }
        done.set(done.get() + 1);
    }
}

/// Publishes in its own slot; the vector is already fetched.
async fn publish(env: Endpoint, slot: GlobalPtr, done: Done) {
    let (mut batch, mut counter) = (Batch::new(), 0);
    loop {
        counter += 1;
        batch.write_word(slot, counter);
        batch = again(execute(&env, batch).await);
        done.set(done.get() + 1);
    }
}

/// The same, but begins with a vector that may include its last commit.
async fn publish_each(env: Endpoint, slot: GlobalPtr, fetched: Rc<Fetched>, done: Done) {
    let (mut batch, mut counter) = (Batch::new(), 0);
    loop {
        counter += 1;
        batch.write_word(slot, counter);
        batch = again(execute(&env, batch).await);
        fetched.next().await;
        done.set(done.get() + 1);
    }
}

async fn fetch_for_ever(env: Endpoint, shape: Shape, fetched: Rc<Fetched>) {
    let mut batch = Batch::new();
    loop {
        shape.read(&mut batch);
        batch = again(execute(&env, batch).await);
        fetched.another();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millions(step: Step, pace: Pace) -> f64 {
        seen(1, (step, pace), 6, 20_000).per_s / 1e6
    }

    #[test]
    fn one_counter_is_slow_and_slots_of_their_own_are_fast() {
        let global = millions(Step::Global, USUAL);
        assert!((2.0..2.4).contains(&global), "{global}");
        assert!(millions(Step::Vector, USUAL) > 5.0 * global);
        let both = millions(Step::Both { servers: 1 }, USUAL);
        assert!(both > 100.0, "{both}");
        assert!(millions(Step::Both { servers: 2 }, USUAL) > 1.5 * both);
    }

    #[test]
    fn threads_that_wait_for_more_are_slower() {
        let paces = [USUAL, Pace::EachWrite, Pace::EachVector];
        let rates = paces.map(|pace| millions(Step::BackgroundFetch, pace));
        assert!(rates[0] > rates[1] && rates[1] > rates[2] && rates[2] > 1.0, "{rates:?}");
    }
}
