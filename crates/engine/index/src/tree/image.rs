//! Builds node images at the end of an arena.
//!
//! Decision: docs/decisions/0049-a-leaf-changes-in-place-in-the-arena.md

use super::view::{LeafView, next_life};
use fabric::{Batch, Span};
use layout::leaf::{self, LeafLayout, Shape};
use layout::{GlobalPtr, Key, VersionWord};

/// All of a node except its entries.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub insert: VersionWord,
    pub version: u64,
    pub collected: u64,
    pub next: GlobalPtr,
    pub level: u8,
    pub dead: bool,
    pub low: Key,
    /// `None` for the rightmost node of its level.
    pub high: Option<Key>,
}

impl Head {
    /// The head of a node that was read.
    #[inline]
    pub fn of(view: &LeafView<'_>) -> Self {
        let shape = view.shape();
        Self {
            insert: view.insert_word(),
            version: view.version(),
            collected: view.collected(),
            next: view.next(),
            level: shape.level,
            dead: shape.dead,
            low: Key::from_words(view.low()),
            high: view.high_key(),
        }
    }

    /// The head of the only node of a level, in memory whose version word holds `found`.
    pub fn alone(found: u64, level: u8, low: Key) -> Self {
        Self {
            insert: VersionWord::NONE,
            version: next_life(found),
            collected: 0,
            next: GlobalPtr::NULL,
            level,
            dead: false,
            low,
            high: None,
        }
    }
}

/// A node under construction. Entries are appended in key order; nothing else may use the arena
/// until [`ImageBuilder::finish`], because an image is one span.
pub(super) struct ImageBuilder {
    layout: LeafLayout,
    at: u32,
    count: u32,
}

impl ImageBuilder {
    /// Starts an image at the arena's end.
    #[inline]
    pub fn start(batch: &mut Batch, layout: LeafLayout) -> Self {
        let fixed = batch.reserve(layout.entry(0));
        Self { layout, at: fixed.at, count: 0 }
    }

    /// Appends entries `from..to` of the node in `source`.
    #[inline]
    pub fn copy(&mut self, batch: &mut Batch, source: Span, from: u32, to: u32) {
        assert!(from <= to && to <= self.layout.entries);
        if from < to {
            let at = source.at + self.layout.entry(from);
            batch.duplicate(Span { at, words: (to - from) * self.layout.entry_words() });
            self.count += to - from;
        }
    }

    #[inline]
    pub fn push(&mut self, batch: &mut Batch, key: &[u64], value: &[u64]) {
        assert!(key.len() == self.layout.key_words as usize);
        assert!(value.len() == self.layout.value_words as usize);
        batch.put(key);
        batch.put(value);
        self.count += 1;
    }

    /// Writes the head before the entries and returns the whole image.
    #[inline]
    pub fn finish(self, batch: &mut Batch, head: &Head) -> Span {
        let Self { layout, at, count } = self;
        assert!(count <= layout.entries, "a node holds no more entries than its layout allows");
        assert!(batch.arena_words() == (at + layout.entry(count)) as usize, "an image is one span");
        assert!(head.version != VersionWord::TORN.word(), "a rewrite counter never looks torn");
        debug_assert!(head.high.is_none_or(|high| head.low < high), "a node has room for a key");
        let rest = batch.reserve(layout.words() - layout.entry(count));
        batch.words_mut(rest).fill(0);
        let span = Span { at, words: layout.words() };
        let shape =
            Shape { count, level: head.level, unbounded: head.high.is_none(), dead: head.dead };
        let key_words = layout.key_words as usize;
        let words = batch.words_mut(span);
        words[leaf::INSERT as usize] = head.insert.word();
        words[leaf::VERSION as usize] = head.version;
        words[leaf::COLLECTED as usize] = head.collected;
        words[leaf::NEXT as usize] = head.next.word();
        words[leaf::SHAPE as usize] = shape.word();
        words[leaf::LOW as usize..][..key_words].copy_from_slice(head.low.words());
        let high = &mut words[layout.high() as usize..][..key_words];
        match &head.high {
            Some(key) => high.copy_from_slice(key.words()),
            None => high.fill(u64::MAX),
        }
        debug_assert!(LeafView::new(layout, batch.words(span)).is_in_order());
        span
    }
}

/// Pushes the write of a whole image, without its insert word.
#[inline]
pub(super) fn post_image(batch: &mut Batch, layout: LeafLayout, to: GlobalPtr, span: Span) {
    post_image_from(batch, layout, to, span, leaf::COLLECTED);
}

/// As [`post_image`], if all entries before word `first`, and the fences, are unchanged.
#[inline]
pub(super) fn post_image_from(
    batch: &mut Batch,
    layout: LeafLayout,
    to: GlobalPtr,
    span: Span,
    first: u32,
) {
    assert!(span.words == layout.words());
    assert!(first >= leaf::COLLECTED, "insert word and rewrite counter have writes of their own");
    let count = Shape::from_word(batch.word(span.at + leaf::SHAPE)).count;
    // Words after the last entry are not sent, unless a checksum gives the image a fixed length.
    let words = if layout.checksummed { span.words } else { layout.entry(count) };
    let cover = layout::row::Cover::All;
    batch.write_row(to, Span { at: span.at, words }, first.min(words), cover);
}
