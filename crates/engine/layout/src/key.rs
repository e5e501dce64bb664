//! Encoded keys: words that compare like the values they encode.
//!
//! Decision: docs/decisions/0256-an-index-stores-only-the-primary-key-columns-that-its-own.md

/// Largest encoded key in words (64 bytes); creating a table with a longer key fails.
pub const KEY_WORDS_MAX: usize = 8;

/// An encoded key: comparing its words as numbers, first to last, orders keys as SQL orders the
/// values.
#[derive(Clone, Copy)]
pub struct Key {
    words: [u64; KEY_WORDS_MAX],
    count: u8,
    /// Bytes of its parts; 0 if the key was made of words. Equal keys may differ in this.
    built: u8,
}

impl Key {
    /// The key made of `words`.
    ///
    /// # Panics
    /// If there are more than [`KEY_WORDS_MAX`]; schemas refuse such keys.
    #[inline]
    pub fn from_words(words: &[u64]) -> Self {
        let mut key = Self { words: [0; KEY_WORDS_MAX], count: words.len() as u8, built: 0 };
        key.words[..words.len()].copy_from_slice(words);
        key
    }

    /// The smallest key of `count` words.
    pub fn lowest(count: u32) -> Self {
        Self { words: [0; KEY_WORDS_MAX], count: count as u8, built: 0 }
    }

    /// The largest key of `count` words.
    pub fn highest(count: u32) -> Self {
        let mut key = Self::lowest(count);
        key.words[..count as usize].fill(u64::MAX);
        key
    }

    /// The used words.
    #[inline]
    pub fn words(&self) -> &[u64] {
        &self.words[..self.count as usize]
    }

    /// Bytes of the parts that a [`KeyBuilder`] appended; `None` if the key was made of words.
    #[inline]
    pub fn built_bytes(&self) -> Option<u32> {
        (self.built > 0).then(|| u32::from(self.built))
    }

    /// Whether its parts may take `bytes` bytes: a key of an eight-byte integer has as many words
    /// as one of a four-byte integer, but with other contents.
    #[inline]
    pub fn may_have_bytes(&self, bytes: u32) -> bool {
        let differs = (self.built != 0) & (u32::from(self.built) != bytes);
        (u32::from(self.count) == bytes.div_ceil(8)) & !differs
    }

    /// The next larger key of the same length, or `None` after the largest.
    pub fn successor(&self) -> Option<Self> {
        self.neighbour(|word| word.overflowing_add(1))
    }

    /// The next smaller key of the same length, or `None` before the smallest.
    pub fn predecessor(&self) -> Option<Self> {
        self.neighbour(|word| word.overflowing_sub(1))
    }

    /// Steps the last word, and preceding words while a step carries or borrows.
    #[inline]
    fn neighbour(mut self, step: impl Fn(u64) -> (u64, bool)) -> Option<Self> {
        for word in self.words[..self.count as usize].iter_mut().rev() {
            let (value, overflows) = step(*word);
            *word = value;
            if !overflows {
                return Some(self);
            }
        }
        None
    }

    /// A well-mixed hash of the key, the same in every process.
    #[inline]
    pub fn hash(&self) -> u64 {
        hash_words(self.words())
    }
}

/// Multiplies and folds word by word; cheap, and good enough for buckets and tags.
#[inline]
pub fn hash_words(words: &[u64]) -> u64 {
    let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
    for &word in words {
        let product = u128::from(state ^ word) * 0xa076_1d64_78bd_642f_u128;
        state = (product >> 64) as u64 ^ product as u64;
        state = (state ^ state >> 32).wrapping_mul(0xe703_7ed1_a0b4_28db);
        state ^= state >> 29;
    }
    state
}

impl PartialEq for Key {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.words == other.words && self.count == other.count
    }
}

impl Eq for Key {}

impl std::hash::Hash for Key {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.words().hash(state);
    }
}

impl PartialOrd for Key {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key {
    #[inline]
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.words().cmp(other.words())
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("key")?;
        self.words().iter().try_for_each(|word| write!(formatter, " {word:016x}"))
    }
}

/// Builds a key part by part, most significant part first. Each part has the width of its column's
/// type: a key of an `Int4` is built with [`KeyBuilder::int4`].
///
/// # Panics
/// Its methods panic beyond [`KEY_WORDS_MAX`] words; schemas refuse such keys.
///
/// They are always inlined: the caller knows the offset of each part, and a chain of calls becomes
/// a few instructions. Without inlining the whole key goes through memory, part by part.
#[derive(Clone, Copy)]
pub struct KeyBuilder {
    words: [u64; KEY_WORDS_MAX],
    bytes: u32,
}

impl Default for KeyBuilder {
    fn default() -> Self {
        Self::new()
    }
}

impl KeyBuilder {
    #[inline(always)]
    pub fn new() -> Self {
        Self { words: [0; KEY_WORDS_MAX], bytes: 0 }
    }

    /// Appends the `bytes` low bytes of `value`, most significant first.
    #[inline(always)]
    pub fn unsigned(mut self, value: u64, bytes: u32) -> Self {
        self.append_unsigned(value, bytes);
        self
    }

    /// As [`Self::unsigned`], in place: for parts that are known late.
    #[inline(always)]
    pub fn append_unsigned(&mut self, value: u64, bytes: u32) {
        debug_assert!((1..=8).contains(&bytes));
        let at = (self.bytes / 8) as usize;
        let used = self.bytes % 8;
        let value = if bytes == 8 { value } else { value & ((1 << (8 * bytes)) - 1) };
        if used + bytes <= 8 {
            self.words[at] |= value << (8 * (8 - used - bytes));
        } else {
            let spill = used + bytes - 8;
            self.words[at] |= value >> (8 * spill);
            self.words[at + 1] |= value << (8 * (8 - spill));
        }
        self.bytes += bytes;
    }

    /// Appends a signed integer of `bytes` bytes; the flipped sign bit sorts negative numbers
    /// first.
    #[inline(always)]
    pub fn signed(mut self, value: i64, bytes: u32) -> Self {
        self.append_signed(value, bytes);
        self
    }

    /// As [`Self::signed`], in place.
    #[inline(always)]
    pub fn append_signed(&mut self, value: i64, bytes: u32) {
        self.append_unsigned(value as u64 ^ 1 << (8 * bytes - 1), bytes);
    }

    #[inline(always)]
    pub fn int2(self, value: i16) -> Self {
        self.signed(i64::from(value), 2)
    }

    #[inline(always)]
    pub fn int4(self, value: i32) -> Self {
        self.signed(i64::from(value), 4)
    }

    #[inline(always)]
    pub fn int8(self, value: i64) -> Self {
        self.signed(value, 8)
    }

    /// Appends a float: negative before positive numbers, NaN last, as PostgreSQL orders them.
    #[inline]
    pub fn float8(self, value: f64) -> Self {
        let bits = if value.is_nan() { f64::NAN.to_bits() } else { (value + 0.0).to_bits() };
        let flipped = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
        self.unsigned(flipped, 8)
    }

    /// Appends text or bytes padded with zeros to `width` bytes.
    ///
    /// # Panics
    /// If they are longer.
    #[inline]
    pub fn padded(mut self, text: &[u8], width: u32) -> Self {
        assert!(text.len() <= width as usize, "a part of a key is longer than its column");
        let end = self.bytes + width;
        let mut chunks = text.chunks_exact(8);
        for chunk in &mut chunks {
            let word = u64::from_be_bytes(chunk.try_into().expect("the chunk has 8 bytes"));
            self = self.unsigned(word, 8);
        }
        let rest = chunks.remainder();
        if !rest.is_empty() {
            // The last eight bytes of a longer text; the shift drops those before the rest.
            let word = match text.last_chunk() {
                Some(last) => u64::from_be_bytes(*last),
                None => rest.iter().fold(0, |word, &byte| word << 8 | u64::from(byte)),
            };
            self = self.unsigned(word, rest.len() as u32);
        }
        self.bytes = end;
        self
    }

    pub fn bytes(&self) -> u32 {
        self.bytes
    }

    /// The key, rounded up to whole words.
    #[inline(always)]
    pub fn key(self) -> Key {
        Key { words: self.words, count: self.bytes.div_ceil(8) as u8, built: self.bytes as u8 }
    }

    /// The smallest key of `count` words with this prefix, as a bound of a scan. `count` is
    /// [`Schema::key_words`](crate::Schema::key_words) of the table, or
    /// [`Schema::index_key_words`](crate::Schema::index_key_words) of the index.
    pub fn prefix_low(self, count: u32) -> Key {
        Key { words: self.words, count: count as u8, built: 0 }
    }

    /// The largest key of `count` words with this prefix.
    pub fn prefix_high(self, count: u32) -> Key {
        let mut key = self.prefix_low(count);
        let at = (self.bytes / 8) as usize;
        let used = self.bytes % 8;
        if at < count as usize {
            key.words[at] |= if used == 0 { u64::MAX } else { u64::MAX >> (8 * used) };
            key.words[at + 1..count as usize].fill(u64::MAX);
        }
        key
    }
}

/// Decodes `bytes` bytes from byte `at` of key words, as an unsigned number.
#[inline]
pub fn read_unsigned(words: &[u64], at: u32, bytes: u32) -> u64 {
    let index = (at / 8) as usize;
    let used = at % 8;
    let mask = if bytes == 8 { u64::MAX } else { (1 << (8 * bytes)) - 1 };
    if used + bytes <= 8 {
        words[index] >> (8 * (8 - used - bytes)) & mask
    } else {
        let spill = used + bytes - 8;
        (words[index] << (8 * spill) | words[index + 1] >> (8 * (8 - spill))) & mask
    }
}

/// Decodes a signed integer of `bytes` bytes from byte `at` of key words.
#[inline]
pub fn read_signed(words: &[u64], at: u32, bytes: u32) -> i64 {
    let flipped = read_unsigned(words, at, bytes) ^ 1 << (8 * bytes - 1);
    let unused = 64 - 8 * bytes;
    (flipped << unused) as i64 >> unused
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Key words, many with values that carry or borrow.
    fn words() -> impl Strategy<Value = Vec<u64>> {
        let word = prop_oneof![Just(0), Just(1), Just(u64::MAX), any::<u64>()];
        prop::collection::vec(word, 1..=KEY_WORDS_MAX)
    }

    proptest! {
        #[test]
        fn encoded_integers_order_like_integers(a: (i16, i32, i64), b: (i16, i32, i64)) {
            let key = |v: (i16, i32, i64)| KeyBuilder::new().int2(v.0).int4(v.1).int8(v.2).key();
            prop_assert_eq!(key(a).cmp(&key(b)), a.cmp(&b));
        }

        #[test]
        fn integers_come_back(a: i16, b: i32, c: i64) {
            let key = KeyBuilder::new().int2(a).int4(b).int8(c).key();
            prop_assert_eq!(read_signed(key.words(), 0, 2), i64::from(a));
            prop_assert_eq!(read_signed(key.words(), 2, 4), i64::from(b));
            prop_assert_eq!(read_signed(key.words(), 6, 8), c);
        }

        #[test]
        fn texts_order_bytewise(a in "[a-z]{0,13}", b in "[a-z]{0,13}") {
            let key = |v: &str| KeyBuilder::new().int2(1).padded(v.as_bytes(), 13).int2(2).key();
            prop_assert_eq!(key(&a).cmp(&key(&b)), a.cmp(&b));
        }

        #[test]
        fn floats_order_like_floats(a: f64, b: f64) {
            prop_assume!(!a.is_nan() && !b.is_nan());
            let key = |v: f64| KeyBuilder::new().float8(v).key();
            prop_assert_eq!(key(a).cmp(&key(b)), a.partial_cmp(&b).expect("neither is NaN"));
        }

        #[test]
        fn predecessor_undoes_successor(words in words()) {
            let key = Key::from_words(&words);
            let next = key.successor();
            prop_assert!(next.is_none_or(|next| key < next));
            prop_assert_eq!(next.map_or(Some(key), |next| next.predecessor()), Some(key));
            let before = key.predecessor();
            prop_assert!(before.is_none_or(|before| before < key));
            prop_assert_eq!(before.map_or(Some(key), |before| before.successor()), Some(key));
        }
    }

    #[test]
    fn prefixes_enclose_their_keys() {
        let prefix = KeyBuilder::new().int2(3).int2(4);
        let inside = KeyBuilder::new().int2(3).int2(4).int4(-9).int2(1).key();
        let outside = KeyBuilder::new().int2(3).int2(5).int4(i32::MIN).int2(i16::MIN).key();
        assert!(prefix.prefix_low(2) <= inside && inside <= prefix.prefix_high(2));
        assert!(prefix.prefix_high(2) < outside);
    }

    #[test]
    fn successor_carries_and_predecessor_borrows() {
        let (low, high) = (Key::from_words(&[1, u64::MAX]), Key::from_words(&[2, 0]));
        assert_eq!((low.successor(), high.predecessor()), (Some(high), Some(low)));
        assert_eq!((Key::highest(2).successor(), Key::lowest(2).predecessor()), (None, None));
        assert_eq!(Key::highest(2).predecessor(), Some(Key::from_words(&[u64::MAX, u64::MAX - 1])));
        assert_eq!(Key::lowest(2).successor(), Some(Key::from_words(&[0, 1])));
    }

    #[test]
    fn keys_know_what_they_were_built_of() {
        let (narrow, wide) = (KeyBuilder::new().int4(7).key(), KeyBuilder::new().int8(7).key());
        assert!(
            narrow.may_have_bytes(4) && !narrow.may_have_bytes(8) && !narrow.may_have_bytes(16)
        );
        assert!(wide.may_have_bytes(8) && !wide.may_have_bytes(4));
        let of_words = Key::from_words(wide.words());
        assert_eq!((of_words, of_words.built_bytes()), (wide, None));
        assert!(of_words.may_have_bytes(8) && of_words.may_have_bytes(5));
    }

    #[test]
    #[should_panic(expected = "a part of a key is longer than its column")]
    fn a_part_that_is_too_long_is_refused() {
        KeyBuilder::new().padded(b"abcde", 4);
    }

    #[test]
    fn negative_zero_equals_zero() {
        assert_eq!(KeyBuilder::new().float8(-0.0).key(), KeyBuilder::new().float8(0.0).key());
    }

    #[test]
    fn texts_of_any_length_stand_behind_whatever_was_before() {
        let text: Vec<u8> = (1..=40).collect();
        for before in 1..=8_u32 {
            for length in 0..=40 {
                let key = KeyBuilder::new().unsigned(u64::MAX, before).padded(&text[..length], 41);
                let bytes: Vec<u8> =
                    key.int2(-1).key().words().iter().flat_map(|word| word.to_be_bytes()).collect();
                let zeros = vec![0; 41 - length];
                let parts = [&vec![u8::MAX; before as usize], &text[..length], &zeros];
                let mut expected = parts.concat();
                expected.extend([0x7f, 0xff]);
                expected.resize(bytes.len(), 0);
                assert_eq!(bytes, expected, "{length} bytes behind {before}");
            }
        }
    }
}
