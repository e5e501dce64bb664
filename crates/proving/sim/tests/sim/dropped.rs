//! Futures that are dropped before their batch completes.

use crate::help::{client, hostile, unless, word};
use fabric::{Batch, Env, Fabric};
use sim::World;

/// Posts a write of five words and a read, drops the future after a while, and checks the result.
/// Returns how many words were new when the future was dropped.
fn words_written_when_dropped(seed: u64) -> usize {
    let world = World::new(hostile(seed, "dropped"));
    let env = client(&world, 0);
    let count =
        |world: &World| world.peek_words(word(0, 0), 5).iter().filter(|&&value| value == 7).count();
    let written = world.block_on(&env, async {
        let mut batch = Batch::new();
        let new = batch.put(&[7; 5]);
        batch.write(word(0, 0), new);
        batch.read(word(0, 0), 5);
        let patience_ns = env.random() % 3000;
        unless(env.execute(batch), env.sleep_ns(patience_ns)).await;
        let written = count(&world);
        // The next batch takes other memory than the one that is still under way.
        let mut batch = Batch::new();
        let other = batch.put(&[9; 5]);
        batch.write(word(1, 0), other);
        let seen = batch.read(word(1, 0), 5);
        let batch = env.execute(batch).await.expect("the servers are alive");
        assert_eq!(batch.words(seen), [9; 5], "{}", world.identity());
        written
    });
    world.run_until_idle();
    assert_eq!(count(&world), 5, "{}: a dropped batch is still carried out", world.identity());
    assert_eq!(world.peek_words(word(1, 0), 5), [9; 5], "{}", world.identity());
    written
}

#[test]
fn a_dropped_batch_still_happens() {
    let written: Vec<usize> = (0..2000).map(words_written_when_dropped).collect();
    assert!(written.contains(&0), "no future was dropped before its write");
    assert!(written.contains(&3), "no future was dropped in the midst of its write");
    assert!(written.contains(&5), "no future was dropped after its write");
}

#[test]
fn a_future_that_was_never_polled_posts_nothing() {
    let world = World::new(hostile(1, "unpolled"));
    let env = client(&world, 0);
    let mut batch = Batch::new();
    batch.write_word(word(0, 0), 7);
    drop(env.execute(batch));
    world.run_until_idle();
    assert_eq!((world.peek(word(0, 0)), env.counters().counts().verbs), (0, 0));
}
