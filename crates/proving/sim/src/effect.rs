//! Verbs that take effect at one moment: their effect on words, and their results.

use crate::memory::Memory;
use fabric::{ALWAYS_WRITTEN_END, Batch, SlotGeometry, SlotRead, Span, Verb};
use layout::row::{Cover, HEADER, LINK, VERSION, checksum, is_intact};
use layout::{GlobalPtr, VersionWord, bucket};

/// Executes `verb` at this moment. Returns whether a card would have to fetch the words once more,
/// because one fetch does not prove that a key is missing.
pub(crate) fn take_effect(
    memory: &mut Memory,
    batch: &mut Batch,
    verb: &Verb,
    coherent: bool,
) -> bool {
    match *verb {
        Verb::Read { from, at, words } => {
            batch.words_mut(Span { at, words }).copy_from_slice(memory.span(from, words));
        }
        Verb::ReadRow { from, at, words, cover, .. } => {
            let row = batch.words_mut(Span { at, words });
            row.copy_from_slice(memory.span(from, words));
            if !coherent && !is_intact(row, cover) {
                row[VERSION as usize] = VersionWord::TORN.word();
            }
        }
        Verb::Write { to, at, words } => {
            memory.span_mut(to, words).copy_from_slice(batch.words(Span { at, words }));
        }
        Verb::WriteWord { to, value } => memory.span_mut(to, 1)[0] = value,
        Verb::CompareAndSwap { word, expected, desired, at } => {
            let held = &mut memory.span_mut(word, 1)[0];
            batch.set_word(at, *held);
            if *held == expected {
                *held = desired;
            }
        }
        Verb::FetchAndAdd { word, add, at } => {
            let held = &mut memory.span_mut(word, 1)[0];
            batch.set_word(at, *held);
            *held = held.wrapping_add(add);
        }
        Verb::WriteRow { to, at, words, first, cover } => {
            write_image(memory, batch, (to, at, words), (first, cover), coherent);
        }
        Verb::InstallRow { to, at, words, first, cover, .. } => {
            write_image(memory, batch, (to, at, words), (first, cover), coherent);
            let image = batch.words(Span { at, words });
            let row = memory.span_mut(to, words);
            row[LINK as usize] = image[LINK as usize];
            row[HEADER as usize] = image[HEADER as usize];
        }
        Verb::FindSlot { bucket, geometry, key, at } => {
            return find_slot(memory, batch, (bucket, geometry), (key, at), coherent);
        }
        Verb::Fence => unreachable!("a fence has no effect"),
    }
    false
}

/// Writes the image of a row: all but its header, and without its link unless the image covers
/// that.
fn write_image(
    memory: &mut Memory,
    batch: &mut Batch,
    (to, at, words): (GlobalPtr, u32, u32),
    (first, cover): (u32, Cover),
    coherent: bool,
) {
    assert!(words > LINK, "a row has a header, a version and a link");
    if !coherent {
        let image = Span { at: at + VERSION, words: words - VERSION - 1 };
        let sum = checksum(batch.words(image), cover);
        batch.set_word(at + words - 1, sum);
    }
    let image = batch.words(Span { at, words });
    let row = memory.span_mut(to, words);
    row[VERSION as usize] = image[VERSION as usize];
    if cover == Cover::All {
        let always = LINK as usize..words.min(ALWAYS_WRITTEN_END) as usize;
        row[always.clone()].copy_from_slice(&image[always]);
    }
    // Where memory is not coherent, the writer has all words, because the checksum covers them.
    let first = if coherent { first.max(LINK + 1) } else { LINK + 1 };
    let rest = first.min(words) as usize..words as usize;
    row[rest.clone()].copy_from_slice(&image[rest]);
}

/// Searches for a key in a bucket. Returns whether it is missing and one fetch does not prove that.
fn find_slot(
    memory: &Memory,
    batch: &mut Batch,
    (at, geometry): (GlobalPtr, SlotGeometry),
    (key, to): (u32, u32),
    coherent: bool,
) -> bool {
    let words = memory.span(at, geometry.words());
    let key = Span { at: key, words: u32::from(geometry.key_words) };
    let slot_of =
        |slot: u32| &words[geometry.slot(slot) as usize..geometry.slot(slot + 1) as usize];
    let fits = |&slot: &u32| {
        let row = slot_of(slot);
        let is_used = if coherent {
            let (slots, tags) = (geometry.slots.into(), words[bucket::TAGS as usize]);
            bucket::tag_of(slots, tags, slot) == geometry.tag
        } else if geometry.rows {
            row[VERSION as usize] != 0
        } else {
            row.iter().any(|&word| word != 0)
        };
        let held = &row[usize::from(geometry.key_at)..][..key.words as usize];
        is_used && held == batch.words(key)
    };
    let found = (0..u32::from(geometry.slots)).find(fits);
    let header = Span { at: to, words: bucket::SLOTS };
    batch.words_mut(header).copy_from_slice(&words[..bucket::SLOTS as usize]);
    batch.set_word(to + SlotRead::INDEX, found.map_or(SlotRead::MISSING, u64::from));
    if let Some(slot) = found {
        let row = slot_of(slot);
        let target = Span { at: to + SlotRead::SLOT, words: u32::from(geometry.slot_words) };
        let target = batch.words_mut(target);
        target.copy_from_slice(row);
        if !coherent && geometry.rows && !is_intact(row, Cover::AllButLink) {
            target[VERSION as usize] = VersionWord::TORN.word();
        }
    }
    found.is_none() && !coherent
}
