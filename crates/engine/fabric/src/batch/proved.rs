//! Removes from a batch without a known outcome the writes that have taken effect, as the words
//! that they changed prove.
//!
//! Only the others may be posted again: once a lock is released, other transactions write the words
//! that it guarded.

use super::Batch;
use crate::verb::Verb;
use layout::GlobalPtr;
use std::collections::{BTreeMap, BTreeSet};

impl Batch {
    /// Removes reads and atomics.
    pub(crate) fn retain_writes(&mut self) {
        self.retain(|verb| verb.is_write() || *verb == Verb::Fence);
    }

    /// Removes the other verbs. Fences are verbs, too.
    pub(crate) fn retain(&mut self, is_kept: impl Fn(&Verb) -> bool) {
        let mut verbs = std::mem::take(&mut self.0.verbs);
        verbs.retain(is_kept);
        self.replace_verbs(verbs);
    }

    /// Removes the writes that these words prove: words that were unlocked, and rows that have the
    /// batch's version. On the server of a word all writes ahead of its own are proved, and on all
    /// servers those before the last fence ahead of it. The write of an unlocked word is proved
    /// too; that of a row is not, because its words arrive in any order. Reads and atomics stay.
    pub fn retain_unproved(&mut self, written: &BTreeSet<GlobalPtr>) {
        let (mut proved, mut fence, mut fenced) = (BTreeMap::new(), 0, 0);
        for (number, verb) in self.0.verbs.iter().enumerate() {
            let end = match verb {
                Verb::Fence => {
                    fence = number;
                    continue;
                }
                Verb::WriteWord { to, .. } if written.contains(to) => number + 1,
                Verb::InstallRow { to, .. } if written.contains(to) => number,
                _ => continue,
            };
            proved.insert(verb.target().region(), end);
            fenced = fence;
        }
        for (number, verb) in std::mem::take(&mut self.0.verbs).into_iter().enumerate() {
            let is_proved = || {
                let of_server = proved.get(&verb.target().region());
                number < fenced || of_server.is_some_and(|end| number < *end)
            };
            if verb.is_write() && is_proved() {
                self.0.bytes -= verb.bytes();
            } else {
                self.0.verbs.push(verb);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use layout::RegionId;
    use layout::row::{Cover, KEY};

    /// The writes that are left of: slot and tags in region 1, a fence, the insert word in region
    /// 0, a row in region 2.
    fn left_when_unlocked(unlocked: &[GlobalPtr]) -> Vec<GlobalPtr> {
        let mut batch = Batch::new();
        let there = |region, byte| GlobalPtr::new(RegionId(region), byte);
        batch.write_word(there(1, 64), 1);
        batch.write_word(there(1, 128), 2);
        batch.fence();
        batch.write_word(there(0, 512), 3);
        batch.write_word(there(2, 64), 4);
        batch.retain_unproved(&unlocked.iter().copied().collect());
        let targets = batch.verbs().iter().filter(|verb| !matches!(verb, Verb::Fence));
        targets.map(|verb| verb.target()).collect()
    }

    #[test]
    fn an_unlocked_word_proves_what_was_written_before_its_fence() {
        let there = |region, byte| GlobalPtr::new(RegionId(region), byte);
        let all = [there(1, 64), there(1, 128), there(0, 512), there(2, 64)];
        assert_eq!(left_when_unlocked(&[]), all);
        // A slot beside the one in region 1 may meanwhile belong to another transaction: writing
        // the tags again would erase it.
        assert_eq!(left_when_unlocked(&[all[2]]), [all[3]]);
        // Without a fence in between, only its own server is proved.
        assert_eq!(left_when_unlocked(&[all[1]]), [all[2], all[3]]);
    }

    #[test]
    fn a_row_with_the_new_version_proves_that_the_old_one_was_saved() {
        let there = |region, byte| GlobalPtr::new(RegionId(region), byte);
        let (buffer, row) = (there(1, 4096), there(1, 64));
        let mut batch = Batch::new();
        let image = batch.put(&[0; 8]);
        batch.install_row(buffer, image, KEY, Cover::All);
        batch.install_row(row, image, KEY, Cover::AllButLink);
        batch.write_word(there(2, 64), 1);
        batch.retain_unproved(&[row].into());
        let targets: Vec<_> = batch.verbs().iter().map(Verb::target).collect();
        assert_eq!(targets, [row, there(2, 64)]);
    }

    /// The writes that are left of: two rows in region 1, each behind its old version; a fence;
    /// tags in region 1; a fence; a row behind its old version in region 2, an insert word in
    /// region 0.
    fn left_of_rows(proved: &[usize]) -> Vec<usize> {
        let there = |region, byte| GlobalPtr::new(RegionId(region), byte);
        let targets = [
            there(1, 4096),
            there(1, 64),
            there(1, 8192),
            there(1, 128),
            there(1, 512),
            there(2, 4096),
            there(2, 64),
            there(0, 512),
        ];
        let mut batch = Batch::new();
        let image = batch.put(&[0; 8]);
        for (number, &target) in targets.iter().enumerate() {
            match number {
                0 | 1 | 2 | 3 | 5 | 6 => batch.install_row(target, image, KEY, Cover::All),
                _ => batch.write_word(target, 1),
            }
            if number == 3 || number == 4 {
                batch.fence();
            }
        }
        batch.retain_unproved(&proved.iter().map(|&number| targets[number]).collect());
        let left = batch.verbs().iter().filter(|verb| !matches!(verb, Verb::Fence));
        let number = |verb: &Verb| targets.iter().position(|&target| target == verb.target());
        left.map(|verb| number(verb).expect("it was written")).collect()
    }

    #[test]
    fn each_of_several_rows_proves_the_writes_before_it() {
        assert_eq!(left_of_rows(&[]), [0, 1, 2, 3, 4, 5, 6, 7]);
        // The first row may be written again, but its old version was saved; nothing proves the
        // second one's.
        assert_eq!(left_of_rows(&[1]), [1, 2, 3, 4, 5, 6, 7]);
        // A server carries writes out in order: the second row proves the first.
        for proved in [&[3][..], &[1, 3]] {
            assert_eq!(left_of_rows(proved), [3, 4, 5, 6, 7]);
        }
    }

    #[test]
    fn only_the_fences_before_a_proof_count() {
        // The tags are behind one fence: they prove both rows, and nothing behind the second.
        assert_eq!(left_of_rows(&[4]), [5, 6, 7]);
        // A row behind both fences proves what is before them, and its own old version.
        assert_eq!(left_of_rows(&[6]), [6, 7]);
        assert_eq!(left_of_rows(&[7]), [5, 6]);
        assert_eq!(left_of_rows(&[1, 7]), [5, 6]);
        assert_eq!(left_of_rows(&[6, 7]), [6]);
    }
}
