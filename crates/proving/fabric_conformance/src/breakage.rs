//! The promises that simulated worlds can break, one at a time: each test of a promise must then
//! fail.

use crate::fabrics::simulated::Simulated;
use crate::stage::{Outcome, give};
use crate::test::Test;
use crate::tests;
use sim::{BrokenPromises, Carrier};

/// All promises kept.
pub const NONE: BrokenPromises = BrokenPromises {
    whole_words: false,
    write_before_later: false,
    atomic_before_later: false,
    fence: false,
    untorn_rows: false,
    fitting_misses: false,
    visible_when_complete: false,
    atomics_exclude: false,
    failed_swap_writes_nothing: false,
    atomics_with_cpu: false,
    answered_once: false,
    buffers_until_complete: false,
    completes_once: false,
    one_moment: false,
    settled: false,
};
/// Words are written in halves.
pub const HALVES: BrokenPromises = BrokenPromises { whole_words: true, ..NONE };
/// Later verbs overtake writes.
pub const WRITES: BrokenPromises = BrokenPromises { write_before_later: true, ..NONE };
/// Later verbs overtake atomics.
pub const ATOMICS: BrokenPromises = BrokenPromises { atomic_before_later: true, ..NONE };
/// Fences are ignored.
pub const FENCE: BrokenPromises = BrokenPromises { fence: true, ..NONE };
/// Rows arrive torn.
pub const UNTORN: BrokenPromises = BrokenPromises { untorn_rows: true, ..NONE };
/// The words of a miss are of different moments.
pub const MISSES: BrokenPromises = BrokenPromises { fitting_misses: true, ..NONE };
/// Completed writes become visible later.
pub const VISIBLE: BrokenPromises = BrokenPromises { visible_when_complete: true, ..NONE };
/// Atomics lose each other's effect.
pub const EXCLUDE: BrokenPromises = BrokenPromises { atomics_exclude: true, ..NONE };
/// Failed swaps write back the value that they read.
pub const FAILED: BrokenPromises = BrokenPromises { failed_swap_writes_nothing: true, ..NONE };
/// Plain writes fall into atomics.
pub const WITH_CPU: BrokenPromises = BrokenPromises { atomics_with_cpu: true, ..NONE };
/// Handlers run again for a repeated call.
pub const ANSWERED: BrokenPromises = BrokenPromises { answered_once: true, ..NONE };
/// Buffers of dropped futures are reused at once.
pub const BUFFERS: BrokenPromises = BrokenPromises { buffers_until_complete: true, ..NONE };
/// A repeated completion is taken for that of a later batch.
pub const COMPLETES: BrokenPromises = BrokenPromises { completes_once: true, ..NONE };
/// Servers that execute verbs touch their words one by one.
pub const ONE_MOMENT: BrokenPromises = BrokenPromises { one_moment: true, ..NONE };
/// Lost verbs take effect after their sender has settled.
pub const SETTLED: BrokenPromises = BrokenPromises { settled: true, ..NONE };

pub const ALL: [(&str, BrokenPromises); 15] = [
    ("whole_words", HALVES),
    ("write_before_later", WRITES),
    ("atomic_before_later", ATOMICS),
    ("fence", FENCE),
    ("untorn_rows", UNTORN),
    ("fitting_misses", MISSES),
    ("visible_when_complete", VISIBLE),
    ("atomics_exclude", EXCLUDE),
    ("failed_swap_writes_nothing", FAILED),
    ("atomics_with_cpu", WITH_CPU),
    ("answered_once", ANSWERED),
    ("buffers_until_complete", BUFFERS),
    ("completes_once", COMPLETES),
    ("one_moment", ONE_MOMENT),
    ("settled", SETTLED),
];

/// The name of a switch.
pub fn name(broken: &BrokenPromises) -> &'static str {
    let found = ALL.iter().find(|(_, switch)| switch == broken);
    found.map_or("no switch alone", |(name, _)| name)
}

/// Runs every test without each promise that it names, in up to `seeds` worlds of each kind.
/// Returns, for each pair of test and promise, how it failed; the error lists the pairs that
/// passed.
pub fn try_all(seeds: u64) -> Result<Vec<String>, Vec<String>> {
    let (mut failed, mut passed) = (Vec::new(), Vec::new());
    for test in tests::all() {
        for &broken in test.broken {
            let name = name(&broken);
            let found = [Carrier::Card, Carrier::Caller, Carrier::Server]
                .into_iter()
                .find_map(|carrier| failure(&Simulated { carrier, seeds, broken }, &test));
            match found {
                Some(how) => failed.push(format!("{} without {name}: {how}", test.name)),
                None => passed.push(format!("{} passes without {name}", test.name)),
            }
        }
    }
    if passed.is_empty() { Ok(failed) } else { Err(passed) }
}

fn failure(stage: &Simulated, test: &Test<sim::Endpoint>) -> Option<String> {
    match give(stage, test) {
        Outcome::Failed(how) => Some(how),
        _ => None,
    }
}
