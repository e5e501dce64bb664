//! Batches that are lost while their server lives on, and the round trip after which nothing of
//! them takes effect any more.

use crate::breakage::SETTLED;
use crate::party::{Party, word};
use crate::test::{Disturbance, Report, Test};
use fabric::{Batch, Env, FabricError};
use layout::{NodeId, RegionId};

/// The server that loses batches.
const LOSER: u16 = 1;
/// Words of a batch, and those of all rounds, which are used by turns.
const WORDS: u32 = 5;
const PLACES: u64 = 64;
/// The word that each batch adds to, behind the others.
const SUM: u64 = 8 * PLACES;
/// Rounds after which the party goes on until it has lost a batch, and for how long.
const LOSS_NS: u64 = 5_000_000_000;
/// Pause between two attempts to reach the server.
const PAUSE_NS: u64 = 1_000_000;
/// Time after which a verb that was still under way would have taken effect.
const LATE_NS: u64 = 10_000_000;

pub fn tests<E: Env>() -> Vec<Test<E>> {
    vec![
        Test {
            name: "settle",
            promise: "a party settles with a living server in one round trip, and its completed batches stay",
            falls_if: "settling undoes what was complete, or fails without a loss",
            play: |party| Box::pin(settle(party)),
            seen: "settled servers",
            ..Test::of_one()
        },
        Test {
            name: "settle-after-losses",
            promise: "after `settle`, nothing of a batch that was lost on that server takes effect any more",
            falls_if: "a server executes what arrives by a connection that was replaced",
            broken: &[SETTLED],
            disturbance: Some(Disturbance::LoseBatches),
            play: |party| Box::pin(settle_after_losses(party)),
            seen: "batches that were lost",
            ..Test::of_one()
        },
    ]
}

async fn settle<E: Env>(party: Party<E>) -> Report {
    for round in 0..party.rounds {
        for server in [0, 1] {
            let at = word(server, 8 * (round % PLACES));
            party.write_all(at, &[round; WORDS as usize]).await?;
            let settled = party.env.settle(RegionId(server)).await;
            settled.map_err(|error| format!("round {round} does not settle: {error}"))?;
            let left = party.read_all(at, WORDS).await?;
            party.expect(left == [round; WORDS as usize], || format!("{round} left {left:?}"))?;
        }
    }
    Ok(vec![2 * party.rounds])
}

/// Writes and adds. When a batch is lost, settles, and finds the same words now and later.
async fn settle_after_losses<E: Env>(party: Party<E>) -> Report {
    let (start_ns, mut round, mut lost) = (party.env.now_ns(), 0, 0);
    let may_go_on =
        |lost: u64| lost == 0 && party.overtime_ns > 0 && party.env.now_ns() - start_ns < LOSS_NS;
    while round < party.rounds || may_go_on(lost) {
        round += 1;
        let mut batch = Batch::new();
        let words = batch.put(&[round; WORDS as usize]);
        batch.write(word(LOSER, 8 * (round % PLACES)), words);
        batch.fetch_and_add(word(LOSER, SUM), 1);
        match party.env.execute(batch).await {
            Ok(_) => continue,
            Err(FabricError::Unreachable(NodeId(LOSER))) => lost += 1,
            Err(error) => return Err(format!("round {round} ends as {error}")),
        }
        let found = settled_words(&party, round).await?;
        party.env.sleep_ns(LATE_NS).await;
        let later = settled_words(&party, round).await?;
        party.expect(found == later, || {
            format!("round {round} was lost and settled with {found:?}, later there was {later:?}")
        })?;
    }
    Ok(vec![lost])
}

/// The words of a round and the sum, after settling.
async fn settled_words<E: Env>(party: &Party<E>, round: u64) -> Result<Vec<u64>, String> {
    let deadline = party.deadline();
    loop {
        if party.env.settle(RegionId(LOSER)).await.is_ok() {
            let mut batch = Batch::new();
            let words = batch.read(word(LOSER, 8 * (round % PLACES)), WORDS);
            let sum = batch.read(word(LOSER, SUM), 1);
            if let Ok(batch) = party.env.execute(batch).await {
                return Ok([batch.words(words), batch.words(sum)].concat());
            }
        }
        deadline.check(&party.env)?;
        party.env.sleep_ns(PAUSE_NS).await;
    }
}
