//! Servers and parties are killed while others work with them.

use crate::party::{Party, word};
use crate::service::ECHO;
use crate::test::{Disturbance, Report, Test};
use fabric::{Batch, CallError, Env, FabricError};
use layout::NodeId;

/// The server that is killed; the other one stays alive.
const DEAD: u16 = 1;
const ALIVE: u16 = 0;
/// The longest time from a server's death to the error of a caller that waits for it.
const BOUND_NS: u64 = 10_000_000_000;
/// How long the parties try to reach the successor of a dead server.
const SUCCESSOR_NS: u64 = 300_000_000;

pub fn tests<E: Env>() -> Vec<Test<E>> {
    vec![
        Test {
            name: "server-killed",
            promise: "batches under way to a dead server end as unreachable, and so do all later ones and calls; \
                      other servers are unaffected",
            falls_if: "a caller waits for ever, or a batch that succeeded was not executed",
            parties: 2,
            disturbance: Some(Disturbance::KillServer),
            play: |party| Box::pin(server_killed(party)),
            seen: "batches that ended well before the server died",
            ..Test::of_one()
        },
        Test {
            name: "server-restarted",
            promise: "a restarted memory server is another one: a caller that knew the first reads and writes nothing \
                      of the second, and learns why; a caller that knows the second gets an endpoint",
            falls_if: "a connection is reopened without a check of the server's identity",
            parties: 2,
            disturbance: Some(Disturbance::RestartServer),
            play: |party| Box::pin(server_restarted(party)),
            seen: "batches that ended well before the server died",
            ..Test::of_one()
        },
        Test {
            name: "party-killed",
            promise: "a party that dies in mid-batch leaves words whole and stops no other",
            falls_if: "a server waits for a dead party, or its atomics are lost or doubled",
            parties: 3,
            disturbance: Some(Disturbance::KillParty),
            play: |party| Box::pin(party_killed(party)),
            seen: "batches of the others",
            ..Test::of_one()
        },
    ]
}

/// Adds to words of both servers until one is dead.
async fn server_killed<E: Env>(party: Party<E>) -> Report {
    let own = u64::from(party.number);
    let mut done = 0;
    let deadline = party.deadline();
    let error = loop {
        let mut batch = Batch::new();
        batch.fetch_and_add(word(ALIVE, own), 1);
        for index in 0..100 {
            batch.fetch_and_add(word(DEAD, 128 * own + index), 1);
        }
        match party.env.execute(batch).await {
            Ok(_) => done += 1,
            Err(error) => break error,
        }
        deadline.check(&party.env)?;
    };
    let told = FabricError::Unreachable(NodeId(DEAD));
    party.expect(error == told, || format!("a batch to a dead server ends as {error:?}"))?;
    let start_ns = party.env.now_ns();
    for _ in 0..3 {
        let mut batch = Batch::new();
        batch.read(word(DEAD, 0), 1);
        let again = party.env.execute(batch).await.map(drop);
        party.expect(again == Err(told.clone()), || format!("a later batch ends as {again:?}"))?;
    }
    let called = party.env.call(NodeId(DEAD), ECHO, vec![1]).await;
    let nobody = Err(CallError::Unreachable(NodeId(DEAD)));
    party.expect(called == nobody, || format!("a call to a dead server ends as {called:?}"))?;
    let took_ns = party.env.now_ns() - start_ns;
    party.expect(took_ns < BOUND_NS, || format!("reported after {took_ns} ns"))?;
    let counted = party.read(word(ALIVE, own)).await?;
    // The last batch may have reached the living server.
    party.expect(counted == done || counted == done + 1, || {
        format!("{done} batches ended well, the living server has {counted}")
    })?;
    Ok(vec![done])
}

/// As [`server_killed`], and then continues for a while, in which the successor runs.
async fn server_restarted<E: Env>(party: Party<E>) -> Report {
    let done = server_killed(Party { env: party.env.clone(), ..party }).await?;
    let start_ns = party.env.now_ns();
    while party.env.now_ns() - start_ns < SUCCESSOR_NS {
        let mut batch = Batch::new();
        batch.fetch_and_add(word(DEAD, 0), 1);
        let result = party.env.execute(batch).await.map(drop);
        party
            .expect(result.is_err(), || "the successor carries out a stranger's verb".to_owned())?;
        party.env.sleep_ns(1_000_000).await;
    }
    Ok(done)
}

/// Party 1 works until it is killed; the others complete their rounds and find their own words
/// correct.
async fn party_killed<E: Env>(party: Party<E>) -> Report {
    let own = u64::from(party.number);
    let mut done = 0;
    let deadline = party.deadline();
    while party.number == 1 || done < party.rounds {
        let mut batch = Batch::new();
        let words = batch.put(&[done + 1; 200]);
        batch.write(word(0, 1024 + 256 * own), words);
        batch.fetch_and_add(word(0, 16 * own), 1);
        batch.fetch_and_add(word(0, 64), 1);
        party.execute(batch).await?;
        done += 1;
        deadline.check(&party.env)?;
    }
    let counted = party.read(word(0, 16 * own)).await?;
    party.expect(counted == done, || format!("{done} additions came to {counted}"))?;
    let left = party.read_all(word(0, 1024 + 256 * own), 200).await?;
    party
        .expect(left == vec![done; 200], || format!("{done} was written, {left:?} stands there"))?;
    Ok(vec![done])
}
