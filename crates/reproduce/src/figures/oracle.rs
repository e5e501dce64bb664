//! [ZB17 7.2, figure 7]: seven compute servers whose threads do nothing but timestamp transactions: read the
//! current timestamp, take the next commit timestamp, make it visible.
//!
//! The verbs are those that the paper's text gives each step of the oracle; there are no rows and no
//! transactions here, as there are none in the original.

use crate::experiment::Run;
use crate::outcome::{Axis, Compared, Outcome, Role, Series};
use crate::world::{Done, again, at, network, per_second, world};
use fabric::{Batch, Fabric};
use sim::{Endpoint, World};

const SERVERS: u16 = 7;
/// Ports that carry traffic: the paper speaks of a dual-port card.
const PORTS: u64 = 2;
/// Threads of each compute server.
const THREADS: [u64; 9] = [1, 2, 3, 4, 6, 8, 10, 15, 20];
const THREADS_QUICK: [u64; 3] = [1, 6, 20];
/// Writes that a thread has under way where it reads nothing over the network: nobody waits for them.
const WRITES_UNDER_WAY: u64 = 8;
const WARM_NS: u64 = 20_000;
/// The words of the first oracle: read timestamp, commit timestamp, and the list of outcomes.
const READ_TIMESTAMP: u64 = 0;
const COMMIT_TIMESTAMP: u64 = 1;
const OUTCOMES: u64 = 1024;
const OUTCOME_WORDS: u64 = 1 << 16;

/// A step of the oracle, in the paper's order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    /// One counter for all, by fetch-and-add, and a list of outcomes [ZB17 3.1].
    Global,
    /// A vector with a slot for each thread [ZB17 4.1].
    Vector,
    /// One thread of each server fetches the vector for all of them.
    BackgroundFetch,
    /// One slot for all threads of a server.
    OneSlot,
    /// Both.
    Both,
}

struct Published {
    step: Step,
    name: &'static str,
    /// Million timestamp transactions a second, the most that the text prints.
    most: f64,
    role: Role,
    why: Option<&'static str>,
}

const STEPS: [Published; 5] = [
    Published {
        step: Step::Global,
        name: "global counter",
        most: 2.0,
        role: Role::Prediction,
        why: None,
    },
    Published {
        step: Step::Vector,
        name: "timestamp vector",
        most: 20.0,
        role: Role::Prediction,
        why: Some(
            "what bounds it is the vector's bytes, fewer for fewer clients, so that the most depends on the time of \
             one transaction, here one round trip; with one that waits for its write it is at fewer a second",
        ),
    },
    Published {
        step: Step::BackgroundFetch,
        name: "vector, background fetch",
        most: 36.0,
        role: Role::Prediction,
        why: Some(
            "nothing in the model keeps writes of single words from passing the few reads of the whole vector; \
             the text does not say what does",
        ),
    },
    Published {
        step: Step::OneSlot,
        name: "vector, one slot per server",
        most: 80.0,
        role: Role::Prediction,
        why: Some(
            "a read and a write for each take the card's engine longer than 12.5 ns by the rates of rdma_bench",
        ),
    },
    Published {
        step: Step::Both,
        name: "vector, both",
        most: 135.0,
        role: Role::Prediction,
        why: None,
    },
];

/// Runs all steps over all numbers of clients.
pub fn run(run: &mut Run<'_>) -> Outcome {
    let threads: &[u64] = run.quick_or(&THREADS_QUICK, &THREADS);
    let window_ns = run.quick_or(50_000, 200_000);
    let (mut done, total) = (0, (threads.len() * STEPS.len()) as u64);
    let (mut series, mut compared) = (Vec::new(), Vec::new());
    for Published { step, name, most, role, why } in STEPS {
        let mut points = Vec::new();
        for &per_server in threads {
            (run.progress)(done, total, name);
            done += 1;
            let millions = transactions_per_s(run.seed, step, per_server, window_ns) / 1e6;
            points.push(((u64::from(SERVERS) * per_server) as f64, millions));
        }
        let ours = points.iter().fold(0.0, |most: f64, point| most.max(point.1));
        let (what, unit) = (format!("{name}, at most"), "M/s");
        compared.push(Compared { what, unit, published: most, ours, role, why });
        series.push(Series { name: name.to_owned(), points, is_published: false });
    }
    Outcome {
        parameters: vec![
            ("compute servers", SERVERS.to_string()),
            ("ports in use", PORTS.to_string()),
            ("writes under way of a thread that reads nothing", WRITES_UNDER_WAY.to_string()),
            ("window in virtual ns", window_ns.to_string()),
        ],
        x: Axis { title: "clients", is_logarithmic: false },
        y: Axis { title: "million timestamp transactions per second", is_logarithmic: true },
        tables: Vec::new(),
        series,
        compared,
        notes: vec![
            "The text prints the most of each curve, not at how many clients: curves are ours alone.".to_owned(),
            "Nobody waits for the write that publishes; it goes out with the next read.".to_owned(),
            "The global counter stays at its most; the paper's falls beyond 20 clients, by contention that no \
             number at hand describes."
                .to_owned(),
            "One read of the vector is not a snapshot: this database reads until two agree, or a frozen one."
                .to_owned(),
        ],
    }
}

fn transactions_per_s(seed: u64, step: Step, per_server: u64, window_ns: u64) -> f64 {
    let world = world(seed, network("connect-ib-2xfdr", PORTS), (1, SERVERS), 1 << 17);
    let done = Done::default();
    for server in 0..SERVERS {
        start_server(&world, step, (server, per_server), &done);
    }
    per_second(&world, &done, (WARM_NS, window_ns))
}

/// Starts the threads of a compute server.
fn start_server(world: &World, step: Step, (server, per_server): (u16, u64), done: &Done) {
    let node = world.compute_node(server);
    let slots = match step {
        Step::OneSlot | Step::Both => u64::from(SERVERS),
        _ => u64::from(SERVERS) * per_server,
    };
    if matches!(step, Step::BackgroundFetch | Step::Both) {
        let env = world.endpoint(node);
        world.spawn_on(&env, fetch_for_ever(env.clone(), slots));
    }
    for thread in 0..per_server {
        let env = world.endpoint(node);
        let slot = match step {
            Step::OneSlot | Step::Both => u64::from(server),
            _ => u64::from(server) * per_server + thread,
        };
        match step {
            Step::Global => world.spawn_on(&env, count_globally(env.clone(), done.clone())),
            Step::Vector | Step::OneSlot => {
                world.spawn_on(&env, read_and_publish(env.clone(), (slot, slots), done.clone()));
            }
            Step::BackgroundFetch | Step::Both => {
                for _ in 0..WRITES_UNDER_WAY {
                    world.spawn_on(&env, publish(env.clone(), slot, done.clone()));
                }
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
async fn read_and_publish(env: Endpoint, (slot, slots): (u64, u64), done: Done) {
    let (mut batch, mut counter) = (Batch::new(), 0);
    loop {
        batch.read(at(0, 0), slots as u32);
        batch = again(execute(&env, batch).await);
        counter += 1;
        batch.write_word(at(0, slot), counter);
        done.set(done.get() + 1);
    }
}

/// Publishes in its own slot; the vector is there already.
async fn publish(env: Endpoint, slot: u64, done: Done) {
    let (mut batch, mut counter) = (Batch::new(), 0);
    loop {
        counter += 1;
        batch.write_word(at(0, slot), counter);
        batch = again(execute(&env, batch).await);
        done.set(done.get() + 1);
    }
}

async fn fetch_for_ever(env: Endpoint, slots: u64) {
    let mut batch = Batch::new();
    loop {
        batch.read(at(0, 0), slots as u32);
        batch = again(execute(&env, batch).await);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_counter_is_slow_and_slots_of_their_own_are_fast() {
        let millions = |step| transactions_per_s(1, step, 6, 20_000) / 1e6;
        let global = millions(Step::Global);
        assert!((2.0..2.4).contains(&global), "{global}");
        assert!(millions(Step::Vector) > 5.0 * global);
        assert!(millions(Step::Both) > 100.0);
    }
}
