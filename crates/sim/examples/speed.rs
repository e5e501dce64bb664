//! How many word events a second the simulator manages: four clients that write and read rows.

use fabric::{Batch, Env, Fabric};
use layout::row::Cover;
use layout::{GlobalPtr, RegionId};
use sim::{SimConfig, SimWorld};

const ROUNDS: u64 = 20_000;
const ROW_WORDS: u32 = 16;

fn main() {
    let world = SimWorld::new(SimConfig::new(1).named("speed"));
    for index in 0..4 {
        let env = world.endpoint(world.compute_node(index));
        world.spawn_on(&env.clone(), async move {
            let mut batch = Batch::new();
            for round in 0..ROUNDS {
                batch.reset();
                let row = |number| GlobalPtr::new(RegionId(0), 4096 + 8 * 16 * (number % 1024));
                let image = batch.put(&[round; ROW_WORDS as usize]);
                batch.write_row(row(u64::from(index) * 256 + round % 256), image, 0, Cover::All);
                for _ in 0..4 {
                    batch.read_row(row(env.random()), ROW_WORDS, Cover::All);
                }
                batch.compare_and_swap(row(env.random()), 0, 1);
                batch = env.execute(batch).await.expect("the server is alive");
            }
        });
    }
    #[allow(clippy::disallowed_methods, reason = "this measures the simulator, it is not in it")]
    let start = std::time::Instant::now();
    world.run_until_idle();
    let seconds = start.elapsed().as_secs_f64();
    let events = world.word_events();
    println!("{events} word events, {:.2} million per second", events as f64 / seconds / 1e6);
}
