//! Interned names of workloads, tables and procedures with static lifetime.

use std::collections::BTreeSet;
use std::sync::Mutex;

/// Interned names; each is leaked only once, however often a folder is read.
static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
/// Interned lists of names.
static LISTS: Mutex<BTreeSet<&'static [&'static str]>> = Mutex::new(BTreeSet::new());

pub(crate) fn kept(name: &str) -> &'static str {
    let mut names = NAMES.lock().expect("no holder panics");
    match names.get(name) {
        Some(kept) => kept,
        None => {
            let kept = Box::leak(name.to_owned().into_boxed_str());
            names.insert(kept);
            kept
        }
    }
}

pub(crate) fn kept_all<'n>(names: impl Iterator<Item = &'n str>) -> &'static [&'static str] {
    let list: Vec<&'static str> = names.map(kept).collect();
    let mut lists = LISTS.lock().expect("no holder panics");
    match lists.get(list.as_slice()) {
        Some(kept) => kept,
        None => {
            let kept = Box::leak(list.into_boxed_slice());
            lists.insert(kept);
            kept
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kept_once() {
        let lists = [0, 1].map(|_| kept_all(["a table", "another"].into_iter()));
        assert_eq!(lists[0], ["a table", "another"]);
        assert!(std::ptr::eq(lists[0], lists[1]) && std::ptr::eq(kept("a table"), lists[0][0]));
    }
}
