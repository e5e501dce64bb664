//! The names of a simulated directory: as processes see them, and as they may be after a crash.

use crate::disk::fault::{DiskCoverage, DiskFault};
use crate::disk::file::Survival;
use crate::random::Random;
use std::collections::{BTreeMap, BTreeSet};

/// The number of a file, which it keeps when it is renamed.
pub(crate) type FileId = usize;

#[derive(Clone)]
enum Change {
    Create(String, FileId),
    Rename(String, String),
    Remove(String),
}

/// Names with the changes that no sync of the directory has made durable. Changes of one name
/// survive in their order, changes of different names independently of each other.
#[derive(Clone, Default)]
pub(crate) struct Names {
    live: BTreeMap<String, FileId>,
    durable: BTreeMap<String, FileId>,
    pending: Vec<Change>,
}

impl Names {
    /// A directory whose names are all durable.
    pub(crate) fn of(names: BTreeMap<String, FileId>) -> Self {
        Self { live: names.clone(), durable: names, pending: Vec::new() }
    }

    pub(crate) fn find(&self, name: &str) -> Option<FileId> {
        self.live.get(name).copied()
    }

    pub(crate) fn live(&self) -> impl Iterator<Item = (&String, FileId)> {
        self.live.iter().map(|(name, &file)| (name, file))
    }

    pub(crate) fn create(&mut self, name: &str, file: FileId) {
        self.change(Change::Create(name.to_owned(), file));
    }

    pub(crate) fn rename(&mut self, from: &str, to: &str) {
        self.change(Change::Rename(from.to_owned(), to.to_owned()));
    }

    pub(crate) fn remove(&mut self, name: &str) {
        self.change(Change::Remove(name.to_owned()));
    }

    fn change(&mut self, change: Change) {
        apply(&mut self.live, &change, false);
        self.pending.push(change);
    }

    pub(crate) fn sync(&mut self) {
        for change in self.pending.drain(..) {
            apply(&mut self.durable, &change, false);
        }
    }

    /// Whether a rename is not synced.
    pub(crate) fn has_renamed(&self) -> bool {
        self.pending.iter().any(|change| matches!(change, Change::Rename(..)))
    }

    /// Loses power: changes that are not synced survive in part.
    pub(crate) fn crash(
        &mut self,
        survival: Survival,
        random: &mut Random,
        coverage: &mut DiskCoverage,
    ) {
        self.settle(survival, random, coverage);
        self.live.clone_from(&self.durable);
    }

    fn settle(&mut self, survival: Survival, random: &mut Random, coverage: &mut DiskCoverage) {
        // After the first lost change of a name, its later ones are lost too.
        let mut lost: BTreeSet<String> = BTreeSet::new();
        for change in std::mem::take(&mut self.pending) {
            let names: Vec<&String> = match &change {
                Change::Create(name, _) | Change::Remove(name) => vec![name],
                Change::Rename(from, to) => vec![from, to],
            };
            if survival.keeps(random) && !names.iter().any(|name| lost.contains(*name)) {
                let is_half = matches!(change, Change::Rename(..))
                    && survival != Survival::Everything
                    && random.one_in(2);
                apply(&mut self.durable, &change, is_half);
                if is_half {
                    coverage.count(DiskFault::HalfRename);
                    lost.extend(names.into_iter().take(1).cloned());
                }
                continue;
            }
            coverage.count(match change {
                Change::Create(..) => DiskFault::LostName,
                Change::Rename(..) => DiskFault::LostRename,
                Change::Remove(_) => DiskFault::LostRemoval,
            });
            lost.extend(names.into_iter().cloned());
        }
    }
}

/// Applies a change. A rename that is half done leaves the old name too.
fn apply(names: &mut BTreeMap<String, FileId>, change: &Change, is_half: bool) {
    match change {
        Change::Create(name, file) => {
            names.insert(name.clone(), *file);
        }
        Change::Remove(name) => {
            names.remove(name);
        }
        Change::Rename(from, to) => {
            if let Some(&file) = names.get(from) {
                names.insert(to.clone(), file);
                if !is_half {
                    names.remove(from);
                }
            }
        }
    }
}
