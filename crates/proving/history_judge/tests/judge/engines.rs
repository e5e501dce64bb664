//! Histories of a tiny engine: the judge accepts those of a correct one and rejects those of a
//! broken one.

use crate::engine::{self, Fault, Isolation, Plan};
use crate::helpers::{judged, verdicts};
use history_judge::{Level, Verdict};

const SEEDS: u64 = 150;

fn plan(isolation: Isolation, fault: Fault, seed: u64) -> Plan {
    Plan { transactions: 300, ..Plan::new(isolation, fault, seed) }
}

#[test]
fn right_engines_are_acquitted() {
    for seed in 0..SEEDS {
        let is_lists = seed % 2 == 0;
        let exports_versions = !is_lists;
        let run = |isolation| {
            let plan = Plan { is_lists, exports_versions, ..plan(isolation, Fault::None, seed) };
            judged(&engine::run(&plan))
        };
        let context =
            |report: &history_judge::Report| format!("seed {seed}: {:?}", report.findings);
        let serial = run(Isolation::Serial);
        assert_eq!(verdicts(&serial), "++++++", "{}", context(&serial));
        let validated = run(Isolation::Validated);
        assert_eq!(
            validated.verdict(Level::Serializable),
            &Verdict::Holds,
            "{}",
            context(&validated)
        );
        let snapshot = run(Isolation::Snapshot);
        assert_eq!(&verdicts(&snapshot)[..3], "+++", "{}", context(&snapshot));
    }
}

/// The history does not contain the order of writes without reads, and yet the judge mostly finds
/// one.
#[test]
fn right_engines_with_registers_are_acquitted_mostly_and_never_found_guilty() {
    let mut acquitted = [0, 0];
    for seed in 0..SEEDS {
        for (count, isolation) in acquitted.iter_mut().zip([Isolation::Snapshot, Isolation::Serial])
        {
            let plan = Plan { is_lists: false, ..plan(isolation, Fault::None, seed) };
            let report = judged(&engine::run(&plan));
            assert!(!verdicts(&report)[..3].contains('-'), "seed {seed}: {:?}", report.findings);
            *count += u64::from(verdicts(&report).starts_with("+++"));
        }
    }
    let [snapshot, serial] = acquitted;
    assert!(snapshot > SEEDS * 9 / 10 && serial == SEEDS, "{snapshot} {serial} of {SEEDS}");
}

/// The number of seeds in which a level is violated.
fn guilty(fault: Fault, level: Level) -> u64 {
    let is_guilty = |seed: &u64| {
        let report = judged(&engine::run(&plan(Isolation::Snapshot, fault, *seed)));
        report.verdict(level) == &Verdict::Violated
    };
    (0..SEEDS).filter(is_guilty).count() as u64
}

#[test]
fn wrong_engines_are_detected() {
    for fault in [Fault::NoFirstCommitter, Fault::ReadsTheNewest, Fault::KeepsAborted] {
        assert!(guilty(fault, Level::Snapshot) > SEEDS * 9 / 10, "{fault:?}");
    }
    // Stale snapshots are snapshots: only the levels with sessions and time forbid them.
    assert_eq!(guilty(Fault::OldSnapshots, Level::Snapshot), 0);
    assert!(guilty(Fault::OldSnapshots, Level::StrongSessionSnapshot) > SEEDS * 9 / 10);
    assert!(guilty(Fault::None, Level::Serializable) > SEEDS / 2, "write skew");
}
