//! Every fabric counts its traffic.

use crate::party::{Party, word};
use crate::service::ECHO;
use crate::test::{Report, Test};
use fabric::{Batch, Counts, Env};
use layout::NodeId;

pub fn tests<E: Env>() -> Vec<Test<E>> {
    vec![Test {
        name: "counters-count",
        promise: "verbs, bytes, round trips and calls are counted per endpoint",
        falls_if: "a verb is counted twice or not at all, or a fence costs nothing",
        play: |party| Box::pin(count(party)),
        ..Test::of_one()
    }]
}

async fn count<E: Env>(party: Party<E>) -> Report {
    let start = party.env.counters().counts();
    let mut batch = Batch::new();
    batch.read(word(0, 0), 4);
    batch.write_word(word(1, 8), 1);
    batch.compare_and_swap(word(1, 9), 0, 1);
    batch.fence();
    batch.fetch_and_add(word(1, 9), 1);
    party.execute(batch).await?;
    let of_batch = party.env.counters().counts() - start;
    // On fabrics with messages each server gets one, and one of them a second one, behind the
    // fence.
    party.expect([0, 3].contains(&of_batch.messages), || format!("{of_batch:?}"))?;
    // A fence counts as a verb of the batch, without bytes.
    let expected = Counts {
        verbs: 5,
        bytes: 8 * (4 + 1 + 3 + 2),
        round_trips: 2,
        calls: 0,
        messages: of_batch.messages,
    };
    party.expect(of_batch == expected, || format!("a batch is counted as {of_batch:?}"))?;
    let start = party.env.counters().counts();
    let answer = party.env.call(NodeId(1), ECHO, vec![1, 3, 1]).await;
    party.expect(answer.is_ok(), || format!("{answer:?}"))?;
    let of_call = party.env.counters().counts() - start;
    // Cards that execute verbs without messages still send calls as messages.
    let messages = of_call.messages;
    party.expect((messages == 1 || of_batch.messages == 0) && messages <= 1, || {
        format!("a call is {messages} messages")
    })?;
    let expected = Counts { verbs: 1, bytes: 3 + 9, round_trips: 1, calls: 1, messages };
    party.expect(of_call == expected, || format!("a call is counted as {of_call:?}"))?;
    Ok(Vec::new())
}
