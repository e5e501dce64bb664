//! Writes that a batch takes now and posts later.
//!
//! A commit puts its installs together before it locks, so that its journal has them when the first
//! lock is held. The words stay in the batch's arena.

use super::Batch;
use crate::verb::Verb;
use layout::{GlobalPtr, RegionId};

/// Writes that were put into a batch and will be posted later, with words that stay in its arena.
#[derive(Default)]
pub struct VerbList {
    verbs: Vec<Verb>,
    bytes: u64,
    fences: u32,
    /// The regions that the writes reach. A lane's list is used for all of its commits, so that
    /// they allocate nothing.
    regions: Vec<RegionId>,
}

impl VerbList {
    /// The writes, with those of the words ahead of them.
    pub fn verbs(&self) -> &[Verb] {
        &self.verbs
    }
}

impl Batch {
    /// Moves the writes of this batch to a list, between two writes of a word for each region that
    /// they reach: `first` and `last` have their addresses and values. Their words stay in the
    /// arena.
    ///
    /// # Panics
    ///
    /// If the batch has other verbs.
    pub fn set_aside(
        &mut self,
        list: &mut VerbList,
        mut first: impl FnMut(RegionId) -> Option<(GlobalPtr, u64)>,
        last: impl FnMut(RegionId) -> Option<(GlobalPtr, u64)>,
    ) {
        list.verbs.clear();
        list.regions.clear();
        (list.bytes, list.fences) = (self.0.bytes, self.0.fences);
        for verb in &self.0.verbs {
            assert!(verb.is_write() || *verb == Verb::Fence, "only writes are set aside");
            if *verb == Verb::Fence || list.regions.contains(&verb.target().region()) {
                continue;
            }
            let region = verb.target().region();
            list.regions.push(region);
            if let Some((to, value)) = first(region) {
                let verb = Verb::WriteWord { to, value };
                list.bytes += verb.bytes();
                list.verbs.push(verb);
            }
        }
        list.verbs.extend_from_slice(&self.0.verbs);
        for (to, value) in list.regions.iter().copied().filter_map(last) {
            let verb = Verb::WriteWord { to, value };
            list.bytes += verb.bytes();
            list.verbs.push(verb);
        }
        self.clear_verbs();
    }

    /// Replaces the verbs by those that were set aside.
    pub fn resume(&mut self, list: &mut VerbList) {
        self.clear_verbs();
        std::mem::swap(&mut self.0.verbs, &mut list.verbs);
        (self.0.bytes, self.0.fences) = (list.bytes, list.fences);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_that_were_set_aside_go_on_behind_a_word_for_each_region() {
        let there = |region, byte| GlobalPtr::new(RegionId(region), byte);
        let mut batch = Batch::new();
        let span = batch.put(&[7, 8]);
        batch.write(there(1, 64), span);
        batch.fence();
        batch.write_word(there(0, 128), 9);
        batch.write_word(there(1, 128), 9);
        let mut list = VerbList::default();
        let mark = |region| Some((GlobalPtr::new(region, 0), 5));
        let end_mark = |region| Some((GlobalPtr::new(region, 8), 5));
        batch.set_aside(&mut list, mark, end_mark);
        assert!(batch.is_empty() && batch.round_trips() == 1);
        batch.read(there(1, 256), 1);
        batch.resume(&mut list);
        let targets = batch.verbs().iter().filter(|verb| **verb != Verb::Fence);
        let targets: Vec<_> = targets.map(Verb::target).collect();
        let marks = [there(1, 0), there(0, 0)];
        assert_eq!(targets[..2], marks);
        assert_eq!(targets[2..5], [there(1, 64), there(0, 128), there(1, 128)]);
        assert_eq!(targets[5..], [there(1, 8), there(0, 8)]);
        assert_eq!((batch.round_trips(), batch.bytes()), (2, 8 * layout::WORD_BYTES));
        assert_eq!(batch.words(span), [7, 8]);
    }

    #[test]
    fn a_list_keeps_the_memory_of_its_regions() {
        const ROOM: usize = 1000;
        let (mut batch, mut list) = (Batch::new(), VerbList::default());
        list.regions.reserve(ROOM);
        for _ in 0..2 {
            batch.write_word(GlobalPtr::new(RegionId(1), 64), 9);
            batch.set_aside(&mut list, |region| Some((GlobalPtr::new(region, 0), 5)), |_| None);
            batch.resume(&mut list);
            assert_eq!(batch.verbs().len(), 2);
            batch.clear_verbs();
        }
        assert!(list.regions.capacity() >= ROOM, "each commit allocates");
    }
}
