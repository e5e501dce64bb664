//! Several lives of one database on one disk; between them the power fails.

use crate::ledger::{Contents, Ledger};
use crate::life::{Plan, check, live};
use crate::support::STORAGES;
use crate::support::mix::{Dice, Mix, SNAPSHOT, TIGHT};
use layout::IndexKind;
use sim::Interval;
use sim::disk::{DiskConfig, DiskCoverage, SimulatedDisk};
use storage::PlantedBug;
use txn::{Isolation, Oracle};

/// Lives of a seed.
const LIVES: u64 = 5;

fn mix(seed: u64) -> Mix {
    let base = if seed % 4 < 2 { TIGHT } else { SNAPSHOT };
    Mix {
        storage: STORAGES[(seed % 3) as usize],
        index: [None, Some(IndexKind::Hash), Some(IndexKind::Tree)][(seed / 3 % 3) as usize],
        has_notes: seed.is_multiple_of(2),
        isolation: if seed % 5 == 3 { Isolation::Serializable } else { Isolation::Snapshot },
        shares_slot: seed % 7 == 3,
        transactions: 6,
        ..base
    }
}

pub fn plan(seed: u64, life: u64, is_fast: bool, dice: &mut Dice) -> Plan {
    Plan {
        seed,
        life,
        mix: mix(seed),
        workers: 1 + dice.below(3),
        pause_ns: if is_fast { 1_000 } else { [20_000, 300_000][dice.below(2) as usize] },
        makes_checkpoints: dice.below(4) > 0,
        changes_catalog: dice.below(2) == 0,
        fills_disk: dice.below(4) == 0,
        copies: dice.below(4) == 0,
        fails_sync: dice.below(8) == 0,
        closes: dice.below(3) == 0,
    }
}

/// Sums over lives.
#[derive(Default, Debug)]
pub struct Sums {
    coverage: DiskCoverage,
    commits: u64,
    reads: u64,
    copies: u64,
    checkpoints: u64,
    changes: u64,
    refusals: u64,
}

impl Sums {
    fn add(&mut self, life: &Ledger) {
        self.commits += life.commits.len() as u64;
        self.reads += life.reads.len() as u64;
        self.copies += life.copies.len() as u64;
        self.checkpoints += life.checkpoints;
        self.changes += life.changes;
        self.refusals += life.refusals;
    }
}

/// Opens the copies of the directory that were made in a life.
fn check_copies(life: &Ledger, plan: &Plan, dice: &mut Dice) -> Result<(), String> {
    for copy in &life.copies {
        let contents = life.contents_of_copy(copy, dice.below(1 << 30))?;
        check(copy, plan, dice, &contents)?;
    }
    Ok(())
}

/// The lives of a seed. An error is a promise that was broken.
pub fn lives(seed: u64, planted: &[PlantedBug], sums: &mut Sums) -> Result<(), String> {
    let is_fast = seed % 5 < 2;
    let mut config = DiskConfig { planted: planted.to_vec(), ..DiskConfig::new(seed) };
    if is_fast {
        // Commits are published over several groups.
        config.operation_ns = Interval::new(50, 1_000);
    }
    let disk = SimulatedDisk::new(config);
    let (mut dice, mut contents) = (Dice(seed ^ 0x11fe), Contents::default());
    let (mut ledger, mut was_killed) = (Ledger::default(), false);
    for life in 0..LIVES {
        let plan = plan(seed, life, is_fast, &mut dice);
        let reach = [30, 100, 400][dice.below(3) as usize] * if is_fast { 4 } else { 1 };
        if life + 1 < LIVES {
            disk.power_off_at(disk.operations() + 1 + dice.below(reach));
        }
        if plan.fails_sync {
            disk.fail_sync_after(dice.below(60));
        }
        let lived = live(&disk, &plan, &mut dice, &contents)?;
        check_copies(&lived, &plan, &mut dice)
            .map_err(|wrong| format!("a copy of life {life}: {wrong}"))?;
        sums.add(&lived);
        // An opening that did not end has decided nothing.
        let is_decided = lived.incarnation.is_none() && !was_killed;
        if lived.incarnation.is_some() {
            ledger = lived;
        }
        was_killed = dice.below(4) == 0;
        if was_killed {
            disk.kill()
        } else {
            disk.crash()
        }
        let settled = ledger.settle(&disk, dice.below(1 << 30));
        let settled = settled.map_err(|wrong| format!("after life {life}: {wrong}"))?;
        if is_decided && settled != contents {
            return Err(format!("life {life} did not end its start, and changed the contents"));
        }
        contents = settled;
        // The next start goes on with the log.
        ledger.was_closed = false;
    }
    sums.coverage.add(&disk.coverage());
    Ok(())
}

#[test]
fn nothing_acknowledged_is_lost() {
    let seeds: u64 = std::env::var("DURABILITY_SEEDS")
        .map_or(60, |text| text.parse().expect("DURABILITY_SEEDS is a number of seeds"));
    let mut sums = Sums::default();
    for seed in 0..seeds {
        lives(seed, &[], &mut sums).unwrap_or_else(|wrong| panic!("seed {seed}: {wrong}"));
    }
    eprintln!("{sums:?}");
    let Sums { commits, reads, copies, checkpoints, changes, refusals, .. } = sums;
    assert!(commits > 10 * seeds && reads > 10 * seeds, "{commits} commits, {reads} reads");
    let rest = [copies, checkpoints, changes, refusals];
    assert!(rest.iter().all(|&count| count > seeds), "{rest:?}");
}

/// Frozen vectors may lack what was published before.
#[test]
fn a_database_whose_snapshots_may_be_old_is_refused() {
    let (mut dice, contents) = (Dice(1), Contents::default());
    let plan = plan(1, 0, false, &mut dice);
    let plan = Plan { mix: Mix { oracle: Oracle::Frozen, ..plan.mix }, ..plan };
    let disk = SimulatedDisk::new(DiskConfig::new(1));
    let refused = live(&disk, &plan, &mut dice, &contents).map(drop);
    assert!(refused.is_err_and(|reason| reason.contains("choose the oracle double-collect")));
}
