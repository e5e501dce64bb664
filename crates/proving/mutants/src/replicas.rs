//! Whether replicas are equal to their regions, at rest.

use fabric::DynEnv;
use layout::{GlobalPtr, RegionId, region};
use sim::{Differing, World};
use txn::Database;

/// The first words in which replicas differ, as sentences. The words of the oracle and the stamps
/// of regions may differ: a promotion restores them. So may journals, whose last entry may be that
/// of an attempt that was lost.
pub(crate) fn differing(
    world: &World,
    database: &Database<DynEnv>,
    journals: &[(GlobalPtr, u64)],
) -> Vec<String> {
    let oracle = database.root().oracle;
    let end = oracle.add_words(u64::from(database.oracle_words()));
    let is_restored = |word: GlobalPtr| {
        let is_stamp = word == region::collected(word.region());
        let is_of = |&(at, words): &(GlobalPtr, u64)| (at..at.add_words(words)).contains(&word);
        is_stamp || (oracle..end).contains(&word) || journals.iter().any(is_of)
    };
    let differing = world.differing_replicas();
    let differing = differing.into_iter().filter(|differing| !is_restored(differing.word));
    let told = |differing: Differing| {
        let Differing { word, value, replica: RegionId(replica), other } = differing;
        format!("{word:?} is {value:#x}, but {other:#x} on replica {replica}")
    };
    differing.map(told).take(5).collect()
}
