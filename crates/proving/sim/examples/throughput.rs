//! Measures how many verbs per second the simulator executes under full load: clients read words,
//! rows and buckets' worth of rows, swap, add and write concurrently, in the weakest memory.
//!
//! `cargo run --release -p sim --example throughput [rounds]`

use fabric::{Batch, Env, Fabric};
use layout::row::Cover;
use layout::{GlobalPtr, RegionId};
use sim::{Endpoint, SimConfig, World};

const CLIENTS: u16 = 16;
const ROWS: u64 = 4096;
const ROW_WORDS: u32 = 16;

fn row(number: u64) -> GlobalPtr {
    let place = number % ROWS;
    GlobalPtr::new(RegionId((place % 2) as u16), 4096 + 128 * (place / 2))
}

/// Rounds with the shape of a transaction: read rows, swap locks and read the words behind them,
/// write rows and words.
async fn work(env: Endpoint, own: u64, rounds: u64) {
    let mut batch = Batch::new();
    for round in 0..rounds {
        batch.reset();
        for _ in 0..4 {
            batch.read_row(row(env.random()), ROW_WORDS, Cover::All);
        }
        batch = env.execute(batch).await.expect("the servers are alive");
        batch.reset();
        for _ in 0..2 {
            let locked = row(env.random());
            batch.compare_and_swap(locked, 0, 0);
            batch.read(locked, 2);
        }
        batch = env.execute(batch).await.expect("the servers are alive");
        batch.reset();
        let image = batch.put(&[round; ROW_WORDS as usize]);
        let target = row(own + u64::from(CLIENTS) * (env.random() % 256));
        batch.write_row(target, image, 0, Cover::All);
        batch.write_word(target, 0);
        batch = env.execute(batch).await.expect("the servers are alive");
    }
}

/// Runs all clients in a world of this configuration and prints the elapsed time.
fn measure(config: SimConfig, rounds: u64) {
    let config = SimConfig { compute_nodes: CLIENTS, ..config };
    let world = World::new(config.with_servers(&[1 << 16, 1 << 16]));
    for index in 0..CLIENTS {
        let env = world.endpoint(world.compute_node(index));
        world.spawn_on(&env.clone(), work(env, u64::from(index), rounds));
    }
    #[allow(clippy::disallowed_methods, reason = "this measures the simulator from outside")]
    let start = std::time::Instant::now();
    world.run_until_idle();
    let per_second = world.verbs() as f64 / start.elapsed().as_secs_f64() / 1e6;
    let (verbs, events) = (world.verbs(), world.events());
    println!(
        "{per_second:.2} million verbs per second: {verbs} verbs, {events} events, {}",
        world.identity()
    );
}

fn main() {
    let rounds = std::env::args().nth(1).map_or(10_000, |text| text.parse().expect("rounds"));
    measure(SimConfig::new(1).named("usual ways"), rounds);
    for seed in 1..=5 {
        measure(SimConfig::hostile(seed), rounds);
    }
}
