//! The aligned word is atomic; anything longer may be torn.

use crate::breakage::{HALVES, ONE_MOMENT};
use crate::party::{Pace, Party, word};
use crate::test::{Need, Report, Test};
use fabric::{Batch, Env};

/// Both halves of every written word are equal.
const PATTERN: u64 = 1 << 32 | 1;
const WORDS: u32 = 24;
/// Both halves of the last word.
const END: u64 = 0x1234_5678;

pub fn tests<E: Env>() -> Vec<Test<E>> {
    vec![
        Test {
            name: "words-whole",
            promise: "a word is read and written whole, alone and within a longer read or write",
            falls_if: "words are copied byte by byte, or in halves",
            broken: &[HALVES],
            play: |party| Box::pin(whole(party)),
            judge: |reports| Ok(reports[1][0]),
            seen: "words read that had changed since the last look",
            ..Test::of_two()
        },
        Test {
            name: "words-torn",
            promise: "none: longer reads and writes may be torn between words",
            falls_if: "never, the number is for information",
            play: |party| Box::pin(whole(party)),
            judge: |reports| Ok(reports[1][1]),
            seen: "torn reads of 24 words",
            is_information: true,
            ..Test::of_two()
        },
        Test {
            name: "words-of-one-moment",
            promise: "where servers execute verbs, a longer read or write is not torn, and endpoints report that",
            falls_if: "a server executes verbs on two threads, or another process writes into its region",
            broken: &[ONE_MOMENT],
            needs: &[Need::ServersCarry],
            play: |party| Box::pin(whole(party)),
            judge: |reports| match reports[1][..] {
                [_, _, 0] => Err("endpoints do not say so".to_owned()),
                [seen, 0, _] => Ok(seen),
                _ => Err("a read was torn between words".to_owned()),
            },
            seen: "words read that had changed since the last look",
            ..Test::of_two()
        },
    ]
}

/// Party 0 writes, alternating between one word and many; party 1 reads until it finds the last
/// value. It reports how many reads had changed, how many of those were torn between words, and
/// whether its endpoint promises that none is.
async fn whole<E: Env>(party: Party<E>) -> Report {
    party.meet(0).await?;
    if party.number == 0 { write(&party).await } else { read(&party).await }
}

async fn write<E: Env>(party: &Party<E>) -> Report {
    let mut batch = Batch::new();
    let mut pace = Pace::default();
    loop {
        let round = party.next(&mut pace).await?;
        // Ones and zeros, so that a word made of two differs in all its bits.
        let value = round.map_or(END, |round| (round & 1) * 0xffff_ffff);
        batch.reset();
        let span = batch.put(&[value * PATTERN; WORDS as usize]);
        batch.write(word(0, 0), span);
        batch.write_word(word(0, 40), value * PATTERN);
        batch = party.execute(batch).await?;
        if round.is_none() {
            return Ok(Vec::new());
        }
    }
}

async fn read<E: Env>(party: &Party<E>) -> Report {
    let deadline = party.deadline();
    let (mut seen, mut torn, mut last) = (0, 0, 0);
    let mut batch = Batch::new();
    loop {
        batch.reset();
        let (many, one) = (batch.read(word(0, 0), WORDS), batch.read(word(0, 40), 1));
        batch = party.execute(batch).await?;
        let (many, one) = (batch.words(many), batch.words(one)[0]);
        for value in many.iter().chain([&one]) {
            party.expect(value >> 32 == value & 0xffff_ffff, || {
                format!("half a word: {value:#x}")
            })?;
        }
        torn += u64::from(many.iter().any(|value| *value != many[0]));
        if one == END * PATTERN {
            return Ok(vec![seen, torn, u64::from(party.env.is_serial())]);
        }
        let is_changed = std::mem::replace(&mut last, one) != one;
        party.see(&mut seen, is_changed).await?;
        deadline.check(&party.env)?;
    }
}
