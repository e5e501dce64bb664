//! The promises of group commit, in every state after a restart.

use super::state::{Entry, OfLife, ROWS, State, Version};
use super::steps::GroupCommit;
use stateright::Property;

/// A commit that was reported is brought back by every later restart.
pub const ACKNOWLEDGED_COMES_BACK: &str = "acknowledged commits come back";
/// Likewise what a reader was shown.
pub const SHOWN_COMES_BACK: &str = "what readers were shown comes back";
/// With a transaction comes back what it has read and replaced.
pub const CLOSED: &str = "what comes back is closed under reads and replacements";
/// A transaction that has aborted does not come back.
pub const NO_ABORTED: &str = "no aborted transaction comes back";
/// A transaction that one restart has dropped is not brought back by a later one.
pub const DROPPED_STAYS: &str = "what was dropped stays dropped";
/// A row has one last version.
pub const ONE_END: &str = "a row has one last version";
/// Some run loses a commit that was visible and not reported: otherwise the promises say nothing.
pub const UNREPORTED_MAY_BE_LOST: &str = "an unreported commit may be lost";
/// Some run brings back commits of two lives.
pub const TWO_LIVES_COME_BACK: &str = "commits of two lives come back";

pub fn all() -> Vec<Property<GroupCommit>> {
    vec![
        Property::always(ACKNOWLEDGED_COMES_BACK, |_, state: &State| {
            state.acknowledged.iter().all(|&version| is_safe(state, version))
        }),
        Property::always(SHOWN_COMES_BACK, |_, state: &State| {
            state.shown.iter().all(|&version| is_safe(state, version))
        }),
        Property::always(CLOSED, |_, state: &State| {
            back(state).iter().all(|entry| is_closed(state, entry))
        }),
        Property::always(NO_ABORTED, |_, state: &State| {
            state.aborted.iter().all(|&version| !has(back(state), version))
        }),
        Property::always(DROPPED_STAYS, |_, state: &State| {
            state.dropped.iter().all(|&version| !has(back(state), version))
        }),
        Property::always(ONE_END, has_one_end),
        Property::sometimes(UNREPORTED_MAY_BE_LOST, |_, state: &State| {
            state.life > 0 && !state.dropped.is_empty()
        }),
        Property::sometimes(TWO_LIVES_COME_BACK, |_, state: &State| {
            [0, 1].iter().all(|&life| back(state).iter().any(|entry| entry.life == life))
        }),
    ]
}

/// The property with this name.
pub fn named(name: &'static str) -> Property<GroupCommit> {
    let property = all().into_iter().find(|property| property.name == name);
    property.expect("names are the constants above")
}

fn back(state: &State) -> &[Entry] {
    state.brought_back.as_deref().unwrap_or_default()
}

fn has(entries: &[Entry], (life, version): OfLife) -> bool {
    entries.iter().any(|entry| (entry.life, entry.version) == (life, version))
}

/// Whether a version was brought back, if there was a restart since its life.
fn is_safe(state: &State, version: OfLife) -> bool {
    version.0 == state.life || has(back(state), version)
}

/// A version of the same life is brought back; the row as loaded is there.
fn is_closed(state: &State, entry: &Entry) -> bool {
    let is_there =
        |version: Version| version == Version::LOADED || has(back(state), (entry.life, version));
    is_there(entry.replaces) && is_there(entry.read)
}

fn has_one_end(_: &GroupCommit, state: &State) -> bool {
    (0..ROWS as u8).all(|row| {
        (0..=state.life).all(|life| {
            let of_row =
                || back(state).iter().filter(|entry| (entry.row, entry.life) == (row, life));
            let is_end = |entry: &&Entry| of_row().all(|other| other.replaces != entry.version);
            of_row().filter(is_end).count() <= 1
        })
    })
}
