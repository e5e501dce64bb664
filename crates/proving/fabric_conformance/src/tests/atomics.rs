//! Compare-and-swap and fetch-and-add under contention of several parties for one word.

use crate::breakage::{EXCLUDE, FAILED, WITH_CPU};
use crate::party::{Party, STEPS_MAX, word};
use crate::test::{Need, Report, Test};
use fabric::{Batch, Env};

pub fn tests<E: Env>() -> Vec<Test<E>> {
    vec![
        Test {
            name: "additions-add-up",
            promise: "no fetch-and-add is lost, and each returns a different value",
            falls_if: "an addition is a read and a write, or is executed twice",
            broken: &[EXCLUDE],
            parties: 3,
            play: |party| Box::pin(add(party)),
            judge: |reports| every_number_once(reports),
            ..Test::of_two()
        },
        Test {
            name: "swaps-exclude",
            promise: "a swapped word is a lock: critical sections under it exclude each other",
            falls_if: "two swaps succeed from the same value, or a later verb overtakes the swap",
            broken: &[EXCLUDE],
            parties: 3,
            play: |party| Box::pin(lock(party)),
            seen: "swaps that were refused",
            ..Test::of_two()
        },
        Test {
            name: "swaps-that-fail",
            promise: "a failed swap writes nothing, so that the owner of a lock may unlock by a plain write",
            falls_if: "a failed swap writes back the value that it read",
            broken: &[FAILED],
            needs: &[Need::QuietSwaps],
            play: |party| Box::pin(unlock_plainly(party)),
            seen: "swaps that were refused",
            ..Test::of_two()
        },
        Test {
            name: "writes-beside-atomics",
            promise: "where memory is coherent, no atomic on the same word overwrites a plain write",
            falls_if: "atomics are not executed by processors",
            broken: &[WITH_CPU],
            needs: &[Need::CoherentMemory],
            play: |party| Box::pin(write_beside_additions(party)),
            ..Test::of_two()
        },
    ]
}

async fn add<E: Env>(party: Party<E>) -> Report {
    party.meet(0).await?;
    let rounds = party.rounds;
    let mut found = Vec::with_capacity(rounds as usize);
    for _ in 0..rounds {
        found.push(party.add(word(0, 0), 1).await?);
    }
    party.meet(1).await?;
    let total = party.read(word(0, 0)).await?;
    let expected = rounds * u64::from(party.count);
    party.expect(total == expected, || format!("{expected} additions came to {total}"))?;
    Ok(found)
}

fn every_number_once(reports: &[Vec<u64>]) -> Result<u64, String> {
    let mut found: Vec<u64> = reports.iter().flatten().copied().collect();
    found.sort_unstable();
    match found.iter().zip(0..).find(|(found, number)| *found != number) {
        Some((found, number)) => Err(format!("addition {number} found {found}")),
        None => Ok(found.len() as u64),
    }
}

/// Each party takes the lock, reads a counter, writes it increased, and unlocks by a plain write
/// behind it.
async fn lock<E: Env>(party: Party<E>) -> Report {
    party.meet(0).await?;
    let (lock, counter) = (word(0, 0), word(0, 64));
    let own = u64::from(party.number) + 1;
    let (mut held, mut refused) = (0, 0);
    let deadline = party.deadline();
    while held < party.rounds {
        let mut batch = Batch::new();
        let swap = batch.compare_and_swap(lock, 0, own);
        let read = batch.read(counter, 1);
        let batch = party.execute(batch).await?;
        if !batch.swapped(swap) {
            refused += 1;
            deadline.check(&party.env)?;
            party.env.yield_now().await;
            continue;
        }
        let count = batch.words(read)[0];
        let mut batch = Batch::new();
        batch.write_word(counter, count + 1);
        batch.write_word(lock, 0);
        party.execute(batch).await?;
        held += 1;
    }
    party.meet(1).await?;
    let (total, expected) = (party.read(counter).await?, party.rounds * u64::from(party.count));
    party.expect(total == expected, || format!("{expected} increments came to {total}"))?;
    Ok(vec![refused])
}

/// In each round party 0 writes a word of its own plainly, while party 1 tries to swap it from a
/// value that it never has.
async fn unlock_plainly<E: Env>(party: Party<E>) -> Report {
    let mut refused = 0;
    for round in 0..party.rounds.min(STEPS_MAX) {
        let at = word(0, 16 * round);
        party.meet(round).await?;
        if party.number == 0 {
            party.write(at, 7).await?;
        } else {
            for _ in 0..5 {
                let mut batch = Batch::new();
                let swap = batch.compare_and_swap(at, 8, 1);
                let swapped = party.execute(batch).await?.swapped(swap);
                party.expect(!swapped, || "a swap from a value that never was".to_owned())?;
                refused += 1;
            }
        }
    }
    let rounds = party.rounds.min(STEPS_MAX);
    party.meet(rounds).await?;
    for round in 0..rounds {
        let left = party.read(word(0, 16 * round)).await?;
        party.expect(left == 7, || format!("round {round}: 7 was written, {left} stands there"))?;
    }
    Ok(vec![refused])
}

/// In each round party 0 writes 100 where party 1 adds 1: the word must end as 100 or 101.
async fn write_beside_additions<E: Env>(party: Party<E>) -> Report {
    let rounds = party.rounds.min(STEPS_MAX);
    for round in 0..rounds {
        party.meet(round).await?;
        if party.number == 0 {
            party.write(word(0, 16 * round), 100).await?;
        } else {
            party.add(word(0, 16 * round), 1).await?;
        }
    }
    party.meet(rounds).await?;
    for round in 0..rounds {
        let left = party.read(word(0, 16 * round)).await?;
        party.expect(left >= 100, || {
            format!("round {round}: 100 was written, {left} stands there")
        })?;
    }
    Ok(Vec::new())
}
