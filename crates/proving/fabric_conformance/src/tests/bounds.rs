//! Addresses outside of a region.

use crate::party::{Party, REGION_BYTES, word};
use crate::test::{Report, Test};
use fabric::{Batch, Env, FabricError, SlotGeometry};
use layout::row::Cover;
use layout::{BucketLayout, GlobalPtr, RegionId, WORD_BYTES};

pub fn tests<E: Env>() -> Vec<Test<E>> {
    vec![
        Test {
            name: "out-of-range",
            promise: "a verb that leaves its region is refused as out of range, and the endpoint still works",
            falls_if: "an address is not checked, or not with its length",
            play: |party| Box::pin(out_of_range(party)),
            ..Test::of_one()
        },
        Test {
            name: "last-word",
            promise: "every verb reaches the last word of a region",
            falls_if: "a bound is one too small",
            play: |party| Box::pin(last_word(party)),
            ..Test::of_one()
        },
        Test {
            name: "misaligned",
            promise: "an address inside a word is refused as out of range, or means that whole word: no verb \
                      touches parts of two",
            falls_if: "the low bits of an address are added to the start of a region",
            play: |party| Box::pin(misaligned(party)),
            ..Test::of_one()
        },
    ]
}

/// A verb of each kind on `words` words at `at`.
fn posts(at: GlobalPtr, words: u32) -> Vec<Batch> {
    let mut batches: Vec<Batch> = (0..8).map(|_| Batch::new()).collect();
    let image = vec![5; words.max(4) as usize];
    batches[0].read(at, words);
    let span = batches[1].put(&image[..words as usize]);
    batches[1].write(at, span);
    batches[2].read_row(at, words.max(4), Cover::All);
    let span = batches[3].put(&image);
    batches[3].write_row(at, span, 0, Cover::All);
    let span = batches[4].put(&image);
    batches[4].install_row(at, span, 3, Cover::AllButLink);
    let key = batches[5].put(&[1]);
    let geometry = SlotGeometry::bucket(&BucketLayout::outside(4, 1), false, 1);
    batches[5].find_slot(at, geometry, key);
    if words == 1 {
        batches[6].compare_and_swap(at, 1, 2);
        batches[7].fetch_and_add(at, 1);
        let mut word = Batch::new();
        word.write_word(at, 5);
        batches.push(word);
    }
    batches.retain(|batch| !batch.is_empty());
    batches
}

async fn out_of_range<E: Env>(party: Party<E>) -> Report {
    let end =
        |region, words: u64| GlobalPtr::new(RegionId(region), REGION_BYTES - words * WORD_BYTES);
    let nowhere = GlobalPtr::new(RegionId(77), 4096);
    let far = GlobalPtr::new(RegionId(1), (1 << 48) - WORD_BYTES);
    let cases = [(end(0, 0), 1), (end(1, 1), 2), (end(1, 3), 4), (nowhere, 1), (far, 1), (far, 9)];
    party.write_all(end(1, 3), &[1, 2, 3]).await?;
    for (at, words) in cases {
        for batch in posts(at, words) {
            let verbs = format!("{:?}", batch.verbs());
            let result = party.env.execute(batch).await;
            let is_refused =
                matches!(result, Err(FabricError::OutOfRange { at: told, .. }) if told == at);
            party.expect(is_refused, || format!("{verbs} ends as {result:?}"))?;
            party.add(word(0, 0), 1).await?;
        }
    }
    let left = party.read_all(end(1, 3), 3).await?;
    party.expect(left == [1, 2, 3], || format!("what was refused has written {left:?}"))?;
    Ok(Vec::new())
}

async fn last_word<E: Env>(party: Party<E>) -> Report {
    for server in [0, 1] {
        let last = GlobalPtr::new(RegionId(server), REGION_BYTES - WORD_BYTES);
        let mut batch = Batch::new();
        batch.write_word(last, 5);
        let add = batch.fetch_and_add(last, 1);
        let swap = batch.compare_and_swap(last, 6, 7);
        let read = batch.read(last, 1);
        let batch = party.execute(batch).await?;
        let found = (batch.found(add), batch.found(swap), batch.words(read)[0]);
        party.expect(found == (5, 6, 7), || format!("the last word of {server}: {found:?}"))?;
    }
    Ok(Vec::new())
}

/// Posts every verb at bytes inside a word, and the same verb at the word itself in memory with the
/// same content.
async fn misaligned<E: Env>(party: Party<E>) -> Report {
    const AREA_WORDS: u64 = 32;
    for (server, inside) in [(0, 1), (1, 4), (0, 7)] {
        let (area, twin) = (word(server, 0), word(server, AREA_WORDS));
        let at = GlobalPtr::from_word(area.add_words(8).word() + inside);
        let both = posts(at, 1).into_iter().zip(posts(twin.add_words(8), 1));
        for (batch, aligned) in both {
            let values: Vec<u64> = (1..=AREA_WORDS).collect();
            party.write_all(area, &values).await?;
            party.write_all(twin, &values).await?;
            let verbs = format!("{:?}", batch.verbs());
            let expected = match party.env.execute(batch).await {
                Ok(_) => {
                    party.execute(aligned).await?;
                    party.read_all(twin, AREA_WORDS as u32).await?
                }
                Err(FabricError::OutOfRange { at: told, .. }) if told == at => values,
                Err(error) => return Err(format!("{verbs} ends as {error:?}")),
            };
            let left = party.read_all(area, AREA_WORDS as u32).await?;
            party.expect(left == expected, || format!("{verbs} leaves {left:?}"))?;
        }
        party.write_all(area, &[0x1111_1111_1111_1111; AREA_WORDS as usize]).await?;
        party.write(at_word(at), 0x2222_2222_2222_2222).await?;
        let mut batch = Batch::new();
        let read = batch.read(at, 1);
        if let Ok(batch) = party.env.execute(batch).await {
            let found = batch.words(read)[0];
            party.expect(found == 0x2222_2222_2222_2222, || format!("{found:#x} was read"))?;
        }
    }
    Ok(Vec::new())
}

/// The word that contains an address.
fn at_word(at: GlobalPtr) -> GlobalPtr {
    GlobalPtr::new(at.region(), at.offset() / WORD_BYTES * WORD_BYTES)
}
