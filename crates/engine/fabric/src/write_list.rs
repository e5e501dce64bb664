//! The writes of a batch as words, for journals.
//!
//! ```text
//! word | field  | meaning
//!    0 | shape  | bits 0..3 kind, 3 cover is `All`, 4 at once, 8..32 first, 32..64 words
//!    1 | target | address of the first word; absent for a fence
//!    2 | words  | the words to write
//! ```
//!
//! Writes follow each other in posting order. Reads and atomics are left out.

use crate::batch::{Batch, Span};
use crate::verb::Verb;
use layout::GlobalPtr;
use layout::row::{Cover, LINK};

const WRITE: u64 = 1;
const WRITE_ROW: u64 = 2;
const INSTALL_ROW: u64 = 3;
const FENCE: u64 = 4;
const KIND_BITS: u64 = 0b111;
const COVERS_ALL: u64 = 1 << 3;
const AT_ONCE: u64 = 1 << 4;
const FIRST_SHIFT: u32 = 8;
const WORDS_SHIFT: u32 = 32;
const FIRST_MAX: u32 = (1 << (WORDS_SHIFT - FIRST_SHIFT)) - 1;

/// Appends writes and fences to `list`. The words that they write are in the arena of `batch`.
pub fn append_writes(batch: &Batch, verbs: &[Verb], list: &mut Vec<u64>) {
    for verb in verbs {
        let (shape, to, span) = match *verb {
            Verb::Write { to, at, words } => (WRITE, to, Span { at, words }),
            Verb::WriteWord { to, value } => {
                list.extend([WRITE | 1 << WORDS_SHIFT, to.word(), value]);
                continue;
            }
            Verb::WriteRow { to, at, words, first, cover } => {
                (WRITE_ROW | row_shape(first, cover, false), to, Span { at, words })
            }
            Verb::InstallRow { to, at, words, first, cover, at_once } => {
                (INSTALL_ROW | row_shape(first, cover, at_once), to, Span { at, words })
            }
            Verb::Fence => {
                list.push(FENCE);
                continue;
            }
            _ => continue,
        };
        list.extend([shape | u64::from(span.words) << WORDS_SHIFT, to.word()]);
        list.extend_from_slice(batch.words(span));
    }
}

fn row_shape(first: u32, cover: Cover, at_once: bool) -> u64 {
    assert!(first <= FIRST_MAX, "a row has fewer words");
    let cover = if cover == Cover::All { COVERS_ALL } else { 0 };
    let at_once = if at_once { AT_ONCE } else { 0 };
    u64::from(first) << FIRST_SHIFT | cover | at_once
}

/// The batch whose writes are in `list`; `None` if these are not the words of a list.
pub fn batch_of_writes(mut list: &[u64]) -> Option<Batch> {
    let mut batch = Batch::new();
    while let Some((&shape, rest)) = list.split_first() {
        list = rest;
        if shape == FENCE {
            batch.fence();
            continue;
        }
        let (&to, rest) = list.split_first()?;
        let words = (shape >> WORDS_SHIFT) as usize;
        let first = (shape >> FIRST_SHIFT) as u32 & FIRST_MAX;
        let cover = if shape & COVERS_ALL == 0 { Cover::AllButLink } else { Cover::All };
        let (to, image) = (GlobalPtr::from_word(to), rest.get(..words)?);
        list = &rest[words..];
        let is_whole = first as usize <= words;
        match shape & KIND_BITS {
            WRITE if words == 1 => batch.write_word(to, image[0]),
            WRITE if words > 1 => {
                let span = batch.put(image);
                batch.write(to, span);
            }
            WRITE_ROW if is_whole => {
                let span = batch.put(image);
                batch.write_row(to, span, first, cover);
            }
            INSTALL_ROW if is_whole && first > LINK => {
                let span = batch.put(image);
                match shape & AT_ONCE {
                    0 => batch.install_row(to, span, first, cover),
                    _ => batch.install_row_at_once(to, span, first, cover),
                }
            }
            _ => return None,
        }
    }
    Some(batch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use layout::RegionId;
    use layout::row::KEY;

    fn ptr(offset: u64) -> GlobalPtr {
        GlobalPtr::new(RegionId(2), offset)
    }

    fn every_write() -> Batch {
        let mut batch = Batch::new();
        batch.read(ptr(8192), 2);
        let span = batch.put(&[7, 8]);
        batch.write(ptr(64), span);
        let image = batch.put(&[1, 2, 3, 4, 5, 6]);
        batch.write_row(ptr(512), image, LINK, Cover::All);
        batch.fence();
        batch.install_row(ptr(1024), image, KEY + 1, Cover::AllButLink);
        batch.install_row_at_once(ptr(2048), image, KEY, Cover::All);
        batch.write_word(ptr(128), 9);
        batch
    }

    /// Verbs with their words instead of their places in the arena.
    fn told(batch: &Batch) -> Vec<(String, Vec<u64>)> {
        let words = |verb: &Verb| match *verb {
            Verb::Write { at, words, .. }
            | Verb::WriteRow { at, words, .. }
            | Verb::InstallRow { at, words, .. } => batch.words(Span { at, words }).to_vec(),
            _ => Vec::new(),
        };
        let placeless = |mut verb: Verb| {
            if let Verb::Write { at, .. }
            | Verb::WriteRow { at, .. }
            | Verb::InstallRow { at, .. } = &mut verb
            {
                *at = 0;
            }
            format!("{verb:?}")
        };
        batch.verbs().iter().map(|verb| (placeless(*verb), words(verb))).collect()
    }

    #[test]
    fn a_list_has_every_write_with_its_words() {
        let batch = every_write();
        let mut list = Vec::new();
        append_writes(&batch, batch.verbs(), &mut list);
        let read = batch_of_writes(&list).expect("a list of writes");
        assert_eq!(told(&read), told(&batch)[1..]);
        assert_eq!(read.round_trips(), 2);
    }

    #[test]
    fn other_words_are_no_list() {
        let mut list = Vec::new();
        let batch = every_write();
        append_writes(&batch, batch.verbs(), &mut list);
        for end in 0..list.len() {
            // Some prefixes end with a whole write; none may be read as more than there is.
            if let Some(batch) = batch_of_writes(&list[..end]) {
                assert!(batch.verbs().len() < 7, "{end}");
            }
        }
        assert!(batch_of_writes(&[0]).is_none());
        assert!(batch_of_writes(&[INSTALL_ROW | 1 << WORDS_SHIFT, 64, 1]).is_none());
        assert!(batch_of_writes(&[u64::MAX, u64::MAX]).is_none());
    }
}
