//! The order that a batch guarantees, as the batch itself sees it and as another party sees it.

use crate::breakage::{ATOMICS, FENCE, WRITES};
use crate::party::{LAST, Pace, Party, STEPS_MAX, word};
use crate::test::{Report, Test};
use fabric::{Batch, Env};
use layout::row::Cover;

pub fn tests<E: Env>() -> Vec<Test<E>> {
    let mut tests = lone();
    tests.extend(between_two());
    tests
}

/// Tests in which a batch observes its own order.
fn lone<E: Env>() -> Vec<Test<E>> {
    let write = "a write takes effect before anything posted after it";
    let atomic = "an atomic takes effect before a later read or atomic";
    let later_first = "a later verb of the batch overtakes an earlier one";
    let write =
        || Test { promise: write, falls_if: later_first, broken: &[WRITES], ..Test::of_one() };
    let atomic =
        || Test { promise: atomic, falls_if: later_first, broken: &[ATOMICS], ..Test::of_one() };
    vec![
        Test {
            name: "order-write-read",
            play: |party| Box::pin(each_round(party, write_then_read)),
            ..write()
        },
        Test {
            name: "order-write-write",
            play: |party| Box::pin(each_round(party, write_then_write)),
            ..write()
        },
        Test {
            name: "order-write-atomic",
            play: |party| Box::pin(each_round(party, write_then_swap)),
            ..write()
        },
        Test {
            name: "order-row-row",
            play: |party| Box::pin(each_round(party, row_then_row)),
            ..write()
        },
        Test {
            name: "order-atomic-read",
            play: |party| Box::pin(each_round(party, atomic_then_read)),
            ..atomic()
        },
        Test {
            name: "order-atomic-atomic",
            play: |party| Box::pin(each_round(party, atomic_then_atomic)),
            ..atomic()
        },
        Test {
            name: "order-fence",
            promise: "verbs behind a fence start when all verbs before it are complete",
            falls_if: "a fence is ignored, and a write overtakes a read before it",
            broken: &[FENCE],
            play: |party| Box::pin(each_round(party, read_fence_write)),
            ..Test::of_one()
        },
    ]
}

/// Tests in which another party observes a batch.
fn between_two<E: Env>() -> Vec<Test<E>> {
    vec![
        Test {
            name: "order-seen-by-another",
            promise: "a reader that sees the later of two writes sees the earlier",
            falls_if: "stores to memory are reordered, or a fence of the reader is ignored",
            broken: &[WRITES, FENCE],
            play: |party| Box::pin(seen_by_another(party)),
            seen: "numbers read that had changed since the last look",
            ..Test::of_two()
        },
        Test {
            name: "order-write-read-of-two",
            promise: "of two parties that write and then read the other's word, one sees the other's write",
            falls_if: "a read is answered while an earlier write waits in a store buffer",
            broken: &[WRITES],
            play: |party| Box::pin(each_reads_the_other(party, false)),
            judge: |reports| one_saw_the_other(reports),
            ..Test::of_two()
        },
        Test {
            name: "order-atomic-read-of-two",
            promise: "of two parties that add and then read the other's word, one sees the other's addition",
            falls_if: "a read is answered before an earlier atomic has taken effect",
            broken: &[ATOMICS],
            play: |party| Box::pin(each_reads_the_other(party, true)),
            judge: |reports| one_saw_the_other(reports),
            ..Test::of_two()
        },
    ]
}

/// Checks a lone batch's results, and the six words after its completion.
type Check = Box<dyn Fn(&Batch, &[u64]) -> bool>;
/// Fills a batch.
type Post = fn(&mut Batch) -> Check;

/// Posts the batch of `post` on six zeroed words, again and again.
async fn each_round<E: Env>(party: Party<E>, post: Post) -> Report {
    for _ in 0..party.rounds {
        party.write_all(word(0, 0), &[0; 6]).await?;
        let mut batch = Batch::new();
        let check = post(&mut batch);
        let batch = party.execute(batch).await?;
        let left = party.read_all(word(0, 0), 6).await?;
        party.expect(check(&batch, &left), || format!("out of order, it left {left:?}"))?;
    }
    Ok(Vec::new())
}

fn write_then_read(batch: &mut Batch) -> Check {
    let new = batch.put(&[7; 5]);
    batch.write(word(0, 0), new);
    let seen = batch.read(word(0, 0), 5);
    Box::new(move |batch, _| batch.words(seen) == [7; 5])
}

fn write_then_write(batch: &mut Batch) -> Check {
    let (old, new) = (batch.put(&[6; 5]), batch.put(&[7; 5]));
    batch.write(word(0, 0), old);
    batch.write(word(0, 0), new);
    batch.write_word(word(0, 4), 8);
    Box::new(move |_, left| left[..5] == [7, 7, 7, 7, 8])
}

fn write_then_swap(batch: &mut Batch) -> Check {
    let new = batch.put(&[7; 5]);
    batch.write(word(0, 0), new);
    let swap = batch.compare_and_swap(word(0, 3), 7, 8);
    Box::new(move |batch, left| batch.swapped(swap) && left[..5] == [7, 7, 7, 8, 7])
}

fn row_then_row(batch: &mut Batch) -> Check {
    let image = batch.put(&[0, 7, 7, 7, 7, 0]);
    batch.write_row(word(0, 0), image, 0, Cover::All);
    let seen = batch.read_row(word(0, 0), 6, Cover::All);
    Box::new(move |batch, _| batch.words(seen)[1..5] == [7; 4])
}

fn atomic_then_read(batch: &mut Batch) -> Check {
    let swap = batch.compare_and_swap(word(0, 0), 0, 7);
    let seen = batch.read(word(0, 0), 1);
    Box::new(move |batch, _| batch.swapped(swap) && batch.words(seen) == [7])
}

fn atomic_then_atomic(batch: &mut Batch) -> Check {
    batch.fetch_and_add(word(0, 0), 7);
    let swap = batch.compare_and_swap(word(0, 0), 7, 8);
    Box::new(move |batch, left| batch.swapped(swap) && left[0] == 8)
}

fn read_fence_write(batch: &mut Batch) -> Check {
    let seen = batch.read(word(0, 0), 5);
    let swap = batch.fetch_and_add(word(0, 1), 0);
    batch.fence();
    let new = batch.put(&[7; 5]);
    batch.write(word(0, 0), new);
    Box::new(move |batch, _| batch.words(seen) == [0; 5] && batch.found(swap) == 0)
}

/// Party 0 writes words and then a number; party 1 reads the number and, behind a fence, the words.
async fn seen_by_another<E: Env>(party: Party<E>) -> Report {
    party.meet(0).await?;
    let mut batch = Batch::new();
    if party.number == 0 {
        let mut pace = Pace::default();
        loop {
            let round = party.next(&mut pace).await?.unwrap_or(LAST);
            batch.reset();
            let span = batch.put(&[round; 5]);
            batch.write(word(0, 0), span);
            batch.write_word(word(0, 16), round);
            batch = party.execute(batch).await?;
            if round == LAST {
                return Ok(Vec::new());
            }
        }
    }
    let deadline = party.deadline();
    let (mut seen, mut last) = (0, 0);
    loop {
        batch.reset();
        let number = batch.read(word(0, 16), 1);
        batch.fence();
        let words = batch.read(word(0, 0), 5);
        batch = party.execute(batch).await?;
        let (number, words) = (batch.words(number)[0], batch.words(words));
        let is_older = words.iter().any(|&word| word < number);
        party.expect(!is_older, || format!("behind number {number} stand {words:?}"))?;
        if number == LAST {
            return Ok(vec![seen]);
        }
        let is_changed = std::mem::replace(&mut last, number) != number;
        party.see(&mut seen, is_changed).await?;
        deadline.check(&party.env)?;
    }
}

/// In each round the parties have two words: each party changes one and reads the other in one
/// batch. The report contains the values read.
async fn each_reads_the_other<E: Env>(party: Party<E>, by_atomic: bool) -> Report {
    let mut found = Vec::new();
    for round in 0..party.rounds.min(STEPS_MAX) {
        let [own, other] =
            [party.number, 1 - party.number].map(|of| 16 * round + 8 * u64::from(of));
        party.meet(round).await?;
        let mut batch = Batch::new();
        if by_atomic {
            batch.fetch_and_add(word(0, own), 1);
        } else {
            batch.write_word(word(0, own), 1);
        }
        let read = batch.read(word(0, other), 1);
        found.push(party.execute(batch).await?.words(read)[0]);
    }
    Ok(found)
}

fn one_saw_the_other(reports: &[Vec<u64>]) -> Result<u64, String> {
    let rounds = reports[0].iter().zip(&reports[1]);
    match rounds.clone().position(|(one, other)| one + other == 0) {
        Some(round) => Err(format!("round {round}: neither party saw what the other had done")),
        None => Ok(rounds.len() as u64),
    }
}
