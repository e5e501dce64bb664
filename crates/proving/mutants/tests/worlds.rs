//! Worlds with all guards in place are right: those that the seed draws whole, and those that have
//! shown a bug of the protocol.

use mutants::kind::{Kind, OWNED_NEW};
use mutants::run::{Ran, run};
use mutants::swarm::SWARM;

/// Drawn worlds that every check runs; `cargo xtask mutants --worlds` runs any number.
const WORLDS: u64 = 150;

#[test]
fn drawn_worlds_are_right_and_busy() {
    let mut idle = 0;
    for seed in 0..WORLDS {
        let Ran { caught, committed, .. } = run(&SWARM, seed, &[]);
        assert_eq!(caught, None, "seed {seed}: {:?}", mutants::swarm::kind(seed));
        idle += u64::from(committed == 0);
    }
    assert!(idle * 20 < WORLDS, "{idle} of {WORLDS} worlds without a commit");
}

/// A reader came by an index entry to the memory of a collected row, which had become a block of a
/// hash table. Its words never fitted a row's checksum, so that the reader took it for half written
/// and gave up, again and again.
#[test]
fn a_rows_memory_may_serve_something_else() {
    let kind = Kind { elements: 2, spare_rows: 0, sessions: 4, ..OWNED_NEW };
    assert_eq!(run(&kind, 2369, &[]).caught, None);
}
