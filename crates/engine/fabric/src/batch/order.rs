//! Finds writes that the contract does not order behind the reads before them.

use super::Batch;
use crate::verb::Verb;

impl Batch {
    /// The first write of words that an earlier verb reads or changes without a fence between the
    /// two, and that verb. The contract does not order them, so such a batch is a bug of the
    /// caller. The simulator refuses it; other fabrics do not look, since the search compares each
    /// write with all verbs before it.
    pub fn unordered_write(&self) -> Option<(&Verb, &Verb)> {
        self.verbs().split(|verb| *verb == Verb::Fence).find_map(|segment| {
            segment.iter().enumerate().filter(|(_, verb)| verb.is_write()).find_map(
                |(at, write)| {
                    let earlier = segment[..at].iter();
                    let mut unordered =
                        earlier.filter(|verb| !verb.is_write() && overlap(verb, write));
                    unordered.next().map(|read| (write, read))
                },
            )
        })
    }
}

fn overlap(one: &Verb, other: &Verb) -> bool {
    let end = |verb: &Verb| verb.target().add_words(u64::from(verb.target_words()));
    one.target() < end(other) && other.target() < end(one)
}

#[cfg(test)]
mod tests {
    use super::*;
    use layout::{GlobalPtr, RegionId};

    fn ptr(offset: u64) -> GlobalPtr {
        GlobalPtr::new(RegionId(0), offset)
    }

    #[test]
    fn a_write_after_a_read_of_the_same_word_needs_a_fence() {
        let mut batch = Batch::new();
        batch.read(ptr(64), 4);
        batch.write_word(ptr(96), 1);
        assert_eq!(batch.unordered_write(), None, "it writes behind the words that are read");
        batch.write_word(ptr(88), 1);
        let unordered = batch.unordered_write().map(|(write, read)| (*write, *read));
        assert_eq!(unordered, Some((batch.verbs()[2], batch.verbs()[0])));
    }

    #[test]
    fn a_fence_orders() {
        let mut batch = Batch::new();
        batch.read(ptr(64), 4);
        batch.fence();
        batch.write_word(ptr(72), 1);
        assert_eq!(batch.unordered_write(), None);
    }

    #[test]
    fn a_read_may_follow_a_write() {
        let mut batch = Batch::new();
        batch.write_word(ptr(72), 1);
        batch.read(ptr(64), 4);
        assert_eq!(batch.unordered_write(), None);
    }
}
