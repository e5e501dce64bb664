//! Admission: which callers a server admits, and that refused callers disturb no other.

use crate::party::{Party, word};
use crate::service::ECHO;
use crate::test::{Disturbance, Report, Test, Wrong};
use fabric::{Batch, Env, FabricError};
use layout::NodeId;

/// How long the parties work while another caller tries to connect.
const WORK_NS: u64 = 400_000_000;

pub fn tests<E: Env>() -> Vec<Test<E>> {
    let refused = |name, wrong, promise| Test {
        name,
        promise,
        falls_if: "the handshake does not check, gives no reason, or disturbs working parties",
        disturbance: Some(Disturbance::Knock(wrong)),
        play: |party| Box::pin(work(party)),
        seen: "rounds of the working parties meanwhile",
        ..Test::of_two()
    };
    vec![
        refused(
            "wrong-key",
            Wrong::Key,
            "a caller with another key of the region is refused and learns of the new one",
        ),
        refused(
            "old-epoch",
            Wrong::Epoch,
            "a caller of an epoch that has ended is refused with this reason",
        ),
        refused(
            "other-cluster",
            Wrong::Cluster,
            "a caller of another cluster is refused with this reason",
        ),
        refused(
            "other-program",
            Wrong::Program,
            "a caller of another version is refused with this reason",
        ),
        Test {
            name: "garbage",
            promise: "garbage, before and after the handshake, costs its sender the connection and disturbs no other",
            falls_if: "a server trusts a length or an address in a message, or waits for ever for a message's rest",
            disturbance: Some(Disturbance::SendGarbage),
            play: |party| Box::pin(work(party)),
            seen: "rounds of the working parties meanwhile",
            ..Test::of_two()
        },
        Test {
            name: "epoch-raised",
            promise: "when a server learns of a later epoch, it executes nothing of an earlier one any more",
            falls_if: "only the handshake checks the epoch",
            disturbance: Some(Disturbance::RaiseEpoch),
            play: |party| Box::pin(work_until_refused(party)),
            seen: "batches before that",
            ..Test::of_two()
        },
    ]
}

/// Adds and calls for a while, and checks that all of it took effect.
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
