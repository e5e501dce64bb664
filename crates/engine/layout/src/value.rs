//! A value out of line: a text or bytes that may be too long for its row, which holds a pointer to
//! it.
//!
//! Decision: docs/decisions/0038-a-long-value-never-changes-and-the-row-names-its-version.md

use crate::address::GlobalPtr;
use crate::version::VersionWord;

/// The shape of one value.
///
/// ```text
/// word | field    | written by | meaning
///    0 | unused   |            | in place of a row's header
///    1 | version  | write_row  | timestamp of the writing transaction; TORN while it writes
///    2 | bytes    | write_row  | length in bytes
///    3 | data     | write_row  | the bytes, eight to a word, the last word padded with zeros
///  end | checksum | write_row  | only where memory is not coherent
/// ```
///
/// The words from 1 on are an image like that of an old version: `read_row` returns it untorn.
///
/// # Invariants
/// - A value never changes. A new value of the column is written to other memory, under the
///   writer's timestamp, in the batch that installs the row, so it is complete before any snapshot
///   covers the row.
/// - Pointer, version and length are adjacent in the row. Memory that is reused for another value
///   has another version, so a reader with an old pointer notices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ValueLayout {
    pub data_words: u32,
    /// Whether a checksum word closes the image.
    pub checksummed: bool,
}

/// Word of the writer's timestamp.
pub const VERSION: u32 = crate::row::VERSION;
/// Word of the length.
pub const BYTES: u32 = crate::row::LINK;
/// First word of the data.
pub const DATA: u32 = 3;
const _: () = assert!(VERSION == 1 && BYTES == 2 && DATA == BYTES + 1);

/// Words that a stage keeps after a transaction (8 MiB).
const KEPT_WORDS_MAX: usize = 1 << 20;
/// Smallest allocation for a value in words.
const PIECE_WORDS_MIN: u32 = 8;

impl ValueLayout {
    /// The shape of a value of `bytes` bytes.
    #[inline]
    pub const fn of(bytes: u64, checksummed: bool) -> Self {
        Self { data_words: bytes.div_ceil(8) as u32, checksummed }
    }

    /// Words from the unused word to the end.
    #[inline]
    pub const fn words(&self) -> u32 {
        DATA + self.data_words + self.checksummed as u32
    }

    /// Words allocated for a value: one of four sizes between two powers of two, so that freed
    /// allocations fit values of similar length.
    pub const fn piece_words(&self) -> u32 {
        let step = self.words().next_power_of_two() / 8;
        let step = if step < PIECE_WORDS_MIN { PIECE_WORDS_MIN } else { step };
        self.words().next_multiple_of(step)
    }
}

/// Words of pointer, length and version in a row.
pub const REFERENCE_WORDS: u32 = 3;

/// A row's reference to a value out of line.
///
/// ```text
/// word | stored       | empty | set, not committed yet (in the transaction's copy only)
///    0 | pointer      | 0     | number of the value among those set, from 1
///    1 | length       | 0     | length
///    2 | version      | 0     | 0
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OutOfLine {
    /// Address of the value's first word.
    pub ptr: u64,
    pub bytes: u64,
    /// Timestamp of the transaction that wrote it.
    pub version: VersionWord,
}

impl OutOfLine {
    /// An empty value has no memory.
    pub const EMPTY: Self = Self { ptr: 0, bytes: 0, version: VersionWord::NONE };

    /// A staged value.
    #[inline]
    pub const fn staged(number: usize, bytes: u64) -> Self {
        Self { ptr: number as u64 + 1, bytes, version: VersionWord::NONE }
    }

    /// Decodes a reference from a row's words.
    #[inline]
    pub const fn from_words(words: [u64; REFERENCE_WORDS as usize]) -> Self {
        Self { ptr: words[0], bytes: words[1], version: VersionWord::from_word(words[2]) }
    }

    /// The reference as words of a row.
    #[inline]
    pub const fn words(self) -> [u64; REFERENCE_WORDS as usize] {
        [self.ptr, self.bytes, self.version.word()]
    }

    /// The number of a staged value; `None` if it is not staged.
    #[inline]
    pub const fn staged_number(self) -> Option<usize> {
        if self.version.is_none() && self.ptr != 0 { Some(self.ptr as usize - 1) } else { None }
    }

    /// The address of a stored value; `None` if it is not stored.
    #[inline]
    pub const fn stored(self) -> Option<GlobalPtr> {
        if self.version.is_none() { None } else { Some(GlobalPtr::from_word(self.ptr)) }
    }
}

/// Values that a transaction has set and not committed yet.
#[derive(Default, Debug)]
pub struct LongStage {
    words: Vec<u64>,
    values: Vec<Staged>,
    /// Number of values that are not overwritten.
    frozen: usize,
}

/// A number of staged values, see [`LongStage::mark`].
#[derive(Clone, Copy, Debug)]
pub struct StageMark {
    values: usize,
}

#[derive(Clone, Copy, Debug)]
struct Staged {
    at: usize,
    words: usize,
    bytes: usize,
}

impl LongStage {
    /// Drops all values; keeps a bounded part of their memory for the next transaction.
    pub fn clear(&mut self) {
        self.words.clear();
        self.words.shrink_to(KEPT_WORDS_MAX);
        self.values.clear();
        self.frozen = 0;
    }

    /// The values that are there.
    pub fn mark(&self) -> StageMark {
        StageMark { values: self.values.len() }
    }

    /// From now on, the values that are there are not overwritten.
    pub fn freeze(&mut self) {
        self.frozen = self.values.len();
    }

    /// Number of values that are not overwritten.
    pub fn frozen(&self) -> usize {
        self.frozen
    }

    /// From now on, only the first `frozen` values are not overwritten.
    pub fn thaw(&mut self, frozen: usize) {
        self.frozen = frozen.min(self.values.len());
    }

    /// Drops the values that were added since `mark`.
    pub fn roll_back(&mut self, mark: StageMark) {
        self.values.truncate(mark.values);
        let words = self.values.last().map_or(0, |last| last.at + last.words);
        self.words.truncate(words);
        self.frozen = self.frozen.min(mark.values);
    }

    /// Frees the memory of the values that are not used; the others keep their numbers.
    pub fn keep(&mut self, is_used: impl Fn(usize) -> bool) {
        let mut end = 0;
        for (number, value) in self.values.iter_mut().enumerate() {
            let from = value.at;
            value.at = end;
            if is_used(number) {
                self.words.copy_within(from..from + value.words, end);
                end += value.words;
            } else {
                (value.words, value.bytes) = (0, 0);
            }
        }
        self.words.truncate(end);
        self.words.shrink_to(2 * end.max(KEPT_WORDS_MAX));
    }

    /// Number of values, the unused ones included.
    pub fn count(&self) -> usize {
        self.values.len()
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Words that the values take.
    pub fn word_count(&self) -> usize {
        self.words.len()
    }

    /// Stages `bytes`, in place of the staged value `before` if they fit there; returns the row's
    /// new reference.
    pub fn put(&mut self, before: OutOfLine, bytes: &[u8]) -> OutOfLine {
        if bytes.is_empty() {
            return OutOfLine::EMPTY;
        }
        let words = bytes.len().div_ceil(8);
        let fits = |&number: &usize| number >= self.frozen && words <= self.values[number].words;
        let known = before.staged_number().filter(fits);
        let number = known.unwrap_or_else(|| {
            let at = self.words.len();
            self.words.resize(at + words, 0);
            self.values.push(Staged { at, words, bytes: 0 });
            self.values.len() - 1
        });
        let staged = &mut self.values[number];
        staged.bytes = bytes.len();
        let target = &mut self.words[staged.at..staged.at + words];
        target[words - 1] = 0;
        bytemuck::cast_slice_mut::<u64, u8>(target)[..bytes.len()].copy_from_slice(bytes);
        OutOfLine::staged(number, bytes.len() as u64)
    }

    /// The bytes of value `number`.
    pub fn bytes(&self, number: usize) -> &[u8] {
        let Staged { at, words, bytes } = self.values[number];
        &bytemuck::cast_slice::<u64, u8>(&self.words[at..at + words])[..bytes]
    }

    /// The same as words, padded with zeros.
    pub fn words(&self, number: usize) -> &[u64] {
        let Staged { at, bytes, .. } = self.values[number];
        &self.words[at..at + bytes.div_ceil(8)]
    }
}

/// Fetched values out of line, one after another.
#[derive(Default, Debug)]
pub struct LongValues {
    bytes: Vec<u8>,
    /// Start and end in `bytes`; `None` is null.
    values: Vec<Option<(usize, usize)>>,
    /// The value with index 0.
    first: usize,
}

impl LongValues {
    /// Drops all values; keeps their memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.values.clear();
        self.first = 0;
    }

    /// Appends a value, or null.
    pub fn push(&mut self, value: Option<&[u8]>) {
        let from = self.bytes.len();
        self.bytes.extend_from_slice(value.unwrap_or_default());
        self.values.push(value.map(|value| (from, from + value.len())));
    }

    /// Appends the first `bytes` bytes of `words`.
    pub fn push_words(&mut self, words: &[u64], bytes: usize) {
        self.push(Some(&bytemuck::cast_slice(words)[..bytes]));
    }

    /// Makes `first` the value with index 0: a row begins there.
    pub fn begin_at(&mut self, first: usize) {
        self.first = first;
    }

    /// Replaces a value.
    pub fn replace(&mut self, index: usize, value: &[u8]) {
        let from = self.bytes.len();
        self.bytes.extend_from_slice(value);
        self.values[self.first + index] = Some((from, from + value.len()));
    }

    pub fn count(&self) -> usize {
        self.values.len()
    }

    /// A value; `None` if it is null.
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        self.values[self.first + index].map(|(from, to)| &self.bytes[from..to])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::RegionId;
    use crate::version::SlotId;

    #[test]
    fn a_piece_holds_its_value_and_wastes_a_quarter_at_most() {
        for bytes in (1..20_000).chain([1 << 20]) {
            let value = ValueLayout::of(bytes, true);
            let (words, piece) = (value.words(), value.piece_words());
            assert!(piece >= words && (piece <= 8 || piece - words < 8.max(words / 4 + 1)));
            assert!(words * 8 >= bytes as u32 + 32);
        }
    }

    #[test]
    fn a_reference_is_empty_staged_or_stored() {
        let stored = OutOfLine {
            ptr: GlobalPtr::new(RegionId(2), 64).word(),
            bytes: 9,
            version: VersionWord::new(SlotId(3), 4),
        };
        assert_eq!(OutOfLine::from_words(stored.words()), stored);
        assert_eq!((stored.staged_number(), OutOfLine::EMPTY.staged_number()), (None, None));
        assert_eq!(stored.stored(), Some(GlobalPtr::new(RegionId(2), 64)));
        let staged = OutOfLine::staged(0, 9);
        assert_eq!((staged.staged_number(), staged.stored()), (Some(0), None));
    }

    #[test]
    fn what_was_set_is_kept_until_it_is_set_again() {
        let mut stage = LongStage::default();
        let one = stage.put(OutOfLine::EMPTY, b"0123456789");
        let two = stage.put(OutOfLine::EMPTY, b"abc");
        let again = stage.put(one, b"012345678");
        assert_eq!((again.ptr, again.bytes, stage.word_count()), (one.ptr, 9, 3));
        assert_eq!(stage.bytes(0), b"012345678");
        assert_eq!(stage.words(0)[1], u64::from(b'8'));
        let longer = stage.put(two, &[7; 20]);
        assert_eq!((longer.staged_number(), stage.bytes(2)), (Some(2), &[7; 20][..]));
        assert_eq!(stage.put(longer, b""), OutOfLine::EMPTY);
        stage.clear();
        assert!(stage.is_empty());
    }

    #[test]
    fn fetched_values_are_told_from_null() {
        let mut values = LongValues::default();
        values.push(Some(b"one"));
        values.push(None);
        values.push_words(&[u64::from(b'2')], 1);
        assert_eq!(
            (values.get(0), values.get(1), values.get(2)),
            (Some(&b"one"[..]), None, Some(&b"2"[..]))
        );
        values.begin_at(2);
        assert_eq!((values.get(0), values.count()), (Some(&b"2"[..]), 3));
        values.replace(0, b"two");
        assert_eq!(values.get(0), Some(&b"two"[..]));
        values.begin_at(0);
        assert_eq!((values.get(0), values.get(1)), (Some(&b"one"[..]), None));
    }
}
