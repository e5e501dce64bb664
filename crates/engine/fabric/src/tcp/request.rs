//! Encodes a batch's verbs as the body of a request.
//!
//! ```text
//! verb           | words after code and address
//! READ           |
//! WRITE          | the words
//! WRITE_WORD     | value
//! SWAP           | expected, desired
//! ADD            | summand
//! READ_ROW       |
//! WRITE_ROW      | version; with Cover::All link to ALWAYS_WRITTEN_END; words from `first` on
//! INSTALL_ROW    | header, version, link, words from `first` on
//! FIND_SLOT      | geometry, the key
//! FENCE          | (no address)
//!
//! code
//!  63      36 35      8 7     4 3    0
//! +----------+---------+-------+------+
//! |  words   |  first  | cover | verb |
//! +----------+---------+-------+------+
//!
//! geometry, from the lowest byte: slots, key words, key at, tag, slot words (2), rows, 0
//! ```
//!
//! The receiver assigns all arena offsets itself and takes none from the message.
//!
//! Decision: docs/decisions/0076-a-batch-is-one-message-each-way-and-the-server-rebuilds-it.md

use crate::batch::Batch;
use crate::tcp::frame::VERB_WORDS_MAX;
use crate::verb::{ALWAYS_WRITTEN_END, SlotGeometry, SlotRead, Verb};
use layout::bucket::SLOTS_MAX;
use layout::row::{Cover, HEADER, LINK, VERSION};
use layout::{GlobalPtr, RegionId, WORD_BYTES};
use std::ops::Range;

const READ: u64 = 1;
const WRITE: u64 = 2;
const WRITE_WORD: u64 = 3;
const SWAP: u64 = 4;
const ADD: u64 = 5;
const READ_ROW: u64 = 6;
const WRITE_ROW: u64 = 7;
const INSTALL_ROW: u64 = 8;
const FIND_SLOT: u64 = 9;
const FENCE: u64 = 10;

const COVER_SHIFT: u32 = 4;
const FIRST_SHIFT: u32 = 8;
const WORDS_SHIFT: u32 = 36;
const COUNT_MASK: u64 = (1 << 28) - 1;
const _: () = assert!(VERB_WORDS_MAX < COUNT_MASK as usize);

/// Upper bound on the words of a verb in the receiver's arena, and in a request.
#[inline]
pub(super) fn weight(verb: &Verb) -> usize {
    let key_words = match verb {
        Verb::FindSlot { geometry, .. } => {
            usize::from(geometry.key_words) + SlotRead::SLOT as usize
        }
        _ => 0,
    };
    verb.target_words() as usize + key_words + VERB_OVERHEAD
}

/// Words of a verb in a request besides the words that it moves.
const VERB_OVERHEAD: usize = 4;

#[inline]
fn code(verb: u64, cover: Cover, first: u32, words: u32) -> u64 {
    verb | (cover as u64) << COVER_SHIFT
        | u64::from(first) << FIRST_SHIFT
        | u64::from(words) << WORDS_SHIFT
}

/// Appends `verb` with the words of `arena` that it writes.
#[inline]
pub(super) fn encode(verb: &Verb, arena: &[u64], to: &mut Vec<u64>) {
    let plain = |verb, words| code(verb, Cover::All, 0, words);
    let span = |at: u32, words: u32| &arena[at as usize..(at + words) as usize];
    match *verb {
        Verb::Read { from, words, .. } => to.extend([plain(READ, words), from.word()]),
        Verb::Write { to: target, at, words } => {
            to.extend([plain(WRITE, words), target.word()]);
            to.extend_from_slice(span(at, words));
        }
        Verb::WriteWord { to: target, value } => {
            to.extend([plain(WRITE_WORD, 1), target.word(), value]);
        }
        Verb::CompareAndSwap { word, expected, desired, .. } => {
            to.extend([plain(SWAP, 1), word.word(), expected, desired]);
        }
        Verb::FetchAndAdd { word, add, .. } => to.extend([plain(ADD, 1), word.word(), add]),
        Verb::ReadRow { from, words, cover, .. } => {
            to.extend([code(READ_ROW, cover, 0, words), from.word()]);
        }
        Verb::WriteRow { to: target, at, words, first, cover } => {
            to.extend([code(WRITE_ROW, cover, first, words), target.word()]);
            let image = span(at, words);
            to.push(image[VERSION as usize]);
            let (always, rest) = written(words, first, cover);
            to.extend_from_slice(&image[always]);
            to.extend_from_slice(&image[rest]);
        }
        Verb::InstallRow { to: target, at, words, first, cover, .. } => {
            let image = span(at, words);
            let [header, version, link] = [HEADER, VERSION, LINK].map(|word| image[word as usize]);
            let code = code(INSTALL_ROW, cover, first, words);
            to.extend([code, target.word(), header, version, link]);
            to.extend_from_slice(&image[first as usize..]);
        }
        Verb::FindSlot { bucket, geometry, key, .. } => {
            to.extend([plain(FIND_SLOT, 0), bucket.word(), geometry_word(&geometry)]);
            to.extend_from_slice(span(key, u32::from(geometry.key_words)));
        }
        Verb::Fence => to.push(plain(FENCE, 0)),
    }
}

/// The words of an image that a [`Verb::WriteRow`] writes besides the version: those always
/// written, and the rest.
#[inline]
fn written(words: u32, first: u32, cover: Cover) -> (Range<usize>, Range<usize>) {
    let link = LINK as usize;
    let end = match cover {
        Cover::All => words.min(ALWAYS_WRITTEN_END) as usize,
        Cover::AllButLink => link,
    };
    (link..end, (first as usize).max(end).max(link + 1)..words as usize)
}

fn geometry_word(geometry: &SlotGeometry) -> u64 {
    let SlotGeometry { slots, key_words, key_at, tag, slot_words, rows } = *geometry;
    let [low, high] = slot_words.to_le_bytes();
    u64::from_le_bytes([slots, key_words, key_at, tag, low, high, u8::from(rows), 0])
}

fn geometry(word: u64) -> Option<SlotGeometry> {
    let [slots, key_words, key_at, tag, low, high, rows, zero] = word.to_le_bytes();
    let slot_words = u16::from_le_bytes([low, high]);
    let is_sound = (1..=SLOTS_MAX as u8).contains(&slots)
        && tag != 0
        && u16::from(key_at) + u16::from(key_words) <= slot_words
        && slot_words > LINK as u16 * u16::from(rows)
        && rows <= 1
        && zero == 0;
    let rows = rows == 1;
    is_sound.then_some(SlotGeometry { slots, key_words, key_at, tag, slot_words, rows })
}

/// The result of decoding a body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Decoded {
    /// Verbs inside their region, as far as can be checked without its size.
    Verbs,
    /// The verb after the decoded ones has a region of another server, or is not aligned.
    OutOfRange(GlobalPtr, u32),
}

/// The received words are no body of a batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Malformed;

/// Decodes a body into an empty batch, whose verbs all go to `regions`.
pub(super) fn decode(
    body: &[u64],
    regions: &[RegionId],
    batch: &mut Batch,
) -> Result<Decoded, Malformed> {
    let mut body = Body { rest: body, left: VERB_WORDS_MAX };
    while let Some(decoded) = body.verb(regions, batch)? {
        if let Decoded::OutOfRange(..) = decoded {
            return Ok(decoded);
        }
    }
    Ok(Decoded::Verbs)
}

/// The undecoded rest of a body.
struct Body<'a> {
    rest: &'a [u64],
    /// Arena words left for further verbs.
    left: usize,
}

impl<'a> Body<'a> {
    #[inline]
    fn take<const COUNT: usize>(&mut self) -> Result<[u64; COUNT], Malformed> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or(Malformed)?;
        self.rest = rest;
        Ok(*taken)
    }

    #[inline]
    fn slice(&mut self, words: usize) -> Result<&'a [u64], Malformed> {
        let (taken, rest) = self.rest.split_at_checked(words).ok_or(Malformed)?;
        self.rest = rest;
        Ok(taken)
    }

    /// Accounts for words of the arena before they are reserved.
    #[inline]
    fn claim(&mut self, words: usize) -> Result<(), Malformed> {
        self.left = self.left.checked_sub(words).ok_or(Malformed)?;
        Ok(())
    }

    /// Decodes a verb; `None` at the end.
    #[inline]
    fn verb(
        &mut self,
        regions: &[RegionId],
        batch: &mut Batch,
    ) -> Result<Option<Decoded>, Malformed> {
        let Some((&code, rest)) = self.rest.split_first() else { return Ok(None) };
        self.rest = rest;
        let verb = code & 0xf;
        if verb == FENCE {
            batch.fence();
            return Ok(Some(Decoded::Verbs));
        }
        let [target] = self.take()?;
        let target = GlobalPtr::from_word(target);
        let words = (code >> WORDS_SHIFT) as u32;
        if !regions.contains(&target.region()) || !target.offset().is_multiple_of(WORD_BYTES) {
            return Ok(Some(Decoded::OutOfRange(target, words)));
        }
        let first = (code >> FIRST_SHIFT & COUNT_MASK) as u32;
        let cover = match code >> COVER_SHIFT & 0xf {
            cover if cover == Cover::All as u64 => Cover::All,
            cover if cover == Cover::AllButLink as u64 => Cover::AllButLink,
            _ => return Err(Malformed),
        };
        self.claim(words as usize)?;
        match verb {
            READ => {
                batch.read(target, words);
            }
            WRITE => {
                let span = batch.put(self.slice(words as usize)?);
                batch.write(target, span);
            }
            WRITE_WORD => {
                let [value] = self.take()?;
                batch.write_word(target, value);
            }
            SWAP | ADD => self.atomic(verb, target, batch)?,
            READ_ROW if words > VERSION => {
                batch.read_row(target, words, cover);
            }
            WRITE_ROW if words > LINK && first <= words => {
                self.row_write(target, (words, first, cover), batch)?;
            }
            INSTALL_ROW if first > LINK && first <= words => {
                self.row_install(target, (words, first, cover), batch)?;
            }
            FIND_SLOT => self.lookup(target, batch)?,
            _ => return Err(Malformed),
        }
        Ok(Some(Decoded::Verbs))
    }

    fn atomic(&mut self, verb: u64, word: GlobalPtr, batch: &mut Batch) -> Result<(), Malformed> {
        self.claim(1)?;
        if verb == SWAP {
            let [expected, desired] = self.take()?;
            batch.compare_and_swap(word, expected, desired);
        } else {
            let [add] = self.take()?;
            batch.fetch_and_add(word, add);
        }
        Ok(())
    }

    fn row_write(
        &mut self,
        target: GlobalPtr,
        (words, first, cover): (u32, u32, Cover),
        batch: &mut Batch,
    ) -> Result<(), Malformed> {
        let [version] = self.take()?;
        let (always, rest) = written(words, first, cover);
        let (always_words, rest_words) = (self.slice(always.len())?, self.slice(rest.len())?);
        let span = batch.reserve(words);
        let image = batch.words_mut(span);
        image[VERSION as usize] = version;
        image[always].copy_from_slice(always_words);
        image[rest].copy_from_slice(rest_words);
        batch.write_row(target, span, first, cover);
        Ok(())
    }

    fn row_install(
        &mut self,
        target: GlobalPtr,
        (words, first, cover): (u32, u32, Cover),
        batch: &mut Batch,
    ) -> Result<(), Malformed> {
        let [header, version, link] = self.take()?;
        let rest = self.slice((words - first) as usize)?;
        let span = batch.reserve(words);
        let image = batch.words_mut(span);
        for (word, value) in [(HEADER, header), (VERSION, version), (LINK, link)] {
            image[word as usize] = value;
        }
        image[first as usize..].copy_from_slice(rest);
        batch.install_row(target, span, first, cover);
        Ok(())
    }

    fn lookup(&mut self, bucket: GlobalPtr, batch: &mut Batch) -> Result<(), Malformed> {
        let [word] = self.take()?;
        let geometry = geometry(word).ok_or(Malformed)?;
        let key = self.slice(usize::from(geometry.key_words))?;
        let result = SlotRead::SLOT as usize + usize::from(geometry.slot_words);
        self.claim(key.len() + result)?;
        let key = batch.put(key);
        batch.find_slot(bucket, geometry, key);
        Ok(())
    }
}
