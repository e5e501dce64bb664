//! The promises of `find_slot` for hits and misses while another party inserts, changes and
//! collects the slot.

use crate::breakage::MISSES;
use crate::party::{LAST, Pace, Party, word};
use crate::test::{Report, Test};
use fabric::{Batch, Env, SlotGeometry, SlotRead, Span};
use layout::row::{Cover, KEY, VERSION};
use layout::{BucketLayout, RowLayout, VersionWord, bucket};

/// A hash that determines the tag.
const HASH: u64 = 0x0700_0000_0000_0000;
const KEY_WORD: u64 = 70;
const PAYLOAD_WORDS: u32 = 3;
/// The slot of the key.
const SLOT: u32 = 1;
/// Versions of the row from its insertion to its collection.
const CHANGES: u64 = 3;

pub fn tests<E: Env>() -> Vec<Test<E>> {
    vec![
        Test {
            name: "slots-found",
            promise: "find_slot returns the slot with the key, or reports a miss",
            falls_if: "the tag alone decides, or an empty slot passes for the key zero",
            play: |party| Box::pin(found(party)),
            ..Test::of_one()
        },
        Test {
            name: "slots-miss-fits",
            promise: "a miss returns an insert word not newer and a collected-up-to word not older \
                      than the slots seen",
            falls_if: "one unordered fetch is taken as proof of a miss, or the words are read in another order",
            broken: &[MISSES],
            play: |party| Box::pin(coming_and_going(party)),
            judge: |reports| Ok(reports[1][0].min(reports[1][1])),
            seen: "lookups that found the key, and as many later ones that did not",
            ..Test::of_two()
        },
    ]
}

fn layout<E: Env>(env: &E) -> BucketLayout {
    let checksummed = !env.is_coherent();
    BucketLayout::inlined(3, RowLayout { key_words: 1, payload_words: PAYLOAD_WORDS, checksummed })
}

/// A row with the key, whose payload words all contain its version; or an empty one.
fn image<E: Env>(env: &E, key: u64, version: u64) -> Vec<u64> {
    let mut words = vec![version, version, 0, key, version, version, version];
    words.resize(layout(env).slot_words as usize, 0);
    words
}

fn post_find<E: Env>(env: &E, batch: &mut Batch, key: u64, hash: u64) -> Span {
    let key = batch.put(&[key]);
    batch.find_slot(word(0, 0), SlotGeometry::bucket(&layout(env), true, hash), key)
}

async fn write_slot<E: Env>(party: &Party<E>, slot: u32, image: &[u64]) -> Result<(), String> {
    let at = word(0, u64::from(layout(&party.env).slot(slot)));
    let mut batch = Batch::new();
    let span = batch.put(image);
    batch.write_row(at, span, 0, Cover::AllButLink);
    party.execute(batch).await.map(drop)
}

async fn found<E: Env>(party: Party<E>) -> Report {
    let header = |index: u32| word(0, u64::from(index));
    let tag = bucket::tag(3, HASH);
    // Slots 0 and 2 have the tag; only slot 2 has the key.
    write_slot(&party, 0, &image(&party.env, 71, 3)).await?;
    write_slot(&party, 2, &image(&party.env, KEY_WORD, 4)).await?;
    let tags = bucket::with_tag(3, bucket::with_tag(3, 0, 0, tag), 2, tag);
    party.write(header(bucket::TAGS), tags).await?;
    party.write(header(bucket::INSERT), 9).await?;
    let mut batch = Batch::new();
    let hit = post_find(&party.env, &mut batch, KEY_WORD, HASH);
    let absent = post_find(&party.env, &mut batch, 72, HASH);
    let other = post_find(&party.env, &mut batch, 73, 0x0900_0000_0000_0000);
    let zero = post_find(&party.env, &mut batch, 0, HASH);
    let batch = party.execute(batch).await?;
    let index = |span: Span| batch.words(span)[SlotRead::INDEX as usize];
    let slot = &batch.words(hit)[SlotRead::SLOT as usize..];
    let is_found = index(hit) == 2 && slot[VERSION as usize] == 4 && slot[KEY as usize] == KEY_WORD;
    party.expect(is_found, || format!("slot {:?}: {slot:?}", index(hit)))?;
    let misses = [(absent, "that is not there"), (other, "with another tag"), (zero, "of zero")];
    for (miss, what) in misses {
        let words = batch.words(miss);
        let is_missing = index(miss) == SlotRead::MISSING && words[bucket::INSERT as usize] == 9;
        party.expect(is_missing, || format!("a key {what}: {words:?}"))?;
    }
    Ok(Vec::new())
}

async fn coming_and_going<E: Env>(party: Party<E>) -> Report {
    party.meet(0).await?;
    if party.number == 0 {
        let mut pace = Pace::default();
        while let Some(round) = party.next(&mut pace).await? {
            insert_change_collect(&party, round - 1).await?;
        }
        party.write(word(0, u64::from(bucket::INSERT)), LAST).await?;
        return Ok(Vec::new());
    }
    look(&party).await
}

/// Inserts the key under the insert word's lock, changes the row, and collects it again. The insert
/// word is `2 * cycle + 1` after the insertion and one more after the collection; before that,
/// collected-up-to word and identity are raised to `cycle + 1`.
async fn insert_change_collect<E: Env>(party: &Party<E>, cycle: u64) -> Result<(), String> {
    let header = |index: u32| word(0, u64::from(index));
    let locked = VersionWord::TORN.word();
    let mut batch = Batch::new();
    batch.write_word(header(bucket::INSERT), locked);
    party.execute(batch).await?;
    for change in 1..=CHANGES {
        let version = CHANGES * cycle + change;
        write_slot(party, SLOT, &image(&party.env, KEY_WORD, version)).await?;
        if change == 1 {
            let tags = bucket::with_tag(3, 0, SLOT, bucket::tag(3, HASH));
            party.write(header(bucket::TAGS), tags).await?;
            party.write(header(bucket::INSERT), 2 * cycle + 1).await?;
        }
    }
    party.env.sleep_ns(party.env.random() % 10_000).await;
    party.write(header(bucket::INSERT), locked).await?;
    party.write(header(bucket::COLLECTED), cycle + 1).await?;
    party.write(header(bucket::IDENTITY), cycle + 1).await?;
    party.write(header(bucket::TAGS), 0).await?;
    write_slot(party, SLOT, &image(&party.env, 0, 0)).await?;
    party.write(header(bucket::INSERT), 2 * cycle + 2).await
}

/// Looks for the key until the last collection; reports the hits and the misses.
async fn look<E: Env>(party: &Party<E>) -> Report {
    let (mut hits, mut misses) = (0, 0);
    let deadline = party.deadline();
    let mut batch = Batch::new();
    loop {
        batch.reset();
        let span = post_find(&party.env, &mut batch, KEY_WORD, HASH);
        batch = party.execute(batch).await?;
        deadline.check(&party.env)?;
        let words = batch.words(span);
        if words[SlotRead::INDEX as usize] != SlotRead::MISSING {
            hits += 1;
            check_hit(party, words)?;
            continue;
        }
        party.see(&mut misses, hits > 0).await?;
        let words = batch.words(span);
        let [insert, collected, identity] =
            [bucket::INSERT, bucket::COLLECTED, bucket::IDENTITY].map(|n| words[n as usize]);
        if insert == LAST {
            return Ok(vec![hits, misses]);
        }
        // Inserted, then missing: the key has been collected since.
        let collections = insert.div_ceil(2);
        let fits = insert == VersionWord::TORN.word()
            || collected >= collections && identity >= collections;
        party.expect(fits, || {
            format!("a miss with insert word {insert}, collected {collected}, identity {identity}")
        })?;
    }
}

fn check_hit<E: Env>(party: &Party<E>, words: &[u64]) -> Result<(), String> {
    let slot = &words[SlotRead::SLOT as usize..];
    let version = slot[VERSION as usize];
    let image = &slot[KEY as usize..][..1 + PAYLOAD_WORDS as usize];
    // A reader that saw the tag and the key may then copy the emptied slot.
    let is_emptied = version == 0 && image.iter().all(|&word| word == 0);
    let is_whole = image[0] == KEY_WORD && image[1..].iter().all(|&word| word == version);
    let is_right = version == VersionWord::TORN.word() || is_emptied || is_whole;
    party.expect(is_right && words[SlotRead::INDEX as usize] == u64::from(SLOT), || {
        format!("found {words:?}")
    })
}
