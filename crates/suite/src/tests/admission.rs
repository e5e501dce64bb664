//! Who is let in, and what those do who are not.

use crate::party::{Party, word};
use crate::service::ECHO;
use crate::test::{Disturbance, Report, Test, Wrong};
use fabric::{Batch, Env, FabricError};
use layout::NodeId;

/// How long the parties work while somebody else is at the door.
const WORK_NS: u64 = 400_000_000;

/// Tests of admission.
pub fn tests<E: Env>() -> Vec<Test<E>> {
    let refused = |name, wrong, promise| Test {
        name,
        promise,
        falls_if: "the handshake does not look, or tells nothing, or those who work feel it",
        disturbance: Some(Disturbance::Knock(wrong)),
        play: |party| Box::pin(work(party)),
        seen: "rounds of those who work meanwhile",
        ..Test::of_two()
    };
    vec![
        refused(
            "wrong-key",
            Wrong::Key,
            "who knows another key of the region is told to learn the new one",
        ),
        refused("old-epoch", Wrong::Epoch, "who is of an epoch that is over is told so"),
        refused("other-cluster", Wrong::Cluster, "who belongs to another cluster is told so"),
        refused("other-program", Wrong::Program, "who runs another version is told so"),
        Test {
            name: "garbage",
            promise: "garbage, before the handshake and behind it, costs its sender the connection and nobody else",
            falls_if: "a length or an address in a message is believed, or a reader waits for what never comes",
            disturbance: Some(Disturbance::SendGarbage),
            play: |party| Box::pin(work(party)),
            seen: "rounds of those who work meanwhile",
            ..Test::of_two()
        },
        Test {
            name: "epoch-raised",
            promise: "when a server learns of a later epoch, nothing of an earlier one is carried out any more",
            falls_if: "only the handshake looks at the epoch",
            disturbance: Some(Disturbance::RaiseEpoch),
            play: |party| Box::pin(work_until_refused(party)),
            seen: "batches before that",
            ..Test::of_two()
        },
    ]
}

/// Adds and calls for a while, and finds that all of it has been done.
async fn work<E: Env>(party: Party<E>) -> Report {
    let own = word(0, 16 * u64::from(party.number));
    let start_ns = party.env.now_ns();
    let mut rounds = 0;
    while party.env.now_ns() - start_ns < WORK_NS {
        party.add(own, 1).await?;
        rounds += 1;
        let request = vec![party.number as u8, 2, rounds as u8];
        let answer = party.env.call(NodeId(0), ECHO, request.clone()).await;
        party.expect(answer.as_ref() == Ok(&request.repeat(2)), || format!("{answer:?}"))?;
    }
    let counted = party.read(own).await?;
    party.expect(counted == rounds, || format!("{rounds} additions came to {counted}"))?;
    Ok(vec![rounds])
}

async fn work_until_refused<E: Env>(party: Party<E>) -> Report {
    let own = word(0, 16 * u64::from(party.number));
    let deadline = party.deadline();
    let mut rounds = 0;
    let error = loop {
        let mut batch = Batch::new();
        batch.fetch_and_add(own, 1);
        match party.env.execute(batch).await {
            Ok(_) => rounds += 1,
            Err(error) => break error,
        }
        deadline.check(&party.env)?;
    };
    let told = FabricError::Unreachable(NodeId(0));
    party.expect(error == told, || format!("a batch of an old epoch ends as {error:?}"))?;
    for _ in 0..3 {
        let again = party.read(own).await;
        party
            .expect(again.is_err(), || "a later batch of an old epoch is carried out".to_owned())?;
    }
    Ok(vec![rounds])
}
