//! Futures that are dropped before their batch completes.

use crate::breakage::BUFFERS;
use crate::party::{Party, STEPS_MAX, unless, word};
use crate::test::{Need, Report, Test};
use fabric::{Batch, Env};

pub fn tests<E: Env>() -> Vec<Test<E>> {
    vec![Test {
        name: "dropped-futures",
        promise: "verbs own their buffers: a dropped batch writes the posted words, and disturbs no later one",
        falls_if: "the next batch reuses the buffer of one that is under way",
        broken: &[BUFFERS],
        needs: &[Need::Waiting],
        play: |party| Box::pin(dropped(party)),
        seen: "futures that were dropped while their batch was under way",
        ..Test::of_one()
    }]
}

/// In each round one batch is dropped after a while, and another one allocates memory at once.
async fn dropped<E: Env>(party: Party<E>) -> Report {
    let rounds = party.rounds.min(STEPS_MAX);
    let mut count = 0;
    for round in 0..rounds {
        let at = word(0, 8 * round);
        let mut batch = Batch::new();
        let new = batch.put(&[round + 1; 5]);
        batch.write(at, new);
        batch.read(at, 5);
        let patience_ns = party.env.random() % 3000;
        let waited = unless(party.env.execute(batch), party.env.sleep_ns(patience_ns)).await;
        count += u64::from(waited.is_none());
        drop(waited);
        let mut batch = Batch::new();
        let other = batch.put(&[u64::MAX - round; 5]);
        batch.write(word(1, 0), other);
        let seen = batch.read(word(1, 0), 5);
        let batch = party.execute(batch).await?;
        let seen = batch.words(seen);
        party.expect(seen == [u64::MAX - round; 5], || format!("round {round} reads {seen:?}"))?;
    }
    // The posted verbs may take a while, and may never take effect; but no other effect may occur.
    party.env.sleep_ns(1_000_000).await;
    for round in 0..rounds {
        let left = party.read_all(word(0, 8 * round), 5).await?;
        let is_posted = left.iter().all(|&word| word == 0 || word == round + 1);
        party.expect(is_posted, || format!("a dropped batch of {} left {left:?}", round + 1))?;
    }
    Ok(vec![count])
}
