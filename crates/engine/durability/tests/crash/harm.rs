//! Damages of files.

use crate::support::mix::Dice;
use std::collections::BTreeMap;

pub type Files = BTreeMap<String, Vec<u8>>;

/// A way to damage a file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Harm {
    Flip,
    Cut,
    /// Bytes follow that were not written.
    Extend,
    /// A byte has another value.
    Replace,
    Remove,
    /// The file has the content of another one.
    Swap,
}

pub const HARMS: [Harm; 6] =
    [Harm::Flip, Harm::Cut, Harm::Extend, Harm::Replace, Harm::Remove, Harm::Swap];

/// Damages a file, at `at` if the harm has a place; returns whether it has changed.
pub fn damage(files: &mut Files, name: &str, harm: Harm, at: usize, dice: &mut Dice) -> bool {
    let before = files[name].clone();
    let mut bytes = before.clone();
    match harm {
        Harm::Flip => bytes[at] ^= 1 << dice.below(8),
        Harm::Cut => bytes.truncate(at),
        Harm::Extend => bytes.extend((0..=dice.below(40)).map(|_| dice.below(3) as u8)),
        Harm::Replace => bytes[at] = dice.below(256) as u8,
        Harm::Remove => {
            files.remove(name);
            return true;
        }
        Harm::Swap => {
            // At its old place, a segment of a log that a loss has ended is valid, and so is the
            // control file of a change under way at the place of the one before.
            let is_valid = |name: &str| name.starts_with("lost-") || name == "control.new";
            let others = files.iter().filter(|(name, _)| !is_valid(name));
            let others: Vec<&Vec<u8>> = others.map(|(_, bytes)| bytes).collect();
            bytes.clone_from(others[dice.below(others.len() as u64) as usize]);
        }
    }
    let has_changed = bytes != before;
    files.insert(name.to_owned(), bytes);
    has_changed
}
