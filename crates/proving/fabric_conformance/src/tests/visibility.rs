//! Every later verb of any party sees a completed verb, and a batch completes once.

use crate::breakage::{COMPLETES, VISIBLE};
use crate::party::{Party, STEPS_MAX, word};
use crate::test::{Report, Test};
use fabric::{Batch, Env};

pub fn tests<E: Env>() -> Vec<Test<E>> {
    vec![
        Test {
            name: "visible-when-complete",
            promise: "every later verb of any party sees a completed write",
            falls_if: "a write is reported complete before the memory of its server has it",
            broken: &[VISIBLE],
            play: |party| Box::pin(visible(party)),
            ..Test::of_two()
        },
        Test {
            name: "completes-once",
            promise: "a batch is complete when its own verbs are, each batch once",
            falls_if: "a completion is taken for that of another batch",
            broken: &[COMPLETES, VISIBLE],
            play: |party| Box::pin(complete(party)),
            ..Test::of_one()
        },
    ]
}

/// The parties take turns. The party whose turn it is writes a word on server 0, waits for its
/// completion, and passes the turn by a word on server 1, so that no order within a connection
/// helps.
async fn visible<E: Env>(party: Party<E>) -> Report {
    party.meet(0).await?;
    let turn = word(1, 16);
    for round in 0..party.rounds.min(STEPS_MAX) {
        let own = 2 * round + u64::from(party.number);
        party.wait_for(turn, own).await?;
        let seen = party.read_all(word(0, 0), 9).await?;
        party.expect(seen == [own; 9], || format!("turn {own} sees {seen:?}"))?;
        party.write_all(word(0, 0), &[own + 1; 9]).await?;
        party.write(turn, own + 1).await?;
    }
    Ok(Vec::new())
}

/// The next batch reads back the written value, each at a position of its own in the arena.
async fn complete<E: Env>(party: Party<E>) -> Report {
    for round in 1..=4 * party.rounds {
        party.write(word(0, round % 8), round).await?;
        let mut batch = Batch::new();
        batch.reserve((round % 5) as u32 * 7);
        let span = batch.read(word(0, round % 8), 1);
        // Overwrite the position, so that no earlier batch's data passes for the answer.
        batch.words_mut(span)[0] = u64::MAX;
        let seen = party.execute(batch).await?.words(span)[0];
        party.expect(seen == round, || format!("round {round} reads {seen:#x}"))?;
    }
    Ok(Vec::new())
}
