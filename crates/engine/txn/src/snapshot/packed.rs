//! Packed frozen vectors, as stored in the copies: each counter is a 16-bit offset from the counter
//! in a base vector ([`layout::vector_copy`]).
//!
//! Packing loses nothing: a fetcher unpacks exactly the frozen vector of that number. So snapshots
//! are comparable whichever copy they come from, and a copy that lags costs only freshness.
//!
//! Decisions:
//! - docs/decisions/0021-double-collect-is-the-default-snapshot-frozen-vectors.md
//! - docs/decisions/0145-frozen-vectors-have-packed-copies-for-fetchers.md

use fabric::{Batch, Span};
use layout::row::{Cover, checksum};
use layout::vector_copy::{
    BASE_PLACES, COPY_NEWEST, OFFSET_BITS, OFFSETS_PER_WORD, PACKED_BASE, PACKED_COLLECTED,
    PACKED_EPOCH, PACKED_NUMBER, PACKED_OFFSETS,
};
use layout::{CopyLayout, GlobalPtr};

/// A base is replaced after one vector per this number of slots, even if the offsets still fit. So
/// fetchers are always prepared for a new base, and it costs a copy only four words more per
/// vector.
const SLOTS_PER_VECTOR: u64 = 4;

/// The collector's side: the base for the next packed vector.
pub(crate) struct Packer {
    shape: CopyLayout,
    /// Number of the base; 0 before the first.
    number: u64,
    counters: Vec<u64>,
    place: u32,
}

/// Spans in a batch's arena that are to be written to each copy.
pub(crate) struct Packed {
    number: u64,
    vector: Span,
    /// The base, if it is a new one.
    base: Option<Span>,
}

impl Packer {
    pub(crate) fn new(shape: CopyLayout) -> Self {
        Self { shape, number: 0, counters: Vec::new(), place: 0 }
    }

    /// Packs the frozen vector at `vector` of the batch's arena: number, epoch, counters, checksum.
    pub(crate) fn pack(&mut self, batch: &mut Batch, vector: Span, collected: u64) -> Packed {
        assert_eq!(vector.words, self.shape.slots + 3);
        let packed = batch.reserve(self.shape.packed_words());
        let frozen = &batch.words(vector)[..2 + self.shape.slots as usize];
        let (number, epoch) = (frozen[0], frozen[1]);
        let vectors_max = u64::from(self.shape.slots) / SLOTS_PER_VECTOR;
        let is_used_up = self.number == 0 || number - self.number >= vectors_max;
        let is_new = is_used_up || !self.fits(&frozen[2..]);
        if is_new {
            self.counters.clear();
            self.counters.extend_from_slice(&frozen[2..]);
            (self.number, self.place) = (number, (self.place + 1) % BASE_PLACES);
        }
        let base = is_new.then(|| self.put_base(batch));
        for (word, value) in [
            (PACKED_NUMBER, number),
            (PACKED_EPOCH, epoch),
            (PACKED_BASE, self.number),
            (PACKED_COLLECTED, collected),
        ] {
            batch.set_word(packed.at + word, value);
        }
        for at in 0..self.shape.slots / OFFSETS_PER_WORD {
            let first = at * OFFSETS_PER_WORD;
            let four = first..first + OFFSETS_PER_WORD;
            let offsets =
                four.map(|slot| batch.word(vector.at + 2 + slot) - self.counters[slot as usize]);
            let word =
                (0..).zip(offsets).fold(0, |word, (n, offset)| word | offset << (n * OFFSET_BITS));
            batch.set_word(packed.at + PACKED_OFFSETS + at, word);
        }
        close(batch, packed);
        Packed { number, vector: packed, base }
    }

    /// Whether 16 bits suffice for each offset.
    fn fits(&self, counters: &[u64]) -> bool {
        let is_small = |(&counter, &base): (&u64, &u64)| {
            counter.checked_sub(base).is_some_and(|offset| offset >> OFFSET_BITS == 0)
        };
        counters.iter().zip(&self.counters).all(is_small)
    }

    fn put_base(&self, batch: &mut Batch) -> Span {
        let base = batch.reserve(self.shape.base_words());
        let words = batch.words_mut(base);
        words[0] = self.number;
        words[1..=self.counters.len()].copy_from_slice(&self.counters);
        close(batch, base);
        base
    }

    /// Posts a packed vector to a copy: a new base before the vector that needs it, and the vector
    /// before its number.
    pub(crate) fn post(&self, batch: &mut Batch, copy: GlobalPtr, packed: &Packed) {
        if let Some(base) = packed.base {
            batch.write(self.shape.base(copy, self.place), base);
        }
        batch.write(self.shape.packed(copy, packed.number), packed.vector);
        batch.write_word(copy.add_words(u64::from(COPY_NEWEST)), packed.number);
    }
}

/// Sets the last word of a span to the checksum over the others.
fn close(batch: &mut Batch, span: Span) {
    let body = Span { at: span.at, words: span.words - 1 };
    let sum = checksum(batch.words(body), Cover::All);
    batch.set_word(span.at + body.words, sum);
}

/// The words in front of the checksum, if the checksum fits.
fn intact(words: &[u64], skipped: SkippedChecks) -> Option<&[u64]> {
    let (sum, body) = words.split_last()?;
    (body[0] != 0 && (checksum(body, Cover::All) == *sum || skipped.torn)).then_some(body)
}

/// Checks that a fetcher omits. For mutants.
#[derive(Clone, Copy, Default)]
pub(crate) struct SkippedChecks {
    /// Accept torn vectors.
    pub torn: bool,
    /// Accept a vector with another base than the one in memory.
    pub base: bool,
}

/// A fetcher's side: the base read last, and the vector unpacked last.
pub(crate) struct Unpacker {
    shape: CopyLayout,
    skipped: SkippedChecks,
    /// Number of the base; 0 before the first.
    number: u64,
    base: Vec<u64>,
    counters: Vec<u64>,
}

#[derive(Clone, Copy)]
pub(crate) struct Vector<'a> {
    pub number: u64,
    pub epoch: u64,
    /// The stamp up to which the collector has raised the words of all regions, if it does that.
    pub collected: Option<u64>,
    pub counters: &'a [u64],
}

impl Unpacker {
    pub(crate) fn new(shape: CopyLayout, skipped: SkippedChecks) -> Self {
        Self { shape, skipped, number: 0, base: Vec::new(), counters: Vec::new() }
    }

    /// The number of the base that an intact packed vector needs, if it is not the one in memory.
    pub(crate) fn wanted_base(&self, packed: &[u64]) -> Option<u64> {
        let wanted = intact(packed, self.skipped)?[PACKED_BASE as usize];
        (wanted != self.number).then_some(wanted)
    }

    /// Takes the base with this number from the words of all base places, if it is among them.
    pub(crate) fn take_base(&mut self, wanted: u64, places: &[u64]) {
        let bases = places.chunks_exact(self.shape.base_words() as usize);
        let mut intact = bases.filter_map(|base| intact(base, SkippedChecks::default()));
        if let Some(base) = intact.find(|base| base[0] == wanted) {
            self.number = wanted;
            self.base.clear();
            self.base.extend_from_slice(&base[1..]);
        }
    }

    /// Unpacks a vector, if it is intact and its base is in memory.
    pub(crate) fn unpack(&mut self, packed: &[u64]) -> Option<Vector<'_>> {
        let packed = intact(packed, self.skipped)?;
        if packed[PACKED_BASE as usize] != self.number && !(self.skipped.base && self.number > 0) {
            return None;
        }
        self.counters.clear();
        let words = &packed[PACKED_OFFSETS as usize..];
        let offset = |word: u64, n: u32| (word >> (n * OFFSET_BITS)) & u64::from(u16::MAX);
        let offsets =
            words.iter().flat_map(|&word| (0..OFFSETS_PER_WORD).map(move |n| offset(word, n)));
        self.counters.extend(offsets.zip(&self.base).map(|(offset, base)| base + offset));
        Some(Vector {
            number: packed[PACKED_NUMBER as usize],
            epoch: packed[PACKED_EPOCH as usize],
            collected: Some(packed[PACKED_COLLECTED as usize]),
            counters: &self.counters,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fabric::Fabric;
    use layout::RegionId;

    /// With 8 slots, a base serves two vectors.
    const SHAPE: CopyLayout = CopyLayout { slots: 8 };

    struct Copy {
        env: fabric::LocalEnv,
        at: GlobalPtr,
        packer: Packer,
    }

    impl Copy {
        fn new() -> Self {
            let config = crate::local::OpenConfig { server_bytes: 64 << 20, ..Default::default() };
            let database = crate::local::open(&config).expect("memory");
            let at = GlobalPtr::new(RegionId(0), 32 << 20);
            Self { env: database.env().clone(), at, packer: Packer::new(SHAPE) }
        }

        fn execute(&self, batch: Batch) -> Batch {
            fabric::run_now(self.env.execute(batch)).expect("it is local")
        }

        fn write(&mut self, number: u64, counters: [u64; 8]) {
            let mut batch = Batch::new();
            let vector = batch.reserve(SHAPE.slots + 3);
            let words = batch.words_mut(vector);
            (words[0], words[1]) = (number, 100 + number);
            words[2..10].copy_from_slice(&counters);
            close(&mut batch, vector);
            let packed = self.packer.pack(&mut batch, vector, number - 1);
            batch.clear_verbs();
            self.packer.post(&mut batch, self.at, &packed);
            self.execute(batch);
        }

        fn read(&self, at: GlobalPtr, words: u32) -> Vec<u64> {
            let mut batch = Batch::new();
            let span = batch.read(at, words);
            self.execute(batch).words(span).to_vec()
        }

        /// Reads vector `number` as a fetcher does; returns its counters and the number of bases
        /// read.
        fn fetch(&self, unpacker: &mut Unpacker, number: u64) -> (Option<Vec<u64>>, u32) {
            let packed = self.read(SHAPE.packed(self.at, number), SHAPE.packed_words());
            let wanted = unpacker.wanted_base(&packed);
            if let Some(wanted) = wanted {
                let places = self.read(SHAPE.base(self.at, 0), BASE_PLACES * SHAPE.base_words());
                unpacker.take_base(wanted, &places);
            }
            let vector = unpacker.unpack(&packed);
            let counters = vector.map(|vector| {
                assert_eq!((vector.number, vector.epoch), (number, 100 + number));
                assert_eq!(vector.collected, Some(number - 1));
                vector.counters.to_vec()
            });
            (counters, u32::from(wanted.is_some()))
        }
    }

    #[test]
    fn unpacking_restores_the_frozen_vector() {
        let (mut copy, mut unpacker) =
            (Copy::new(), Unpacker::new(SHAPE, SkippedChecks::default()));
        let mut counters = [5, 0, 0, 1 << 40, 7, 7, 7, 7];
        copy.write(1, counters);
        assert_eq!(copy.fetch(&mut unpacker, 1), (Some(counters.to_vec()), 1));
        (counters[1], counters[3]) = (0xffff, (1 << 40) + 0xabcd);
        copy.write(2, counters);
        assert_eq!(copy.fetch(&mut unpacker, 2), (Some(counters.to_vec()), 0));
        copy.write(3, counters);
        assert_eq!(copy.fetch(&mut unpacker, 3), (Some(counters.to_vec()), 1), "it has served");
        counters[1] += 0x1_0000;
        copy.write(4, counters);
        assert_eq!(copy.fetch(&mut unpacker, 4), (Some(counters.to_vec()), 1), "it does not fit");
    }

    #[test]
    fn torn_vectors_and_those_without_their_base_are_rejected() {
        let (mut copy, mut unpacker) =
            (Copy::new(), Unpacker::new(SHAPE, SkippedChecks::default()));
        for number in 1..4 {
            copy.write(number, [number << 20; 8]);
        }
        assert_eq!(copy.fetch(&mut unpacker, 1), (None, 1), "its base was replaced");
        assert_eq!(copy.fetch(&mut unpacker, 2), (Some(vec![2 << 20; 8]), 1));
        assert_eq!(copy.fetch(&mut unpacker, 3), (Some(vec![3 << 20; 8]), 1));
        let mut batch = Batch::new();
        let word = SHAPE.packed(copy.at, 3).add_words(u64::from(PACKED_OFFSETS));
        batch.write_word(word, 1);
        copy.execute(batch);
        assert_eq!(copy.fetch(&mut unpacker, 3), (None, 0));
        assert_eq!(copy.fetch(&mut unpacker, 4), (None, 0), "the place is still empty");
    }
}
